//! Judges leads: it opens a contact and a conversation for each, and adds the workspace's lead template as a message.
//!
//! ```text
//! wake -> lead's lease -> may it get a message? -> { lead, contact, conversation, message }
//! ```
//!
//! One transaction writes all that a lead creates, so a lead is queued or judged. `message-sender` sends the message like
//! every template, and the relay lets the lead follow it. Nothing depends on the queue message. If this process dies, the lead
//! is still in the due index, and its lease ends.

mod invocation;
mod judge;

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::LaneKind;
use lambda_runtime::{Error, LambdaEvent};
use queue::Queues;
use runtime::Metrics;
use runtime::metrics::Leads;
use store::{Leased, LeasedLead, Store, StoreError};
use worker::{VisitEnd, VisitLoop, Visitor};

use invocation::Invocation;

/// The time that one lead may take: two reads and two writes.
const LONGEST: Duration = Duration::from_secs(10);

/// The dependencies of this function.
pub struct Engine {
    /// The tables.
    pub store: Store,
    /// Where the next visits are queued.
    pub queues: Queues,
    /// How long the lease of a lead lasts.
    pub lease: Duration,
    /// How long after a lane's queue message the sweeper queues the lane again.
    pub rescue: Duration,
    /// Counts the leads.
    pub metrics: Metrics,
}

impl Engine {
    /// Processes the leads of a batch, all at the same time. A slow lead delays no other, and only a lead that failed
    /// is queued again.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let rules = worker::Rules { lease: self.lease, longest: LONGEST, rescue: self.rescue };
        let shift = VisitLoop::begin(&self.store, &self.queues, rules, &event.context)?;
        let Self { store, rescue, .. } = self;
        let invocation =
            Invocation { store, rescue: *rescue, budget: shift.budget, counted: Leads::default() };
        let response = shift.work(&invocation, event.payload).await;
        self.metrics.put((), &invocation.counted);
        Ok(response)
    }
}

impl Visitor for Invocation<'_> {
    const KIND: LaneKind = LaneKind::Lead;

    async fn visit(&self, lane: &mut Leased) -> Result<VisitEnd, StoreError> {
        match LeasedLead::of(lane) {
            Some(leased) => judge::judge(self, leased).await,
            None => Ok(VisitEnd::Lost),
        }
    }
}
