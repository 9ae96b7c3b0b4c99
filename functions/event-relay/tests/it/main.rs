//! Tests from stream records to events, deliveries and queue messages, with an embedded DynamoDB.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contacts;
mod conversations;
mod endpoints;
mod erasures;
mod lanes;
mod leads;
mod logging;
mod messages;
mod opt_outs;
mod outages;
mod partial_failures;
mod reported;
mod templates;
mod usage;

use std::time::Duration;

use domain::media::Uploaded;
use domain::{Delivery, EndpointId, EventFilter, LaneKind, MediaId, Slot, Timestamp, WebhookEndpoint};
use event_relay::{NotRelayed, Relay};
use harness::{TestBucket, TestQueue, World, fixture};
use queue::Queues;
use runtime::Metrics;
use runtime::metrics::Kept;
use serde_json::{Value, json};
use store::{DeliveryFilter, Table};

const RESCUE: Duration = Duration::from_secs(120);
/// The endpoint in `events/webhook-delivery.json`.
const ENDPOINT: &str = "6f8a0b2c-4d6e-4f8a-9b0c-2d4e6f8a0b1c";
const OTHER: &str = "6f8a0b2c-4d6e-4f8a-9b0c-2d4e6f8a0b1d";

struct Scene {
    world: World,
    /// The queues of webhook lanes, fast and slow.
    sqs: TestQueue,
    /// The queue of conversations with a message to send.
    sends: TestQueue,
    /// The queue of leads that wait for their message.
    leads: TestQueue,
    bucket: TestBucket,
    relay: Relay,
    counted: Kept,
}

impl Scene {
    async fn start() -> Self {
        Self::of(World::start().await).await
    }

    async fn of(world: World) -> Self {
        let (sqs, sends) = (TestQueue::default(), TestQueue::default());
        let (leads, bucket) = (TestQueue::default(), TestBucket::beside(&world.db));
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let url = |name: &str| format!("http://queue.invalid/1/{name}");
        let queues = Queues::default()
            .with_webhooks(sqs.client(), url("fast"), url("slow"))
            .with(LaneKind::Conversation, sends.client(), url("sends"))
            .with(LaneKind::Lead, leads.client(), url("leads"))
            .with(LaneKind::Person, leads.client(), url("persons"));
        let relay = Relay {
            store: world.db.store_of("event-relay"),
            queues,
            bucket: bucket.bucket_of(&world.db, "event-relay"),
            rescue: RESCUE,
            partial: true,
            waits: Duration::ZERO,
            metrics,
        };
        Self { world, sqs, sends, leads, bucket, relay, counted }
    }

    /// A scene with an endpoint that subscribes to every event.
    async fn with_endpoint() -> Self {
        let scene = Self::start().await;
        scene.endpoint(ENDPOINT, &[]).await;
        scene
    }

    async fn endpoint(&self, id: &str, events: &[&str]) -> WebhookEndpoint {
        self.endpoint_with_slots(id, events, 1).await
    }

    async fn endpoint_with_slots(&self, id: &str, events: &[&str], slots: u8) -> WebhookEndpoint {
        let change = |endpoint: &mut WebhookEndpoint| {
            endpoint.id = EndpointId::parse(id).unwrap();
            endpoint.filter = EventFilter::parse(events.iter().copied()).unwrap();
            endpoint.slots = slots;
        };
        self.world.endpoint_of(self.world.workspace, change).await
    }

    /// Replaces an endpoint.
    async fn replace(&self, was: &WebhookEndpoint, change: impl FnOnce(&mut WebhookEndpoint)) {
        let mut next = WebhookEndpoint { version: was.version + 1, ..was.clone() };
        change(&mut next);
        assert!(self.world.db.store().replace_endpoint(&next).await.unwrap());
    }

    /// The numbers of the records that the relay's answer names.
    async fn named(&self, event: &Value) -> Result<Vec<String>, NotRelayed> {
        let answer = self.relay.handle(serde_json::from_value(event.clone()).unwrap()).await?;
        let failures = serde_json::to_value(answer).unwrap()["batchItemFailures"].clone();
        let number = |failure: &Value| failure["itemIdentifier"].as_str().unwrap().to_owned();
        Ok(failures.as_array().unwrap().iter().map(number).collect())
    }

