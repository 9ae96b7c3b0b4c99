use proptest::prelude::*;

use super::*;

fn uuid(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn text(text: &str) -> ReceivedText {
    ReceivedText::cut(text, ReceivedText::MAX)
}

fn card(phones: usize, length: usize) -> Card {
    Card {
        name: Some(text(&"n".repeat(length))),
        phones: vec![text(&"p".repeat(length)); phones],
        emails: vec![],
    }
}

fn received(what: ReceivedContent) -> Received {
    Received {
        contact: ContactId::from_uuid(uuid(1)),
        channel: ChannelId::parse("line").unwrap(),
        provider_message_id: "wamid.1".to_owned(),
        what,
        extras: Box::default(),
    }
}

#[test]
fn a_text_is_cut_between_characters() {
    for (given, most, cut) in
        [("", 3, ""), ("añb", 3, "añb"), ("añb", 2, "añ"), ("añb", 1, "a"), ("😀😀", 1, "😀")]
    {
        assert_eq!(ReceivedText::cut(given, most).as_str(), cut, "{given} {most}");
    }
}

#[test]
fn cards_are_kept_as_far_as_the_limits_allow() {
    let kept = |cards: Vec<Card>| match Said::contacts(cards) {
        Said::Contacts(kept) => kept,
        other => panic!("{other:?}"),
    };
    assert_eq!(kept(vec![card(0, 1); 101]).len(), Said::MAX_CARDS);
    assert_eq!(kept(vec![card(21, 1)])[0].phones.len(), Said::MAX_IN_CARD);
    // A card of 8,000 characters, and one of 8,001.
    assert_eq!(kept(vec![card(4, 1_600), card(4, 1_600)]).len(), 2);
    assert_eq!(kept(vec![card(4, 1_600), card(4, 1_601), card(0, 1)]).len(), 1);
}

#[test]
fn the_text_of_a_message_is_what_its_reader_sees() {
    let label = || text("yes");
    let rows = [
        (ReceivedContent::Said(Said::text("Hola")), Some("Hola")),
        (ReceivedContent::Said(Said::ButtonReply { text: label(), payload: Some(text("p")) }), Some("yes")),
        (
            ReceivedContent::Said(Said::InteractiveReply {
                kind: ChoiceKind::Button,
                id: text("1"),
                title: label(),
                description: None,
            }),
            Some("yes"),
        ),
        (
            ReceivedContent::File {
                sent_as: SentAs::Image,
                file: Err(FileMissing::Unavailable),
                caption: Some(label()),
                voice: None,
                animated: None,
            },
            Some("yes"),
        ),
        (ReceivedContent::Said(Said::contacts([])), None),
        (ReceivedContent::Said(Said::unsupported("order")), None),
        (
            ReceivedContent::Reaction {
                to: None,
                provider_message_id: "w".to_owned(),
                emoji: Some(text("👍")),
            },
            None,
        ),
    ];
    for (what, expected) in rows {
        let shown = format!("{what:?}");
        assert_eq!(received(what).text(), expected, "{shown}");
    }
}

#[test]
fn ids_are_derived_from_the_workspace_and_the_providers_id() {
    let (one, other) = (WorkspaceId::from_uuid(uuid(1)), WorkspaceId::from_uuid(uuid(2)));
    assert_eq!(Received::message_id(one, "wamid.1"), Received::message_id(one, "wamid.1"));
    assert_ne!(Received::message_id(one, "wamid.1"), Received::message_id(one, "wamid.2"));
    assert_ne!(Received::message_id(one, "wamid.1"), Received::message_id(other, "wamid.1"));
    assert_ne!(
        Received::contact_id(one, "wamid.1").as_uuid(),
        Received::conversation_id(one, "wamid.1").as_uuid()
    );
}

#[test]
fn a_message_is_created_at_the_providers_time_within_reason() {
    const DAY: i64 = 24 * 60 * 60 * 1_000;
    let at = Timestamp::from_millis;
    let received_at = at(100 * DAY);
    for (given, expected) in [
        (100 * DAY - 1, 100 * DAY - 1),
        (100 * DAY, 100 * DAY),
        (100 * DAY + 6, 100 * DAY),
        (92 * DAY, 92 * DAY),
        (92 * DAY - 1, 92 * DAY),
        (0, 92 * DAY),
    ] {
        for rank in [0, 1, 999] {
            let found = Received::created_at(at(given), rank, received_at);
            assert_eq!(found, at(expected + i64::from(rank)), "{given}");
        }
    }
}

proptest! {
    #[test]
    fn an_angle_is_stored_to_a_centimetre(degrees in -180.0..=180.0) {
        let angle = Degrees::of(degrees).unwrap();
        prop_assert!((angle.as_f64() - degrees).abs() <= 0.5e-7 + f64::EPSILON * 180.0);
        prop_assert!(Degrees::restored(angle.stored()) == angle);
    }
}

#[test]
fn an_angle_beyond_a_half_turn_is_none() {
    for degrees in [180.1, -180.1, f64::NAN, f64::INFINITY] {
        assert!(Degrees::of(degrees).is_none(), "{degrees}");
    }
}
