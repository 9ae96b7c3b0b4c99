//! Erases persons, and previews what an erasure would take. Each of both is a job, and a job is a lane.
//!
//! ```text
//! erasure: ASKED -> FINDING -> ERASING -> SETTLING (15 minutes) -> FINDING -> ERASING -> DONE, the receipt
//! preview: ASKED -> FINDING -> FOUND, for a day
//! ```
//!
//! The first pass erases what it finds. Requests and visits that began before it may still write rows of the person.
//! When the second pass begins, all of them have ended, so it finds everything that they wrote. Each step may be
//! repeated: a visit that dies is continued by the next one.

mod contact_erased;
pub mod events;
pub mod failures;
mod job;
mod pass;

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::{LaneKind, MediaId, Message};
use lambda_runtime::{Error, LambdaEvent};
use queue::{InvocationBudget, Queues};
use runtime::Metrics;
use runtime::metrics::PersonJobs;
use store::{Bucket, FailureBucket, Leased, Store, StoreError};
use worker::{VisitEnd, VisitLoop, Visitor};

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

/// The time that a step of a job may take: the largest one reads all events of a workspace.
const LONGEST_STEP: Duration = Duration::from_secs(60);

impl Engine {
    /// Processes the jobs of a batch.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let Rules { lease, rescue, .. } = self.rules;
        let rules = worker::Rules { lease, longest: LONGEST_STEP, rescue };
        let visits = VisitLoop::begin(&self.store, &self.queues, rules, &event.context)?;
        let invocation = Invocation { engine: self, budget: visits.budget, counted: PersonJobs::default() };
        let response = visits.work(&invocation, event.payload).await;
        self.metrics.put((), &invocation.counted);
        Ok(response)
    }
}

/// The visits of one invocation.
struct Invocation<'a> {
    engine: &'a Engine,
    budget: InvocationBudget,
    counted: PersonJobs,
}

impl Visitor for Invocation<'_> {
    const KIND: LaneKind = LaneKind::Person;

    async fn visit(&self, lane: &mut Leased) -> Result<VisitEnd, StoreError> {
        job::visit(self, lane).await
    }
}

/// The files of a message.
pub fn files_of(message: &Message) -> Vec<MediaId> {
    message.files().iter().map(|file| file.media).collect()
}