    /// Whether all records are relayed.
    async fn relayed(&self, event: &Value) -> bool {
        self.named(event).await.is_ok_and(|failed| failed.is_empty())
    }

    fn slot(&self, endpoint: &str, number: u8) -> Slot {
        Slot { workspace: self.world.workspace, endpoint: EndpointId::parse(endpoint).unwrap(), number }
    }

    /// The deliveries of the first slot of an endpoint, newest first.
    async fn deliveries(&self, endpoint: &str) -> Vec<Delivery> {
        self.deliveries_in(self.slot(endpoint, 0)).await
    }

    async fn deliveries_in(&self, slot: Slot) -> Vec<Delivery> {
        let ever = Timestamp::from_millis(9_999_999_999_999);
        let filter =
            DeliveryFilter { since: Timestamp::from_millis(0), until: ever, states: &[], event_type: None };
        let (mut all, mut before) = (vec![], None);
        loop {
            let page = self.world.db.store().deliveries(slot, filter, 100, before).await.unwrap();
            all.extend(page.deliveries);
            before = page.next;
            if before.is_none() {
                return all;
            }
        }
    }

    /// The row of a slot's lane; `null` if there is none.
    fn lane(&self, slot: Slot) -> Value {
        let pk = format!("{}#E#{}#{}", slot.workspace, slot.endpoint, slot.number);
        self.world.db.row(Table::Webhooks, &pk, "L")
    }

    /// When the sweeper queues the lane of an endpoint's first slot.
    fn due_at(&self, endpoint: &str) -> Option<Timestamp> {
        let due_at = self.lane(self.slot(endpoint, 0))["dueAt"]["N"].as_str()?.parse().unwrap();
        Some(Timestamp::from_millis(due_at))
    }

    async fn body(&self, delivery: &Delivery) -> String {
        let store = self.world.db.store();
        let event = store.recorded_event(self.world.workspace, delivery.event).await.unwrap().unwrap();
        String::from_utf8(event.body).unwrap()
    }

    async fn bodies(&self, endpoint: &str) -> Vec<Value> {
        let mut bodies = vec![];
        for delivery in self.deliveries(endpoint).await {
            bodies.push(serde_json::from_str(&self.body(&delivery).await).unwrap());
        }
        bodies
    }

    fn upload(&self, media: &str) {
        let media = MediaId::parse(media).unwrap();
        self.bucket.put(self.world.workspace, media, Uploaded { size: 3, digest: None });
    }

    fn is_uploaded(&self, media: &str) -> bool {
        self.bucket.holds(self.world.workspace, MediaId::parse(media).unwrap())
    }

    async fn nothing_happened(&self) -> bool {
        self.world.db.rows(Table::Webhooks).is_empty() && self.sqs.take().is_empty()
    }
}

fn stream_event(records: &[Value]) -> Value {
    json!({ "Records": records })
}

fn record(file: &str) -> Value {
    fixture(file)["Records"][0].clone()
}

/// The record of another new contact.
fn record_of(n: u16) -> Value {
    let id = format!("00000000-0000-4000-8000-00000000{n:04}");
    let text = record("event-relay-contact-created.json").to_string();
    let mut record: Value =
        serde_json::from_str(&text.replace("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f", &id)).unwrap();
    record["dynamodb"]["SequenceNumber"] = json!(number(n));
    record
}

/// The sequence number of [`record_of`].
fn number(n: u16) -> String {
    format!("44215845000000000174504{n:04}")
}

/// A record written by a release later than any known one.
fn from_the_future(n: u16) -> Value {
    let mut record = record_of(n);
    record["dynamodb"]["NewImage"]["sv"] = json!({ "N": "99" });
    record
}

/// The body of the queue message for an endpoint's slot.
fn visit(endpoint: &str, slot: u8) -> String {
    let workspace = World::WORKSPACE;
    format!(r#"{{"lane":"webhook","workspaceId":"{workspace}","endpointId":"{endpoint}","slot":{slot}}}"#)
}
