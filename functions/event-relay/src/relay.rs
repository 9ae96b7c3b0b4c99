//! What the function works with.

use std::time::Duration;

use queue::Queues;
use runtime::Metrics;
use store::{Bucket, Store};

/// Everything this function works with.
pub struct Relay {
    /// The tables.
    pub store: Store,
    /// Where lanes are queued, of all kinds.
    pub queues: Queues,
    /// Where the bytes of files are.
    pub bucket: Bucket,
    /// How long after it was told the sweeper looks after a webhook lane whose message was lost.
    pub rescue: Duration,
    /// Whether the answer names the records that failed. Otherwise an error brings the whole batch again: the local
    /// emulator ignores what an answer names, and the console has nobody to name it to.
    pub partial: bool,
    /// What became of changes is counted here.
    pub metrics: Metrics,
}

/// How many calls of a kind are under way at the same time.
pub(crate) const AT_ONCE: usize = 16;
