use crate::ConversationName;
use crate::conversation::{ContactRef, External, Recipient};
use std::time::Duration;

use uuid::Uuid;

use crate::ids::{BrandId, ChannelId, ConversationId, LeadId, MessageId, WorkspaceId};
use crate::lead::captcha::Score;
use crate::lead::{Consent, ConsentStatus, LandingUri, LeadState, Utm};
use crate::message::SentBy;
use crate::message::received::{Received, ReceivedContent, Said};
use crate::person::erasure::{Erasure, ErasureState, Preview};
use crate::person_key::PersonKey;
use crate::sending::Progress;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
const WORKSPACE: WorkspaceId = WorkspaceId::from_uuid(Uuid::from_u128(1));

fn contact(n: u128) -> ContactId {
    ContactId::from_uuid(Uuid::from_u128(n))
}

fn person(contacts: &[u128], cellphones: &[&str], emails: &[&str]) -> Person {
    let held = |text: &&str| HeldNumber {
        number: Cellphone::parse(text).unwrap(),
        tenure: Tenure { from: NOW, to: None, contact: contact(contacts[0]) },
    };
    let number = |text: &&str| Cellphone::parse(text).unwrap();
    let (numbers, unheld) = match contacts.is_empty() {
        true => (BTreeSet::new(), cellphones.iter().map(number).collect()),
        false => (cellphones.iter().map(held).collect(), BTreeSet::new()),
    };
    Person {
        contacts: contacts.iter().map(|n| contact(*n)).collect(),
        numbers,
        unheld,
        emails: emails.iter().map(|text| Email::parse(text).unwrap()).collect(),
        ..Person::default()
    }
}

fn conversation(externals: &[u128], name: Option<&str>) -> Conversation {
    let external = |n: &u128| External {
        contact: contact(*n),
        shown: ContactRef::Id(contact(*n)),
        channel: ChannelId::parse("line").unwrap(),
        brand: BrandId::parse("brand").unwrap(),
        joined_at: NOW,
        last_seen_at: None,
    };
    Conversation {
        name: name.map(|name| ConversationName::parse(name).unwrap()),
        externals: externals.iter().map(external).collect(),
        ..Conversation::blank(ConversationId::from_uuid(Uuid::from_u128(3)), WORKSPACE, NOW)
    }
}

fn message(recipients: &[u128], created_at: Timestamp) -> Message {
    let recipient = |n: &u128| Recipient { contact: contact(*n), channel: ChannelId::parse("line").unwrap() };
    Message {
        id: MessageId::from_uuid(Uuid::from_u128(4)),
        workspace_id: WORKSPACE,
        conversation: ConversationId::from_uuid(Uuid::from_u128(3)),
        seq: 1,
        sent_by: SentBy::Api,
        lead: None,
        content: Content::Written { body: None, media: vec![], broadcast: !recipients.is_empty() },
        reply_to: None,
        recipients: recipients.iter().map(recipient).collect(),
        parts: vec![],
        progress: Progress::default(),
        created_at,
        updated_at: created_at,
        version: 1,
    }
}

#[test]
fn a_conversation_goes_with_its_only_customer() {
    let ana = person(&[10], &[], &[]);
    assert!(ana.is_alone_in(&conversation(&[10], None)));
    assert!(!ana.is_alone_in(&conversation(&[10, 11], None)));
    assert!(!ana.is_alone_in(&conversation(&[11], None)));
}

#[test]
fn what_a_customer_wrote_goes_with_the_customer_only() {
    let ana = person(&[10], &[], &[]);
    let later = NOW.plus(Duration::from_millis(1));
    for (writer, goes) in [(10, true), (11, false)] {
        let received = Received {
            contact: ContactId::from_uuid(Uuid::from_u128(writer)),
            channel: ChannelId::parse("line").unwrap(),
            provider_message_id: "wamid.1".to_owned(),
            what: ReceivedContent::Said(Said::text("Hola")),
            extras: Default::default(),
        };
        let written = Message { content: Content::Received(received), ..message(&[], later) };
        assert_eq!(ana.has_message(&written, NOW), goes, "{writer}");
    }
}

