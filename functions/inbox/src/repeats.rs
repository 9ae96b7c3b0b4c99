//! Pieces that the queue delivers again: one item must not take others with it, and none is repeated for ever.
//!
//! ```text
//! third time -> a piece for each item
//! one item, fifth time or later, fails -> quarantine
//! ```
//!
//! While the tables are busy, the queue keeps the item, because the next time may succeed: an outage must not put thousands
//! of items into quarantine. Only the last time decides for such an item, too.

use std::time::Duration;

use domain::error_chain;
use domain::inbound::app::ProviderAppId;
use domain::inbound::quarantine::QuarantineReason;
use queue::{Inbound, Outcome, caught};
use store::StoreError;

use crate::invocation::Invocation;
use crate::piece::{Failure, in_time, piece};

/// The delivery of a piece at which it is divided, before anything else.
const DIVIDED_AT: u32 = 3;
/// The delivery of a single item from which a failure puts it into quarantine.
const GIVEN_UP_AT: u32 = 5;
/// The last delivery: the queue's `maxReceiveCount` (template.yaml, which a test compares).
const LAST: u32 = 20;

/// Processes a piece that the queue delivers so many times by now.
pub(crate) async fn process(invocation: &Invocation<'_>, inbound: &Inbound, receives: u32) -> Outcome {
    let mut singles = singles(inbound);
    if receives >= DIVIDED_AT && singles.len() > 1 {
        return match invocation.queue.send_delayed(&singles, Duration::ZERO).await {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Retry(error.into()),
        };
    }
    let mut is_outage = false;
    let outcome = caught(async {
        let Err(failure) = in_time(invocation, inbound).await else { return Outcome::Done };
        is_outage = matches!(failure, Failure::Store(StoreError::Busy(_)));
        Outcome::Retry(failure.into())
    })
    .await;
    let is_given_up = receives >= if is_outage { LAST } else { GIVEN_UP_AT };
    match (outcome, singles.pop()) {
        // The service made it, and it holds nothing of a customer. The next failed send or the next day asks again.
        (Outcome::Retry(_), Some(single))
            if is_given_up && singles.is_empty() && single.app == ProviderAppId::of_the_service() =>
        {
            Outcome::Dropped("templates were not read again")
        }
        (Outcome::Retry(cause), Some(single)) if is_given_up && singles.is_empty() => {
            let (app, cause) = (inbound.app.as_str(), error_chain(&*cause));
            tracing::error!(app, cause, "an item failed each time, put into quarantine");
            let webhook = piece(&single).webhook();
            let reason = QuarantineReason::Unprocessed;
            let kept = invocation.failures.quarantine(&inbound.app, inbound.received_at, reason, webhook);
            match kept.await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Retry(error.into()),
            }
        }
        (outcome, _) => outcome,
    }
}

/// The piece as pieces of one item each.
fn singles(inbound: &Inbound) -> Vec<Inbound> {
    let single =
        |of: provider::webhook::Piece| Inbound { value: of.value, ranks: of.ranks, ..inbound.clone() };
    piece(inbound).singles().into_iter().map(single).collect()
}
