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

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::Timestamp;
use lambda_runtime::{Error, LambdaEvent};
use provider::Provider;
use queue::{SendQueue, SendTask, Time};
use runtime::metrics::{Sender, Sends};
use runtime::{Metrics, SendRules};
use store::{Bucket, Store};

/// Everything this function works with.
pub struct Engine<P> {
    /// The tables.
    pub store: Store,
    /// Where files are, for the links by which the provider fetches them.
    pub bucket: Bucket,
    /// Where a conversation is queued that waits for the next quarter of an hour at most.
    pub queue: SendQueue,
    /// Takes the messages.
    pub provider: P,
    /// When and how often.
    pub rules: SendRules,
    /// What became of parts is counted here.
    pub metrics: Metrics,
}

/// One invocation.
struct Run<'a, P> {
    store: &'a Store,
    bucket: &'a Bucket,
    queue: &'a SendQueue,
    provider: P,
    rules: &'a SendRules,
    time: Time,
    counted: Sends,
}

impl<P: Provider> Engine<P> {
    /// Sends into the conversations of a batch, all at the same time: a slow one delays nobody else's, and one that
    /// cannot be sent into is the only one to come again.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let now = self.store.now();
        let deadline = Timestamp::from_millis(i64::try_from(event.context.deadline).unwrap_or(i64::MAX));
        let Self { store, bucket, queue, provider, rules, metrics } = self;
        let time = Time::until(deadline, now, rules.call, rules.lease)?;
        let counted = Sends::default();
        let run = Run { store, bucket, queue, provider: provider.afresh(), rules, time, counted };
        let work = async |task| conversation::wake(&run, task).await;
        let response = queue::drive(event.payload, SendTask::read, work).await;
        metrics.put(Sender::Messages, &run.counted);
        Ok(response)
    }
}
