//! Sends what is due in a conversation, in order, through the provider.
//!
//! ```text
//! wake -> lane's lease -> plan, entries -> message -> what its part needs -> SENDING -> call -> its end -> next part
//! ```
//!
//! Nothing depends on the wake: whatever is left undone when this process dies, the conversation's lane stands in the
//! due index, and its lease ends. A call that was begun under a lease that is over is never made again: its part is
//! UNKNOWN. What cannot be sent now waits in its row, and so does what comes after it.

mod conversation;
mod part;
mod run;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::LaneKind;
use lambda_runtime::{Error, LambdaEvent};
use provider::Provider;
use queue::Queues;
use runtime::metrics::{Sender, Sends};
use runtime::{Metrics, SendRules};
use store::{Bucket, Leased, Store, StoreError};
use worker::{Left, Shift, Visitor};

use run::Run;

/// Everything this function works with.
pub struct Engine<P> {
    /// The tables.
    pub store: Store,
    /// Where files are, for the links by which the provider fetches them.
    pub bucket: Bucket,
    /// Where next visits are queued.
    pub queues: Queues,
    /// Takes the messages.
    pub provider: P,
    /// When and how often.
    pub rules: SendRules,
    /// What became of parts is counted here.
    pub metrics: Metrics,
}

impl<P: Provider> Engine<P> {
    /// Sends into the conversations of a batch, all at the same time: a slow one delays nobody else's, and one that
    /// cannot be sent into is the only one to come again.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let Self { store, bucket, queues, provider, rules, metrics } = self;
        let of_visits = worker::Rules { lease: rules.lease, longest: rules.call, rescue: rules.rescue };
        let shift = Shift::begin(store, queues, of_visits, &event.context)?;
        let counted = Sends::default();
        let run = Run { store, bucket, provider: provider.afresh(), rules, time: shift.time, counted };
        let response = shift.work(&run, event.payload).await;
        metrics.put(Sender::Messages, &run.counted);
        Ok(response)
    }
}

impl<P: Provider> Visitor for Run<'_, P> {
    const KIND: LaneKind = LaneKind::Conversation;

    async fn visit(&self, lane: &mut Leased) -> Result<Left, StoreError> {
        conversation::visit(self, lane).await
    }
}
