//! Erases persons, previews what an erasure would take, and makes one contact of two. Each is a job, and a job is a lane.
//!
//! ```text
//! erasure: ASKED -> FINDING -> ERASING -> SETTLING (15 minutes) -> FINDING -> ERASING -> DONE, the receipt
//! preview: ASKED -> FINDING -> FOUND, for a day
//! merge:   ASKED -> JOINED -> MOVED (2 minutes) -> over
//! ```
//!
//! The first pass erases what it finds. Requests and visits that began before it may still write rows of the person.
//! When the second pass begins, all of them have ended, so it finds everything that they wrote. Each step may be
//! repeated: a visit that dies is continued by the next one.

mod contact_erased;
mod engine;
mod erasure;
pub mod events;
pub mod failures;
mod job;
mod merge;
mod pass;
mod stop;
mod visit;

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::LaneKind;
use lambda_runtime::{Error, LambdaEvent};
use runtime::metrics::PersonJobs;
use store::{Leased, StoreError};
use worker::{VisitEnd, VisitLoop, Visitor};

use crate::engine::Invocation;

pub use engine::{Engine, Rules};

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

impl Visitor for Invocation<'_> {
    const KIND: LaneKind = LaneKind::Person;

    async fn visit(&self, lane: &mut Leased) -> Result<VisitEnd, StoreError> {
        visit::visit(self, lane).await
    }
}
