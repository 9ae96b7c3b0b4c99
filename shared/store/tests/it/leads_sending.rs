//! Leads under a lease, leads that follow their messages, the operators' list of leads, and opt-outs.

use std::time::Duration;

use domain::choices::{Choice, ChoiceScope, ChoiceSource, Chooser, Chosen};
use domain::contact::search::SearchQuery;
use domain::sending::PartError;
use domain::{
    Cellphone, Contact, LaneId, LaneKind, Lead, LeadId, LeadState, Message, MessageId, MessageStatus,
    PersonName, ProviderUserId, Timestamp, WorkspaceId,
};
use harness::{Death, Fault, OptedOut, TestClock, TestDb, World, trips};
use serde_json::{Value, json};
use store::{
    ContactQuery, Created, LeadFilter, LeadOpening, LeadRecorded, Lease, LeasedLead, Replaced, Store, Table,
};
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(90);
const FIRST_DUE: Duration = Duration::from_secs(120);
const RETRY_FOR: Duration = Duration::from_secs(5);
const PHONE: &str = "+12025550101";
const LINE: &str = "1045551234567";

/// A workspace with one line and one lead.
struct Leads {
    world: World,
    lead: Lead,
}

impl Leads {
    async fn start() -> Self {
        let world = World::start().await;
        world.line(LINE, |_| ()).await;
        let lead = world.lead(PHONE, |_| ()).await;
        Self { world, lead }
    }

    fn db(&self) -> &TestDb {
        &self.world.db
    }

    fn store(&self) -> &Store {
        self.world.db.store()
    }

    async fn lease(&self) -> Lease {
        self.store().lease_lane(LaneId::Lead(self.world.workspace, self.lead.id), LEASE).await.unwrap()
    }

