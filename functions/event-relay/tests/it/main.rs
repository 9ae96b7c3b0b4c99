//! From stream records to events, deliveries and messages, over an embedded DynamoDB.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contacts;
mod conversations;
mod leads;
mod messages;

use std::time::Duration;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use domain::media::Uploaded;
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    Delivery, EndpointId, EndpointSecrets, EndpointState, EndpointUrl, EventFilter, MediaId,
    TrustedReceivers, WebhookEndpoint,
};
use event_relay::Relay;
use harness::{TestBucket, TestQueue, World, fixture};
use queue::{DeliveryQueue, LeadQueue, SendQueue};
use runtime::Metrics;
use runtime::metrics::Kept;
use serde_json::{Value, json};
use store::Table;

const FIRST_DUE: Duration = Duration::from_secs(120);
/// The endpoint in `events/webhook-delivery.json`.
const ENDPOINT: &str = "6f8a0b2c-4d6e-4f8a-9b0c-2d4e6f8a0b1c";
const OTHER: &str = "6f8a0b2c-4d6e-4f8a-9b0c-2d4e6f8a0b1d";

struct Scene {
    world: World,
    /// Deliveries.
    sqs: TestQueue,
    /// Conversations in which something is to be sent.
    sends: TestQueue,
    /// Leads that are to be written to.
    leads: TestQueue,
    bucket: TestBucket,
    relay: Relay,
    counted: Kept,
}

impl Scene {
    async fn start() -> Self {
        let (world, sqs, sends) = (World::start().await, TestQueue::default(), TestQueue::default());
        let (leads, bucket) = (TestQueue::default(), TestBucket::beside(&world.db));
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let relay = Relay {
            store: world.db.store_of("event-relay"),
            deliveries: DeliveryQueue::new(sqs.client(), "http://queue.invalid/1/deliveries"),
            sends: SendQueue::new(sends.client(), "http://queue.invalid/1/sends"),
            leads: LeadQueue::new(leads.client(), "http://queue.invalid/1/leads"),
            bucket: bucket.bucket_of(&world.db, "event-relay"),
            first_due: FIRST_DUE,
            metrics,
        };
        Self { world, sqs, sends, leads, bucket, relay, counted }
    }

    /// The same with an endpoint that wants everything.
    async fn with_endpoint() -> Self {
        let scene = Self::start().await;
        scene.endpoint(ENDPOINT, &[]).await;
        scene
    }

    async fn endpoint(&self, id: &str, events: &[&str]) -> WebhookEndpoint {
        let store = self.world.db.store();
        let endpoint = WebhookEndpoint {
            id: EndpointId::parse(id).unwrap(),
            workspace_id: self.world.workspace,
            url: EndpointUrl::parse("https://hooks.example.com/in", &TrustedReceivers::none()).unwrap(),
            state: EndpointState::Enabled,
            filter: EventFilter::parse(events.iter().copied()).unwrap(),
            created_at: store.now(),
            version: 1,
        };
        let secrets = EndpointSecrets {
            api_key: ReceiverKey::parse("customer-key").unwrap(),
            signing: SigningSecrets::only(SigningSecret::from_entropy([7; 32])),
        };
        let workspace = store.workspace(self.world.workspace).await.unwrap().unwrap();
        assert!(store.create_endpoint(&workspace, &endpoint, &secrets).await.unwrap());
        endpoint
    }

    async fn relayed(&self, event: &Value) -> bool {
        let event: StreamEvent = serde_json::from_value(event.clone()).unwrap();
        self.relay.handle(event).await.is_ok()
    }

    async fn deliveries(&self, endpoint: &str) -> Vec<Delivery> {
        let endpoint = EndpointId::parse(endpoint).unwrap();
        let page = self.world.db.store().deliveries_of(self.world.workspace, endpoint, None, 100, None).await;
        page.unwrap().deliveries
    }

    async fn body(&self, delivery: &Delivery) -> String {
        let store = self.world.db.store();
        let event = store.recorded_event(self.world.workspace, delivery.event_id).await.unwrap().unwrap();
        String::from_utf8(event.body).unwrap()
    }

    async fn bodies(&self, endpoint: &str) -> Vec<Value> {
        let mut bodies = vec![];
        for delivery in self.deliveries(endpoint).await {
            bodies.push(serde_json::from_str(&self.body(&delivery).await).unwrap());
        }
        bodies
    }

    /// Puts a row as the stream would show it.
    async fn put(&self, table: Table, image: &Value) {
        let image: serde_dynamo::Item = serde_json::from_value(image.clone()).unwrap();
        let db = &self.world.db;
        let put = db.client().put_item().table_name(db.table(table)).set_item(Some(image.into()));
        put.send().await.unwrap();
    }

    fn upload(&self, media: &str) {
        let media = MediaId::parse(media).unwrap();
        self.bucket.put(self.world.workspace, media, Uploaded { size: 3, digest: None });
    }

    fn is_uploaded(&self, media: &str) -> bool {
        self.bucket.holds(self.world.workspace, MediaId::parse(media).unwrap())
    }

    async fn nothing_happened(&self) -> bool {
        self.deliveries(ENDPOINT).await.is_empty() && self.sqs.take().is_empty()
    }
}

fn stream_event(records: &[Value]) -> Value {
    json!({ "Records": records })
}

fn record(file: &str) -> Value {
    fixture(file)["Records"][0].clone()
}
