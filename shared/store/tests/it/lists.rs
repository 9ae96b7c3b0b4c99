//! Lists of contacts: newest first, complete, each contact once.

use std::time::Duration;

use crate::support::{Dice, OTHER, WORKSPACE, blank, create, everything, ids, next, pages, shards};
use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::{AttributeId, Contact, ContactId, Email, UserId};
use futures::future::join_all;
use harness::{TestDb, trips};
use store::Replaced;
use uuid::Uuid;

fn user(n: u128) -> Owner {
    Owner { id: UserId::from_uuid(Uuid::from_u128(n)), email: Email::parse(&format!("u{n}@x.io")).unwrap() }
}

/// Contacts with random ids, some created in the same millisecond, each of one of three owners or of none.
fn some_contacts(db: &TestDb, dice: &mut Dice, count: usize) -> Vec<Contact> {
    let mut contacts = vec![];
    for _ in 0..count {
        if !dice.one_in(4) {
            db.clock().advance(Duration::from_millis(dice.below(50) as u64));
        }
        let random = Uuid::from_u64_pair(dice.below(usize::MAX) as u64, dice.below(usize::MAX) as u64);
        let owner = [None, Some(user(1)), Some(user(2)), Some(user(3))][dice.below(4)].clone();
        contacts.push(Contact { id: ContactId::from_uuid(random), owner, ..blank(db) });
    }
    contacts
}

/// The ids in the order of lists.
fn in_order<'a>(contacts: impl IntoIterator<Item = &'a Contact>) -> Vec<ContactId> {
    let mut contacts: Vec<&Contact> = contacts.into_iter().collect();
    contacts.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(a.id.to_string().cmp(&b.id.to_string())));
    contacts.into_iter().map(|contact| contact.id).collect()
}

#[tokio::test]
async fn lists_are_complete_and_newest_first_for_any_page_sizes_and_shards() {
    for shard_count in [1, 4] {
        let db = TestDb::start().await;
        let mut dice = Dice::new(u64::from(shard_count));
        shards(&db, shard_count, shard_count).await;
        let contacts = some_contacts(&db, &mut dice, 230);
        join_all(contacts.iter().map(|contact| create(&db, contact))).await;
        create(&db, &Contact { workspace_id: OTHER, owner: Some(user(1)), ..blank(&db) }).await;
        for _ in 0..8 {
            let all = pages(&db, WORKSPACE, &everything(1), || 1 + dice.below(100)).await;
            assert_eq!(ids(&all), in_order(&contacts));
            let owned = store::ContactQuery { owner: Email::parse("U1@x.io").ok(), ..everything(1) };
            let of_one = contacts.iter().filter(|contact| contact.owner == Some(user(1)));
            assert_eq!(ids(&pages(&db, WORKSPACE, &owned, || 1 + dice.below(40)).await), in_order(of_one));
        }
    }
}

#[tokio::test]
async fn the_last_page_has_no_next_page() {
    let db = TestDb::start().await;
    let contacts = some_contacts(&db, &mut Dice::new(3), 6);
    for contact in &contacts {
        create(&db, contact).await;
    }
    assert_eq!(pages(&db, WORKSPACE, &everything(3), || 3).await.len(), 2);
    assert_eq!(pages(&db, WORKSPACE, &everything(6), || 6).await.len(), 1);
    let nobody = store::ContactQuery { owner: Email::parse("nobody@x.io").ok(), ..everything(3) };
    let none = pages(&db, WORKSPACE, &nobody, || 3).await;
    assert_eq!((none.len(), ids(&none).len()), (1, 0));
}

#[tokio::test]
async fn paging_continues_while_contacts_are_created_and_shards_are_added() {
    let db = TestDb::start().await;
    shards(&db, 1, 1).await;
    let mut dice = Dice::new(4);
    let old = some_contacts(&db, &mut dice, 60);
    join_all(old.iter().map(|contact| create(&db, contact))).await;
    let mut seen = vec![];
    let mut query = everything(7);
    for step in 0.. {
        let page = db.store().contacts_page(WORKSPACE, query.clone()).await.unwrap();
        seen.extend(page.items.iter().map(|contact| contact.id));
        match step {
            1 => shards(&db, 3, 1).await,
            2 => db.clock().advance(Duration::from_secs(60)),
            3 => shards(&db, 3, 3).await,
            4 => db.clock().advance(Duration::from_secs(60)),
            _ => {}
        }
        for contact in some_contacts(&db, &mut dice, 3) {
            create(&db, &contact).await;
        }
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, in_order(&old));
    // New contacts go to one shard again; contacts in the other shards stay in the list.
    shards(&db, 3, 1).await;
    db.clock().advance(Duration::from_secs(60));
    let all = pages(&db, WORKSPACE, &everything(1), || 20).await;
    assert_eq!(ids(&all).len(), 60 + 3 * 9);
}

