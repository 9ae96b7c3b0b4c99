//! Contacts: written completely or not at all, once, and with unique identities.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{Dice, OTHER, WORKSPACE, blank, contact, create, everything, next, rows};
use domain::contact::address::{ProviderUserId, WaId};
use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::refused::IdentityField;
use domain::{
    AttributeId, BusinessAccountId, Cellphone, ClosedValueId, Contact, ContactId, ContactUpdate, Definitions,
    Email, ExternalId, Ids, Language, Patch, PersonName, UserId, UserIds,
};
use futures::future::join_all;
use harness::{Fault, TestDb, World, trips};
use store::{ContactQuery, Created, Image, Replaced, StoreError, Table};

fn owner(db: &TestDb, email: &str) -> Option<Owner> {
    Some(Owner { id: UserId::generate(&**db.ids()), email: Email::parse(email).unwrap() })
}

/// The contact as every read shows it.
async fn stored(db: &TestDb, contact: &Contact) -> Contact {
    let (store, workspace) = (db.store(), contact.workspace_id);
    let stored = store.contact(workspace, contact.id).await.unwrap().unwrap();
    let read = store.contact_read(workspace, contact.id, None).await.unwrap();
    assert_eq!(read.contact.as_ref(), Some(&stored));
    let (page, _) = store.contacts_page_and_definitions(workspace, everything(10)).await.unwrap();
    assert!(page.items.contains(&stored), "{page:?}");
    stored
}

#[tokio::test]
async fn a_contact_read_from_the_table_is_unchanged() {
    let db = TestDb::start().await;
    let bare = blank(&db);
    let ids = db.ids();
    let full = Contact {
        language: Some(Language::Es),
        owner: owner(&db, "Agent@Example.com"),
        user_ids: [("1", "ES.13491208655302741918"), ("2", "ES.2")]
            .map(|(account, id)| {
                (BusinessAccountId::parse(account).unwrap(), ProviderUserId::parse(id).unwrap())
            })
            .into_iter()
            .collect(),
        wa_id: WaId::parse("14155550199").ok(),
        moved_at: Some(db.store().now()),
        attributes: [
            (AttributeId::generate(&**ids), AttributeContent::Open(OpenContent::parse("línea\n1").unwrap())),
            (
                AttributeId::generate(&**ids),
                AttributeContent::Closed((0..3).map(|_| ClosedValueId::generate(&**ids)).collect()),
            ),
        ]
        .into(),
        ..contact(&db, "Ana", "Ruiz", "Ana.Ruiz@Example.com", "+14155550123")
    };
    for contact in [bare, full] {
        create(&db, &contact).await;
        assert_eq!(stored(&db, &contact).await, contact);
        let changed = next(&contact, db.store().now(), |next| {
            next.language = None;
            next.owner = None;
            next.attributes.clear();
            next.last_name = PersonName::parse("Gil").ok();
        });
        let replaced = db.store().replace_contact(&contact, &changed, "r").await.unwrap();
        assert_eq!(replaced, Replaced::Done);
        assert_eq!(stored(&db, &contact).await, changed);
    }
}

#[tokio::test]
async fn a_contact_of_another_workspace_is_not_found() {
    let db = TestDb::start().await;
    let ana = contact(&db, "Ana", "", "ana@x.io", "+14155550123");
    create(&db, &ana).await;
    let store = db.store();
    assert_eq!(store.contact(OTHER, ana.id).await.unwrap(), None);
    assert_eq!(store.contacts_by_id(OTHER, &[ana.id]).await.unwrap(), []);
    assert_eq!(store.contact_holding_email(OTHER, &ana.email.clone().unwrap()).await.unwrap(), None);
    let same_person = Contact { workspace_id: OTHER, ..contact(&db, "Ana", "", "ana@x.io", "+14155550123") };
    create(&db, &same_person).await;
}

