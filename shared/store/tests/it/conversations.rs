//! Conversations: written completely with everything that belongs to them or not at all, once, and all copies
//! equal to the home row.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{Dice, OTHER, WORKSPACE, blank, contact, create, shards};
use domain::conversation::{ConversationChange, Opening};
use domain::{
    BrandId, Cellphone, ChannelId, Contact, ContactId, ContactRef, Conversation, ConversationId,
    ConversationName, ConversationStatus, Email, External, Internal, TeamId, User, UserId, UserRef,
    UserStatus, WorkspaceId,
};
use futures::future::join_all;
use harness::{Fault, TestDb, trips};
use serde_json::{Value, json};
use store::{Changed, IdempotencyKey, Opened, StoreError, Table};

fn external(contact: ContactId) -> External {
    External {
        contact,
        shown: ContactRef::Id(contact),
        channel: ChannelId::parse("1045551234567").unwrap(),
        brand: BrandId::parse("brand").unwrap(),
        joined_at: harness::TestClock::START,
        last_seen_at: None,
    }
}

fn internal(user: UserId) -> Internal {
    Internal { user, shown: UserRef::Id(user), joined_at: harness::TestClock::START, last_seen_at: None }
}

fn conversation(db: &TestDb) -> Conversation {
    let ids = &**db.ids();
    Conversation {
        name: ConversationName::parse("Order 7").ok(),
        externals: vec![external(ContactId::generate(ids))],
        internals: vec![internal(UserId::generate(ids))],
        ..Conversation::blank(ConversationId::generate(ids), WORKSPACE, db.store().now())
    }
}

fn alone(conversation: &Conversation) -> Opening {
    Opening { conversation: conversation.clone(), new_contacts: vec![], plan: None }
}

async fn open(db: &TestDb, opening: &Opening) -> Opened {
    db.store().open_conversation(opening, Duration::ZERO, None, "open").await.unwrap()
}

async fn opened(db: &TestDb, conversation: &Conversation) {
    assert_eq!(open(db, &alone(conversation)).await, Opened::Done);
}

async fn stored(db: &TestDb, conversation: &Conversation) -> Option<Conversation> {
    db.store().conversation(conversation.workspace_id, conversation.id).await.unwrap()
}

fn next(conversation: &Conversation, change: impl FnOnce(&mut Conversation)) -> ConversationChange {
    let mut next = Conversation { version: conversation.version + 1, ..conversation.clone() };
    change(&mut next);
    ConversationChange { conversation: next, new_contacts: vec![] }
}

async fn change(db: &TestDb, old: &Conversation, new: &ConversationChange, request: &str) -> Changed {
    db.store().change_conversation(old, new, request).await.unwrap()
}

/// All rows of the tables that these transactions write.
fn everything(db: &TestDb) -> Vec<Value> {
    [Table::Conversations, Table::Messages, Table::Contacts]
        .into_iter()
        .flat_map(|table| db.rows(table))
        .collect()
}

/// A row without its place: only the conversation's attributes.
fn body(row: &Value) -> Value {
    let mut body = row.clone();
    let places = ["pk", "sk", "kind", "lastRequest", "statusPk", "internalIds"];
    body.as_object_mut().unwrap().retain(|name, _| !places.contains(&name.as_str()));
    body
}

/// Checks that each conversation has its home row and exactly its rows in lists, all with the same content.
fn check_copies(db: &TestDb) {
    let rows = db.rows(Table::Conversations);
    let of_kind =
        |kind: &str| -> Vec<&Value> { rows.iter().filter(|row| row["kind"]["S"] == kind).collect() };
    let homes = of_kind("conversation");
    let mut places = BTreeSet::new();
    for home in &homes {
        let text = |name: &str| home[name]["S"].as_str().unwrap().to_owned();
        let members = |side: &str, id: &str| -> Vec<String> {
            let all = home[side]["L"].as_array().unwrap().iter();
            all.map(|one| one["M"][id]["S"].as_str().unwrap().to_owned()).collect()
        };
        let (contacts, users) = (members("externals", "contactId"), members("internals", "userId"));
        let all = format!("A#{}", home["listShard"]["N"].as_str().unwrap());
        let contact_lists = contacts.iter().map(|id| format!("X#{id}"));
        let user_lists = users.iter().map(|id| format!("I#{id}"));
        for list in [all].into_iter().chain(contact_lists).chain(user_lists) {
            let pk = format!("{WORKSPACE}#{list}");
            let found = rows.iter().filter(|row| row["pk"]["S"] == pk.as_str());
            let found: Vec<&Value> = found.filter(|row| row["id"] == home["id"]).collect();
            assert_eq!(found.len(), 1, "{pk}");
            assert_eq!(body(found[0]), body(home));
            assert_eq!(found[0]["statusPk"]["S"], format!("{pk}#{}", text("status")));
            let named = |row: &Value| -> BTreeSet<String> {
                let all = row["internalIds"]["SS"].as_array().into_iter().flatten();
                all.map(|id| id.as_str().unwrap().to_owned()).collect()
            };
            assert_eq!(named(found[0]), users.iter().cloned().collect());
            places.insert((pk, text("id")));
        }
    }
    assert_eq!(of_kind("listedConversation").len(), places.len(), "and no other rows in lists");
}