#[tokio::test]
async fn a_change_of_owner_moves_a_contact_only_between_the_lists_of_the_owners() {
    let db = TestDb::start().await;
    shards(&db, 3, 3).await;
    let contacts = some_contacts(&db, &mut Dice::new(5), 12);
    for contact in &contacts {
        create(&db, contact).await;
    }
    let moved = contacts.iter().find(|contact| contact.owner == Some(user(1))).unwrap();
    let change = next(moved, db.store().now(), |next| next.owner = Some(user(9)));
    assert_eq!(db.store().replace_contact(moved, &change, "r").await.unwrap(), Replaced::Done);
    let of = async |owner: &str| {
        let query = store::ContactQuery { owner: Email::parse(owner).ok(), ..everything(50) };
        ids(&pages(&db, WORKSPACE, &query, || 50).await)
    };
    assert_eq!(of("u9@x.io").await, [moved.id]);
    assert!(!of("u1@x.io").await.contains(&moved.id));
    assert_eq!(ids(&pages(&db, WORKSPACE, &everything(50), || 50).await), in_order(&contacts));
}

#[tokio::test]
async fn a_list_takes_two_round_trips_even_with_many_shards() {
    for shard_count in [1, 4] {
        let db = TestDb::start().await;
        shards(&db, shard_count, shard_count).await;
        let contacts = some_contacts(&db, &mut Dice::new(6), 60);
        join_all(contacts.iter().map(|contact| create(&db, contact))).await;
        db.clock().advance(Duration::from_secs(60));
        let mut measured = vec![];
        for _ in 0..2 {
            db.forget_calls();
            db.store().contacts_page(WORKSPACE, everything(20)).await.unwrap();
            let units: f64 = db.calls().iter().map(|call| call.read_units).sum();
            measured.push((trips(&db.calls()), units));
        }
        // If the number of shards is not in memory, it is read beside the first shard. A page of 20 is 20
        // contacts and one query for each shard.
        let expected = if shard_count == 1 { [(2, 21.5), (2, 20.5)] } else { [(3, 23.0), (2, 22.0)] };
        assert_eq!(measured, expected);
    }
}

#[tokio::test]
async fn pages_of_large_contacts_end_before_an_answer_grows_too_large() {
    let db = TestDb::start().await;
    let content = OpenContent::parse(&"x".repeat(1_024)).unwrap();
    let large = |mut contact: Contact| {
        for n in 0..100 {
            let attribute = AttributeId::from_uuid(Uuid::from_u128(n));
            contact.attributes.insert(attribute, AttributeContent::Open(content.clone()));
        }
        contact
    };
    let contacts: Vec<Contact> = some_contacts(&db, &mut Dice::new(7), 60).into_iter().map(large).collect();
    for contact in &contacts {
        create(&db, contact).await;
    }
    let all = pages(&db, WORKSPACE, &everything(100), || 100).await;
    assert_eq!(ids(&all), in_order(&contacts));
    assert!(all.len() > 2);
    for page in &all {
        assert!(page.items.iter().map(Contact::bytes).sum::<usize>() <= 2 * 1024 * 1024);
    }
}

#[tokio::test]
async fn deleted_contacts_are_left_out_and_paging_continues() {
    let db = TestDb::start().await;
    let contacts = some_contacts(&db, &mut Dice::new(8), 5);
    for contact in &contacts[..4] {
        create(&db, contact).await;
    }
    let wanted: Vec<ContactId> = contacts.iter().rev().map(|contact| contact.id).collect();
    let found = db.store().contacts_by_id(WORKSPACE, &wanted).await.unwrap();
    let expected: Vec<ContactId> = contacts[..4].iter().rev().map(|contact| contact.id).collect();
    assert_eq!(found.iter().map(|contact| contact.id).collect::<Vec<_>>(), expected);
}
