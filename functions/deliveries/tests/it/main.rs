//! In-process tests of the deliveries function: the real handler, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod events;
mod jobs;
mod log;
mod one;
mod retry;
mod routes;
mod trial;

use std::time::Duration;

use deliveries::Deliveries;
use domain::webhook::delivery::Next;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryId, EndpointId, Event, EventId, EventType, Slot, Timestamp,
    WebhookEndpoint,
};
use edge::ApiRequest;
use harness::{Answer, GatewayEvent, TestQueue, World};
use queue::Queues;
use runtime::metrics::ApiFunction;
use serde_json::Value;
use store::{NewEvent, Record};

struct Log {
    world: World,
    function: Deliveries,
    queue: TestQueue,
}

impl Log {
    async fn start() -> Self {
        let (world, queue) = (World::start().await, TestQueue::default());
        let function = Deliveries {
            api: world.api(ApiFunction::Deliveries),
            queues: Queues::default().with_webhooks(queue.client(), "https://sqs/fast", "https://sqs/slow"),
            rescue: Duration::from_secs(120),
        };
        Self { world, function, queue }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        self.function.handle(&ApiRequest::new(event.request())).await.into()
    }

    fn event(&self, file: &str) -> GatewayEvent {
        self.world.event(&format!("deliveries-{file}.json")).request_id("r")
    }

    /// A list with this query.
    async fn list(&self, file: &str, query: &[(&str, &str)]) -> Answer {
        self.send(self.event(file).query(query)).await
    }

    async fn endpoint(&self) -> WebhookEndpoint {
        self.world.endpoint_of(self.world.workspace, |_| ()).await
    }

    fn now(&self) -> Timestamp {
        self.world.db.store().now()
    }

    fn pass(&self, seconds: u64) {
        self.world.db.clock().advance(Duration::from_secs(seconds));
    }

    /// Records an event with a delivery to each of these endpoints. Its body is `{"n": <id>}`.
    async fn record(&self, event_type: EventType, to: &[&WebhookEndpoint]) -> EventId {
        let id = self.world.db.store().ids().next();
        self.record_with(event_type, to, format!(r#"{{"n":"{id}"}}"#).into_bytes()).await
    }

    async fn record_with(&self, event_type: EventType, to: &[&WebhookEndpoint], body: Vec<u8>) -> EventId {
        let store = self.world.db.store();
        let event = Event::of_change(event_type, self.world.workspace, &store.ids().next(), 1, store.now());
        let slots: Vec<Slot> = to.iter().map(|endpoint| endpoint.slot_of(event.id.as_uuid())).collect();
        let id = event.id;
        let new =
            NewEvent { event, about: None, request: Some("made-by".to_owned()), body, slots: slots.into() };
        for result in store.record_events(&[new]).await {
            result.unwrap();
        }
        id
    }

    async fn stored(&self, id: DeliveryId) -> Delivery {
        self.world.db.store().delivery(self.world.workspace, id).await.unwrap().unwrap()
    }

    /// Records an attempt with this answer.
    async fn attempted(&self, id: DeliveryId, outcome: AttemptOutcome, next: Next) {
        let (store, seen) = (self.world.db.store(), self.stored(id).await);
        let attempt = Attempt {
            number: seen.attempts + 1,
            at: store.now(),
            took: Duration::from_millis(31),
            outcome,
            answer: b"come back\nlater".to_vec(),
        };
        let delivery = seen.attempted(&attempt, next, store.now());
        let record = Record { delivery, attempt: Some(attempt), pointer: None };
        store.record_deliveries(seen.slot, &[record], Duration::from_secs(2)).await.unwrap();
    }

    /// The entries of the audit log, in no particular order: action and subject.
    async fn audit(&self) -> Vec<(String, String)> {
        self.world.audited().await.into_iter().map(|(action, subject, _)| (action, subject)).collect()
    }

    /// The queues of the messages since the last call.
    fn queued(&self) -> Vec<String> {
        self.queue.take().into_iter().map(|message| message.queue).collect()
    }
}

const fn answered(status: u16) -> AttemptOutcome {
    AttemptOutcome::Answered { status, retry_after: None }
}

fn delivery_of(event: EventId, endpoint: &WebhookEndpoint) -> DeliveryId {
    DeliveryId { event, endpoint: endpoint.id }
}

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.json["code"].as_str().unwrap_or_default())
}

/// A field of each item of a list.
fn each<'a>(answer: &'a Answer, list: &str, field: &str) -> Vec<&'a str> {
    let items = answer.json[list].as_array().unwrap_or_else(|| panic!("{}", answer.text));
    items.iter().map(|item| item[field].as_str().unwrap()).collect()
}

fn unknown_endpoint(log: &Log) -> EndpointId {
    EndpointId::generate(log.world.db.store().ids())
}

fn null() -> Value {
    Value::Null
}