#[tokio::test]
async fn a_conversation_is_read_from_its_home_row_and_only_in_its_workspace() {
    let db = TestDb::start().await;
    let conversation = conversation(&db);
    assert_eq!(stored(&db, &conversation).await, None);
    opened(&db, &conversation).await;
    assert_eq!(stored(&db, &conversation).await, Some(conversation.clone()));
    assert_eq!(db.store().conversation(OTHER, conversation.id).await.unwrap(), None);
    check_copies(&db);
}

#[tokio::test]
async fn an_existing_conversation_is_not_created_again_by_another_request() {
    let db = TestDb::start().await;
    let conversation = conversation(&db);
    opened(&db, &conversation).await;
    let before = everything(&db);
    let again = db.store().open_conversation(&alone(&conversation), Duration::ZERO, None, "another").await;
    assert!(matches!(again, Err(StoreError::Failed(_))), "{again:?}");
    assert_eq!(everything(&db), before);
    // The same request, after it did not get its answer.
    assert_eq!(open(&db, &alone(&conversation)).await, Opened::Done);
    assert_eq!(everything(&db), before);
}

#[tokio::test]
async fn a_conversation_is_created_with_everything_that_belongs_to_it_or_not_at_all() {
    let db = TestDb::start().await;
    let taken = contact(&db, "", "", "Ann@x.io", "");
    create(&db, &taken).await;
    let before = everything(&db);
    let mut opening = alone(&conversation(&db));
    opening.new_contacts = vec![
        Contact { cellphone: Cellphone::parse("+34600111222").ok(), ..blank(&db) },
        Contact { email: Email::parse("ann@X.io").ok(), ..blank(&db) },
    ];
    assert_eq!(open(&db, &opening).await, Opened::IdentityTaken);
    assert_eq!(everything(&db), before);
    opening.new_contacts.pop();
    assert_eq!(open(&db, &opening).await, Opened::Done);
    let number = opening.new_contacts[0].cellphone.clone().unwrap();
    let holder = db.store().contact_holding_cellphone(WORKSPACE, &number).await.unwrap();
    assert_eq!(holder, Some(opening.new_contacts[0].id));
    assert_eq!(
        db.store().contact(WORKSPACE, opening.new_contacts[0].id).await.unwrap(),
        Some(opening.new_contacts[0].clone())
    );
}

#[tokio::test]
async fn an_answered_idempotency_key_returns_its_answer_and_creates_nothing() {
    let db = TestDb::start().await;
    let once = IdempotencyKey {
        route: "conversations",
        key_sha256_hex: "aa".to_owned(),
        fingerprint: "one".to_owned(),
    };
    let first = alone(&conversation(&db));
    let kept = Some((&once, "the answer"));
    let made = db.store().open_conversation(&first, Duration::ZERO, kept, "first").await.unwrap();
    assert_eq!(made, Opened::Done);
    let before = everything(&db);
    // Also for a repeat whose new contact is taken by now: the request that stored the answer created it.
    let mut second = alone(&conversation(&db));
    let taken = contact(&db, "", "", "ann@x.io", "");
    second.new_contacts = vec![Contact { id: ContactId::generate(&**db.ids()), ..taken.clone() }];
    let other = IdempotencyKey { fingerprint: "two".to_owned(), ..once.clone() };
    let store = db.store();
    let made = store.open_conversation(&second, Duration::ZERO, Some((&other, "x")), "second").await.unwrap();
    let Opened::Answered(answered) = made else { panic!("{made:?}") };
    assert_eq!((answered.fingerprint.as_str(), answered.answer.as_str()), ("one", "the answer"));
    assert_eq!(everything(&db), before);
}

