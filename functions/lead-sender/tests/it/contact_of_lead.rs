//! The contact with the lead's number: found, completed, created, or changed concurrently.

use domain::lead::LeadName;
use domain::{Cellphone, Contact, Email, LeadState, PersonName};
use harness::TestClock;
use store::{Replaced, Table};

use crate::{OPENED, PHONE, Sender, secs, task};

fn name(text: &str) -> Option<PersonName> {
    PersonName::parse(text).ok()
}

async fn holder(sender: &Sender, change: impl FnOnce(&mut Contact)) -> Contact {
    sender
        .world
        .contact(|contact| {
            contact.cellphone = Cellphone::parse(PHONE).ok();
            change(contact);
        })
        .await
}

async fn contact(sender: &Sender, of: &Contact) -> Contact {
    sender.store().contact(of.workspace_id, of.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn the_existing_contact_gets_the_message_and_keeps_its_name() {
    for (first, last) in [(Some("María"), Some("Gil")), (Some("María"), None), (None, Some("Gil"))] {
        let sender = Sender::start().await;
        let before = holder(&sender, |contact| {
            contact.first_name = first.and_then(name);
            contact.last_name = last.and_then(name);
        })
        .await;
        let id = sender.lead().await;
        let rows = sender.world.db.rows(Table::Contacts).len();
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, OPENED);
        assert_eq!(contact(&sender, &before).await, before, "nothing was written");
        assert_eq!(sender.world.db.rows(Table::Contacts).len(), rows);
        assert_eq!(sender.stored(id).await.contact, before.id);
        assert_eq!(sender.message(id).await.unwrap().recipients[0].contact, before.id);
    }
}

#[tokio::test]
async fn a_nameless_contact_gets_the_leads_name_and_is_found_by_it() {
    let sender = Sender::start().await;
    // The search by e-mail address already finds the contact by this name, so one of the name's search rows is
    // superfluous.
    let before = holder(&sender, |contact| contact.email = Email::parse("x@ana.an").ok()).await;
    let id = sender.world.lead(PHONE, |lead| lead.name = LeadName::parse("Anabel").ok()).await.id;
    sender.world.db.clock().advance(secs(1));
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, OPENED);
    let after = contact(&sender, &before).await;
    let expected = Contact {
        first_name: name("Anabel"),
        updated_at: TestClock::START.plus(secs(1)),
        version: 2,
        ..before.clone()
    };
    assert_eq!(after, expected);
    let terms = sender.world.db.rows(Table::Contacts);
    let mut terms: Vec<&str> = terms
        .iter()
        .filter(|row| row["kind"]["S"] == "term")
        .map(|row| row["sk"]["S"].as_str().unwrap().split('#').next().unwrap())
        .collect();
    terms.sort_unstable();
    assert_eq!(terms, ["ana.an", "anabel", "x@ana.an"]);
}

#[tokio::test]
async fn a_nameless_lead_leaves_a_nameless_contact_as_it_is() {
    let sender = Sender::start().await;
    let before = holder(&sender, |_| ()).await;
    let id = sender.world.lead(PHONE, |lead| lead.name = None).await.id;
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, contact(&sender, &before).await), (OPENED, before));
}

#[tokio::test]
async fn a_contact_created_during_the_begin_is_found() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let held = sender.world.db.hold("TransactWriteItems");
    sender.world.db.forget_calls();
    let meanwhile = async {
        sender.world.db.begun("TransactWriteItems", 1).await;
        let made = holder(&sender, |contact| contact.first_name = name("María")).await;
        drop(held);
        made
    };
    let ((), made) = tokio::join!(sender.wake(id), meanwhile);
    assert_eq!((sender.state(id).await, sender.stored(id).await.contact), (OPENED, made.id));
    assert_eq!(contact(&sender, &made).await, made);
    assert_eq!(sender.world.db.rows_of(Table::Contacts, "contact").len(), 1);
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_concurrent_change_of_a_completed_contact_is_kept() {
    let sender = Sender::start().await;
    let before = holder(&sender, |_| ()).await;
    let id = sender.lead().await;
    let held = sender.world.db.hold("TransactWriteItems");
    sender.world.db.forget_calls();
    let named = Contact { first_name: name("María"), version: 2, ..before.clone() };
    let meanwhile = async {
        sender.world.db.begun("TransactWriteItems", 1).await;
        let replaced = sender.store().replace_contact(&before, &named, "by somebody").await.unwrap();
        assert_eq!(replaced, Replaced::Done);
        drop(held);
    };
    tokio::join!(sender.wake(id), meanwhile);
    assert_eq!((sender.state(id).await, contact(&sender, &before).await), (OPENED, named));
}

#[tokio::test]
async fn a_contact_that_changes_all_the_time_is_retried_later() {
    let sender = Sender::start().await;
    let mut now = holder(&sender, |_| ()).await;
    let id = sender.lead().await;
    let mut held = sender.world.db.hold("TransactWriteItems");
    sender.world.db.forget_calls();
    let meanwhile = async {
        for number in 0..5 {
            sender.world.db.begun("TransactWriteItems", 2 * number + 1).await;
            let email = Email::parse(&format!("ana{number}@example.com")).ok();
            let next = Contact { email, version: now.version + 1, ..now.clone() };
            let replaced = sender.store().replace_contact(&now, &next, &format!("{number}")).await.unwrap();
            assert_eq!(replaced, Replaced::Done);
            now = next;
            held = sender.world.db.hold("TransactWriteItems");
        }
        drop(held);
    };
    let tasks = [task(id)];
    let (failed, ()) = tokio::join!(sender.run(&tasks), meanwhile);
    let lead = sender.stored(id).await;
    assert_eq!((failed, lead.state, lead.opened), (vec!["0".to_owned()], LeadState::Queued, false));
    sender.world.db.clock().advance(crate::LEASE);
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, OPENED);
}

#[tokio::test]
async fn two_leads_with_one_number_share_one_contact() {
    let sender = Sender::start().await;
    sender.world.brand("other", |_| ()).await;
    let one = sender.lead().await;
    let other = domain::BrandId::parse("other").unwrap();
    let other = sender.world.lead(PHONE, |lead| lead.brand = other).await.id;
    assert_eq!(sender.run(&[task(one), task(other)]).await, Vec::<String>::new());
    assert_eq!((sender.state(one).await, sender.state(other).await), (OPENED, OPENED));
    assert_eq!(sender.world.db.rows_of(Table::Contacts, "contact").len(), 1);
    let (one, other) = (sender.stored(one).await, sender.stored(other).await);
    assert_eq!(one.contact, other.contact);
    assert_ne!(one.conversation, other.conversation);
}