#[test]
fn a_message_to_others_stays_and_a_note_from_before_goes() {
    let ana = person(&[10], &[], &[]);
    let later = NOW.plus(Duration::from_millis(1));
    for (recipients, at, goes) in [
        (&[10][..], NOW, true),
        (&[11, 10], later, true),
        (&[11], NOW, false),
        (&[], NOW, true),
        (&[], later, false),
    ] {
        assert_eq!(ana.has_message(&message(recipients, at), NOW), goes, "{recipients:?} {at}");
    }
}

#[test]
fn a_conversation_that_a_person_leaves_loses_its_name_once() {
    let ana = person(&[10], &[], &[]);
    let left = ana.left(&conversation(&[10, 11], Some("Ana and Bob")), NOW).unwrap();
    let others: Vec<ContactId> = left.externals.iter().map(|external| external.contact).collect();
    assert_eq!((left.name.clone(), others, left.version), (None, vec![contact(11)], 2));
    assert_eq!(ana.left(&left, NOW), None);
    assert!(ana.left(&conversation(&[11], Some("Ana and Bob")), NOW).is_some(), "the name may name Ana");
}

pub(super) fn lead(cellphone: &str, contact: u128) -> Lead {
    Lead {
        id: LeadId::from_uuid(Uuid::from_u128(5)),
        workspace_id: WORKSPACE,
        cellphone: Cellphone::parse(cellphone).unwrap(),
        name: None,
        brand: BrandId::parse("brand").unwrap(),
        landing_uri: LandingUri::parse("https://www.example.com/").unwrap(),
        utm: Utm::default(),
        consent: Consent {
            status: ConsentStatus::Granted,
            captured_at: None,
            text: None,
            received_at: NOW,
            landing_uri: LandingUri::parse("https://www.example.com/").unwrap(),
            address_hash: String::new(),
            user_agent: None,
            score: Score::from_hundredths(70).unwrap(),
        },
        contact: self::contact(contact),
        conversation: ConversationId::from_uuid(Uuid::from_u128(3)),
        message: MessageId::from_uuid(Uuid::from_u128(4)),
        opened: true,
        state: LeadState::Sent,
        error: None,
        message_version: None,
        created_at: NOW,
        updated_at: NOW,
        version: 1,
    }
}

#[test]
fn a_lead_is_the_persons_by_its_contact_or_by_the_time_of_its_number() {
    let ana = person(&[10], &["+34600111222"], &[]);
    let earlier = Tenure { from: NOW, to: Some(NOW.plus(Duration::from_millis(5))), contact: contact(11) };
    let own = Tenure { from: NOW.plus(Duration::from_millis(7)), to: None, contact: contact(10) };
    let numbers = ana.numbers.iter().cloned().map(|held| HeldNumber { tenure: own, ..held }).collect();
    let ana = Person { numbers, ..ana };
    for (contact, opened, after, expected) in [
        (10, true, 0, true),
        (11, true, 9, false),
        (12, false, 0, false),
        (12, false, 5, false),
        (12, false, 7, true),
    ] {
        let created_at = NOW.plus(Duration::from_millis(after));
        let lead = Lead { opened, created_at, ..lead("+34600111222", contact) };
        assert_eq!(ana.has_lead(&lead, &[earlier]), expected, "{contact} {opened} {after}");
    }
    let between =
        Lead { opened: false, created_at: NOW.plus(Duration::from_millis(6)), ..lead("+34600111222", 12) };
    let named = Person { leads: BTreeSet::from([between.id]), ..ana.clone() };
    assert_eq!([&ana, &named].map(|person| person.has_lead(&between, &[earlier])), [false, true]);
}

