//! In-process tests of this function, with an embedded DynamoDB and a test provider.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod addresses;
mod call_outcomes;
mod chains;
mod content;
mod crash_recovery;
mod disabled_workspace;
mod leads;
mod line_throttling;
mod merged;
mod opt_outs;
mod ordering;
mod provider_simulator;
mod random_histories;
mod reports;
mod uncertain_begin;
mod waiting_templates;
mod windows;

use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use domain::conversation::Opening;
use domain::media::Attached;
use domain::message::Draft;
use domain::sending::{PartError, SendSchedule};
use domain::settings::template::Requested;
use domain::{
    Cellphone, Contact, Conversation, ConversationId, External, LaneId, LaneKind, Message, MessageId,
    MessageStatus, OnboardingPlan, Recipient,
};
use harness::{TestBucket, TestQueue, World, context, failed_messages, queue_event};
use lambda_runtime::LambdaEvent;
use message_sender::Engine;
use provider::Provider;
use queue::{InboundQueue, Queues};
use runtime::metrics::Kept;
use runtime::{Metrics, SendRules};
use serde_json::json;
use store::{Opened, Store, Table};

pub(crate) use harness::TestProvider;

pub(crate) const LEASE: Duration = Duration::from_secs(90);
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const FIRST_DUE: Duration = Duration::from_secs(120);
pub(crate) const LINE: &str = "1045551234567";
/// The conversation of `events/message-sender.json`.
pub(crate) const CONVERSATION: &str = "9b1d3f5a-7c9e-4b2d-8f4a-6c8e0a2b4d6f";

/// A workspace, a provider, and the function.
pub(crate) struct Sender<P = TestProvider> {
    pub(crate) world: World,
    pub(crate) sqs: TestQueue,
    pub(crate) inbox: TestQueue,
    pub(crate) provider: P,
    pub(crate) engine: Engine<P>,
    pub(crate) counted: Kept,
}

impl Sender {
    /// A workspace with a line, and a provider that accepts everything.
    pub(crate) async fn start() -> Self {
        Self::with(TestProvider::default()).await
    }
}

impl<P: Provider + Clone> Sender<P> {
    pub(crate) async fn with(provider: P) -> Self {
        let world = World::start().await;
        world.line(LINE, |_| ()).await;
        let (sqs, inbox) = (TestQueue::default(), TestQueue::default());
        let bucket = TestBucket::beside(&world.db);
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let engine = Engine {
            store: world.db.store_of("message-sender"),
            bucket: bucket.bucket_of(&world.db, "message-sender"),
            queues: Queues::default().with(
                LaneKind::Conversation,
                sqs.client(),
                "http://queue.invalid/1/sends",
            ),
            inbox: InboundQueue::new(inbox.client(), "http://queue.invalid/1/inbox"),
            provider: provider.clone(),
            rules: rules(),
            metrics,
        };
        Self { world, sqs, inbox, provider, engine, counted }
    }

    pub(crate) fn store(&self) -> &Store {
        self.world.db.store()
    }

    /// A customer with this number.
    pub(crate) async fn customer(&self, cellphone: &str) -> Contact {
        self.world.contact(|contact| contact.cellphone = Cellphone::parse(cellphone).ok()).await
    }

    /// The conversation of `events/message-sender.json`, with these customers.
    pub(crate) async fn conversation(&self, customers: &[&Contact]) -> Conversation {
        self.conversation_with(ConversationId::parse(CONVERSATION).unwrap(), customers, &[]).await
    }

    /// A conversation with these customers and an onboarding plan of these templates.
    pub(crate) async fn conversation_with(
        &self,
        id: ConversationId,
        customers: &[&Contact],
        steps: &[Requested],
    ) -> Conversation {
        let now = self.store().now();
        let externals: Vec<External> =
            customers.iter().map(|contact| World::external(contact.id, LINE)).collect();
        let recipients: Vec<Recipient> = externals
            .iter()
            .map(|external| Recipient { contact: external.contact, channel: external.channel.clone() })
            .collect();
        let conversation = Conversation { externals, ..Conversation::blank(id, self.world.workspace, now) };
        let plan = OnboardingPlan {
            workspace_id: self.world.workspace,
            conversation: id,
            recipients,
            steps: steps.iter().cloned().map(World::content).collect(),
            done: 0,
            created_at: now,
        };
        let plan = (!steps.is_empty()).then_some(plan);
        let opening = Opening { conversation, new_contacts: vec![], plan };
        let opened = self.store().open_conversation(&opening, FIRST_DUE, None, "seed").await;
        assert_eq!(opened.unwrap(), Opened::Done);
        opening.conversation
    }

    /// Adds a text message to a conversation.
    pub(crate) async fn say(&self, conversation: &Conversation, text: &str) -> MessageId {
        self.world.say(conversation, text).await.id
    }

