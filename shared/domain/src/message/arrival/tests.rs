use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::ids::WorkspaceId;
use crate::message::received::{ReceivedContent, Said};
use crate::text::{Cellphone, PersonName};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

fn contact_id(n: u128) -> ContactId {
    ContactId::from_uuid(Uuid::from_u128(n))
}

fn contact() -> Contact {
    let cellphone = Cellphone::parse("+34600111222").ok();
    Contact { cellphone, ..Contact::blank(contact_id(1), WorkspaceId::from_uuid(Uuid::from_u128(2)), NOW) }
}

fn line(name: &str) -> ChannelId {
    ChannelId::parse(name).unwrap()
}

fn arrival() -> Arrival {
    let received = Received {
        contact: contact().id,
        channel: line("a"),
        provider_message_id: "wamid.1".to_owned(),
        what: ReceivedContent::Said(Said::text("Hola")),
        extras: Default::default(),
    };
    let created_at = Timestamp::from_millis(NOW.as_millis() - 5);
    Arrival { by: SentBy::Customer, received, reply_to: None, created_at }
}

fn opened() -> Conversation {
    arrival().opens(&contact(), BrandId::parse("brand").unwrap(), 1, NOW)
}

fn with(status: ConversationStatus) -> Conversation {
    Conversation { status, ..opened() }
}

#[test]
fn a_message_goes_where_it_answers_then_to_the_newest_then_into_a_new_conversation() {
    use ConversationStatus::{Active, Blocked, Ghost, NotAssignedToHuman, Released};
    let named = |status| Some(with(status));
    let elsewhere = |status| {
        let id = ConversationId::from_uuid(Uuid::from_u128(9));
        Some(Conversation { id, ..with(status) })
    };
    let into = |conversation: Option<Conversation>| Destination::Into(Box::new(conversation.unwrap()));
    let blocked = |conversation: Option<Conversation>| Destination::Blocked(conversation.unwrap().id);
    let rows = [
        // The conversation of the answered message, the newest one, where the message goes.
        (None, None, Destination::New),
        (None, named(Active), into(named(Active))),
        (None, named(Ghost), into(named(Ghost))),
        (None, named(Blocked), blocked(named(Blocked))),
        (elsewhere(NotAssignedToHuman), named(Active), into(elsewhere(NotAssignedToHuman))),
        (elsewhere(Blocked), named(Active), blocked(elsewhere(Blocked))),
        (elsewhere(Active), named(Blocked), into(elsewhere(Active))),
        (elsewhere(Released), named(Active), into(named(Active))),
        (elsewhere(Released), None, Destination::New),
    ];
    for (answered, newest, expected) in rows {
        assert_eq!(Destination::of(contact().id, answered.clone(), newest), expected, "{answered:?}");
    }
    // The contact left the conversation of the answered message.
    assert_eq!(Destination::of(contact_id(7), elsewhere(Active), None), Destination::New);
}

#[test]
fn a_conversation_takes_messages_of_its_customers_on_their_lines_until_its_release() {
    let (of, other) = (contact().id, contact_id(7));
    let active = with(ConversationStatus::Active);
    assert!(active.takes_from(of, None) && active.takes_from(of, Some(&line("a"))));
    assert!(!active.takes_from(of, Some(&line("b"))) && !active.takes_from(other, None));
    assert!(with(ConversationStatus::Blocked).takes_from(of, None));
    assert!(!with(ConversationStatus::Released).takes_from(of, None));
}

#[test]
fn a_new_conversation_waits_for_an_agent_and_shows_the_number() {
    let new = opened();
    assert_eq!(new.status, ConversationStatus::NotAssignedToHuman);
    let external = &new.externals[0];
    assert_eq!((new.externals.len(), external.contact), (1, contact().id));
    assert_eq!((external.shown.identifier(), &external.channel), ("+34600111222".to_owned(), &line("a")));
    let hidden = Contact { cellphone: None, ..contact() };
    let shown = &arrival().opens(&hidden, BrandId::parse("brand").unwrap(), 1, NOW).externals[0].shown;
    assert_eq!(*shown, ContactRef::Id(contact().id));
    assert_eq!(opened().id, new.id, "a repeat opens the same conversation");
    let shards: Vec<u8> = (1..=16)
        .map(|shards| arrival().opens(&contact(), BrandId::parse("brand").unwrap(), shards, NOW).list_shard)
        .collect();
    assert_eq!(shards, (1..=16).map(|shards| list_shard(new.id.as_uuid(), shards)).collect::<Vec<_>>());
}

#[test]
fn a_customers_message_is_inbound_no_broadcast_and_prints_no_data() {
    let message = arrival().message(&opened(), 4, NOW);
    assert!(!message.is_broadcast() && message.part_at_hand().is_none());
    assert_eq!(message.direction(), crate::message::summary::Direction::Inbound);
    assert_eq!(message.shown_status(), "RECEIVED");
    assert_eq!((message.created_at, message.updated_at), (arrival().created_at, NOW));
    assert!(message.content.pieces().is_empty());
    let printed = format!("{message:?}");
    assert!(!printed.contains("Hola") && printed.contains("[TEXT]"), "{printed}");
    assert_eq!(message.provider_id_for(contact().id), Some("wamid.1"));
    assert_eq!(message.provider_id_for(contact_id(7)), None);
}

#[test]
fn a_name_fills_only_a_contact_without_one() {
    let name = |text: &str| PersonName::parse(text).ok();
    let ana = (name("Ana"), name("Ruiz"));
    let named = contact().named(ana.clone(), NOW).unwrap();
    assert_eq!((&named.first_name, &named.last_name, named.version), (&ana.0, &ana.1, 2));
    assert_eq!(named.updated_at, NOW.plus(Duration::from_millis(1)));
    assert!(contact().named((None, None), NOW).is_none());
    for half in
        [Contact { first_name: name("A"), ..contact() }, Contact { last_name: name("R"), ..contact() }]
    {
        assert!(half.named(ana.clone(), NOW).is_none());
    }
}

#[test]
fn a_message_from_the_business_app_is_a_sent_message_to_the_customer() {
    let echo = Arrival { by: SentBy::BusinessApp, ..arrival() };
    let message = echo.message(&opened(), 3, NOW);
    assert_eq!((message.sent_by, message.direction().as_str()), (SentBy::BusinessApp, "OUTBOUND"));
    assert_eq!((message.status(), message.shown_status()), (MessageStatus::Sent, "SENT"));
    assert_eq!(message.recipients, [Recipient { contact: contact().id, channel: line("a") }]);
    let [part] = &message.parts[..] else { panic!("{:?}", message.parts) };
    assert_eq!((part.recipient, part.provider_message_id.as_deref()), (contact().id, Some("wamid.1")));
    assert!(!message.is_broadcast() && message.part_at_hand().is_none(), "nothing is left to send");
}