#[tokio::test]
async fn an_e_mail_and_a_cellphone_belong_to_one_contact_however_they_are_written() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "", "", "ana@b\u{fc}cher.io", "+5215512345678");
    create(&db, &ana).await;
    for (email, phone, field) in [
        ("ANA@B\u{dc}CHER.io", "", IdentityField::Email),
        ("an\u{200b}a@xn--bcher-kva.io", "", IdentityField::Email),
        ("bob@x.io", "+5215512345678", IdentityField::Cellphone),
        ("bob@x.io", "+525512345678", IdentityField::Cellphone),
        ("Ana@bu\u{308}cher.io", "+525512345678", IdentityField::Email),
    ] {
        let taken = Created::Taken { field, contact: ana.id };
        let second = contact(&db, "", "", email, phone);
        assert_eq!(store.create_contact(&second, "r").await.unwrap(), taken);
        assert_eq!(store.contact(WORKSPACE, second.id).await.unwrap(), None);

        let blank = blank(&db);
        create(&db, &blank).await;
        let wanted = next(&blank, store.now(), |next| {
            next.email.clone_from(&second.email);
            next.cellphone.clone_from(&second.cellphone);
        });
        let taken = Replaced::Taken { field, contact: ana.id };
        assert_eq!(store.replace_contact(&blank, &wanted, "r").await.unwrap(), taken);
        assert_eq!(stored(&db, &blank).await, blank);
    }
    assert_eq!(
        store.contact_holding_email(WORKSPACE, &Email::parse("bob@x.io").unwrap()).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn an_external_id_belongs_to_one_contact_exactly_as_it_is_written() {
    let db = TestDb::start().await;
    let store = db.store();
    let id = |text: &str| ExternalId::parse(text).unwrap();
    let with = |text: &str| Contact { external_id: Some(id(text)), ..blank(&db) };
    let ana = with("crm/a#1");
    create(&db, &ana).await;
    assert_eq!(stored(&db, &ana).await, ana);
    let second = with(" crm/a#1");
    let taken = Created::Taken { field: IdentityField::ExternalId, contact: ana.id };
    assert_eq!(store.create_contact(&second, "r").await.unwrap(), taken);
    let (other, elsewhere) = (with("CRM/a#1"), Contact { workspace_id: OTHER, ..with("crm/a#1") });
    create(&db, &other).await;
    create(&db, &elsewhere).await;

    let wanted = next(&other, store.now(), |next| next.external_id = Some(id("crm/a#1")));
    let taken = Replaced::Taken { field: IdentityField::ExternalId, contact: ana.id };
    assert_eq!(store.replace_contact(&other, &wanted, "r").await.unwrap(), taken);
    assert_eq!(stored(&db, &other).await, other);
    let without = next(&ana, store.now(), |next| next.external_id = None);
    assert_eq!(store.replace_contact(&ana, &without, "r").await.unwrap(), Replaced::Done);
    assert_eq!(store.replace_contact(&other, &wanted, "r").await.unwrap(), Replaced::Done);
    for (text, holder) in [("crm/a#1", Some(other.id)), ("CRM/a#1", None), ("crm/a", None)] {
        let found = store.contact_holding_external_id(WORKSPACE, &id(text)).await.unwrap();
        assert_eq!(found, holder, "{text}");
        let query = ContactQuery { external_id: Some(id(text)), ..everything(20) };
        let page = store.contacts_page(WORKSPACE, query).await.unwrap();
        let ids: Vec<ContactId> = page.items.iter().map(|contact| contact.id).collect();
        assert_eq!((ids, page.next), (Vec::from_iter(holder), None), "{text}");
    }
}

#[tokio::test]
async fn several_contacts_that_take_one_external_id_at_once_are_one_holder() {
    let db = TestDb::start().await;
    for round in 0..5 {
        let id = ExternalId::parse(&format!("crm-{round}")).ok();
        let mut contacts = vec![];
        for _ in 0..6 {
            let contact = blank(&db);
            create(&db, &contact).await;
            contacts.push(contact);
        }
        let takes = async |contact: &Contact| {
            let wanted = next(contact, db.store().now(), |next| next.external_id.clone_from(&id));
            db.store().replace_contact(contact, &wanted, &contact.id.to_string()).await.unwrap()
        };
        let taken = join_all(contacts.iter().map(takes)).await;
        let winner = contacts.iter().zip(&taken).find(|(_, taken)| **taken == Replaced::Done).unwrap().0;
        let refused = Replaced::Taken { field: IdentityField::ExternalId, contact: winner.id };
        assert_eq!(taken.iter().filter(|taken| **taken == refused).count(), 5);
    }
}

#[tokio::test]
async fn a_released_identity_is_free_for_another_contact() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "", "", "ana@x.io", "+14155550123");
    create(&db, &ana).await;
    let without = next(&ana, store.now(), |next| {
        next.email = Email::parse("new@x.io").ok();
        next.cellphone = None;
    });
    assert_eq!(store.replace_contact(&ana, &without, "r").await.unwrap(), Replaced::Done);
    let heir = contact(&db, "", "", "ana@x.io", "+14155550123");
    create(&db, &heir).await;
    let (email, cellphone) = (heir.email.unwrap(), heir.cellphone.unwrap());
    assert_eq!(store.contact_holding_email(WORKSPACE, &email).await.unwrap(), Some(heir.id));
    assert_eq!(store.contact_holding_cellphone(WORKSPACE, &cellphone).await.unwrap(), Some(heir.id));
}

