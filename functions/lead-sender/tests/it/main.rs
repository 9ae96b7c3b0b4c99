//! In-process tests of this function, with an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod chains;
mod contact_of_lead;
mod crash_recovery;
mod disabled_workspace;
mod judgement;
mod opening;
mod retries;

use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use domain::settings::template::{ContactField, ParameterValue, Source, Variable};
use domain::{
    Capture, LaneId, LaneKind, Lead, LeadId, LeadState, Message, MessageId, MessageStatus, Template,
};
use harness::{TestQueue, World, context, failed_messages, queue_event};
use lambda_runtime::LambdaEvent;
use lead_sender::Engine;
use queue::Queues;
use runtime::Metrics;
use runtime::metrics::Kept;
use serde_json::Value;
use store::{Store, Table};

pub(crate) const LEASE: Duration = Duration::from_secs(90);
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
/// How long after its acceptance the sweeper queues a lead.
pub(crate) const FIRST_DUE: Duration = Duration::from_secs(120);
pub(crate) const LINE: &str = "1045551234567";
/// The default number of leads.
pub(crate) const PHONE: &str = "+12025550101";

/// A workspace with lead capture, and the function.
pub(crate) struct Sender {
    pub(crate) world: World,
    pub(crate) sqs: TestQueue,
    pub(crate) engine: Engine,
    pub(crate) counted: Kept,
    /// The lead template, with both names of a contact.
    pub(crate) template: Template,
}

impl Sender {
    /// A workspace with a line and lead capture.
    pub(crate) async fn start() -> Self {
        let world = World::start().await;
        world.line(LINE, |_| ()).await;
        let template = world
            .template(|template| {
                template.name = "lead_hello".to_owned();
                template.set_variables(vec![
                    of_contact("first", ContactField::FirstName, Some("friend")),
                    of_contact("last", ContactField::LastName, Some("of ours")),
                ]);
            })
            .await;
        world.capture(|capture| capture.template = Some(template.id)).await;
        let sqs = TestQueue::default();
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let engine = Engine {
            store: world.db.store_of("lead-sender"),
            queues: Queues::default().with(LaneKind::Lead, sqs.client(), "http://queue.invalid/1/lead-sends"),
            lease: LEASE,
            rescue: FIRST_DUE,
            metrics,
        };
        Self { world, sqs, engine, template, counted }
    }

    pub(crate) fn store(&self) -> &Store {
        self.world.db.store()
    }

    /// Accepts a lead with [`PHONE`], by Ana Pérez.
    pub(crate) async fn lead(&self) -> LeadId {
        self.lead_of(PHONE).await
    }

    /// Accepts a lead with that number.
    pub(crate) async fn lead_of(&self, cellphone: &str) -> LeadId {
        self.world.lead(cellphone, |_| ()).await.id
    }

    /// A lead from the store.
    pub(crate) async fn stored(&self, id: LeadId) -> Lead {
        self.store().lead(self.world.workspace, id).await.unwrap().unwrap()
    }

    /// The state of a lead, and its reason.
    pub(crate) async fn state(&self, id: LeadId) -> (LeadState, Option<String>) {
        let lead = self.stored(id).await;
        (lead.state, lead.error.map(|error| error.as_str().to_owned()))
    }

    /// A lead's message.
    pub(crate) async fn message(&self, id: LeadId) -> Option<Message> {
        let lead = self.stored(id).await;
        self.store().message(lead.workspace_id, lead.conversation, lead.message).await.unwrap()
    }

    /// Ends the lead's message in this status, and lets the lead follow it, as the sender and the relay do.
    pub(crate) async fn ends(&self, id: LeadId, status: MessageStatus) {
        let mut message = self.message(id).await.unwrap();
        message.parts[0].status = status;
        message.version += 1;
        self.store().follow_message(&message).await.unwrap();
    }

    /// Makes the operator retry a lead.
    pub(crate) async fn try_again(&self, id: LeadId) -> Option<Lead> {
        let lead = self.stored(id).await;
        let next = lead.retried(MessageId::generate(self.store().ids()), self.store().now())?;
        assert!(self.store().retry_lead(&lead, &next, None).await.unwrap());
        Some(next)
    }

    /// Changes the workspace's set-up.
    pub(crate) async fn change_capture(&self, change: impl FnOnce(&mut Capture)) {
        let mut capture = self.store().capture(self.world.workspace).await.unwrap().unwrap();
        change(&mut capture);
        capture.version += 1;
        self.world.save_capture(&capture).await;
    }

    /// Runs the function for a lead; the queue message must not fail.
    pub(crate) async fn wake(&self, id: LeadId) {
        assert_eq!(self.run(&[task(id)]).await, Vec::<String>::new());
    }

    /// Runs the function with these messages. Returns the numbers of the failed ones.
    pub(crate) async fn run(&self, bodies: &[String]) -> Vec<String> {
        failed_messages(self.engine.handle(self.event(bodies)).await.unwrap())
    }

    pub(crate) fn event(&self, bodies: &[String]) -> LambdaEvent<SqsEvent> {
        queue_event("lead-sender.json", bodies, context(self.store().now(), TIMEOUT))
    }

    /// The leads that are due, as the sweeper finds them.
    pub(crate) async fn due(&self) -> Vec<LeadId> {
        self.world.db.due(LaneKind::Lead).await.into_iter().map(lead_of).collect()
    }

    /// A lead's row.
    pub(crate) fn row(&self, id: LeadId) -> Value {
        self.world.db.row(Table::Leads, &format!("{}#L#{id}", World::WORKSPACE), "L")
    }

    /// The number of rows in each of the tables that a lead writes.
    pub(crate) fn created(&self) -> [usize; 3] {
        [Table::Contacts, Table::Conversations, Table::Messages].map(|table| self.world.db.rows(table).len())
    }

    /// Checks that the lead is neither due nor leased.
    pub(crate) fn assert_idle(&self, id: LeadId) {
        let row = self.row(id);
        for name in ["dueAt", "dueShard", "lease", "leaseUntil"] {
            assert!(row.get(name).is_none(), "{row}");
        }
        assert_eq!(self.sqs.take(), []);
    }
}

fn lead_of(lane: LaneId) -> LeadId {
    match lane {
        LaneId::Lead(_, lead) => lead,
        other => panic!("{other}"),
    }
}

/// The queue message of a lead.
pub(crate) fn task(id: LeadId) -> String {
    format!(r#"{{"lane":"lead","workspaceId":"{}","leadId":"{id}"}}"#, World::WORKSPACE)
}

pub(crate) fn of_contact(name: &str, field: ContactField, fallback: Option<&str>) -> Variable {
    let fallback = fallback.map(|text| ParameterValue::parse(text).unwrap());
    Variable { name: name.to_owned(), source: Source::Contact { field, fallback } }
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The state of a lead whose message is to be sent.
pub(crate) const OPENED: (LeadState, Option<String>) = (LeadState::Sending, None);

pub(crate) fn failed(word: &str) -> (LeadState, Option<String>) {
    (LeadState::Failed, Some(word.to_owned()))
}

pub(crate) fn suppressed(word: &str) -> (LeadState, Option<String>) {
    (LeadState::Suppressed, Some(word.to_owned()))
}
