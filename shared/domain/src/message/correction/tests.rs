use uuid::Uuid;

use super::*;
use crate::conversation::Conversation;
use crate::ids::{ContactId, ConversationId, MediaId, MessageId, WorkspaceId};
use crate::media::{Attached, FileName, FileType, SentAs};
use crate::message::arrival::Arrival;
use crate::message::received::{Forwarded, ProviderError, Referral, ReferralField};
use crate::message::{Draft, MessageBody, MessageType};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

fn line() -> ChannelId {
    ChannelId::parse("1045551234567").unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_767_323_000_000 + seconds * 1_000)
}

fn text(text: &str) -> ReceivedText {
    ReceivedText::cut(text, ReceivedText::MAX)
}

fn conversation() -> Conversation {
    let [one, two] = [3, 2].map(Uuid::from_u128);
    Conversation::blank(ConversationId::from_uuid(one), WorkspaceId::from_uuid(two), NOW)
}

fn message(what: ReceivedContent) -> Message {
    let extras = Extras {
        referral: Some(Referral([(ReferralField::SourceId, text("7"))].into())),
        forwarded: Forwarded::Once,
        raw: Some(Raw::of("{}")),
        ..Extras::default()
    };
    let received = Received {
        contact: ContactId::from_uuid(Uuid::from_u128(7)),
        channel: line(),
        provider_message_id: "wamid.1".to_owned(),
        what,
        extras: Box::new(extras),
    };
    Arrival { by: SentBy::Customer, received, reply_to: None, created_at: at(0) }.message(
        &conversation(),
        1,
        NOW,
    )
}

fn photo() -> ReceivedContent {
    let file = Attached {
        media: MediaId::from_uuid(Uuid::from_u128(8)),
        file_type: FileType::Image,
        content_type: "image/png".to_owned(),
        name: FileName::parse("a.png").unwrap(),
        size: 1,
    };
    let caption = Some(text("below"));
    ReceivedContent::File { sent_as: SentAs::Image, file: Ok(file), caption, voice: None, animated: None }
}

fn edit(id: &str, seconds: i64, to: &str) -> Correction {
    let text = (!to.is_empty()).then(|| text(to));
    let kind = CorrectionKind::Edit { text, raw: None };
    Correction { id: id.to_owned(), at: at(seconds), by: SentBy::Customer, kind }
}

fn revoke(seconds: i64) -> Correction {
    Correction {
        id: "wamid.r".to_owned(),
        at: at(seconds),
        by: SentBy::Customer,
        kind: CorrectionKind::Revoke,
    }
}

fn after(message: &Message, corrections: &[Correction]) -> Message {
    corrections.iter().fold(message.clone(), |message, correction| {
        match message.corrected(correction, &line(), NOW) {
            Corrected::Changed(next) => *next,
            _ => message,
        }
    })
}

