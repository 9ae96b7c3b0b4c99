//! The dependencies of the function.

use std::time::Duration;

use queue::Queues;
use runtime::Metrics;
use store::{Bucket, Store};

/// The dependencies of this function.
pub struct Relay {
    /// The tables.
    pub store: Store,
    /// Where lanes of all kinds are queued.
    pub queues: Queues,
    /// The bucket with the bytes of files.
    pub bucket: Bucket,
    /// How long after new work the sweeper queues a webhook lane whose message was lost.
    pub rescue: Duration,
    /// Whether the answer names the failed records. If not, an error makes Lambda repeat the whole batch: the local
    /// emulator ignores the named records, and the console has no Lambda to read them.
    pub partial: bool,
    /// How long failed records are tried again before the batch is answered.
    pub waits: Duration,
    /// Counts the outcomes of changes.
    pub metrics: Metrics,
}

impl Relay {
    /// How long the function tries failed records again. The time-out leaves room for one more try after it. The number of
    /// Lambda's tries (template.yaml) times this is longer than the age at which Lambda gives up a record, so an outage of a
    /// table uses up no record's tries.
    pub const WAITS: Duration = Duration::from_secs(30);

    /// The relay for the objects of the failure bucket: a batch fails as a whole, and its next try is the next command or
    /// the next run of the schedule.
    pub fn of_the_bucket(&self, metrics: Metrics) -> Self {
        let Self { store, queues, bucket, rescue, .. } = self;
        let (store, queues, bucket) = (store.clone(), queues.clone(), bucket.clone());
        Self { store, queues, bucket, rescue: *rescue, partial: false, waits: Duration::ZERO, metrics }
    }
}

/// The maximum number of calls of one kind in flight.
pub(crate) const AT_ONCE: usize = 16;