#[tokio::test]
async fn eight_racing_creations_of_one_number_in_two_forms_make_one_contact() {
    let db = TestDb::start().await;
    for round in 0..10 {
        let number = |at: usize| match at % 2 {
            0 => format!("+55119876543{round:02}"),
            _ => format!("+5511876543{round:02}"),
        };
        let contacts: Vec<Contact> = (0..8).map(|at| contact(&db, "", "", "", &number(at))).collect();
        let made =
            join_all(contacts.iter().map(async |contact| {
                db.store().create_contact(contact, &contact.id.to_string()).await.unwrap()
            }))
            .await;
        let winner = contacts.iter().zip(&made).find(|(_, made)| **made == Created::Done).unwrap().0;
        let taken = Created::Taken { field: IdentityField::Cellphone, contact: winner.id };
        assert_eq!(made.iter().filter(|made| **made == taken).count(), 7);
    }
}

/// The number that the provider named before becomes the number that is shown, or another form of it.
#[tokio::test]
async fn a_change_of_a_number_to_another_form_or_to_the_providers_writes_no_identity_row() {
    for (shown, known_as, to, keys) in [
        ("+5215512345678", "", "+525512345678", vec!["P#525512345678"]),
        ("+525512345678", "14155550100", "+5215512345678", vec!["P#14155550100", "P#525512345678"]),
        ("", "5215512345678", "+525512345678", vec!["P#525512345678"]),
        ("+14155550123", "5215512345678", "+525512345678", vec!["P#525512345678"]),
    ] {
        let db = TestDb::start().await;
        let ana = Contact { wa_id: WaId::parse(known_as).ok(), ..contact(&db, "", "", "", shown) };
        create(&db, &ana).await;
        let update =
            ContactUpdate { cellphone: Patch::Set(Cellphone::parse(to).unwrap()), ..Default::default() };
        let next = ana.apply(&update, &Definitions::default(), None, db.store().now()).unwrap().unwrap();
        assert_eq!(
            db.store().replace_contact(&ana, &next, "r").await.unwrap(),
            Replaced::Done,
            "{shown} {to}"
        );
        let mut held: Vec<String> = db
            .rows_of(Table::Contacts, "identity")
            .iter()
            .map(|row| {
                let pk = row["pk"]["S"].as_str().unwrap();
                pk.split_once('#').unwrap().1.to_owned()
            })
            .collect();
        held.sort();
        assert_eq!(held, keys, "{shown} {known_as} {to}");
        assert_eq!(stored(&db, &ana).await.cellphone, Cellphone::parse(to).ok());
    }
}

#[tokio::test]
async fn a_stale_change_does_not_overwrite_a_newer_version() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "Ana", "", "ana@x.io", "");
    create(&db, &ana).await;
    let first = next(&ana, store.now(), |next| next.language = Some(Language::En));
    assert_eq!(store.replace_contact(&ana, &first, "r1").await.unwrap(), Replaced::Done);
    let plain = next(&ana, store.now(), |next| next.language = Some(Language::Es));
    assert_eq!(store.replace_contact(&ana, &plain, "r2").await.unwrap(), Replaced::Stale);
    let renamed = next(&ana, store.now(), |next| next.first_name = PersonName::parse("Eva").ok());
    assert_eq!(store.replace_contact(&ana, &renamed, "r3").await.unwrap(), Replaced::Stale);
    // `Stale` wins over `Taken`: the identity is checked again after the merge.
    create(&db, &contact(&db, "", "", "bob@x.io", "")).await;
    let taken = next(&ana, store.now(), |next| next.email = Email::parse("bob@x.io").ok());
    assert_eq!(store.replace_contact(&ana, &taken, "r4").await.unwrap(), Replaced::Stale);
    assert_eq!(stored(&db, &ana).await, first);
    let gone = blank(&db);
    assert_eq!(
        store.replace_contact(&gone, &next(&gone, store.now(), |_| ()), "r").await.unwrap(),
        Replaced::Stale
    );
}