#[tokio::test]
async fn a_stale_change_writes_nothing_and_a_repeated_one_is_recognised() {
    let db = TestDb::start().await;
    let first = conversation(&db);
    opened(&db, &first).await;
    let renamed = next(&first, |next| next.name = None);
    assert_eq!(change(&db, &first, &renamed, "one").await, Changed::Done);
    let before = everything(&db);
    let late = next(&first, |next| next.status = ConversationStatus::Blocked);
    assert_eq!(change(&db, &first, &late, "two").await, Changed::Stale);
    assert_eq!(change(&db, &first, &renamed, "one").await, Changed::Done, "it had been done");
    let unknown = conversation(&db);
    assert_eq!(
        change(&db, &unknown, &next(&unknown, |next| next.name = None), "three").await,
        Changed::Stale
    );
    assert_eq!(everything(&db), before);
}

#[tokio::test]
async fn a_conversation_that_changed_since_it_was_read_is_not_erased() {
    let db = TestDb::start().await;
    let seen = conversation(&db);
    opened(&db, &seen).await;
    let joined = next(&seen, |next| next.internals.push(internal(UserId::generate(&**db.ids()))));
    assert_eq!(change(&db, &seen, &joined, "one").await, Changed::Done);
    let before = everything(&db);
    assert!(
        !db.store().erase_conversation(&seen).await.unwrap(),
        "the copy in the new user's list would stay"
    );
    assert_eq!(everything(&db), before);
    assert!(db.store().erase_conversation(&joined.conversation).await.unwrap());
    assert_eq!(db.rows(Table::Conversations), Vec::<Value>::new());
}

#[tokio::test]
async fn an_erasure_keeps_the_answer_that_the_same_key_got_a_day_later() {
    let db = TestDb::start().await;
    let store = db.store();
    let once = IdempotencyKey {
        route: "conversations",
        key_sha256_hex: "aa".to_owned(),
        fingerprint: "one".to_owned(),
    };
    let open = async |conversation: &Conversation, request: &str| {
        let answer = conversation.id.to_string();
        let kept = Some((&once, answer.as_str()));
        let made = store.open_conversation(&alone(conversation), Duration::ZERO, kept, request).await;
        assert_eq!(made.unwrap(), Opened::Done);
    };
    let erased = conversation(&db);
    open(&erased, "first").await;
    let read = store.whole_conversation(WORKSPACE, erased.id).await.unwrap();
    assert!(read.answer.is_some());
    db.clock().advance(Duration::from_secs(25 * 60 * 60));
    let other = conversation(&db);
    open(&other, "second").await;
    store.erase_answer(&read).await.unwrap();
    let kept = store.answered(Table::Conversations, WORKSPACE, &once).await.unwrap().unwrap();
    assert_eq!(kept.answer, other.id.to_string());
}

#[tokio::test]
async fn a_change_is_stale_if_its_new_contact_was_created_meanwhile() {
    let db = TestDb::start().await;
    let first = conversation(&db);
    opened(&db, &first).await;
    create(&db, &contact(&db, "", "", "ann@x.io", "")).await;
    let before = everything(&db);
    let stranger = Contact { email: Email::parse("Ann@x.io").ok(), ..blank(&db) };
    let mut joined = next(&first, |next| next.externals.push(external(stranger.id)));
    joined.new_contacts.push(stranger);
    assert_eq!(change(&db, &first, &joined, "r").await, Changed::Stale);
    assert_eq!(everything(&db), before);
}

