//! Sends a lead its first message: a contact, a conversation and the workspace's lead template.
//!
//! ```text
//! task -> lead's lease -> may it be sent? -> { SENDING, contact, conversation, message } -> call -> { lead, message }
//! ```
//!
//! Nothing depends on the task: whatever is left undone when this process dies, the lead stands in the due index, and
//! its lease ends. A call that was begun under a lease that is over is never made again: its lead is UNKNOWN.

mod ready;
mod run;
mod send;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::LaneKind;
use lambda_runtime::{Error, LambdaEvent};
use provider::Provider;
use queue::Queues;
use runtime::metrics::{Sender, Sends};
use runtime::{Metrics, SendRules};
use store::{Leased, LeasedLead, Store, StoreError};
use worker::{Left, Shift, Visitor};

use run::Run;

/// Everything this function works with.
pub struct Engine<P> {
    /// The tables.
    pub store: Store,
    /// Where next visits are queued.
    pub queues: Queues,
    /// Takes the messages.
    pub provider: P,
    /// When and how often.
    pub rules: SendRules,
    /// What became of leads is counted here.
    pub metrics: Metrics,
}

impl<P: Provider> Engine<P> {
    /// Writes to the leads of a batch, all at the same time: a slow one delays no other, and one that cannot be worked
    /// on is the only one to come again.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let Self { store, queues, provider, rules, metrics } = self;
        let of_visits = worker::Rules { lease: rules.lease, longest: rules.call, rescue: rules.rescue };
        let shift = Shift::begin(store, queues, of_visits, &event.context)?;
        let run =
            Run { store, provider: provider.afresh(), rules, time: shift.time, counted: Sends::default() };
        let response = shift.work(&run, event.payload).await;
        metrics.put(Sender::Leads, &run.counted);
        Ok(response)
    }
}

impl<P: Provider> Visitor for Run<'_, P> {
    const KIND: LaneKind = LaneKind::Lead;

    async fn visit(&self, lane: &mut Leased) -> Result<Left, StoreError> {
        match LeasedLead::of(lane) {
            Some(leased) => send::send(self, leased).await,
            None => Ok(Left::Lost),
        }
    }
}
