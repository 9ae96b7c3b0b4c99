//! Processes the pieces of the provider's webhooks: what customers send, and what becomes of messages to them.
//!
//! ```text
//! piece -> line -> workspace -> item by item: status | message | preference -> what to queue again, and when
//!       -> template -> its new status
//! ```
//!
//! The provider repeats its webhooks for seven days, in any order, and the queue repeats its messages. So every
//! item is processed exactly once by the provider's id of it, and every step can be repeated.

mod files;
mod invocation;
mod item;
mod left;
mod line;
mod messages;
mod moves;
mod preferences;
mod statuses;
mod templates;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use provider::webhook::{Piece, Subject, read};
use queue::{Inbound, InboundQueue, Outcome, process_batch};
use runtime::Metrics;
use runtime::metrics::Inbox as Counts;
use store::{Bucket, Store, StoreError};
use tokio::time::{Instant, timeout_at};

use invocation::Invocation;

pub use files::{Fetched, FileOwner, Files};

/// The function's dependencies.
pub struct Inbox {
    /// The tables.
    pub store: Store,
    /// The bucket of files.
    pub bucket: Bucket,
    /// Fetches customers' files.
    pub files: Files,
    /// The function's own queue, for items that must wait.
    pub queue: InboundQueue,
    /// Counts what became of items.
    pub metrics: Metrics,
}

impl Inbox {
    /// Processes the pieces of a batch, all at the same time. A piece that cannot be processed now is delivered
    /// again.
    pub async fn handle(&self, event: SqsEvent) -> SqsBatchResponse {
        self.handle_since(event, Instant::now()).await
    }

    /// The same for an invocation that began at this moment.
    pub async fn handle_since(&self, event: SqsEvent, begun: Instant) -> SqsBatchResponse {
        let Self { store, bucket, files, queue, metrics } = self;
        let invocation = Invocation { store, bucket, files, queue, counted: Counts::default(), begun };
        let response =
            process_batch(event, Inbound::read, async |inbound| in_time(&invocation, &inbound).await).await;
        metrics.put((), &invocation.counted);
        response
    }
}

/// Processes a piece, and gives it up at the end of its time. That is as if the function had died at this call, so the
/// repeat finishes it.
async fn in_time(invocation: &Invocation<'_>, inbound: &Inbound) -> Outcome {
    // Boxed, because the type of the future is as deep as the compiler permits.
    match timeout_at(invocation.ends_at(), Box::pin(process(invocation, inbound))).await {
        Ok(Ok(())) => Outcome::Done,
        Ok(Err(error)) => Outcome::Retry(error.into()),
        Err(_) => Outcome::Retry("the time of the invocation is up".into()),
    }
}

async fn process(invocation: &Invocation<'_>, inbound: &Inbound) -> Result<(), StoreError> {
    let Inbound { account, field, value, .. } = inbound;
    let piece = Piece { account: account.clone(), field: field.clone(), value: value.clone() };
    match read(&piece) {
        Subject::Line(line, items) => line::process(invocation, inbound, &line, items).await,
        Subject::Template(event) => templates::process(invocation, inbound, &event).await.map(drop),
        Subject::Other => {
            tracing::warn!(account, field, "a change that the service only counts");
            invocation.counted.other_changes.add(1);
            Ok(())
        }
    }
}
