//! In-process tests of the endpoints function: the real handler, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod create;
mod delete;
mod read;
mod routes;
mod secrets;
mod state;
mod update;

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use domain::secret::Randomness;
use domain::{EndpointId, TrustedReceivers, WebhookEndpoint};
use edge::ApiRequest;
use endpoints::WebhookEndpoints;
use harness::{Answer, GatewayEvent, TestQueue, World};
use queue::Queues;
use runtime::metrics::ApiFunction;

struct Endpoints {
    world: World,
    function: WebhookEndpoints,
    queue: TestQueue,
}

/// Secrets that count, so that tests know them.
#[derive(Default)]
struct Counted(AtomicU8);

impl Randomness for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0.fetch_add(1, Ordering::SeqCst));
    }
}

impl Endpoints {
    async fn start() -> Self {
        let (world, queue) = (World::start().await, TestQueue::default());
        let function = WebhookEndpoints {
            api: world.api(ApiFunction::Endpoints),
            queues: Queues::default().with_webhooks(queue.client(), "https://sqs/fast", "https://sqs/slow"),
            rescue: Duration::from_secs(120),
            trusted: TrustedReceivers::none(),
            random: Box::new(Counted::default()),
        };
        Self { world, function, queue }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        self.function.handle(&ApiRequest::new(event.request())).await.into()
    }

    /// The event of a file, for this endpoint.
    fn of(&self, file: &str, id: EndpointId) -> GatewayEvent {
        self.world.event(&format!("endpoints-{file}.json")).path("endpointId", id).request_id("r")
    }

    fn creation(&self) -> GatewayEvent {
        self.world.event("endpoints-create.json").without_header("Idempotency-Key").request_id("r")
    }

    async fn endpoint(&self) -> WebhookEndpoint {
        self.world.endpoint_of(self.world.workspace, |_| ()).await
    }

    async fn stored(&self, id: EndpointId) -> WebhookEndpoint {
        self.world.db.store().endpoint(self.world.workspace, id).await.unwrap().unwrap()
    }

    /// The entries of the audit log, oldest first: action, subject, fields and actor.
    async fn audit(&self) -> Vec<(String, String, Vec<String>)> {
        let mut entries = self.world.audited().await;
        entries.reverse();
        entries
    }

    /// The queues of the messages since the last call.
    fn queued(&self) -> Vec<String> {
        self.queue.take().into_iter().map(|message| message.queue).collect()
    }
}

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.json["code"].as_str().unwrap_or_default())
}