#[tokio::test]
async fn every_copy_equals_the_home_row_after_any_changes() {
    let db = TestDb::start().await;
    let mut dice = Dice::new(1);
    let ids = &**db.ids();
    let contacts: Vec<ContactId> = (0..12).map(|_| ContactId::generate(ids)).collect();
    let users: Vec<UserId> = (0..22).map(|_| UserId::generate(ids)).collect();
    let statuses = ["ACTIVE", "GHOST", "RELEASED", "NOT_ASSIGNED_TO_HUMAN", "BLOCKED"];
    let mut all = vec![];
    for shard in 0..6 {
        let conversation = Conversation { list_shard: shard % 3, ..conversation(&db) };
        opened(&db, &conversation).await;
        all.push(conversation);
    }
    for round in 0..120 {
        let at = dice.below(all.len());
        let change_of = next(&all[at], |next| {
            next.status = ConversationStatus::parse(statuses[dice.below(5)]).unwrap();
            next.name = (dice.below(2) == 0).then(|| ConversationName::parse(&format!("{round}")).unwrap());
            if dice.below(3) > 0 {
                let (from, count) = (dice.below(3), 1 + dice.below(9));
                next.externals = contacts[from..from + count].iter().copied().map(external).collect();
            }
            if dice.below(3) > 0 {
                let (from, count) = (dice.below(3), dice.below(20));
                next.internals = users[from..from + count].iter().copied().map(internal).collect();
            }
        });
        assert_eq!(change(&db, &all[at], &change_of, &format!("r{round}")).await, Changed::Done);
        all[at] = change_of.conversation;
        if round % 10 == 9 {
            check_copies(&db);
        }
    }
    for conversation in &all {
        assert_eq!(stored(&db, conversation).await.as_ref(), Some(conversation));
    }
}

#[tokio::test]
async fn one_of_several_concurrent_changes_wins_and_writes_all_copies() {
    let db = TestDb::start().await;
    let first = conversation(&db);
    opened(&db, &first).await;
    let changes: Vec<ConversationChange> = (0..8)
        .map(|n| next(&first, |next| next.name = ConversationName::parse(&format!("{n}")).ok()))
        .collect();
    let requests: Vec<String> = (0..8).map(|n| format!("r{n}")).collect();
    let tries = changes.iter().zip(&requests).map(|(new, request)| change(&db, &first, new, request));
    let outcomes = join_all(tries).await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Changed::Done).count(), 1, "{outcomes:?}");
    let winner = outcomes.iter().position(|outcome| *outcome == Changed::Done).unwrap();
    assert_eq!(stored(&db, &first).await.as_ref(), Some(&changes[winner].conversation));
    check_copies(&db);
}

#[tokio::test]
async fn the_cost_of_new_conversations_and_changes() {
    let db = TestDb::start().await;
    shards(&db, 1, 1).await;
    // Puts the workspace's shards into memory.
    opened(&db, &conversation(&db)).await;
    let first = conversation(&db);
    let stranger = Contact { cellphone: Cellphone::parse("+34600111222").ok(), ..blank(&db) };
    let cost = |what: &str| {
        let calls = db.calls();
        let units: f64 = calls.iter().map(|call| call.write_units).sum();
        println!("{what}: {units} write units");
        (trips(&calls), units)
    };
    db.forget_calls();
    opened(&db, &first).await;
    // The home row and three lists, each list also in the index by status (which the transaction does not
    // double), and the lane.
    assert_eq!(cost("a beginning"), (1, 13.0));
    db.forget_calls();
    let renamed = next(&first, |next| next.name = None);
    assert_eq!(change(&db, &first, &renamed, "r").await, Changed::Done);
    assert_eq!(cost("a rename"), (1, 11.0));
    db.forget_calls();
    let moved = next(&renamed.conversation, |next| next.status = ConversationStatus::Blocked);
    assert_eq!(change(&db, &renamed.conversation, &moved, "s").await, Changed::Done);
    assert_eq!(cost("a status"), (1, 14.0));
    db.forget_calls();
    let mut opening = alone(&conversation(&db));
    opening.new_contacts = vec![stranger];
    assert_eq!(open(&db, &opening).await, Opened::Done);
    assert_eq!(cost("a beginning with somebody new").0, 1);
}

