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
    /// Counts the outcomes of changes.
    pub metrics: Metrics,
}

/// The maximum number of calls of one kind in flight.
pub(crate) const AT_ONCE: usize = 16;
