//! Sends a lead its first message: a contact, a conversation and the workspace's lead template.
//!
//! ```text
//! task -> lead's lease -> may it be sent? -> { SENDING, contact, conversation, message } -> call -> { lead, message }
//! ```
//!
//! Nothing depends on the task: whatever is left undone when this process dies, the lead stands in the due index, and
//! its lease ends. A call that was begun under a lease that is over is never made again: its lead is UNKNOWN.

mod ready;
mod send;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::Timestamp;
use lambda_runtime::{Error, LambdaEvent};
use provider::Provider;
use queue::{LeadQueue, LeadTask, Time};
use runtime::metrics::{Sender, Sends};
use runtime::{Metrics, SendRules};
use store::Store;

/// Everything this function works with.
pub struct Engine<P> {
    /// The tables.
    pub store: Store,
    /// Where a lead is queued that waits for the next quarter of an hour at most.
    pub queue: LeadQueue,
    /// Takes the messages.
    pub provider: P,
    /// When and how often.
    pub rules: SendRules,
    /// What became of leads is counted here.
    pub metrics: Metrics,
}

/// One invocation.
struct Run<'a, P> {
    store: &'a Store,
    queue: &'a LeadQueue,
    provider: P,
    rules: &'a SendRules,
    time: Time,
    counted: Sends,
}

impl<P: Provider> Engine<P> {
    /// Writes to the leads of a batch, all at the same time: a slow one delays no other, and one that cannot be worked
    /// on is the only one to come again.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let now = self.store.now();
        let deadline = Timestamp::from_millis(i64::try_from(event.context.deadline).unwrap_or(i64::MAX));
        let Self { store, queue, provider, rules, metrics } = self;
        let time = Time::until(deadline, now, rules.call, rules.lease)?;
        let run = Run { store, queue, provider: provider.afresh(), rules, time, counted: Sends::default() };
        let work = async |task| send::wake(&run, task).await;
        let response = queue::drive(event.payload, LeadTask::read, work).await;
        metrics.put(Sender::Leads, &run.counted);
        Ok(response)
    }
}
