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
mod item;
mod line;
mod messages;
mod moves;
mod preferences;
mod run;
mod statuses;
mod templates;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use provider::webhook::{Piece, Subject, read};
use queue::{Inbound, InboundQueue, Outcome, process_batch};
use runtime::Metrics;
use runtime::metrics::Inbox as Counts;
use store::{Bucket, Store};
use tokio::time::Instant;

use run::Run;

pub use files::{Fetched, Files, Place};

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
        let Self { store, bucket, files, queue, metrics } = self;
        let run = Run { store, bucket, files, queue, counted: Counts::default(), begun: Instant::now() };
        let response =
            process_batch(event, Inbound::read, async |inbound| process(&run, inbound).await).await;
        metrics.put((), &run.counted);
        response
    }
}

async fn process(run: &Run<'_>, inbound: Inbound) -> Outcome {
    let Inbound { account, field, value, .. } = &inbound;
    let piece = Piece { account: account.clone(), field: field.clone(), value: value.clone() };
    let processed = match read(&piece) {
        Subject::Line(line, items) => line::process(run, &inbound, &line, items).await,
        Subject::Template(event) => templates::process(run, &inbound, &event).await.map(drop),
        Subject::Other => {
            tracing::warn!(account, field, "a change that the service only counts");
            run.counted.other_changes.add(1);
            Ok(())
        }
    };
    processed.map_or_else(|error| Outcome::Retry(error.into()), |()| Outcome::Done)
}