#[tokio::test]
async fn a_contact_that_changed_since_it_was_read_is_not_erased() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "Ana", "", "", "");
    create(&db, &ana).await;
    let renamed = next(&ana, store.now(), |next| next.first_name = PersonName::parse("Eva").ok());
    assert_eq!(store.replace_contact(&ana, &renamed, "r").await.unwrap(), Replaced::Done);
    assert!(!store.erase_contact(&ana).await.unwrap(), "the row of the new name would stay");
    assert!(store.erase_contact(&renamed).await.unwrap());
    assert_eq!(db.rows(Table::Contacts), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn concurrent_writers_lose_no_change() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = blank(&db);
    create(&db, &ana).await;
    let writers = (0..8).map(async |writer| {
        for round in 0..5 {
            loop {
                let seen = stored(&db, &ana).await;
                let change = next(&seen, store.now(), |next| {
                    let content = OpenContent::parse(&format!("{writer}")).unwrap();
                    let attribute = AttributeId::from_uuid(uuid::Uuid::from_u128(writer * 100 + round));
                    next.attributes.insert(attribute, AttributeContent::Open(content));
                    next.first_name = PersonName::parse(&format!("w{writer}r{round}")).ok();
                });
                let request = db.ids().next().to_string();
                if store.replace_contact(&seen, &change, &request).await.unwrap() == Replaced::Done {
                    break;
                }
            }
        }
    });
    join_all(writers).await;
    let last = stored(&db, &ana).await;
    assert_eq!((last.version, last.attributes.len()), (41, 40));
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_recognised_as_done() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "Ana", "", "ana@x.io", "");
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    create(&db, &ana).await;

    let plain = next(&ana, store.now(), |next| next.language = Some(Language::En));
    db.fail("UpdateItem", Fault::AnswerLost, 1);
    assert_eq!(store.replace_contact(&ana, &plain, "r1").await.unwrap(), Replaced::Done);
    assert_eq!(stored(&db, &ana).await, plain);

    let renamed = next(&plain, store.now(), |next| next.first_name = PersonName::parse("Eva").ok());
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    assert_eq!(store.replace_contact(&plain, &renamed, "r2").await.unwrap(), Replaced::Done);
    assert_eq!(stored(&db, &ana).await, renamed);
}

#[tokio::test]
async fn a_repeated_request_is_recognised_by_its_id() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "Ana", "", "ana@x.io", "");
    for _ in 0..2 {
        assert_eq!(store.create_contact(&ana, "c").await.unwrap(), Created::Done);
    }
    assert!(matches!(store.create_contact(&ana, "another").await, Err(StoreError::Failed(_))));
    let renamed = next(&ana, store.now(), |next| next.email = Email::parse("eva@x.io").ok());
    for _ in 0..2 {
        assert_eq!(store.replace_contact(&ana, &renamed, "r").await.unwrap(), Replaced::Done);
    }
    assert_eq!(store.replace_contact(&ana, &renamed, "another").await.unwrap(), Replaced::Stale);
}

#[tokio::test]
async fn a_conflicting_write_is_retried_for_a_limited_time() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "Ana", "", "ana@x.io", "");
    db.fail("TransactWriteItems", Fault::Conflict, 3);
    db.fail("TransactWriteItems", Fault::ItemThrottled, 2);
    create(&db, &ana).await;
    assert_eq!(db.calls().iter().filter(|call| call.operation == "TransactWriteItems").count(), 6);

    let plain = next(&ana, store.now(), |next| next.language = Some(Language::En));
    db.fail("UpdateItem", Fault::Conflict, 3);
    assert_eq!(store.replace_contact(&ana, &plain, "r1").await.unwrap(), Replaced::Done);

    db.fail("TransactWriteItems", Fault::Conflict, 10_000);
    let begun = std::time::Instant::now();
    let bob = contact(&db, "Bob", "", "", "");
    assert!(matches!(store.create_contact(&bob, "r").await, Err(StoreError::Busy(_))));
    assert!(begun.elapsed() >= Duration::from_secs(2));
}

#[tokio::test]
async fn a_throttled_or_unreachable_table_is_busy() {
    let db = TestDb::start().await;
    let store = db.store();
    let (ana, ben) = (contact(&db, "Ana", "", "ana@x.io", ""), contact(&db, "Ben", "", "ben@x.io", ""));
    for fault in [Fault::Throttled, Fault::Unreachable] {
        for operation in ["GetItem", "TransactWriteItems", "BatchGetItem"] {
            db.fail(operation, fault, 3);
        }
        assert!(matches!(store.contact(WORKSPACE, ana.id).await, Err(StoreError::Busy(_))));
        assert!(matches!(store.contacts_by_id(WORKSPACE, &[ana.id, ben.id]).await, Err(StoreError::Busy(_))));
        assert!(matches!(store.create_contact(&ana, "r").await, Err(StoreError::Busy(_))));
    }
    create(&db, &ana).await;
}

