use crate::ConversationName;
use crate::conversation::{ContactRef, External, Recipient};
use crate::ids::{BrandId, ChannelId, ConversationId, LeadId, MessageId};
use crate::lead::captcha::Score;
use crate::lead::{Consent, ConsentStatus, LandingUri, LeadState, Utm};
use crate::message::SentBy;
use crate::message::received::{Received, ReceivedContent, Said};
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

#[test]
fn a_finished_erasure_holds_hashes_instead_of_numbers_and_addresses() {
    let ana = person(&[10], &["+34600111222"], &["Ana@Example.com"]);
    let asked = Erasure::of(ana.clone(), WORKSPACE, NOW);
    assert_eq!((asked.pass(), asked.second_pass_at()), (1, None));
    let settling = asked.passed(BTreeMap::new(), NOW);
    assert_eq!((settling.state, settling.pass()), (ErasureState::Settling, 2));
    assert_eq!(settling.second_pass_at(), Some(NOW.plus(Erasure::SETTLES)));
    let counts = BTreeMap::from([("contacts".to_owned(), 1)]);
    let done = settling.passed(counts.clone(), NOW);
    assert_eq!(done.counts, counts);
    assert_eq!((done.state, done.done_at, done.version), (ErasureState::Done, Some(NOW), 3));
    assert!(done.person.numbers.is_empty() && done.person.emails.is_empty());
    let is_of = |person: Person| done.is_of(&person);
    assert!(is_of(person(&[10], &[], &[])) && is_of(person(&[], &["+34600111222"], &[])));
    assert!(is_of(person(&[], &[], &["ana@example.com"])), "addresses are compared without case");
    assert!(!is_of(person(&[11], &["+34600111223"], &["bob@example.com"])));
}

#[test]
fn the_hash_of_a_number_differs_between_workspaces() {
    let other = WorkspaceId::from_uuid(Uuid::from_u128(2));
    assert_ne!(digest(WORKSPACE, "+34600111222"), digest(other, "+34600111222"));
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
        progress: Progress::default(),
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
fn what_is_learned_of_a_person_is_added_to_the_erasure() {
    let ana = Person {
        user_ids: BTreeSet::from([ProviderUserId::parse("US.1").unwrap()]),
        ..person(&[10], &["+34600111222"], &["ana@example.com"])
    };
    let more = Person {
        user_ids: BTreeSet::from([ProviderUserId::parse("US.2").unwrap()]),
        ..person(&[11], &["+34600111223"], &["ruiz@example.com"])
    };
    let both = ana.clone().and(&more);
    assert_eq!(
        (both.contacts.len(), both.numbers.len(), both.emails.len(), both.user_ids.len()),
        (2, 2, 2, 2)
    );
    // The hashes of what is no longer known of the person stay.
    let asked = Erasure::of(ana.clone(), WORKSPACE, NOW);
    let knowing = asked.knowing(more.clone());
    let digests = ana.digests(WORKSPACE).into_iter().chain(more.digests(WORKSPACE)).collect();
    assert_eq!(knowing, Erasure { person: more, digests, version: 2, ..asked });
    assert_eq!(knowing.digests.len(), 6);
}
