//! Signs and posts webhooks.
//!
//! ```text
//! lane -> lease -> page of deliveries -> endpoint, secrets, events -> sign -> POST -> record -> next page -> release
//! ```
//!
//! A lane is a slot of an endpoint. Its visit posts as many deliveries at the same time as the endpoint's pace allows
//! ([`domain::Pace`]), and the lanes of a batch do not wait for each other. If a receiver fails, the queue message
//! still succeeds: the lane keeps the deliveries that wait for a retry.

mod attempt;
mod feed;
mod https;
mod invocation;
mod settings;
mod transport;
mod visit;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::{LaneKind, Track};
use lambda_runtime::{Error, LambdaEvent};
use queue::Queues;
use runtime::metrics::{self, Metrics};
use store::{Leased, Store, StoreError};
use worker::{VisitEnd, VisitLoop, Visitor};

pub use https::{Https, HttpsError};
pub use outbound::resolver::{Addresses, Lookup, SystemLookup};
pub use settings::Rules;
pub use transport::{Answer, Post, Transport, Unanswered};

use invocation::Invocation;

/// The time that is kept for recording the outcomes of the last posts. If they are not recorded, they are posted again, so
/// it is better to use the time for posts.
const RECORD_TIME: Duration = Duration::from_secs(5);

/// The dependencies of this function.
pub struct Engine<T> {
    /// The tables.
    pub store: Store,
    /// Where the next visits are queued.
    pub queues: Queues,
    /// Posts to the receivers.
    pub transport: T,
    /// The settings for deliveries.
    pub rules: Rules,
    /// Counts the outcomes of deliveries.
    pub metrics: Metrics,
}

impl<T: Transport> Engine<T> {
    /// Visits the lanes of a batch, all at the same time, so a slow receiver does not delay other lanes.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let Self { store, queues, transport, rules, metrics } = self;
        let shift = VisitLoop::begin(store, queues, rules.of_visits(), &event.context)?;
        let counted = metrics::Deliveries::default();
        let budget = shift.budget.keeping(RECORD_TIME);
        let usage = Mutex::default();
        let invocation = Invocation { store, transport, rules, budget, counted, usage };
        let track = match queue::track_of(&event.payload) {
            Track::Fast => metrics::Track::Fast,
            Track::Slow => metrics::Track::Slow,
        };
        let response = shift.work(&invocation, event.payload).await;
        metrics.put(track, &invocation.counted);
        let usage = invocation.usage.into_inner().unwrap_or_else(PoisonError::into_inner);
        store.count_usage(&usage).await;
        Ok(response)
    }
}

impl<T: Transport> Visitor for Invocation<'_, T> {
    const KIND: LaneKind = LaneKind::Webhook;

    async fn visit(&self, lane: &mut Leased) -> Result<VisitEnd, StoreError> {
        self.counted.visits.add(1);
        visit::visit(self, lane).await
    }
}