#[tokio::test]
async fn round_trips_and_units_are_as_budgeted() {
    let db = TestDb::start().await;
    let store = db.store();
    let ana = contact(&db, "Ana", "Ruiz", "ana.ruiz@example.com", "+14155550123");
    create(&db, &ana).await;
    let writes = |db: &TestDb| db.calls().iter().map(|call| call.write_units).sum::<f64>();
    // One round trip more than later: the workspace's shards are not in memory yet.
    assert_eq!(trips(&db.calls()), 2);
    // The contact, two identities, four terms (the names are prefixes of parts of the address) and three
    // forms of the number, each twice; the index row once.
    assert_eq!(writes(&db), 21.0);

    db.forget_calls();
    create(&db, &contact(&db, "", "", "", "+34600111222")).await;
    assert_eq!((trips(&db.calls()), writes(&db)), (1, 11.0));
    // A number with two written forms has a fourth form to be found by.
    for number in ["+525512345678", "+5491123456789", "+5511987654321", "+2290197123456"] {
        db.forget_calls();
        create(&db, &contact(&db, "", "", "", number)).await;
        assert_eq!((trips(&db.calls()), writes(&db)), (1, 13.0), "{number}");
    }

    db.forget_calls();
    let plain = next(&ana, store.now(), |next| next.language = Some(Language::En));
    assert_eq!(store.replace_contact(&ana, &plain, "r1").await.unwrap(), Replaced::Done);
    assert_eq!((db.calls().len(), db.calls()[0].operation.as_str()), (1, "UpdateItem"));
    assert_eq!(writes(&db), 1.0);

    db.forget_calls();
    let renamed = next(&plain, store.now(), |next| next.first_name = PersonName::parse("Eva").ok());
    assert_eq!(store.replace_contact(&plain, &renamed, "r2").await.unwrap(), Replaced::Done);
    assert_eq!(trips(&db.calls()), 1);

    db.forget_calls();
    assert_eq!(store.contact(WORKSPACE, ana.id).await.unwrap(), Some(renamed));
    assert_eq!((db.calls().len(), db.calls()[0].read_units), (1, 1.0));
}

#[tokio::test]
async fn images_of_the_stream_are_read_and_helper_rows_are_skipped() {
    let db = TestDb::start().await;
    let ana = contact(&db, "Ana", "Ruiz", "ana@x.io", "+14155550123");
    create(&db, &ana).await;
    let eva = next(&ana, db.store().now(), |next| next.first_name = PersonName::parse("Eva").ok());
    assert_eq!(db.store().replace_contact(&ana, &eva, "r").await.unwrap(), Replaced::Done);

    let mut seen = vec![];
    for record in db.stream(Table::Contacts)["Records"].as_array().unwrap() {
        let image = |name: &str| {
            let image: serde_dynamo::Item = serde_json::from_value(record["dynamodb"][name].clone()).ok()?;
            Image::read(image).unwrap()
        };
        seen.extend(image("NewImage").map(|new| (image("OldImage"), new)));
    }
    let (ana, eva) = (Image::Contact(ana), Image::Contact(eva));
    assert_eq!(seen, [(None, ana.clone()), (Some(ana), eva)]);
}

#[tokio::test]
async fn a_row_of_a_newer_schema_is_refused() {
    let db = TestDb::start().await;
    let ana = contact(&db, "Ana", "", "ana@x.io", "");
    create(&db, &ana).await;
    for mut newer in db.rows(Table::Contacts) {
        newer["sv"] = serde_json::json!({ "N": "2" });
        db.put_row(Table::Contacts, &newer);
    }
    let store = db.store();
    let email = ana.email.clone().unwrap();
    let search = ContactQuery { search: domain::SearchQuery::parse("ana").ok(), ..everything(5) };
    for refused in [
        store.contact(WORKSPACE, ana.id).await.unwrap_err(),
        store.contact_holding_email(WORKSPACE, &email).await.unwrap_err(),
        store.contacts_page(WORKSPACE, search).await.unwrap_err(),
    ] {
        assert!(matches!(refused, StoreError::Unreadable { .. }), "{refused:?}");
        assert!(!refused.to_string().contains("ana"), "{refused}");
    }
}

