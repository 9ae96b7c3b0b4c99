//! Contacts by the ids with which the provider names customers.

use crate::support::{OTHER, WORKSPACE, blank, contact, create, next, with_person_key};
use domain::choices::{Choice, ChoiceScope, ChoiceSource, Chooser, Chosen};
use domain::contact::address::{ProviderUserId, Reached, WaId};
use domain::contact::identified::Word;
use domain::refused::IdentityField;
use domain::{Cellphone, Contact, ContactId, PersonName, UserIds};
use futures::future::join;
use harness::{Fault, OptedOut, TestDb, World, trips};
use serde_json::Value;
use store::{Created, Remembered, Replaced, Table};

fn wa(digits: &str) -> Option<WaId> {
    WaId::parse(digits).ok()
}

fn user(id: &str) -> Option<ProviderUserId> {
    ProviderUserId::parse(id).ok()
}

async fn reached(db: &TestDb, wa_id: &str, user_id: &str) -> Option<ContactId> {
    let reached = Reached::named(Some(wa_id), Some(user_id));
    db.store().contact_reached_at(WORKSPACE, &reached).await.unwrap()
}

async fn remember(db: &TestDb, seen: &Contact, wa_id: &str, user_id: &str) -> Remembered {
    let (reached, account) = (Reached::named(Some(wa_id), Some(user_id)), World::account());
    let word = Word { reached: &reached, account: &account, at: db.store().now() };
    db.store().remember_reach(seen, &word).await.unwrap()
}

async fn stored(db: &TestDb, contact: &Contact) -> Contact {
    db.store().contact(WORKSPACE, contact.id).await.unwrap().unwrap()
}

/// The identity rows, each as its key without the workspace and its contact.
fn identities(db: &TestDb) -> Vec<(String, String)> {
    let rows = db.rows(Table::Contacts);
    let rows = rows.iter().filter(|row| row["kind"]["S"] == "identity");
    let text = |value: &Value| value["S"].as_str().unwrap().to_owned();
    let of = |row: &Value| (text(&row["pk"]).split_once('#').unwrap().1.to_owned(), text(&row["contactId"]));
    let mut identities: Vec<_> = rows.map(of).collect();
    identities.sort();
    identities
}

fn held(contact: &Contact, keys: &[&str]) -> Vec<(String, String)> {
    keys.iter().map(|key| ((*key).to_owned(), contact.id.to_string())).collect()
}

#[tokio::test]
async fn each_written_form_of_the_number_counts_before_the_user_id_in_one_round_trip() {
    for known in ["+551187654321", "+5511987654321", "551187654321", "5511987654321"] {
        let db = with_person_key().await;
        let by_number = match wa(known) {
            Some(wa_id) => Contact { wa_id: Some(wa_id), ..blank(&db) },
            None => contact(&db, "", "", "", known),
        };
        let by_user = Contact { user_ids: World::user_ids("BR.1"), ..blank(&db) };
        for named in ["551187654321", "5511987654321"] {
            assert_eq!(reached(&db, named, "BR.1").await, None);
        }
        for contact in [&by_user, &by_number] {
            create(&db, contact).await;
            for named in ["551187654321", "5511987654321"] {
                db.forget_calls();
                assert_eq!(reached(&db, named, "BR.1").await, Some(contact.id), "{known} {named}");
                assert_eq!((trips(&db.calls()), db.calls().len()), (1, 1));
            }
        }
        assert_eq!(reached(&db, "", "BR.1").await, Some(by_user.id));
        let elsewhere = Reached::named(Some("551187654321"), None);
        assert_eq!(db.store().contact_reached_at(OTHER, &elsewhere).await.unwrap(), None);
        db.forget_calls();
        assert_eq!(reached(&db, "", "").await, None);
        assert_eq!(db.calls().len(), 0);
    }
}

