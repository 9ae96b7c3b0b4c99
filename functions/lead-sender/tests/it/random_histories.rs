//! Random histories of some leads: the provider and the database fail, senders die or run concurrently, contacts
//! appear and change, and an operator retries leads. No recipient gets a message twice without an operator's retry,
//! and no lead is lost silently.

use domain::{Cellphone, Contact, LeadId, LeadState, PersonName};
use harness::{Death, Fault, RecordingProvider, call_outcomes};
use proptest::prelude::*;
use proptest::test_runner::Config;
use provider::{CallOutcome, Meaning, meaning};
use store::Table;

use crate::{Sender, said, secs, task};

/// A random step.
#[derive(Clone, Debug)]
enum Happens {
    /// A sender processes a lead, and may die at one of its calls. Provider calls have these outcomes, and then
    /// succeed.
    Wake { lead: usize, dies: Option<(usize, bool)>, outcomes: Vec<CallOutcome> },
    /// One batch has the queue messages of all leads, one of them twice. Another batch runs concurrently.
    Storm { twice: usize, outcomes: Vec<CallOutcome> },
    /// The database fails this number of times.
    Fails { lead: usize, operation: &'static str, fault: Fault, times: usize },
    /// Someone creates a contact with a lead's number, or gives it a name.
    Contact { lead: usize },
    /// An operator retries a lead, if its state allows it.
    Again { lead: usize },
    /// Lead capture is disabled or enabled.
    Switched,
    /// The sweeper queues the due leads.
    Sweep,
    /// The time advances by this number of seconds.
    Later(u64),
}

const PHONES: [&str; 3] = ["+12025550101", "+12025550102", "+12025550103"];

fn outcomes() -> impl Strategy<Value = Vec<CallOutcome>> {
    prop::collection::vec(call_outcomes(), 0..3)
}

fn happens() -> impl Strategy<Value = Happens> {
    let operation =
        prop::sample::select(vec!["GetItem", "UpdateItem", "TransactWriteItems", "Query", "BatchGetItem"]);
    let fault =
        prop::sample::select(vec![Fault::Throttled, Fault::AnswerLost, Fault::Unreachable, Fault::Conflict]);
    let lead = || 0..PHONES.len();
    prop_oneof![
        4 => (lead(), prop::option::of((0..13_usize, any::<bool>())), outcomes())
            .prop_map(|(lead, dies, outcomes)| Happens::Wake { lead, dies, outcomes }),
        1 => (lead(), outcomes()).prop_map(|(twice, outcomes)| Happens::Storm { twice, outcomes }),
        1 => (lead(), operation, fault, 1..6_usize)
            .prop_map(|(lead, operation, fault, times)| Happens::Fails { lead, operation, fault, times }),
        1 => lead().prop_map(|lead| Happens::Contact { lead }),
        1 => lead().prop_map(|lead| Happens::Again { lead }),
        1 => Just(Happens::Switched),
        1 => Just(Happens::Sweep),
        3 => prop::sample::select(vec![1, 6, 31, 95, 130, 700, 4_000, 20_000]).prop_map(Happens::Later),
    ]
}

struct Days {
    sender: Sender<RecordingProvider>,
    leads: Vec<LeadId>,
    /// The numbers of calls at which an operator retried the lead.
    again: Vec<Vec<usize>>,
    troubled: bool,
}

impl Days {
    async fn start() -> Self {
        let sender = Sender::with(RecordingProvider::default()).await;
        let mut leads = vec![];
        for phone in PHONES {
            leads.push(sender.lead_of(phone).await);
        }
        Self { sender, leads, again: vec![vec![]; PHONES.len()], troubled: false }
    }

    fn calls_of(&self, lead: usize) -> Vec<Option<CallOutcome>> {
        let calls = self.sender.provider.calls().into_iter();
        calls.filter(|call| call.to == PHONES[lead]).map(|call| call.outcome).collect()
    }

    fn provider_ends(&self, outcomes: Vec<CallOutcome>) {
        self.sender.provider.set_next(outcomes);
    }

