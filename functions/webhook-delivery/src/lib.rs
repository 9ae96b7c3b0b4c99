//! Signs and posts webhooks.
//!
//! ```text
//! message -> lease -> endpoint, secrets, event, gate -> sign -> POST -> attempt row, delivery row -> next message
//! ```
//!
//! Nothing depends on the message: whatever is left undone when this process dies, the delivery's row stands in
//! the due index, and its lease ends. A receiver's failure is a success of the message, whose retry lives in the
//! row. The deliveries of a batch are made at the same time, and what they ask of the tables travels together.

mod attempt;
mod https;
mod resolver;
mod settings;
mod visit;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::gate::Lane;
use domain::{DeliveryId, Timestamp};
use lambda_runtime::{Error, LambdaEvent};
use queue::{DeliveryQueues, DeliveryTask, Time};
use runtime::metrics::{self, Metrics};
use store::Store;

pub use https::{Answer, Https, HttpsError, Post, Transport, Unanswered};
pub use resolver::{Addresses, Lookup, SystemLookup};
pub use settings::Rules;

use crate::visit::Visits;

/// Everything this function works with.
pub struct Engine<T> {
    /// The tables.
    pub store: Store,
    /// Where retries of the next quarter of an hour are queued, and what is to take the other lane.
    pub queues: DeliveryQueues,
    /// Reaches the receivers.
    pub transport: T,
    /// When and how often.
    pub rules: Rules,
    /// What became of deliveries.
    pub metrics: Metrics,
}

/// One invocation.
struct Batch<'a, T> {
    engine: &'a Engine<T>,
    lane: Lane,
    time: Time,
    visits: Visits,
    counted: metrics::Deliveries,
    begun: Mutex<BTreeSet<DeliveryId>>,
}

impl<T: Transport> Engine<T> {
    /// Looks after the deliveries of a batch, all at the same time: a slow receiver delays nobody else's.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let now = self.store.now();
        let deadline = Timestamp::from_millis(i64::try_from(event.context.deadline).unwrap_or(i64::MAX));
        let batch = Batch {
            engine: self,
            lane: DeliveryQueues::lane_of(&event.payload),
            time: Time::until(deadline, now, self.rules.attempt, self.rules.lease)?,
            visits: Visits::default(),
            counted: metrics::Deliveries::default(),
            begun: Mutex::default(),
        };
        let work = async |task| attempt::look_after(&batch, task).await;
        let response = queue::drive(event.payload, DeliveryTask::read, work).await;
        let lane = match batch.lane {
            Lane::Fast => metrics::Lane::Fast,
            Lane::Slow => metrics::Lane::Slow,
        };
        self.metrics.put(lane, &batch.counted);
        Ok(response)
    }
}

impl<T> Batch<'_, T> {
    /// Whether this is the first message of the batch about a delivery.
    fn begin(&self, delivery: DeliveryId) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(delivery)
    }
}