/// A tenant changes numbers while the service looks for the customer who writes.
#[tokio::test]
async fn a_contact_that_gives_its_number_up_between_two_reads_is_not_the_customer() {
    for is_taken in [false, true] {
        let db = with_person_key().await;
        let store = db.store();
        let ana = contact(&db, "Ana", "", "", "+14155550123");
        let eva = contact(&db, "Eva", "", "", "");
        create(&db, &ana).await;
        create(&db, &eva).await;
        let held = db.hold("GetItem");
        let number = Reached::named(Some("14155550123"), None);
        let meanwhile = async {
            db.begun("GetItem", 1).await;
            let other = Cellphone::parse("+14155550199").ok();
            let moved = next(&ana, store.now(), |next| next.cellphone = other);
            assert_eq!(store.replace_contact(&ana, &moved, "r1").await.unwrap(), Replaced::Done);
            if is_taken {
                let taken = next(&eva, store.now(), |next| next.cellphone = ana.cellphone.clone());
                assert_eq!(store.replace_contact(&eva, &taken, "r2").await.unwrap(), Replaced::Done);
            }
            drop(held);
        };
        let (found, ()) = join(store.reached_contact(WORKSPACE, &number), meanwhile).await;
        let found = found.unwrap().map(|contact| contact.id);
        assert_eq!(found, is_taken.then_some(eva.id));
    }
}

#[tokio::test]
async fn an_id_of_the_provider_belongs_to_one_contact_of_a_workspace() {
    let db = with_person_key().await;
    let first = Contact { user_ids: World::user_ids("US.1"), wa_id: wa("14155550123"), ..blank(&db) };
    create(&db, &first).await;
    for (user_id, wa_id, field) in
        [("US.1", "", IdentityField::UserId), ("US.2", "14155550123", IdentityField::WaId)]
    {
        let second = Contact { user_ids: World::user_ids(user_id), wa_id: wa(wa_id), ..blank(&db) };
        let created = db.store().create_contact(&second, "r").await.unwrap();
        assert_eq!(created, Created::Taken { field, contact: first.id });
    }
    create(&db, &Contact { workspace_id: OTHER, ..Contact { id: blank(&db).id, ..first.clone() } }).await;
    assert_eq!(stored(&db, &first).await, first);
}

#[tokio::test]
async fn ids_are_remembered_in_two_round_trips_and_replace_earlier_ones() {
    let db = with_person_key().await;
    let ana = contact(&db, "Ana", "", "", "+5511987654321");
    create(&db, &ana).await;
    db.forget_calls();
    for form in ["5511987654321", "551187654321"] {
        assert_eq!(remember(&db, &ana, form, "").await, Remembered::Done);
        assert_eq!(db.calls().len(), 0, "the dialled number is no news");
    }

    assert_eq!(remember(&db, &ana, "551150000000", "BR.1").await, Remembered::Done);
    assert_eq!((trips(&db.calls()), db.calls().len()), (2, 4), "the choices of three ids, the transaction");
    let known = stored(&db, &ana).await;
    assert_eq!(
        known,
        Contact { wa_id: wa("551150000000"), user_ids: World::user_ids("BR.1"), ..ana.clone() }
    );
    let keys = ["P#551150000000", "P#551187654321", "U#BR.1"];
    assert_eq!(identities(&db), held(&ana, &keys));
    assert_eq!(
        (reached(&db, "551187654321", "").await, reached(&db, "", "BR.1").await),
        (Some(ana.id), Some(ana.id))
    );

    // Another request read the contact before, and names the same.
    assert_eq!(remember(&db, &ana, "551150000000", "BR.1").await, Remembered::Done);
    assert_eq!(remember(&db, &known, "", "BR.2").await, Remembered::Done);
    assert_eq!(identities(&db), held(&ana, &["P#551150000000", "P#551187654321", "U#BR.2"]));
    assert_eq!(remember(&db, &known, "", "BR.3").await, Remembered::Changed, "its ids changed since");
}

#[tokio::test]
async fn an_id_of_another_contact_is_not_taken_over() {
    let db = with_person_key().await;
    let (ana, bob) = (contact(&db, "Ana", "", "", "+14155550123"), blank(&db));
    let bob = Contact { user_ids: World::user_ids("US.1"), ..bob };
    create(&db, &ana).await;
    create(&db, &bob).await;
    let before = db.rows(Table::Contacts);
    assert_eq!(remember(&db, &ana, "14155550000", "US.1").await, Remembered::Taken(bob.id));
    assert_eq!(db.rows(Table::Contacts), before, "nothing is written");
}