#[test]
fn a_number_that_others_had_names_nobody() {
    let ana = person(&[10], &["+34600111222", "+5511987654321"], &["Ana@Example.com"]);
    let shared = BTreeSet::from([Cellphone::parse("+34600111222").unwrap().key()]);
    let texts: Vec<String> = Person { shared, ..ana }.texts().collect();
    assert_eq!(texts, ["+551187654321", "+5511987654321", "ana@example.com"]);
}

#[test]
fn a_repeat_of_a_request_has_the_same_id_and_a_preview_has_its_own() {
    let key = PersonKey::new([7; 32]);
    let ana = person(&[10], &["+34600111222"], &[]);
    let contacts =
        |is_preview| Erasure::of_contacts(ana.contacts.clone(), WORKSPACE, is_preview, "operator", NOW);
    let of = |person: &Person, leads: &[LeadId]| {
        let leads = leads.iter().copied().collect();
        Erasure::of_person(person, &leads, &key, WORKSPACE, false, "operator", NOW).id
    };
    assert_eq!(contacts(false).id, of(&ana, &[]));
    assert_ne!(contacts(false).id, contacts(true).id);
    // Who has no contact is known by the leads that a number led to, so a later lead is another erasure.
    let unheld = person(&[], &["+34600111222"], &[]);
    let [first, second] = [5, 6].map(|n| LeadId::from_uuid(Uuid::from_u128(n)));
    let ids = [of(&ana, &[]), of(&unheld, &[]), of(&unheld, &[first]), of(&unheld, &[first, second])];
    assert_eq!(BTreeSet::from(ids).len(), 4);
    assert_eq!(of(&unheld, &[first, second]), of(&unheld, &[second, first]));
}

#[test]
fn an_erasure_has_two_passes_and_a_preview_none() {
    let key = PersonKey::new([7; 32]);
    let ana = person(&[10], &["+34600111222"], &["Ana@Example.com"]);
    let asked = Erasure::of_contacts(ana.contacts.clone(), WORKSPACE, false, "operator", NOW);
    let first = asked.finding().erasing(&ana, &key);
    assert_eq!((first.state, first.pass, first.macs.len()), (ErasureState::Erasing, 1, 2));
    let settling = first.passed(BTreeMap::new(), NOW);
    assert_eq!((settling.state, settling.is_over()), (ErasureState::Settling, false));
    assert_eq!(settling.second_pass_at(Erasure::SETTLES), NOW.plus(Erasure::SETTLES));
    let late = person(&[11], &["+34600111223"], &[]);
    let second = settling.finding().erasing(&late.and(&ana), &key);
    assert_eq!((second.pass, second.macs.len(), second.contacts.len()), (2, 3, 2));
    let counts = BTreeMap::from([("contacts".to_owned(), 1)]);
    let done = second.waiting_for(Some("aws/lambda/x".to_owned())).passed(counts.clone(), NOW);
    assert_eq!((done.state, done.is_over(), done.done_at), (ErasureState::Done, true, Some(NOW)));
    assert_eq!((done.counts, done.waits_for), (counts, None));
    let preview = Erasure::of_contacts(ana.contacts, WORKSPACE, true, "operator", NOW);
    let found = preview.finding().found(Preview::default(), NOW);
    assert_eq!((found.state, found.kept_until), (ErasureState::Found, Some(NOW.plus(Erasure::PREVIEW_KEPT))));
}

#[test]
fn a_receipt_is_recognised_by_every_form_of_a_number_and_an_address_and_only_with_the_key() {
    let (key, other) = (PersonKey::new([7; 32]), PersonKey::new([8; 32]));
    let ana = person(&[10], &["+5511987654321"], &["Ana@Example.com"]);
    let macs = ana.macs(WORKSPACE, &key);
    for same in [person(&[], &["+551187654321"], &[]), person(&[], &[], &["ana@example.com"])] {
        assert!(same.macs(WORKSPACE, &key).is_subset(&macs));
        assert!(same.macs(WORKSPACE, &other).is_disjoint(&macs));
    }
    assert!(person(&[], &["+551187654322"], &[]).macs(WORKSPACE, &key).is_disjoint(&macs));
}