    /// Adds a message to a conversation, as the API does.
    pub(crate) async fn take(
        &self,
        conversation: &Conversation,
        text: Option<&str>,
        files: Vec<Attached>,
        change: impl FnOnce(&mut Draft),
    ) -> MessageId {
        self.world.message(conversation, text, files, change).await.id
    }

    /// A message of [`CONVERSATION`] from the store.
    pub(crate) async fn message(&self, id: MessageId) -> Message {
        let conversation = ConversationId::parse(CONVERSATION).unwrap();
        self.message_in(conversation, id).await
    }

    pub(crate) async fn message_in(&self, conversation: ConversationId, id: MessageId) -> Message {
        self.store().message(self.world.workspace, conversation, id).await.unwrap().unwrap()
    }

    /// The status and error of each part of a message of [`CONVERSATION`].
    pub(crate) async fn parts(&self, id: MessageId) -> Vec<(MessageStatus, Option<String>)> {
        let parts = self.message(id).await.parts.into_iter();
        parts.map(|part| (part.status, part.error.as_ref().map(|error| error.as_str().to_owned()))).collect()
    }

    /// Runs the function with `events/message-sender.json`; the message must not fail.
    pub(crate) async fn wake(&self) {
        assert_eq!(self.run(&[task(CONVERSATION)]).await, Vec::<String>::new());
    }

    /// Runs the function with these messages. Returns the numbers of the failed ones.
    pub(crate) async fn run(&self, bodies: &[String]) -> Vec<String> {
        failed_messages(self.engine.handle(self.event(bodies)).await.unwrap())
    }

    pub(crate) fn event(&self, bodies: &[String]) -> LambdaEvent<SqsEvent> {
        queue_event("message-sender.json", bodies, context(self.store().now(), TIMEOUT))
    }

    /// The conversations that the sweeper finds without an earlier visit, including those of lost queue messages.
    pub(crate) async fn rescued(&self) -> Vec<String> {
        let due = self.world.db.due_after(LaneKind::Conversation, FIRST_DUE + Duration::from_secs(30)).await;
        due.into_iter().map(conversation_of).collect()
    }

    /// The conversations that are due, as the sweeper finds them.
    pub(crate) async fn due(&self) -> Vec<String> {
        self.world.db.due(LaneKind::Conversation).await.into_iter().map(conversation_of).collect()
    }

    /// The attributes of the lane of [`CONVERSATION`], without those of every row.
    pub(crate) fn lane(&self) -> serde_json::Value {
        let rows = self.world.db.rows(Table::Messages);
        let mut lane = rows.into_iter().find(|row| row["sk"]["S"] == "L").unwrap();
        let counts = ["outbound", "inbound", "internal", "firstAt", "lastAt"];
        for name in ["pk", "sk", "kind", "sv", "lastRequest", "mark"].into_iter().chain(counts) {
            lane.as_object_mut().unwrap().remove(name);
        }
        lane
    }

    /// The number of rows in the partitions of conversations whose sort keys have this prefix.
    pub(crate) fn rows(&self, prefix: &str) -> usize {
        let rows = self.world.db.rows_from(Table::Messages, prefix);
        rows.iter().filter(|row| row["pk"]["S"].as_str().unwrap().contains("#C#")).count()
    }

    /// Checks that no work is left and that the lane is neither due nor leased.
    pub(crate) fn assert_idle(&self, seq: u64) {
        assert_eq!(self.lane(), json!({ "seq": { "N": seq.to_string() } }));
        assert_eq!((self.rows("Q#"), self.rows("P")), (0, 0));
        assert_eq!(self.sqs.take(), []);
    }
}

pub(crate) fn rules() -> SendRules {
    SendRules {
        schedule: SendSchedule::recommended(),
        call: Duration::from_secs(10),
        lease: LEASE,
        rescue: FIRST_DUE,
    }
}

fn conversation_of(lane: LaneId) -> String {
    match lane {
        LaneId::Conversation(_, conversation) => conversation.to_string(),
        other => panic!("{other}"),
    }
}

/// The queue message of a conversation.
pub(crate) fn task(conversation: &str) -> String {
    let workspace = World::WORKSPACE;
    format!(r#"{{"lane":"conversation","workspaceId":"{workspace}","conversationId":"{conversation}"}}"#)
}

pub(crate) fn sent(parts: usize) -> Vec<(MessageStatus, Option<String>)> {
    vec![(MessageStatus::Sent, None); parts]
}

pub(crate) fn unknown(word: &str) -> (MessageStatus, Option<String>) {
    (MessageStatus::Unknown, Some(word.to_owned()))
}

pub(crate) fn failed(word: &str) -> (MessageStatus, Option<String>) {
    (MessageStatus::Failed, Some(word.to_owned()))
}

pub(crate) const INTERRUPTED: &str = PartError::INTERRUPTED;