#[tokio::test]
async fn a_change_by_a_request_that_read_the_contact_before_keeps_the_ids() {
    let db = with_person_key().await;
    let store = db.store();
    let ana = contact(&db, "Ana", "", "", "+14155550123");
    create(&db, &ana).await;
    assert_eq!(remember(&db, &ana, "14155550000", "US.1").await, Remembered::Done);
    let renamed = next(&ana, store.now(), |next| next.first_name = PersonName::parse("Eva").ok());
    assert_eq!(store.replace_contact(&ana, &renamed, "r1").await.unwrap(), Replaced::Done);
    let both = Contact { user_ids: World::user_ids("US.1"), wa_id: wa("14155550000"), ..renamed.clone() };
    assert_eq!(stored(&db, &ana).await, both);

    // A change of the number depends on the ids, because they go with the number.
    let moved = |seen: &Contact| {
        next(seen, store.now(), |next| {
            next.cellphone = Cellphone::parse("+14155550199").ok();
            (next.user_ids, next.wa_id) = (UserIds::default(), None);
        })
    };
    let stale = store.replace_contact(&renamed, &moved(&renamed), "r2").await.unwrap();
    assert_eq!(stale, Replaced::Stale);
    assert_eq!(store.replace_contact(&both, &moved(&both), "r3").await.unwrap(), Replaced::Done);
    assert_eq!(identities(&db), held(&ana, &["P#14155550199"]));
    // The answer of a send to the old number comes late.
    assert_eq!(remember(&db, &both, "14155550001", "").await, Remembered::Changed);
    assert_eq!(identities(&db), held(&ana, &["P#14155550199"]));
}

#[tokio::test]
async fn a_change_of_the_number_or_an_id_is_refused_if_an_id_has_changed_since() {
    let ids = [("", "US.2"), ("14155550002", "")];
    for had in [("", ""), ("14155550000", "US.1")] {
        for (meanwhile, late) in [(ids[0], ids[1]), (ids[1], ids[0])] {
            let db = with_person_key().await;
            let store = db.store();
            let ana = contact(&db, "", "", "", "+14155550123");
            create(&db, &ana).await;
            assert_eq!(remember(&db, &ana, had.0, had.1).await, Remembered::Done);
            let seen = stored(&db, &ana).await;
            assert_eq!(remember(&db, &seen, meanwhile.0, meanwhile.1).await, Remembered::Done);

            let before = db.rows(Table::Contacts);
            assert_eq!(remember(&db, &seen, late.0, late.1).await, Remembered::Changed, "{had:?} {late:?}");
            let moved = next(&seen, store.now(), |next| {
                next.cellphone = Cellphone::parse("+14155550199").ok();
            });
            let replaced = store.replace_contact(&seen, &moved, "r").await.unwrap();
            assert_eq!(replaced, Replaced::Stale, "{had:?} {meanwhile:?}");
            assert_eq!(db.rows(Table::Contacts), before);
        }
    }
}

#[tokio::test]
async fn an_id_is_not_remembered_for_a_contact_that_got_another_number_since() {
    for had in ["", "+14155550123"] {
        let db = with_person_key().await;
        let ana = contact(&db, "", "", "ana@x.io", had);
        create(&db, &ana).await;
        let moved = next(&ana, db.store().now(), |next| {
            next.cellphone = Cellphone::parse("+14155550199").ok();
        });
        assert_eq!(db.store().replace_contact(&ana, &moved, "r").await.unwrap(), Replaced::Done);
        assert_eq!(remember(&db, &ana, "", "US.1").await, Remembered::Changed, "{had}");
        assert_eq!(stored(&db, &ana).await, moved);
    }
}

