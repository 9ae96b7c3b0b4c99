//! The contact with the lead's number: found, completed, created, or changed concurrently.

use domain::lead::LeadName;
use domain::{Cellphone, Contact, Email, LeadState, PersonName, ProviderUserId, Reached};
use harness::{Fault, Reaction, TestClock, World};
use provider::{CallOutcome, Outgoing};
use store::{Replaced, Table};

use crate::{PHONE, SENT, Sender, failed, secs, task};

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

fn values(sender: &Sender) -> Vec<Vec<String>> {
    let values = |what| match what {
        Outgoing::Template { values, .. } => ["first", "last"].map(|slot| values[slot].clone()).to_vec(),
        other => panic!("{other:?}"),
    };
    sender.provider.calls().into_iter().map(|call| values(call.what)).collect()
}

#[tokio::test]
async fn the_existing_contact_gets_the_message_and_keeps_its_name() {
    for (first, last, said) in [
        (Some("María"), Some("Gil"), ["María", "Gil"]),
        (Some("María"), None, ["María", "of ours"]),
        (None, Some("Gil"), ["friend", "Gil"]),
    ] {
        let sender = Sender::start().await;
        let before = holder(&sender, |contact| {
            contact.first_name = first.and_then(name);
            contact.last_name = last.and_then(name);
        })
        .await;
        let id = sender.lead().await;
        let rows = sender.world.db.rows(Table::Contacts).len();
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, SENT);
        assert_eq!(contact(&sender, &before).await, before, "nothing was written");
        assert_eq!(sender.world.db.rows(Table::Contacts).len(), rows);
        assert_eq!(sender.stored(id).await.contact, before.id);
        assert_eq!(sender.message(id).await.unwrap().recipients[0].contact, before.id);
        assert_eq!(values(&sender), [said]);
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
    assert_eq!(sender.state(id).await, SENT);
    let after = contact(&sender, &before).await;
    let expected = Contact {
        first_name: name("Anabel"),
        updated_at: TestClock::START.plus(secs(1)),
        version: 2,
        ..before.clone()
    };
    assert_eq!(after, expected);
    assert_eq!(values(&sender), [["Anabel", "of ours"]]);
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
    assert_eq!((sender.state(id).await, contact(&sender, &before).await), (SENT, before));
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
    assert_eq!((sender.state(id).await, sender.stored(id).await.contact), (SENT, made.id));
    assert_eq!(contact(&sender, &made).await, made);
    assert_eq!(values(&sender), [["María", "of ours"]]);
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
    assert_eq!((sender.state(id).await, contact(&sender, &before).await), (SENT, named));
    assert_eq!(values(&sender), [["María", "of ours"]]);
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
    tokio::join!(sender.wake(id), meanwhile);
    let lead = sender.stored(id).await;
    assert_eq!((lead.state, lead.progress.failures, lead.opened), (LeadState::Queued, 1, false));
    assert_eq!((sender.provider.calls(), sender.sqs.take()[0].delay), (vec![], 30));
    sender.world.db.clock().advance(secs(30));
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 1));
}

#[tokio::test]
async fn two_leads_with_one_number_share_one_contact() {
    let sender = Sender::start().await;
    sender.world.brand("other", |_| ()).await;
    let one = sender.lead().await;
    let other = domain::BrandId::parse("other").unwrap();
    let other = sender.world.lead(PHONE, |lead| lead.brand = other).await.id;
    assert_eq!(sender.run(&[task(one), task(other)]).await, Vec::<String>::new());
    assert_eq!((sender.state(one).await, sender.state(other).await), (SENT, SENT));
    assert_eq!(sender.world.db.rows_of(Table::Contacts, "contact").len(), 1);
    let (one, other) = (sender.stored(one).await, sender.stored(other).await);
    assert_eq!(one.contact, other.contact);
    assert_ne!(one.conversation, other.conversation);
}

#[tokio::test]
async fn the_message_goes_to_the_number_of_the_consent_even_if_it_changed_hands() {
    let sender = Sender::start().await;
    let before = holder(&sender, |contact| contact.first_name = name("María")).await;
    let id = sender.lead().await;
    sender.provider.ends(CallOutcome::NeverConnected);
    sender.wake(id).await;
    let moved = Cellphone::parse("+12025550199").ok();
    let next = Contact { cellphone: moved, version: 2, ..before.clone() };
    assert_eq!(sender.store().replace_contact(&before, &next, "moved").await.unwrap(), Replaced::Done);
    sender.world.db.clock().advance(secs(30));
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.provider.numbers()), (SENT, vec![PHONE.to_owned(); 2]));
    assert_eq!(values(&sender), [["María", "of ours"], ["Ana", "Pérez"]]);
    assert_eq!(sender.world.db.rows_of(Table::Contacts, "contact").len(), 1, "no contact is created");
    assert_eq!(sender.stored(id).await.contact, before.id);
}

#[tokio::test]
async fn a_lead_with_an_unreadable_contact_ends_at_last() {
    let sender = Sender::start().await;
    holder(&sender, |_| ()).await;
    let mut row = sender.world.db.rows_from(Table::Contacts, "C").remove(0);
    row["sv"] = serde_json::json!({ "N": "99" });
    sender.world.db.import(Table::Contacts, &[row]);
    let id = sender.lead().await;
    for _ in 0..20 {
        sender.wake(id).await;
        sender.world.db.clock().advance(secs(14_400));
    }
    assert_eq!((sender.state(id).await, sender.provider.calls()), (failed("GIVEN_UP"), vec![]));
    assert_eq!(sender.message(id).await, None);
}

#[tokio::test]
async fn unreadable_data_is_read_again_later() {
    for operation in ["GetItem", "Query", "BatchGetItem"] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.world.db.fail(operation, Fault::Throttled, 20);
        sender.wake(id).await;
        sender.world.db.heal();
        let lead = sender.stored(id).await;
        assert_eq!((lead.state, lead.progress.failures), (LeadState::Queued, 1), "{operation}");
        assert_eq!((sender.provider.calls(), sender.sqs.take()[0].delay), (vec![], 30));
        sender.world.db.clock().advance(secs(30));
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, SENT);
        assert_eq!(sender.stored(id).await.version, 3);
    }
}

#[tokio::test]
async fn the_contact_remembers_the_ids_of_the_answer_whether_it_existed_or_is_new() {
    for exists in [true, false] {
        let sender = Sender::start().await;
        if exists {
            holder(&sender, |_| ()).await;
        }
        let (wa_id, user_id) = (Some("12025550000"), Some("US.1"));
        sender.provider.then(Reaction::Reaches(Reached::named(wa_id, user_id)));
        let id = sender.lead().await;
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, SENT);
        let store = sender.store();
        let contact = sender.stored(id).await.contact;
        for reached in [Reached::named(wa_id, None), Reached::named(None, user_id)] {
            let found = store.contact_reached_at(sender.world.workspace, &reached).await.unwrap();
            assert_eq!(found, Some(contact), "{exists}");
        }
    }
}

#[tokio::test]
async fn ids_that_cannot_be_remembered_do_not_change_the_outcome() {
    let sender = Sender::start().await;
    let user_id = ProviderUserId::parse("US.1").ok();
    let other = sender.world.contact(|contact| contact.user_ids = World::user_ids("US.1")).await;
    sender.provider.then(Reaction::Reaches(Reached { wa_id: None, user_id }));
    let id = sender.lead().await;
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, SENT);
    assert_eq!(contact(&sender, &other).await, other);
}
