//! In-process tests of the provider-events function: the real handler, real SDK clients, an embedded DynamoDB, and a
//! queue in memory.

#![allow(clippy::unwrap_used)] // helpers of tests, too

mod receiving;
mod verification;

use std::time::Duration;

use edge::provider::WebhookRequest;
use harness::{Answer, GatewayEvent, TestDb, TestFailures, TestQueue, World};
use hmac::{Hmac, KeyInit, Mac};
use provider_events::{Apps, ProviderEvents};
use queue::{Inbound, InboundQueue};
use runtime::Metrics;
use runtime::metrics::Kept;
use serde_json::json;
use sha2::Sha256;

pub(crate) const APP: &str = World::APP;
pub(crate) const SECRET: &str = World::APP_SECRET;

/// A deployment with one app, and the function.
pub(crate) struct Site {
    pub(crate) db: TestDb,
    pub(crate) queue: TestQueue,
    pub(crate) failures: TestFailures,
    pub(crate) function: ProviderEvents,
    pub(crate) counted: Kept,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let db = TestDb::start().await;
        let (queue, failures) = (TestQueue::default(), TestFailures::default());
        let (metrics, counted) = Metrics::kept(db.clock().clone());
        let function = ProviderEvents {
            store: db.store_of("provider-events"),
            apps: Apps::default(),
            queue: InboundQueue::new(queue.client(), "https://queue.example/inbox"),
            failures: failures.bucket(),
            longest: Duration::from_secs(60),
            metrics,
        };
        let site = Self { db, queue, failures, function, counted };
        World::provider_app(&site.db, APP, None).await;
        site
    }

    pub(crate) async fn send(&self, event: GatewayEvent) -> Answer {
        let request: WebhookRequest = serde_json::from_value(event.json().clone()).unwrap();
        Answer::of_gateway(self.function.handle(&request).await)
    }

    /// Posts these bytes, signed with this secret.
    pub(crate) async fn post(&self, body: &str, secret: &str) -> Answer {
        self.send(
            GatewayEvent::of("provider-events-receive.json")
                .raw_body(body)
                .header("X-Hub-Signature-256", &signature(body, secret)),
        )
        .await
    }

    /// Removes and returns what is on the queue.
    pub(crate) fn queued(&self) -> Vec<Inbound> {
        self.queue.take().iter().map(|message| Inbound::read(&message.body).unwrap()).collect()
    }

    /// The number of calls of the database since the last time.
    pub(crate) fn calls(&self) -> usize {
        let calls = self.db.calls().len();
        self.db.forget_calls();
        calls
    }
}

pub(crate) fn signature(body: &str, secret: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    format!("sha256={}", domain::encoding::hex(&mac.finalize().into_bytes()))
}

/// A webhook with this number of statuses.
pub(crate) fn webhook(statuses: usize) -> String {
    let status =
        |n: usize| json!({ "id": format!("wamid.{n}"), "status": "read", "recipient_id": "34600111222" });
    let value = json!({
        "metadata": { "phone_number_id": "1045551234567" },
        "statuses": (0..statuses).map(status).collect::<Vec<_>>(),
    });
    let entry = json!({ "id": "2055500001", "changes": [{ "field": "messages", "value": value }] });
    json!({ "object": "whatsapp_business_account", "entry": [entry] }).to_string()
}
