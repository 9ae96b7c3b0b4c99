//! In-process tests of the conversations function: real handlers, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers
#![recursion_limit = "256"] // the futures of several concurrent writers are deep types

mod concurrent_writers;
mod create;
mod database_faults;
mod get;
mod idempotency;
mod list;
mod refusals;
mod teams;
mod update;

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{Conversation, ConversationId};
use edge::{Api, ApiRequest};
use harness::{Answer, GatewayEvent, World};
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};

const FIRST_DUE: Duration = Duration::from_secs(120);
/// The workspace's default line.
const LINE: &str = "1045551234567";

/// A world with a line, and the function.
struct Conversations {
    world: World,
    api: Api,
}

impl Conversations {
    async fn start() -> Self {
        let f = Self::without_lines().await;
        f.world.line(LINE, |_| ()).await;
        f
    }

    async fn without_lines() -> Self {
        let mut world = World::start().await;
        // Some tests create a thousand conversations at once.
        let rate = RateLimit::new(RateLimit::MAX_PER_SECOND, RateLimit::MAX_BURST).unwrap();
        world.key = world.key_with(world.workspace, &["*"], |key| key.rate = rate).await;
        Self { api: world.api(ApiFunction::Conversations), world }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        self.send_to(&self.api, event).await
    }

    /// Sends to this instance of the function.
    async fn send_to(&self, api: &Api, event: GatewayEvent) -> Answer {
        conversations::handle(api, FIRST_DUE, &ApiRequest::new(event.request())).await.into()
    }

    /// A request to create a conversation, without an idempotency key.
    fn posted(&self, body: &Value) -> GatewayEvent {
        self.world.event("conversations-create.json").without_header("idempotency-key").body(body)
    }

    async fn post(&self, body: &Value) -> Answer {
        self.send(self.posted(body)).await
    }

    /// Posts a valid conversation and returns it as shown.
    async fn made(&self, body: &Value) -> Value {
        let answer = self.post(body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json
    }

    /// A request to change a conversation.
    fn patched(&self, id: impl ToString, body: &Value) -> GatewayEvent {
        self.world.event("conversations-update.json").path("conversationId", id).body(body)
    }

    async fn patch(&self, id: impl ToString, body: &Value) -> Answer {
        self.send(self.patched(id, body)).await
    }

    async fn get(&self, id: impl ToString) -> Answer {
        self.send(self.world.event("conversations-get.json").path("conversationId", id)).await
    }

    /// The conversation with that id from the store.
    async fn stored(&self, id: &Value) -> Conversation {
        let id = ConversationId::parse(id.as_str().unwrap()).unwrap();
        self.world.db.store().conversation(self.world.workspace, id).await.unwrap().unwrap()
    }
}

fn named(identifier: impl ToString, identifier_type: &str) -> Value {
    json!({"identifier": identifier.to_string(), "identifierType": identifier_type})
}

fn phone(number: &str) -> Value {
    named(number, "PHONE")
}

fn email(address: &str) -> Value {
    named(address, "EMAIL")
}

/// A body with one customer, by phone, and these other fields.
fn with(number: &str, more: Value) -> Value {
    let mut body = json!({"participants": {"externals": [phone(number)]}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}
