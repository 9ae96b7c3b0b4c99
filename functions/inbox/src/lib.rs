//! Processes the pieces of the provider's webhooks: what customers send, and what becomes of messages to them.
//!
//! ```text
//! piece -> line -> workspace -> item by item: status | message | preference -> what to queue again, and when
//!       -> account  -> what is known of it, or of one of its lines, in each workspace that has a line of it
//!       -> template -> its new status; what else changed is read from the provider
//! day   -> a piece for each account -> its templates and lines, page by page
//! ```
//!
//! The provider repeats its webhooks for seven days, in any order, and the queue repeats its messages. So every
//! item is processed exactly once by the provider's id of it, and every step can be repeated.

mod accounts;
mod corrections;
mod daily;
mod echoes;
mod files;
mod invocation;
mod item;
mod left;
mod line;
mod messages;
mod mode;
mod moves;
mod piece;
mod preferences;
mod reading;
mod repeats;
mod reported;
mod statuses;
pub mod sync;
mod templates;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use queue::{Inbound, InboundQueue, process_counted};
use runtime::Metrics;
use runtime::metrics::Inbox as Counts;
use store::{Bucket, FailureBucket, Store};
use tokio::time::Instant;

use invocation::Invocation;

pub use daily::NotBegun;
pub use files::{Fetched, FileOwner, Files};
pub use reading::TemplateReader;

/// The function's dependencies.
pub struct Inbox {
    /// The tables.
    pub store: Store,
    /// The bucket of files.
    pub bucket: Bucket,
    /// Fetches customers' files.
    pub files: Files,
    /// Reads templates that changed at the provider.
    pub templates: TemplateReader,
    /// The function's own queue, for items that must wait.
    pub queue: InboundQueue,
    /// The bucket for items that fail again and again.
    pub failures: FailureBucket,
    /// Counts what became of items.
    pub metrics: Metrics,
}

impl Inbox {
    /// Begins the reading of the day. Returns the number of accounts.
    pub async fn begin_the_day(&self) -> Result<usize, NotBegun> {
        let accounts = daily::begin(&self.store, &self.queue).await?;
        tracing::info!(accounts, "templates and lines of all accounts are read");
        Ok(accounts)
    }

    /// Processes the pieces of a batch, all at the same time. A piece that cannot be processed now is delivered
    /// again.
    pub async fn handle(&self, event: SqsEvent) -> SqsBatchResponse {
        self.handle_since(event, Instant::now()).await
    }

    /// The same for an invocation that began at this moment.
    pub async fn handle_since(&self, event: SqsEvent, begun: Instant) -> SqsBatchResponse {
        let Self { store, bucket, files, templates, queue, failures, metrics } = self;
        let counted = Counts::default();
        let invocation = Invocation { store, bucket, files, templates, queue, failures, counted, begun };
        let work = async |inbound, receives| repeats::process(&invocation, &inbound, receives).await;
        let response = process_counted(event, Inbound::read, work).await;
        metrics.put((), &invocation.counted);
        response
    }
}
