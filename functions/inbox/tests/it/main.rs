//! In-process tests of the inbox function: the real handler, real SDK clients, an embedded DynamoDB, and a queue in
//! memory.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod moves;

use domain::{ProviderAppId, WorkspaceId};
use harness::{TestBucket, TestQueue, World, failed_messages};
use inbox::Inbox;
use queue::{Inbound, InboundQueue};
use runtime::Metrics;
use runtime::metrics::Kept;
use serde_json::{Value, json};
use store::Store;

/// The line of the webhooks.
pub(crate) const LINE: &str = "1045551234567";

/// A workspace with a line, and the function.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) queue: TestQueue,
    pub(crate) function: Inbox,
    pub(crate) counted: Kept,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let world = World::start().await;
        world.line(LINE, |_| ()).await;
        let (queue, bucket) = (TestQueue::default(), TestBucket::beside(&world.db));
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let function = Inbox {
            store: world.db.store().clone(),
            bucket: bucket.bucket(),
            queue: InboundQueue::new(queue.client(), "https://queue.example/inbox"),
            metrics,
        };
        Self { world, queue, function, counted }
    }

    pub(crate) fn store(&self) -> &Store {
        self.world.db.store()
    }

    /// A piece with these fields of a line's value: `messages`, `statuses`, `contacts`.
    pub(crate) fn piece(&self, fields: &Value) -> Inbound {
        let mut value = json!({ "metadata": { "phone_number_id": LINE } });
        value.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Inbound {
            app: ProviderAppId::parse("1042000000001").unwrap(),
            workspace: None::<WorkspaceId>,
            received_at: self.store().now(),
            account: World::ACCOUNT.to_owned(),
            field: "messages".to_owned(),
            value,
        }
    }

    /// Runs the function with these pieces. Returns the numbers of those that are delivered again.
    pub(crate) async fn run(&self, pieces: &[Inbound]) -> Vec<String> {
        let record = |(at, piece): (usize, &Inbound)| json!({ "messageId": at.to_string(), "body": piece.body(), "eventSource": "aws:sqs" });
        let records: Vec<Value> = pieces.iter().enumerate().map(record).collect();
        let event = serde_json::from_value(json!({ "Records": records })).unwrap();
        failed_messages(self.function.handle(event).await)
    }
}