#[tokio::test]
async fn turns_count_up_and_each_is_returned_once() {
    let db = TestDb::start().await;
    let (team, other) = (TeamId::generate(&**db.ids()), TeamId::generate(&**db.ids()));
    let turns = join_all((0..50).map(|_| db.store().take_turn(WORKSPACE, team))).await;
    let turns: BTreeSet<u64> = turns.into_iter().map(Result::unwrap).collect();
    assert_eq!(turns, (0..50).collect());
    assert_eq!(db.store().take_turn(WORKSPACE, other).await.unwrap(), 0);
    assert_eq!(db.store().take_turn(OTHER, team).await.unwrap(), 0);
    // If the answer is lost, that turn is skipped.
    db.fail("UpdateItem", Fault::AnswerLost, 1);
    assert_eq!(db.store().take_turn(WORKSPACE, other).await.unwrap(), 2);
    let rows = db.rows(Table::Workspaces);
    let row = rows.iter().find(|row| row["pk"]["S"] == format!("{WORKSPACE}#R#{other}")).unwrap();
    assert_eq!(
        row,
        &json!({
            "pk": {"S": format!("{WORKSPACE}#R#{other}")},
            "sk": {"S": "R"},
            "kind": {"S": "turns"},
            "sv": {"N": "1"},
            "turns": {"N": "3"},
        })
    );
}

#[tokio::test]
async fn contacts_are_found_by_id_e_mail_and_phone_in_one_batch() {
    let db = TestDb::start().await;
    let ann = contact(&db, "", "", "Ann@x.io", "+34600111222");
    let ben = contact(&db, "", "", "ben@x.io", "");
    for contact in [&ann, &ben] {
        create(&db, contact).await;
    }
    let email = |text: &str| ContactRef::Email(Email::parse(text).unwrap());
    let phone = |text: &str| ContactRef::Cellphone(Cellphone::parse(text).unwrap());
    let found = vec![
        (email("aNN@X.io"), ann.id),
        (ContactRef::Id(ben.id), ben.id),
        (phone("+34600111222"), ann.id),
        (email("ann@x.io"), ann.id),
        (ContactRef::Id(ann.id), ann.id),
    ];
    let mut named: Vec<ContactRef> = found.iter().map(|(named, _)| named.clone()).collect();
    let nobody = ContactRef::Id(ContactId::generate(&**db.ids()));
    named.extend([nobody, email("nobody@x.io"), phone("+34600111333")]);
    db.forget_calls();
    let contacts = async |workspace, named: &[ContactRef]| {
        db.store().people_named(workspace, named, &[]).await.unwrap().contacts
    };
    assert_eq!(contacts(WORKSPACE, &named).await, found);
    assert_eq!(db.calls().len(), 1);
    assert_eq!(contacts(OTHER, &named).await, []);
    db.forget_calls();
    assert_eq!(contacts(WORKSPACE, &[]).await, []);
    assert_eq!(db.calls(), []);
}

async fn user(db: &TestDb, workspace: WorkspaceId, email: &str, status: UserStatus) -> User {
    let (ids, now) = (&**db.ids(), db.store().now());
    let user = User::new(UserId::generate(ids), workspace, Email::parse(email).unwrap(), now);
    let user = User { status, ..user };
    db.store().create_user(&user, harness::operator(), None).await.unwrap();
    user
}

#[tokio::test]
async fn more_than_a_batch_of_users_are_found_by_id_and_e_mail_in_one_round_trip() {
    let db = TestDb::start().await;
    let mut users = vec![];
    for n in 0..120 {
        let status = if n == 7 { UserStatus::Disabled } else { UserStatus::Active };
        users.push(user(&db, WORKSPACE, &format!("U{n}@x.io"), status).await);
    }
    let mut named: Vec<UserRef> = users.iter().map(|user| UserRef::Id(user.id)).collect();
    named.extend([UserRef::Id(users[7].id), UserRef::Id(UserId::generate(&**db.ids()))]);
    db.forget_calls();
    let mut found = db.store().users_named(WORKSPACE, &named).await.unwrap();
    assert_eq!((db.calls().len(), trips(&db.calls())), (2, 1));
    found.sort_by_key(|user| user.id);
    users.sort_by_key(|user| user.id);
    assert_eq!(found, users);

    let theirs = user(&db, OTHER, "theirs@x.io", UserStatus::Active).await;
    let by_email = |text: &str| UserRef::Email(Email::parse(text).unwrap());
    let named =
        [by_email("u7@X.io"), by_email("theirs@x.io"), UserRef::Id(theirs.id), by_email("nobody@x.io")];
    let found = db.store().users_named(WORKSPACE, &named).await.unwrap();
    let ids: Vec<UserId> = found.iter().map(|user| user.id).collect();
    let seven = users.iter().find(|user| user.status == UserStatus::Disabled).unwrap().id;
    assert_eq!(ids, [seven]);
}
