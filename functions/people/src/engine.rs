//! The dependencies of the function, and one invocation of it.

use std::time::Duration;

use queue::{InvocationBudget, Queues};
use runtime::Metrics;
use runtime::metrics::PersonJobs;
use store::{Bucket, FailureBucket, Store};

/// The dependencies of this function.
pub struct Engine {
    /// The tables.
    pub store: Store,
    /// Where the next visits are queued, and those of webhook lanes with an event about an erasure.
    pub queues: Queues,
    /// The bucket of files.
    pub media: Bucket,
    /// The bucket of the records that the relay could not process.
    pub failures: FailureBucket,
    /// The settings of a deployment for jobs.
    pub rules: Rules,
    /// Counts jobs that are late.
    pub metrics: Metrics,
}

/// The settings of a deployment for jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The time between the passes of an erasure. It outlasts every invocation.
    pub settle: Duration,
    /// How long a lease lasts; it is longer than the function may run.
    pub lease: Duration,
    /// How long after a lane's queue message the sweeper queues the lane again.
    pub rescue: Duration,
}

impl Rules {
    /// How long a lease lasts on AWS: half a minute longer than the function may run.
    pub const LEASE: Duration = Duration::from_secs(330);
}

/// The visits of one invocation.
pub(crate) struct Invocation<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) budget: InvocationBudget,
    pub(crate) counted: PersonJobs,
}