#[tokio::test]
async fn an_erasure_at_the_same_time_leaves_no_row() {
    for round in 0..12 {
        let db = with_person_key().await;
        let store = db.store();
        let ana = contact(&db, "", "", "", "+14155550123");
        create(&db, &ana).await;
        // The ids arrive while the erasure reads the contact, or while it deletes the rows.
        let erase = async {
            while let Some(seen) = store.contact(WORKSPACE, ana.id).await.unwrap() {
                let _ = store.erase_contact(&seen).await.unwrap();
            }
        };
        let remember = async {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            remember(&db, &ana, "14155550000", "US.1").await
        };
        join(erase, remember).await;
        assert_eq!(db.rows(Table::Contacts), Vec::<Value>::new());
        assert_eq!(reached(&db, "14155550123", "US.1").await, None);
    }
}

#[tokio::test]
async fn an_erasure_that_read_the_contact_before_one_of_its_ids_is_refused() {
    for (wa_id, user_id) in [("", "US.1"), ("14155550000", "")] {
        let db = with_person_key().await;
        let store = db.store();
        let ana = contact(&db, "", "", "", "+14155550123");
        create(&db, &ana).await;
        assert_eq!(remember(&db, &ana, wa_id, user_id).await, Remembered::Done);
        assert!(!store.erase_contact(&ana).await.unwrap(), "the row of the id would stay");
        assert!(store.erase_contact(&stored(&db, &ana).await).await.unwrap());
        assert_eq!(db.rows(Table::Contacts), Vec::<Value>::new());
        assert_eq!(remember(&db, &ana, wa_id, user_id).await, Remembered::Changed);
        assert_eq!(db.rows(Table::Contacts), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn an_id_is_not_remembered_for_an_erased_contact_without_a_number() {
    let db = with_person_key().await;
    let ana = contact(&db, "", "", "ana@x.io", "");
    create(&db, &ana).await;
    assert!(db.store().erase_contact(&ana).await.unwrap());
    assert_eq!(remember(&db, &ana, "", "US.1").await, Remembered::Changed);
    assert_eq!(db.rows(Table::Contacts), Vec::<Value>::new());
}

#[tokio::test]
async fn a_lost_answer_is_recognised_as_remembered() {
    let db = with_person_key().await;
    let ana = contact(&db, "", "", "", "+14155550123");
    create(&db, &ana).await;
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    assert_eq!(remember(&db, &ana, "", "US.1").await, Remembered::Done);
    assert_eq!(stored(&db, &ana).await.user_ids, World::user_ids("US.1"));
}

#[tokio::test]
async fn a_choice_beside_a_learnt_id_reaches_all_ids() {
    let (number, id) = (Cellphone::parse("+14155550123").unwrap(), user("US.1").unwrap());
    for learns_first in [true, false] {
        let db = with_person_key().await;
        let ana = contact(&db, "Ana", "", "", number.as_str());
        create(&db, &ana).await;
        db.forget_calls();
        let learn = async || remember(&db, &ana, "", "US.1").await;
        let choose = async || {
            let (choice, scopes) = (Choice::Out, [ChoiceScope::All].into());
            let chosen = Chosen { choice, scopes, source: ChoiceSource::Keyword, at: db.store().now() };
            assert!(db.store().choose(WORKSPACE, &[Chooser::from(&number)], &chosen).await.unwrap());
        };
        let held = db.hold("TransactWriteItems");
        if learns_first {
            let meanwhile = async {
                db.begun("TransactWriteItems", 1).await;
                choose().await;
                drop(held);
            };
            assert_eq!(join(learn(), meanwhile).await.0, Remembered::Changed);
            // The next message names the id again.
            assert_eq!(learn().await, Remembered::Done);
        } else {
            let meanwhile = async {
                db.begun("TransactWriteItems", 1).await;
                assert_eq!(learn().await, Remembered::Done);
                drop(held);
            };
            join(choose(), meanwhile).await;
        }
        assert!(db.store().opted_out(WORKSPACE, &number).await.unwrap(), "{learns_first}");
        assert!(db.store().opted_out(WORKSPACE, &id).await.unwrap(), "{learns_first}");
    }
}

#[tokio::test]
async fn the_choices_of_a_user_id_hold_for_the_one_that_replaces_it() {
    let db = with_person_key().await;
    let ana = Contact { user_ids: World::user_ids("US.1"), ..blank(&db) };
    create(&db, &ana).await;
    let (choice, scopes) = (Choice::Out, [ChoiceScope::All].into());
    let chosen = Chosen { choice, scopes, source: ChoiceSource::Keyword, at: db.store().now() };
    let named = [Chooser::from(&user("US.1").unwrap())];
    assert!(db.store().choose(WORKSPACE, &named, &chosen).await.unwrap());
    assert_eq!(remember(&db, &ana, "", "US.2").await, Remembered::Done);
    assert!(db.store().opted_out(WORKSPACE, &user("US.2").unwrap()).await.unwrap());
}

#[tokio::test]
async fn a_number_for_a_contact_with_a_user_id_takes_its_choices_and_a_number_alone_reads_none() {
    let (number, id) = (Cellphone::parse("+14155550123").unwrap(), user("US.1").unwrap());
    let db = with_person_key().await;
    let ana = Contact { user_ids: World::user_ids(id.as_str()), ..blank(&db) };
    create(&db, &ana).await;
    let (choice, scopes) = (Choice::Out, [ChoiceScope::All].into());
    let chosen = Chosen { choice, scopes, source: ChoiceSource::Keyword, at: db.store().now() };
    assert!(db.store().choose(WORKSPACE, &[Chooser::from(&id)], &chosen).await.unwrap());
    db.forget_calls();
    let numbered = next(&ana, db.store().now(), |next| next.cellphone = Some(number.clone()));
    assert_eq!(db.store().replace_contact(&ana, &numbered, "r1").await.unwrap(), Replaced::Done);
    assert_eq!(trips(&db.calls()), 2);
    assert!(db.store().opted_out(WORKSPACE, &number).await.unwrap());

    let bob = blank(&db);
    create(&db, &bob).await;
    db.forget_calls();
    let other = Cellphone::parse("+14155550199").ok();
    let numbered = next(&bob, db.store().now(), |next| next.cellphone = other);
    assert_eq!(db.store().replace_contact(&bob, &numbered, "r2").await.unwrap(), Replaced::Done);
    assert_eq!((trips(&db.calls()), db.calls().len()), (1, 1));
}

#[tokio::test]
async fn a_choice_costs_six_units_and_its_row_shows_no_number() {
    let (number, id) = (Cellphone::parse("+14155550123").unwrap(), user("US.1").unwrap());
    let db = with_person_key().await;
    let ana =
        Contact { cellphone: Some(number.clone()), user_ids: World::user_ids(id.as_str()), ..blank(&db) };
    create(&db, &ana).await;
    db.forget_calls();
    let (choice, scopes) = (Choice::Out, [ChoiceScope::All].into());
    let chosen = Chosen { choice, scopes, source: ChoiceSource::Keyword, at: db.store().now() };
    let named = [Chooser::from(&id)];
    assert!(db.store().choose(WORKSPACE, &named, &chosen).await.unwrap());
    let units: f64 = db.calls().iter().map(|call| call.write_units).sum();
    assert_eq!((trips(&db.calls()), units), (4, 6.0), "holders, contact, choices, transaction");
    let key = db.store().person_key().await.unwrap();
    let mut rows: Vec<String> =
        db.rows(Table::Leads).iter().map(|row| row["sk"]["S"].as_str().unwrap().to_owned()).collect();
    let mut expected: Vec<String> =
        Chooser::all_of(&ana).iter().map(|of| of.digest(&key, WORKSPACE)).collect();
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
    // An erased person's opt-out stays.
    for of in Chooser::all_of(&ana) {
        db.store().hide_opt_out(WORKSPACE, of).await.unwrap();
    }
    assert!(db.store().opted_out(WORKSPACE, &number).await.unwrap());
    assert!(!db.rows(Table::Leads).iter().any(|row| row.to_string().contains("4155550123")));
}