    async fn taken(&self) -> LeasedLead {
        match self.lease().await {
            Lease::Taken(leased) => LeasedLead::of(&leased).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Opens a lead under a lease.
    async fn open(&self, leased: &LeasedLead, found: Option<&Contact>) -> (LeadRecorded, Lead) {
        let (next, opening) = self.world.opening(&leased.lead, found).await;
        let opened = self.store().open_lead(leased, &next, &opening, FIRST_DUE, RETRY_FOR).await.unwrap();
        (opened, next)
    }

    async fn stored(&self) -> Lead {
        self.store().lead(self.world.workspace, self.lead.id).await.unwrap().unwrap()
    }

    async fn message(&self) -> Message {
        let Lead { workspace_id, conversation, message, .. } = self.lead;
        self.store().message(workspace_id, conversation, message).await.unwrap().unwrap()
    }

    fn row(&self) -> Value {
        let rows = self.db().rows(Table::Leads);
        rows.into_iter().find(|row| row["sk"]["S"] == "L").unwrap()
    }

    async fn due(&self) -> Vec<LaneId> {
        self.db().due(LaneKind::Lead).await
    }

    /// The number of rows that a lead creates in each table, without search rows.
    fn opened(&self) -> [usize; 3] {
        let tables = [Table::Contacts, Table::Conversations, Table::Messages];
        tables.map(|table| self.db().rows(table).iter().filter(|row| !is_hint(row)).count())
    }

    /// The number of search rows.
    fn hints(&self) -> usize {
        self.db().rows(Table::Contacts).iter().filter(|row| is_hint(row)).count()
    }

    /// The contacts that a search by the lead's number shows.
    async fn found(&self) -> Vec<domain::ContactId> {
        let search = SearchQuery::parse(PHONE).unwrap();
        let query =
            ContactQuery { owner: None, external_id: None, search: Some(search), page_size: 10, after: None };
        let page = self.store().contacts_page(self.world.workspace, query).await.unwrap();
        page.items.into_iter().map(|contact| contact.id).collect()
    }
}

fn is_hint(row: &Value) -> bool {
    ["term", "phone"].contains(&row["kind"]["S"].as_str().unwrap())
}

/// A contact and its identity; a conversation and two lists; a message, its entry and a lane.
const OPENED: [usize; 3] = [2, 3, 3];
/// Three forms of the number and two names.
const HINTS: usize = 5;

#[tokio::test]
async fn a_missing_or_judged_lead_is_not_leased() {
    let leads = Leads::start().await;
    let (workspace, nobody) = (leads.world.workspace, LeadId::from_uuid(Uuid::from_u128(1)));
    let elsewhere = WorkspaceId::from_uuid(Uuid::from_u128(1));
    for (workspace, id) in [(workspace, nobody), (elsewhere, leads.lead.id)] {
        let lease = leads.store().lease_lane(LaneId::Lead(workspace, id), LEASE).await.unwrap();
        assert_eq!(lease, Lease::Unknown);
    }
    let rows = leads.db().rows(Table::Leads);
    assert_eq!(rows.iter().filter(|row| row["sk"]["S"] == "L").count(), 1, "none is made by asking");
    let leased = leads.taken().await;
    leads.open(&leased, None).await;
    assert_eq!((leads.stored().await.state, leads.lease().await), (LeadState::Sending, Lease::Finished));
}

#[tokio::test]
async fn the_opening_writes_all_rows_of_the_lead_in_two_round_trips() {
    let leads = Leads::start().await;
    let leased = leads.taken().await;
    let (next, opening) = leads.world.opening(&leased.lead, None).await;
    leads.store().workspace(leads.world.workspace).await.unwrap();
    leads.db().forget_calls();
    let opened = leads.store().open_lead(&leased, &next, &opening, FIRST_DUE, RETRY_FOR).await.unwrap();
    let calls: Vec<String> = leads.db().calls().into_iter().map(|call| call.operation).collect();
    assert_eq!(opened, LeadRecorded::Done);
    assert_eq!(calls, ["BatchWriteItem", "TransactWriteItems"], "what it is found by, and all the rest");
    assert_eq!((leads.stored().await, leads.opened(), leads.hints()), (next.clone(), OPENED, HINTS));
    assert_eq!(leads.found().await, [next.contact]);
    let conversation = leads.store().conversation(leads.world.workspace, leads.lead.conversation).await;
    assert_eq!(conversation.unwrap(), opening.conversation);
    assert_eq!(Some(leads.message().await), opening.message);
    let contact = leads.store().contact(leads.world.workspace, next.contact).await.unwrap();
    assert_eq!(contact, opening.contact.map(|(_, contact)| contact));
    let lane =
        leads.store().lane_state(leads.world.workspace, leads.lead.conversation).await.unwrap().unwrap();
    let due_at = leads.store().now().plus(FIRST_DUE);
    assert_eq!((lane.seq, lane.lease, lane.due_at), (1, None, Some(due_at)));
    assert_eq!(lane.open.entries.iter().map(|entry| entry.message).collect::<Vec<_>>(), [next.message]);
    assert_eq!((leads.due().await, leads.row().get("lease")), (vec![], None), "the lease is over");
}

#[tokio::test]
async fn nothing_that_happens_to_a_lead_changes_its_consent_or_its_data() {
    let leads = Leads::start().await;
    let before = leads.row();
    let leased = leads.taken().await;
    leads.open(&leased, None).await;
    let mut message = leads.message().await;
    (message.parts[0].status, message.version) = (MessageStatus::Sent, 2);
    leads.store().follow_message(&message).await.unwrap();
    let after = leads.row();
    let constant = [
        "consent",
        "cellphone",
        "name",
        "brandId",
        "landingUri",
        "utm",
        "conversationId",
        "messageId",
        "createdAt",
        "timePk",
        "timeSk",
        "contactId",
    ];
    for name in constant {
        assert!(!before[name].is_null(), "{name}");
        assert_eq!(after[name], before[name], "{name}");
    }
    assert_eq!(leads.stored().await.consent, leads.lead.consent);
}

#[tokio::test]
async fn an_opening_whose_answer_is_lost_several_times_is_recognised() {
    // The SDK makes three attempts; the fourth is a new transaction.
    for (fault, times) in
        [(Fault::AnswerLost, 1), (Fault::AnswerLost, 4), (Fault::Conflict, 3), (Fault::ItemThrottled, 3)]
    {
        let leads = Leads::start().await;
        let leased = leads.taken().await;
        leads.db().fail("TransactWriteItems", fault, times);
        let (opened, next) = leads.open(&leased, None).await;
        assert_eq!((opened, leads.stored().await), (LeadRecorded::Done, next), "{fault:?} {times}");
        assert_eq!(leads.opened(), OPENED);
    }
}

#[tokio::test]
async fn only_one_of_two_visitors_that_assume_the_lease_opens_the_lead() {
    let leads = Leads::start().await;
    let late = leads.taken().await;
    leads.db().clock().advance(LEASE + Duration::from_millis(1));
    let mine = leads.taken().await;
    assert_eq!(leads.open(&late, None).await.0, LeadRecorded::Lost);
    assert_eq!(leads.opened(), [0, 0, 0]);
    let (opened, next) = leads.open(&mine, None).await;
    assert_eq!((opened, leads.open(&late, None).await.0), (LeadRecorded::Done, LeadRecorded::Lost));
    let suppressed = late.lead.suppressed(PartError::of("x"), TestClock::START);
    let nothing = LeadOpening::default();
    let record = leads.store().open_lead(&late, &suppressed, &nothing, FIRST_DUE, RETRY_FOR).await;
    assert_eq!(record.unwrap(), LeadRecorded::Lost);
    assert_eq!((leads.stored().await, leads.opened()), (next, OPENED));
}

#[tokio::test]
async fn a_suppressed_lead_is_one_write_and_creates_nothing() {
    let leads = Leads::start().await;
    let leased = leads.taken().await;
    let next = leased.lead.suppressed(PartError::of(PartError::OPTED_OUT), leads.store().now());
    leads.db().forget_calls();
    leads.db().fail("UpdateItem", Fault::AnswerLost, 4);
    let record = leads.store().open_lead(&leased, &next, &LeadOpening::default(), FIRST_DUE, RETRY_FOR).await;
    assert_eq!(record.unwrap(), LeadRecorded::Done, "its answer was lost");
    assert!(leads.db().calls().iter().all(|call| call.operation == "UpdateItem"));
    assert_eq!((leads.stored().await, leads.opened()), (next, [0, 0, 0]));
    assert_eq!(leads.row()["state"]["S"], "SUPPRESSED");
}

#[tokio::test]
async fn a_visitor_that_dies_before_the_contact_is_stored_leaves_nothing_that_a_search_shows() {
    for (death, calls) in [(Death::Before, 1), (Death::After, 0)] {
        let leads = Leads::start().await;
        let leased = leads.taken().await;
        leads.store().workspace(leads.world.workspace).await.unwrap();
        let (next, opening) = leads.world.opening(&leased.lead, None).await;
        let dead = leads.db().die_after(calls, death);
        tokio::select! {
            _ = leads.store().open_lead(&leased, &next, &opening, FIRST_DUE, RETRY_FOR) => panic!("it is dead"),
            _ = dead => {}
        }
        leads.db().revive();
        assert_eq!((leads.hints(), leads.opened()), (HINTS, [0, 0, 0]), "{death:?}");
        assert_eq!(leads.found().await, [], "{death:?}");
        // The next visitor creates the same contact with these rows.
        leads.db().clock().advance(LEASE + Duration::from_millis(1));
        let leased = leads.taken().await;
        let (_, next) = leads.open(&leased, None).await;
        assert_eq!((leads.hints(), leads.opened()), (HINTS, OPENED), "{death:?}");
        assert_eq!(leads.found().await, [next.contact], "{death:?}");
    }
}

#[tokio::test]
async fn a_contact_changed_or_created_meanwhile_is_stale_and_nothing_is_written() {
    let leads = Leads::start().await;
    let leased = leads.taken().await;
    let blank = |id: u128| {
        let id = domain::ContactId::from_uuid(Uuid::from_u128(id));
        let cellphone = Some(leads.lead.cellphone.clone());
        Contact { cellphone, ..Contact::blank(id, leads.world.workspace, TestClock::START) }
    };
    let contact = blank(1);
    assert_eq!(leads.store().create_contact(&contact, "seed").await.unwrap(), Created::Done);
    let rows = leads.opened();
    let hints = leads.hints();
    assert_eq!(leads.open(&leased, None).await.0, LeadRecorded::Stale, "the number is taken");
    assert_eq!((leads.hints(), leads.found().await), (hints, vec![contact.id]), "none is left of nobody");

    let next = Contact { first_name: PersonName::parse("María").ok(), version: 2, ..contact.clone() };
    assert_eq!(leads.store().replace_contact(&contact, &next, "next").await.unwrap(), Replaced::Done);
    assert_eq!(leads.open(&leased, Some(&contact)).await.0, LeadRecorded::Stale, "it has a name");
    assert_eq!(leads.open(&leased, Some(&blank(2))).await.0, LeadRecorded::Stale, "it no longer exists");
    assert_eq!(leads.stored().await, leased.lead);
    assert_eq!(leads.opened()[1..], rows[1..]);

    let (opened, after) = leads.open(&leased, Some(&next)).await;
    assert_eq!((opened, after.contact), (LeadRecorded::Done, next.id));
    let stored = leads.store().contact(leads.world.workspace, next.id).await.unwrap();
    assert_eq!(stored, Some(next), "a contact with a name is not overwritten");
}

#[tokio::test]
async fn a_message_whose_number_was_taken_is_stale() {
    let leads = Leads::start().await;
    let leased = leads.taken().await;
    leads.open(&leased, None).await;
    let failed = leads.stored().await;
    let (store, mut message) = (leads.store(), leads.message().await);
    (message.parts[0].status, message.version) = (MessageStatus::Failed, 2);
    store.follow_message(&message).await.unwrap();
    let seen = leads.stored().await;
    let next = seen.retried(MessageId::from_uuid(Uuid::from_u128(5)), store.now()).unwrap();
    assert!(store.retry_lead(&seen, &next, None).await.unwrap());
    let leased = leads.taken().await;
    let again = |seq| {
        let message = Message { id: next.message, seq, version: 1, ..message.clone() };
        LeadOpening { contact: None, conversation: None, message: Some(message) }
    };
    let sending = next.opened_for(failed.contact, Some(failed.conversation), None, store.now());
    for (seq, expected) in [(1, LeadRecorded::Stale), (3, LeadRecorded::Stale), (2, LeadRecorded::Done)] {
        let recorded = store.open_lead(&leased, &sending, &again(seq), FIRST_DUE, RETRY_FOR).await;
        assert_eq!(recorded.unwrap(), expected, "{seq}");
    }
    assert_eq!(store.last_seq(failed.workspace_id, failed.conversation).await.unwrap(), 2);
}

#[tokio::test]
async fn a_lead_follows_the_latest_version_of_its_message_and_of_no_other() {
    let leads = Leads::start().await;
    let leased = leads.taken().await;
    let (_, opened) = leads.open(&leased, None).await;
    let message = leads.message().await;
    let of = |status, version: u64, error: Option<&str>| {
        let mut next = Message { version, ..message.clone() };
        next.parts[0].status = status;
        next.parts[0].error = error.map(|code| PartError::of(code).because("why"));
        next.updated_at = message.updated_at.plus(Duration::from_secs(version));
        next
    };
    let follow = async |message: &Message| {
        leads.store().follow_message(message).await.unwrap();
        let lead = leads.stored().await;
        (lead.state, lead.error.map(|error| error.as_str().to_owned()), lead.message_version, lead.version)
    };
    let sent = (LeadState::Sent, None, Some(3), 3);
    assert_eq!(follow(&of(MessageStatus::Sent, 3, None)).await, sent);
    // The index of leads shows only those that ended without a message.
    assert!(leads.row().get("state").is_none());
    // A record comes again, or late.
    assert_eq!(follow(&of(MessageStatus::Sent, 3, None)).await, sent);
    assert_eq!(follow(&of(MessageStatus::Unknown, 2, Some("NO_ANSWER"))).await, sent);
    // A later status counts.
    let failed = (LeadState::Failed, Some("131026".to_owned()), Some(5), 4);
    assert_eq!(follow(&of(MessageStatus::Failed, 5, Some("131026"))).await, failed);
    assert_eq!(leads.row()["state"]["S"], "FAILED");
    assert_eq!(leads.stored().await.error.unwrap().detail(), Some("why"));
    assert_eq!(leads.stored().await.updated_at, message.updated_at.plus(Duration::from_secs(5)));
    // Another message, and a message of nobody.
    let other = Message { id: MessageId::from_uuid(Uuid::from_u128(9)), ..of(MessageStatus::Sent, 9, None) };
    assert_eq!(follow(&other).await, failed);
    assert_eq!(follow(&Message { lead: None, ..of(MessageStatus::Sent, 9, None) }).await, failed);
    assert_eq!((opened.version, opened.message_version), (2, None));
    // An erased lead is not made anew.
    leads.store().erase_lead(&leads.stored().await).await.unwrap();
    leads.store().follow_message(&of(MessageStatus::Sent, 9, None)).await.unwrap();
    assert_eq!(leads.store().lead(leads.world.workspace, leads.lead.id).await.unwrap(), None);
}

#[tokio::test]
async fn a_retried_lead_is_due_at_once_if_it_was_not_changed_since_it_was_read() {
    let leads = Leads::start().await;
    let leased = leads.taken().await;
    leads.open(&leased, None).await;
    let mut message = leads.message().await;
    (message.parts[0].status, message.version) = (MessageStatus::Failed, 2);
    message.parts[0].error = Some(PartError::of("131026"));
    leads.store().follow_message(&message).await.unwrap();
    let failed = leads.stored().await;
    leads.db().clock().advance(Duration::from_secs(60));
    let next = failed.retried(MessageId::from_uuid(Uuid::from_u128(5)), leads.store().now()).unwrap();
    leads.db().forget_calls();
    leads.db().fail("UpdateItem", Fault::AnswerLost, 1);
    assert!(leads.store().retry_lead(&failed, &next, None).await.unwrap());
    assert_eq!(leads.db().calls().len(), 2, "the SDK repeats what was lost");
    assert_eq!((leads.stored().await, leads.due().await.len()), (next.clone(), 1));
    assert!(leads.row().get("error").is_none() && leads.row()["timeSk"]["S"].is_string());
    assert!(!leads.store().retry_lead(&failed, &next, None).await.unwrap(), "it is another version");
    assert_eq!(leads.taken().await.lead, next);
}

#[tokio::test]
async fn numbers_opt_out_and_in() {
    let leads = Leads::start().await;
    let (store, workspace) = (leads.store(), leads.world.workspace);
    let opt_out = |phone: &str, millis| (Cellphone::parse(phone).unwrap(), Timestamp::from_millis(millis));
    let ((one, _), (other, _)) = (opt_out(PHONE, 1), opt_out("+12025550102", 2));
    let add = async |(cellphone, since)| {
        store.opt_out(workspace, &cellphone, ChoiceScope::All, since, harness::operator()).await.unwrap()
    };
    assert!(!store.opted_out(workspace, &one).await.unwrap());
    assert!(add(opt_out("+12025550102", 2)).await && add(opt_out(PHONE, 1)).await);
    assert!(!add(opt_out(PHONE, 3)).await, "it stays since when it was");
    leads.db().fail("PutItem", Fault::AnswerLost, 1);
    assert!(add(opt_out("+12025550103", 4)).await, "its answer was lost");
    assert!(store.opted_out(workspace, &one).await.unwrap());
    let listed = [opt_out(PHONE, 1), opt_out("+12025550102", 2), opt_out("+12025550103", 4)];
    let listed = listed.map(|(cellphone, since)| (Some(Chooser::Number(cellphone)), since));
    let stored = store.opt_outs(workspace).await.unwrap();
    assert_eq!(
        stored
            .into_iter()
            .map(|stored| (stored.chooser, stored.scopes[&ChoiceScope::All].since))
            .collect::<Vec<_>>(),
        listed
    );
    let elsewhere = WorkspaceId::from_uuid(Uuid::from_u128(1));
    assert!(!store.opted_out(elsewhere, &one).await.unwrap());
    assert_eq!(store.opt_outs(elsewhere).await.unwrap(), []);

    let seen = store.choices(workspace, &one).await.unwrap().unwrap();
    assert!(store.opt_in(&seen, harness::operator()).await.unwrap());
    assert!(!store.opted_out(workspace, &one).await.unwrap());
    assert!(store.opted_out(workspace, &other).await.unwrap());

    store.hide_opt_out(workspace, &other).await.unwrap();
    store.hide_opt_out(workspace, &one).await.unwrap();
    assert!(store.opted_out(workspace, &other).await.unwrap(), "it holds without its number");
    assert!(!store.opted_out(workspace, &one).await.unwrap(), "hiding makes no opt-out");
    let rows = leads.db().rows(Table::Leads);
    store.hide_opt_out(workspace, &Cellphone::parse("+12025550104").unwrap()).await.unwrap();
    assert_eq!(leads.db().rows(Table::Leads), rows, "this number never chose");
    assert_eq!(store.opt_outs(workspace).await.unwrap()[0].chooser, None);
    assert!(store.lead(workspace, leads.lead.id).await.unwrap().is_some(), "leads are no numbers");
}

#[tokio::test]
async fn a_choice_holds_for_the_number_and_the_user_id_and_a_late_one_changes_neither() {
    let leads = Leads::start().await;
    let (store, workspace) = (leads.store(), leads.world.workspace);
    let phone = Cellphone::parse(PHONE).unwrap();
    let user = ProviderUserId::parse("US.13491208655302741918").unwrap();
    let choosers = [Chooser::from(&phone), Chooser::from(&user)];
    let choose = async |choice, millis| {
        let at = Timestamp::from_millis(millis);
        let (scopes, source) = ([ChoiceScope::All].into(), ChoiceSource::Keyword);
        let chosen = Chosen { choice, scopes, source, at };
        store.choose(workspace, &choosers, &chosen).await.unwrap()
    };
    let is_out = async || {
        let (number, user) = (
            store.opted_out(workspace, &phone).await.unwrap(),
            store.opted_out(workspace, &user).await.unwrap(),
        );
        assert_eq!(number, user);
        number
    };
    assert!(choose(Choice::Out, 1_000).await && is_out().await);
    assert!(!choose(Choice::Out, 1_000).await, "a repeat");
    assert!(choose(Choice::In, 2_000).await && !is_out().await);
    assert!(!choose(Choice::Out, 1_000).await && !is_out().await, "a late repeat");
    let rows = leads.db().rows(Table::Leads).into_iter().filter(|row| row["kind"]["S"] == "optOut");
    assert!(rows.clone().all(|row| row["expiresAt"]["N"].is_string()), "a choice to get templates expires");
    assert_eq!(rows.filter(|row| row["scopes"]["L"][0]["M"]["isBeside"]["BOOL"] == true).count(), 1);
    assert!(choose(Choice::Out, 3_000).await && is_out().await);
    let rows = leads.db().rows(Table::Leads).into_iter().filter(|row| row["kind"]["S"] == "optOut");
    assert!(rows.clone().all(|row| row["expiresAt"].is_null()), "an opt-out never expires");
    // Of two at the same time, both are recorded, and the later one holds.
    tokio::join!(choose(Choice::In, 5_000), choose(Choice::Out, 6_000));
    assert!(is_out().await);
}

/// A choice and the second in which it was made.
type At = (Choice, i64);

#[tokio::test]
async fn a_choice_that_another_one_overtakes_is_judged_again() {
    use Choice::{In, Out};
    // The choices before, the slow one, the quick one, and what holds with its version.
    for (case, before, slow, quick, holds) in [
        ("there was no choice", None, (In, 1), (Out, 2), (Out, 1)),
        ("the same choice was made again later", Some((Out, 1)), (In, 2), (Out, 3), (Out, 2)),
        // Without a version of its own, the event of the second opt-in has the id of another one.
        ("an opt-out of the same moment came in", Some((In, 1)), (In, 2), (Out, 1), (In, 3)),
    ] {
        let choices = ChoicesOfNumber::start().await;
        if let Some(before) = before {
            choices.choose(before).await;
        }
        choices.overtake(slow, quick).await;
        assert_eq!(choices.stored(), holds, "{case}");
    }
}

/// The choices of one number.
struct ChoicesOfNumber {
    world: World,
    number: [Chooser; 1],
}

impl ChoicesOfNumber {
    async fn start() -> Self {
        let number = Cellphone::parse(PHONE).unwrap();
        Self { world: World::start().await, number: [Chooser::Number(number)] }
    }

    async fn choose(&self, (choice, second): At) {
        let at = Timestamp::from_millis(second * 1_000);
        let (scopes, source) = ([ChoiceScope::All].into(), ChoiceSource::Keyword);
        let chosen = Chosen { choice, scopes, source, at };
        self.world.db.store().choose(self.world.workspace, &self.number, &chosen).await.unwrap();
    }

    /// Makes the quick choice between the read and the write of the slow one.
    async fn overtake(&self, slow: At, quick: At) {
        let db = &self.world.db;
        db.forget_calls();
        let held = db.hold("TransactWriteItems");
        let meanwhile = async {
            db.begun("TransactWriteItems", 1).await;
            self.choose(quick).await;
            drop(held);
        };
        tokio::join!(self.choose(slow), meanwhile);
    }

    fn row(&self) -> Value {
        let rows = self.world.db.rows(Table::Leads);
        rows.into_iter().find(|row| row["kind"]["S"] == "optOut").unwrap()
    }

    /// The choice that is kept, and its version.
    fn stored(&self) -> (Choice, i64) {
        let row = self.row();
        let choice = Choice::parse(row["scopes"]["L"][0]["M"]["choice"]["S"].as_str().unwrap()).unwrap();
        (choice, row["version"]["N"].as_str().unwrap().parse().unwrap())
    }
}

/// Leads of a workspace in the order of their numbers, every third of them FAILED; some at the same moment.
async fn many(count: usize) -> (World, Vec<LeadId>) {
    let world = World::start().await;
    let first = world.lead(PHONE, |_| ()).await;
    let rows = world.db.rows(Table::Leads);
    let row = rows.into_iter().find(|row| row["sk"]["S"] == "L").unwrap();
    let mut ids = vec![first.id];
    let mut imported = vec![];
    for number in 1..count {
        let id = Uuid::from_u64_pair(0x4000, 0x8000_0000_0001_0000 + number as u64);
        let at = TestClock::START.plus(Duration::from_secs(number as u64 / 2));
        let (workspace, mut row) = (World::WORKSPACE, row.clone());
        row["pk"] = json!({ "S": format!("{workspace}#L#{id}") });
        row["createdAt"] = json!({ "S": at.to_string() });
        row["timeSk"] = json!({ "S": format!("{:013}#{id}", 9_999_999_999_999 - at.as_millis()) });
        if number % 3 == 0 {
            row["stage"] = json!({ "S": "FAILED" });
            row["state"] = json!({ "S": "FAILED" });
        }
        imported.push(row);
        ids.push(LeadId::from_uuid(id));
    }
    world.db.import(Table::Leads, &imported);
    (world, ids)
}

/// All pages of this size.
async fn pages(world: &World, state: Option<LeadState>, limit: u16) -> Vec<Vec<Lead>> {
    let states: Vec<LeadState> = state.into_iter().collect();
    let filter = LeadFilter { states: &states, ..LeadFilter::default() };
    let (mut pages, mut from) = (vec![], None::<String>);
    loop {
        let page = world.db.store().leads(world.workspace, filter, from.as_deref(), limit).await.unwrap();
        assert!(page.leads.len() <= usize::from(limit.clamp(1, Store::MOST_LEADS)));
        pages.push(page.leads);
        from = page.next;
        if from.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn leads_are_listed_page_by_page_newest_first_each_once() {
    let (world, ids) = many(251).await;
    for limit in [1, 7, 100, 1_000] {
        let pages = pages(&world, None, limit).await;
        let whole = usize::from(limit.min(Store::MOST_LEADS));
        assert_eq!(pages.len(), ids.len().div_ceil(whole), "{limit}");
        let leads: Vec<Lead> = pages.concat();
        let mut listed: Vec<LeadId> = leads.iter().map(|lead| lead.id).collect();
        assert!(leads.is_sorted_by_key(|lead| (std::cmp::Reverse(lead.created_at), lead.id.to_string())));
        listed.sort_unstable_by_key(ToString::to_string);
        let mut expected = ids.clone();
        expected.sort_unstable_by_key(ToString::to_string);
        assert_eq!(listed, expected, "{limit}");
    }
    world.db.forget_calls();
    world.db.store().leads(world.workspace, LeadFilter::default(), None, 100).await.unwrap();
    assert_eq!(trips(&world.db.calls()), 2);
}

#[tokio::test]
async fn leads_of_one_state_are_listed_without_the_others() {
    let (world, ids) = many(251).await;
    for limit in [5, 83, 100] {
        let pages = pages(&world, Some(LeadState::Failed), limit).await;
        assert!(pages[..pages.len() - 1].iter().all(|page| page.len() == usize::from(limit)), "{limit}");
        let leads = pages.concat();
        assert!(leads.iter().all(|lead| lead.state == LeadState::Failed));
        assert!(leads.is_sorted_by_key(|lead| std::cmp::Reverse(lead.created_at)));
        assert_eq!(leads.len(), ids.len() / 3, "{limit}");
    }
    assert_eq!(pages(&world, Some(LeadState::Sent), 20).await.concat(), []);
    let queued = pages(&world, Some(LeadState::Queued), 20).await.concat();
    assert_eq!(queued.len(), ids.len() - ids.len() / 3);
    assert!(queued.iter().all(|lead| lead.state == LeadState::Queued));
    let (elsewhere, _) = world.second_workspace().await;
    let page = world.db.store().leads(elsewhere, LeadFilter::default(), None, 20).await.unwrap();
    assert_eq!((page.leads, page.next), (vec![], None));
}

#[tokio::test]
async fn a_lead_accepted_during_paging_causes_no_duplicates() {
    let (world, _) = many(20).await;
    let store = world.db.store();
    let page = store.leads(world.workspace, LeadFilter::default(), None, 10).await.unwrap();
    world.db.clock().advance(Duration::from_secs(3_600));
    let new = world.lead("+12025550199", |_| ()).await;
    let rest = store.leads(world.workspace, LeadFilter::default(), page.next.as_deref(), 10).await.unwrap();
    assert_eq!((rest.leads.len(), rest.next), (10, None));
    assert!(rest.leads.iter().all(|lead| lead.id != new.id && !page.leads.contains(lead)));
    let first = store.leads(world.workspace, LeadFilter::default(), None, 1).await.unwrap();
    assert_eq!(first.leads[0], new);
}
