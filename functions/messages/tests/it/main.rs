//! In-process tests of the messages function: real handlers, real SDK clients, an embedded DynamoDB and an in-memory
//! bucket.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod create;
mod files;
mod get;
mod idempotency;
mod lane;
mod list;
mod template_api;
mod templates;

use std::time::Duration;

use domain::{Conversation, ConversationId, Message, MessageId};
use edge::ApiRequest;
use harness::{Answer, GatewayEvent, TestBucket, World};
use messages::Messages;
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};
use store::Table;

const FIRST_DUE: Duration = Duration::from_secs(120);

/// A world, a bucket, and the function.
struct Function {
    world: World,
    bucket: TestBucket,
    messages: Messages,
}

impl Function {
    async fn start() -> Self {
        let world = World::start().await;
        let bucket = TestBucket::beside(&world.db);
        let messages = Messages {
            // The long time limit keeps a busy machine from failing a test.
            api: world.api(ApiFunction::Messages).answering_within(Duration::from_secs(60)),
            bucket: bucket.bucket_of(&world.db, "messages"),
            first_due: FIRST_DUE,
        };
        Self { world, bucket, messages }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        // Two requests at the same time would not fit into the stack of a test.
        Box::pin(messages::handle(&self.messages, &ApiRequest::new(event.request()))).await.into()
    }

    /// A request with this body, without an idempotency key.
    fn event(&self, body: &Value) -> GatewayEvent {
        self.world.event("messages-create.json").without_header("idempotency-key").body(body)
    }

    async fn post(&self, body: &Value) -> Answer {
        self.send(self.event(body)).await
    }

    /// Posts a valid message and returns it from the store.
    async fn take(&self, body: &Value) -> Message {
        let answer = self.post(body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        self.stored(id_of(&body["conversationId"]), &answer).await
    }

    /// Sends a request, and runs `happens` while its first call of that operation is in flight.
    async fn meanwhile(
        &self,
        operation: &str,
        request: impl Future<Output = Answer>,
        happens: impl Future<Output = ()>,
    ) -> Answer {
        let held = self.world.db.hold(operation);
        self.world.db.forget_calls();
        let happens = async {
            while !self.world.db.calls().iter().any(|call| call.operation == operation) {
                tokio::task::yield_now().await;
            }
            happens.await;
            drop(held);
        };
        futures::future::join(request, happens).await.0
    }

    /// The stored message with the id of an answer.
    async fn stored(&self, conversation: ConversationId, answer: &Answer) -> Message {
        let id = MessageId::parse(answer.json["messageId"].as_str().unwrap()).unwrap();
        let found = self.world.db.store().message(self.world.workspace, conversation, id).await;
        found.unwrap().unwrap()
    }

    /// The conversation's lane, as DynamoDB's JSON.
    fn lane(&self, conversation: &Conversation) -> Value {
        let mut rows = self.rows_of(conversation, "L");
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    }

    /// The rows of a conversation's partition whose sort keys have this prefix, in order.
    fn rows_of(&self, conversation: &Conversation, prefix: &str) -> Vec<Value> {
        let pk = format!("{}#C#{}", conversation.workspace_id, conversation.id);
        let mut rows = self.world.db.rows(Table::Messages);
        let sk = |row: &Value| row["sk"]["S"].as_str().unwrap().to_owned();
        rows.retain(|row| row["pk"]["S"] == pk && sk(row).starts_with(prefix));
        rows.sort_by_key(sk);
        rows
    }
}

fn id_of(value: &Value) -> ConversationId {
    ConversationId::parse(value.as_str().unwrap()).unwrap()
}

/// A text message in a conversation.
fn text(conversation: &Conversation, body: &str) -> Value {
    json!({"conversationId": conversation.id.to_string(), "messageBody": body})
}
