//! Sends a lead its first message: it makes a contact and a conversation, and sends the workspace's lead template.
//!
//! ```text
//! wake -> lead's lease -> may it be sent? -> { SENDING, contact, conversation, message } -> call -> { lead, message }
//! ```
//!
//! Nothing depends on the queue message. If this process dies, the lead is still in the due index, and its lease
//! ends. A call that was begun under an expired lease is never repeated: its lead becomes UNKNOWN.

mod invocation;
mod prepare;
mod send;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::LaneKind;
use lambda_runtime::{Error, LambdaEvent};
use provider::Provider;
use queue::Queues;
use runtime::metrics::{Sender, Sends};
use runtime::{Metrics, SendRules};
use store::{Leased, LeasedLead, Store, StoreError};
use worker::{VisitEnd, VisitLoop, Visitor};

use invocation::Invocation;

/// The dependencies of this function.
pub struct Engine<P> {
    /// The tables.
    pub store: Store,
    /// Where the next visits are queued.
    pub queues: Queues,
    /// The provider that sends the messages.
    pub provider: P,
    /// The settings for retries and visits.
    pub rules: SendRules,
    /// Counts the outcomes of leads.
    pub metrics: Metrics,
}

impl<P: Provider> Engine<P> {
    /// Processes the leads of a batch, all at the same time. A slow lead delays no other, and only a lead that failed
    /// is queued again.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let Self { store, queues, provider, rules, metrics } = self;
        let of_visits = worker::Rules { lease: rules.lease, longest: rules.call, rescue: rules.rescue };
        let shift = VisitLoop::begin(store, queues, of_visits, &event.context)?;
        let invocation = Invocation {
            store,
            provider: provider.with_new_connections(),
            rules,
            budget: shift.budget,
            counted: Sends::default(),
        };
        let response = shift.work(&invocation, event.payload).await;
        metrics.put(Sender::Leads, &invocation.counted);
        Ok(response)
    }
}

impl<P: Provider> Visitor for Invocation<'_, P> {
    const KIND: LaneKind = LaneKind::Lead;

    async fn visit(&self, lane: &mut Leased) -> Result<VisitEnd, StoreError> {
        match LeasedLead::of(lane) {
            Some(leased) => send::send(self, leased).await,
            None => Ok(VisitEnd::Lost),
        }
    }
}