    async fn happens(&mut self, happens: Happens) {
        let (sender, db) = (&self.sender, &self.sender.world.db);
        match happens {
            Happens::Wake { lead, dies, outcomes } => {
                self.provider_ends(outcomes);
                let wake = [task(self.leads[lead])];
                let Some((calls, carried_out)) = dies else {
                    sender.run(&wake).await;
                    return;
                };
                let mut dead = db.die_after(calls, if carried_out { Death::After } else { Death::Before });
                tokio::select! {
                    _ = sender.run(&wake) => {}
                    _ = &mut dead => {}
                }
                db.revive();
                self.troubled = true;
            }
            Happens::Storm { twice, outcomes } => {
                self.provider_ends(outcomes);
                let mut tasks: Vec<String> = self.leads.iter().map(|lead| task(*lead)).collect();
                tasks.push(task(self.leads[twice]));
                tokio::join!(sender.run(&tasks), sender.run(&tasks));
            }
            Happens::Fails { lead, operation, fault, times } => {
                db.fail(operation, fault, times);
                sender.run(&[task(self.leads[lead])]).await;
                db.heal();
                self.troubled = true;
            }
            Happens::Contact { lead } => self.contact(lead).await,
            Happens::Again { lead } => {
                if sender.try_again(self.leads[lead]).await.is_some() {
                    let calls = self.calls_of(lead).len();
                    self.again[lead].push(calls);
                }
            }
            Happens::Switched => {
                sender.change_capture(|capture| capture.enabled = !capture.enabled).await;
            }
            Happens::Sweep => {
                for id in sender.due().await {
                    sender.run(&[task(id)]).await;
                }
            }
            Happens::Later(seconds) => db.clock().advance(secs(seconds)),
        }
    }

    async fn contact(&self, lead: usize) {
        let (store, workspace) = (self.sender.store(), self.sender.world.workspace);
        let cellphone = Cellphone::parse(PHONES[lead]).unwrap();
        match store.contact_holding_cellphone(workspace, &cellphone).await.unwrap() {
            None => {
                self.sender.world.contact(|contact| contact.cellphone = Some(cellphone)).await;
            }
            Some(id) => {
                let seen = store.contact(workspace, id).await.unwrap().unwrap();
                let first_name = PersonName::parse("María").ok();
                let next = Contact { first_name, version: seen.version + 1, ..seen.clone() };
                let request = store.ids().next().to_string();
                store.replace_contact(&seen, &next, &request).await.unwrap();
            }
        }
    }

    /// Ends all failures. The sweeper processes the rest.
    async fn end(&self) {
        self.provider_ends(vec![]);
        for _ in 0..4 {
            self.sender.world.db.clock().advance(secs(86_400));
            for id in self.sender.due().await {
                self.sender.wake(id).await;
            }
        }
    }

    async fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.sender.due().await, vec![]);
        for (at, id) in self.leads.iter().enumerate() {
            let (calls, lead) = (self.calls_of(at), self.sender.stored(*id).await);
            for (number, pair) in calls.windows(2).enumerate() {
                let before = pair[0].map(meaning);
                let surely_not_taken =
                    matches!(before, Some(Meaning::Retry | Meaning::Throttled | Meaning::RecipientThrottled));
                let wanted = self.again[at].contains(&(number + 1));
                prop_assert!(surely_not_taken || wanted, "{:?} {:?}", lead, calls);
            }
            let last = calls.last().copied().flatten().map(meaning);
            let error = lead.error.as_ref().map(|error| error.as_str());
            let not_taken = last.is_none_or(|last| {
                matches!(last, Meaning::Retry | Meaning::Throttled | Meaning::RecipientThrottled)
            });
            // A retry may have ended before its call.
            let tried_again = self.again[at].contains(&calls.len());
            let expected = match (lead.state, error) {
                (LeadState::Sent, None) => last == Some(Meaning::Accepted),
                (LeadState::Failed, Some("131026")) => last == Some(Meaning::Failed),
                (LeadState::Failed, Some("GIVEN_UP")) | (LeadState::Suppressed, Some("CAPTURE_DISABLED")) => {
                    not_taken || tried_again
                }
                (LeadState::Unknown, Some("NO_ANSWER")) => last == Some(Meaning::Unknown),
                (LeadState::Unknown, Some("INTERRUPTED")) => self.troubled,
                _ => false,
            };
            prop_assert!(expected, "{:?} {:?}", lead, calls);
            prop_assert!(lead.opened || calls.is_empty());
            let part = self.sender.part(*id).await;
            prop_assert_eq!(part.is_some(), lead.opened);
            if lead.opened && self.again[at].is_empty() {
                let state = self.sender.state(*id).await;
                prop_assert_eq!(part, said(state));
            }
        }
        let opened = self.sender.world.db.rows_from(Table::Conversations, "C").len();
        prop_assert_eq!(self.sender.world.db.rows_from(Table::Messages, "M#").len(), opened);
        prop_assert!(self.sender.world.db.rows_of(Table::Contacts, "contact").len() <= PHONES.len());
        Ok(())
    }
}

async fn live(history: Vec<Happens>) -> Result<(), TestCaseError> {
    let mut days = Days::start().await;
    for happens in history {
        days.happens(happens).await;
    }
    days.end().await;
    days.check().await
}

proptest! {
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_recipient_gets_a_message_twice_and_no_lead_is_lost(history in prop::collection::vec(happens(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(live(history))?;
    }
}
