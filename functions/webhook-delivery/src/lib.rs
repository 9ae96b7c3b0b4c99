//! Signs and posts webhooks.
//!
//! ```text
//! message -> lease -> endpoint, secrets, event -> sign -> POST -> attempt row, delivery row -> next message
//! ```
//!
//! Nothing depends on the message: whatever is left undone when this process dies, the delivery's row stands in
//! the due index, and its lease ends. A receiver's failure is a success of the message, whose retry lives in the
//! row.

mod attempt;
mod https;
mod resolver;
mod settings;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::Timestamp;
use lambda_runtime::{Error, LambdaEvent};
use queue::{DeliveryQueue, DeliveryTask, Time};
use store::Store;

pub use https::{Answer, Https, HttpsError, Post, Transport};
pub use resolver::{Addresses, Lookup, SystemLookup};
pub use settings::Rules;

/// Everything this function works with.
pub struct Engine<T> {
    /// The tables.
    pub store: Store,
    /// Where retries of the next quarter of an hour are queued.
    pub queue: DeliveryQueue,
    /// Reaches the receivers.
    pub transport: T,
    /// When and how often.
    pub rules: Rules,
}

impl<T: Transport> Engine<T> {
    /// Looks after the deliveries of a batch, all at the same time: a slow receiver delays nobody else's.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let now = self.store.now();
        let deadline = Timestamp::from_millis(i64::try_from(event.context.deadline).unwrap_or(i64::MAX));
        let time = Time::until(deadline, now, self.rules.attempt, self.rules.lease)?;
        let work = async |task| attempt::look_after(self, task, time).await;
        Ok(queue::drive(event.payload, DeliveryTask::read, work).await)
    }
}
