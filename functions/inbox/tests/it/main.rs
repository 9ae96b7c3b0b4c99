//! In-process tests of the inbox function: the real handler, real SDK clients, an embedded DynamoDB, a bucket and a
//! queue in memory, and a provider on this machine.

#![allow(clippy::unwrap_used)] // helpers of tests, too

mod accounts;
mod bodies;
mod corrections;
mod daily;
mod echoes;
mod files;
mod kinds;
mod media;
mod messages;
mod moves;
mod order;
mod people;
mod placeholders;
mod preferences;
mod reading;
mod repeats;
mod statuses;
mod sync;
mod templates;

use std::time::Duration;

use domain::{ChannelId, Contact, Conversation, ProviderAppId, WorkspaceId};
use harness::{TestBucket, TestFailures, TestQueue, World, failed_messages, sqs_event, sqs_event_again};
use inbox::{Files, Inbox, TemplateReader};
use provider::{FileClient, FileHosts, TemplateClient};
use queue::{Inbound, InboundQueue};
use runtime::Metrics;
use runtime::metrics::Kept;
use serde_json::{Value, json};
use store::Store;
use tokio::time::Instant;

/// A line of the workspace.
pub(crate) const LINE: &str = "1045551234567";

/// A workspace with a line, and the function.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) queue: TestQueue,
    pub(crate) bucket: TestBucket,
    pub(crate) failures: TestFailures,
    pub(crate) function: Inbox,
    pub(crate) counted: Kept,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let world = World::start().await;
        world.line(LINE, |_| ()).await;
        let (queue, bucket) = (TestQueue::default(), TestBucket::beside(&world.db));
        let failures = TestFailures::default();
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let client = FileClient::new("http://127.0.0.1:1", "v25.0", FileHosts::parse("").unwrap()).unwrap();
        let function = Inbox {
            store: world.db.store_of("inbox"),
            bucket: bucket.bucket_of(&world.db, "inbox"),
            files: Files::new(client, std::env::temp_dir()),
            templates: TemplateReader::new(TemplateClient::new("http://127.0.0.1:1", "v25.0").unwrap()),
            queue: InboundQueue::new(queue.client(), "https://queue.example/inbox"),
            failures: failures.bucket(),
            metrics,
        };
        Self { world, queue, bucket, failures, function, counted }
    }

    pub(crate) fn store(&self) -> &Store {
        self.world.db.store()
    }

    pub(crate) async fn conversation(&self, customers: &[&Contact]) -> Conversation {
        let externals = customers.iter().map(|contact| World::external(contact.id, LINE)).collect();
        self.world.conversation(|conversation| conversation.externals = externals).await
    }

    /// A piece about this line with one list of items, received now.
    pub(crate) fn piece(&self, line: &str, list: &str, items: &[Value]) -> Inbound {
        let fields = json!({ "metadata": { "phone_number_id": line }, "contacts": [], list: items });
        self.change(World::ACCOUNT, "messages", fields)
    }

    /// A change of this account, received now, of an app that may speak for every workspace.
    pub(crate) fn change(&self, account: &str, field: &str, value: Value) -> Inbound {
        Inbound {
            app: ProviderAppId::parse("1042000000001").unwrap(),
            workspace: None,
            received_at: self.store().now(),
            account: account.to_owned(),
            field: field.to_owned(),
            value,
            ranks: Default::default(),
            files_since: Default::default(),
        }
    }

    /// Processes pieces in one batch. Returns the numbers of those that failed.
    pub(crate) async fn process(&self, pieces: &[Inbound]) -> Vec<String> {
        self.process_after(Duration::ZERO, pieces).await
    }

    /// The same if the invocation has run for this long already.
    pub(crate) async fn process_after(&self, ran: Duration, pieces: &[Inbound]) -> Vec<String> {
        let bodies: Vec<String> = pieces.iter().map(Inbound::body).collect();
        let began = Instant::now() - ran;
        failed_messages(self.function.handle_since(sqs_event("inbox.json", &bodies), began).await)
    }

    /// Processes one piece that the queue delivers for this time. Returns whether it is done.
    pub(crate) async fn process_again(&self, receives: u32, piece: &Inbound) -> bool {
        let event = sqs_event_again("inbox.json", &[piece.body()], receives);
        failed_messages(self.function.handle_since(event, Instant::now()).await).is_empty()
    }

    /// Processes a change of this account, signed by an app that may speak for this workspace only.
    pub(crate) async fn deliver_for(
        &self,
        only: Option<WorkspaceId>,
        account: &str,
        field: &str,
        value: Value,
    ) {
        let change = Inbound { workspace: only, ..self.change(account, field, value) };
        assert_eq!(self.process(&[change]).await, Vec::<String>::new());
    }

    pub(crate) async fn deliver(&self, field: &str, value: Value) {
        self.deliver_for(None, World::ACCOUNT, field, value).await;
    }

    /// Removes and returns what the function queued again, each with its delay in seconds.
    pub(crate) fn queued(&self) -> Vec<(Inbound, u64)> {
        let queued = self.queue.take();
        queued.iter().map(|message| (Inbound::read(&message.body).unwrap(), message.delay)).collect()
    }

    /// Another workspace with a line of its own.
    pub(crate) async fn other_workspace(&self, line: &str) -> WorkspaceId {
        let (other, _) = self.world.second_workspace().await;
        self.world.line_of(other, line, |_| ()).await;
        assert_eq!(self.store().line_claim(&ChannelId::parse(line).unwrap()).await.unwrap(), Some(other));
        other
    }
}