#[tokio::test]
async fn an_identity_row_of_another_contact_is_neither_released_nor_erased() {
    type Without = fn(&mut Contact);
    let of_rows: [(&str, Without); 4] = [
        ("E#ana@x.io", |contact| contact.email = None),
        ("P#14155550123", |contact| contact.cellphone = None),
        ("U#US.1", |contact| contact.user_ids = UserIds::default()),
        ("P#14155550000", |contact| contact.wa_id = None),
    ];
    for (row, without) in of_rows {
        let db = TestDb::start().await;
        let store = db.store();
        let ana = Contact {
            user_ids: World::user_ids("US.1"),
            wa_id: WaId::parse("14155550000").ok(),
            ..contact(&db, "", "", "ana@x.io", "+14155550123")
        };
        create(&db, &ana).await;
        let other = serde_json::json!({ "S": ContactId::generate(&**db.ids()).to_string() });
        db.change_row(Table::Contacts, &format!("{WORKSPACE}#{row}"), "U", |row| row["contactId"] = other);
        let before = db.rows(Table::Contacts);
        let changed = next(&ana, store.now(), without);
        let refused = store.replace_contact(&ana, &changed, "r").await.unwrap_err();
        assert!(matches!(refused, StoreError::Unreadable { .. }), "{row}: {refused:?}");
        assert!(!store.erase_contact(&ana).await.unwrap(), "{row}");
        assert_eq!(db.rows(Table::Contacts), before, "{row}");
    }
}

/// A contact with few different names, addresses and numbers, so that changes collide.
fn any_fields(dice: &mut Dice, contact: &mut Contact) {
    const NAMES: [&str; 6] = ["", "Ana", "Ana María", "Anabel", "O'Neil", "Łukasz ana b c d e f"];
    const EMAILS: [&str; 5] = ["", "ana@x.io", "ANA@x.io", "ana.b_c+d@sub.example.com", "b@x.io"];
    const PHONES: [&str; 4] = ["", "+14155550123", "+4915112345678", "+999123456789"];
    contact.first_name = PersonName::parse(dice.pick(&NAMES)).ok();
    contact.last_name = PersonName::parse(dice.pick(&NAMES)).ok();
    contact.email = Email::parse(dice.pick(&EMAILS)).ok();
    contact.cellphone = Cellphone::parse(dice.pick(&PHONES)).ok();
}

#[tokio::test]
async fn after_any_changes_the_rows_are_those_of_a_contact_created_with_these_values() {
    let db = TestDb::start().await;
    let mut dice = Dice::new(1);
    let mut contacts: Vec<Contact> = (0..6).map(|_| blank(&db)).collect();
    for contact in &contacts {
        create(&db, contact).await;
    }
    let mut refused = 0;
    for turn in 0..250 {
        let at = dice.below(contacts.len());
        let change = next(&contacts[at], db.store().now(), |next| any_fields(&mut dice, next));
        match db.store().replace_contact(&contacts[at], &change, &format!("{turn}")).await.unwrap() {
            Replaced::Done => contacts[at] = change,
            Replaced::Taken { .. } => refused += 1,
            Replaced::Stale => panic!("nobody else writes"),
        }
    }
    assert!((20..230).contains(&refused), "{refused}");

    let fresh = TestDb::start().await;
    for contact in &contacts {
        create(&fresh, contact).await;
    }
    let (mut changed, mut made) = (rows(&db).await, rows(&fresh).await);
    // A number that was given up leaves its time.
    let all = changed.len();
    changed.retain(|row| !row["kind"].as_s().unwrap().starts_with("earlier"));
    assert!(changed.len() < all);
    for row in changed.iter_mut().chain(&mut made) {
        row.remove("lastRequest");
    }
    let kinds: BTreeSet<&String> = made.iter().map(|row| row["kind"].as_s().unwrap()).collect();
    assert_eq!(kinds.len(), 4);
    assert_eq!(changed, made);
}

#[tokio::test]
async fn an_id_requested_twice_is_returned_once() {
    let db = TestDb::start().await;
    let (ana, bob) = (contact(&db, "Ana", "", "", ""), contact(&db, "Bob", "", "", ""));
    create(&db, &ana).await;
    create(&db, &bob).await;
    let found = db.store().contacts_by_id(WORKSPACE, &[bob.id, ana.id, bob.id]).await.unwrap();
    assert_eq!(found.iter().map(|contact| contact.id).collect::<Vec<_>>(), [bob.id, ana.id]);
}