fn received(message: &Message) -> &Received {
    match &message.content {
        Content::Received(received) => received,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_edit_changes_the_text_or_the_caption_and_nothing_else() {
    for (what, to, shown) in [
        (ReceivedContent::Said(Said::text("Hello")), "Hi", Some("Hi")),
        (photo(), "Hi", Some("Hi")),
        (photo(), "", None),
    ] {
        let before = message(what);
        let next = after(&before, &[edit("wamid.e", 5, to)]);
        let edited = received(&next);
        assert_eq!(edited.text(), shown);
        assert_eq!(edited.extras.edit, Some(Edit { at: at(5), id: "wamid.e".to_owned() }));
        assert_eq!((next.version, next.message_type()), (before.version + 1, before.message_type()));
        assert_eq!((next.files(), next.created_at), (before.files(), before.created_at));
        assert!(next.updated_at > before.updated_at);
        let extras = Extras { edit: None, ..*edited.extras.clone() };
        assert_eq!(extras, *received(&before).extras);
    }
    let raw = Some(Raw::of("{\"a\":1}"));
    let kind = CorrectionKind::Edit { text: Some(text("Hi")), raw: raw.clone() };
    let of_raw = Correction { kind, ..edit("wamid.e", 5, "") };
    let next = after(&message(ReceivedContent::Said(Said::text("Hello"))), &[of_raw]);
    assert_eq!(received(&next).extras.raw, raw, "the text before may be in what it had");
}

#[test]
fn a_revoke_drops_what_the_customer_said_and_keeps_where_it_comes_from() {
    for (what, kind) in [
        (ReceivedContent::Said(Said::text("Hello")), MessageType::Text),
        (photo(), MessageType::Image),
        (ReceivedContent::Said(Said::unsupported("poll")), MessageType::Unsupported),
    ] {
        let next = after(&message(what), &[revoke(9)]);
        let Received { what, extras, .. } = received(&next);
        assert_eq!((what, next.message_type()), (&ReceivedContent::Revoked(kind), kind));
        assert_eq!((received(&next).text(), next.files(), &extras.raw), (None, vec![], &None));
        assert_eq!((extras.revoked_at, extras.forwarded), (Some(at(9)), Forwarded::Once));
        assert!(extras.referral.is_some());
    }
}

#[test]
fn what_is_no_text_of_a_customer_on_the_line_is_not_changed() {
    let place = message(ReceivedContent::Said(Said::unsupported("poll")));
    assert_eq!(place.corrected(&edit("wamid.e", 5, "Hi"), &line(), NOW), Corrected::NoText);
    let said = message(ReceivedContent::Said(Said::text("Hello")));
    assert_eq!(said.corrected(&edit("wamid.e", 5, ""), &line(), NOW), Corrected::NoText);
    let other = ChannelId::parse("1045550000000").unwrap();
    for correction in [edit("wamid.e", 5, "Hi"), revoke(5)] {
        assert_eq!(said.corrected(&correction, &other, NOW), Corrected::Foreign);
        let draft = Draft {
            conversation: conversation().id,
            body: MessageBody::parse("Hello").ok(),
            media: vec![],
            broadcast: true,
            reply_to: None,
        };
        let id = MessageId::from_uuid(Uuid::from_u128(9));
        let ours = draft.message(id, &conversation(), 1, vec![], NOW);
        assert_eq!(ours.corrected(&correction, &line(), NOW), Corrected::Foreign);
    }
}

#[test]
fn every_order_of_the_same_changes_ends_in_the_same_message_and_repeats_change_nothing() {
    let all = [edit("wamid.e", 5, "one"), edit("wamid.f", 5, "two"), edit("wamid.g", 3, "three"), revoke(4)];
    for (changes, shown) in [(&all[..3], Some("two")), (&all[..], None)] {
        let orders = orders(changes);
        for what in [ReceivedContent::Said(Said::text("Hello")), photo()] {
            let message = message(what);
            let expected = after(&message, &orders[0]).content;
            for order in &orders {
                let ended = after(&message, order);
                assert_eq!(ended.content, expected, "{order:?}");
                assert_eq!(received(&ended).text(), shown, "{order:?}");
                assert_eq!(after(&ended, order), ended, "a repeat");
            }
        }
    }
}

#[test]
fn a_placeholder_takes_the_content_that_comes_later_once() {
    let unavailable = |code| ProviderError { code: Some(code), title: None, details: None };
    let placeholder = |code| {
        let mut placeholder = message(ReceivedContent::Said(Said::unsupported("unsupported")));
        let Content::Received(received) = &mut placeholder.content else { panic!("received") };
        received.extras.errors = vec![unavailable(code)];
        placeholder
    };
    let extras = || Box::new(Extras { forwarded: Forwarded::Many, ..Extras::default() });
    let said = || ReceivedContent::Said(Said::text("Hello"));
    let answered = Some(MessageId::from_uuid(Uuid::from_u128(9)));
    let before = placeholder(131_060);
    let next = before.filled(said(), extras(), answered, NOW).unwrap();
    assert_eq!((received(&next).text(), next.message_type()), (Some("Hello"), MessageType::Text));
    assert_eq!((&received(&next).extras, next.reply_to), (&extras(), answered));
    assert_eq!((next.version, next.created_at, next.id), (before.version + 1, before.created_at, before.id));
    assert_eq!(next.filled(said(), extras(), answered, NOW), None, "it has its content");
    assert_eq!(placeholder(131_051).filled(said(), extras(), answered, NOW), None, "another error");
    let deleted = after(&before, &[revoke(4)]);
    assert_eq!(deleted.filled(said(), extras(), answered, NOW), None, "the customer deleted it");
}

fn orders(of: &[Correction]) -> Vec<Vec<Correction>> {
    if of.is_empty() {
        return vec![vec![]];
    }
    let with_first = |at: usize| {
        let mut rest = of.to_vec();
        let first = rest.remove(at);
        orders(&rest).into_iter().map(move |order| [vec![first.clone()], order].concat())
    };
    (0..of.len()).flat_map(with_first).collect()
}
