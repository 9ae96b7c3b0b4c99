use domain::Timestamp;
use domain::media::SentAs;
use domain::message::received::{Card, ChoiceKind, Degrees, Location, ReceivedText, Said};
use domain::message::{Correction, CorrectionKind, SentBy};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn piece(field: &str, value: Value) -> Piece {
    Piece { account: "2055500001".to_owned(), field: field.to_owned(), value, ranks: Default::default() }
}

/// The items of a change on the line 5 with one contact.
fn items_of(list: &str, item: &Value) -> Vec<Item> {
    let contact = json!({ "wa_id": "34600111222", "user_id": "ES.7", "profile": { "name": "Ana" } });
    let value = json!({ "metadata": { "phone_number_id": "5" }, "contacts": [contact], list: [item] });
    match read(&piece("messages", value)) {
        Subject::Line(line, items) => {
            assert_eq!(line.as_str(), "5");
            items
        }
        other => panic!("{other:?}"),
    }
}

fn ana() -> Customer {
    let some = |text: &str| Some(text.to_owned());
    Customer { wa_id: some("34600111222"), user_id: some("ES.7"), name: some("Ana") }
}

fn at() -> Timestamp {
    Timestamp::from_millis(1_792_487_728_000)
}

fn incoming(mut item: Value) -> Incoming {
    for (name, value) in [("from", "34600111222"), ("id", "wamid.1"), ("timestamp", "1792487728")] {
        item[name] = json!(value);
    }
    match items_of("messages", &item).as_slice() {
        [Item::Message(message)] => message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_status_names_the_part_the_person_and_the_error() {
    let rows = [
        ("sent", StatusKind::Sent),
        ("delivered", StatusKind::Delivered),
        ("read", StatusKind::Read),
        ("played", StatusKind::Read),
        ("failed", StatusKind::Failed { code: Some(131_026), detail: Some("Undeliverable.".to_owned()) }),
    ];
    for (word, kind) in rows {
        let item = json!({
            "id": "wamid.1", "status": word, "timestamp": "1792487728", "recipient_id": "34600111222",
            "biz_opaque_callback_data": "part",
            "errors": [{ "code": 131_026, "title": "Undeliverable", "error_data": { "details": "Undeliverable." } }],
            "pricing": { "billable": true, "category": "marketing", "type": "regular", "pricing_model": "PMP" },
        });
        let (id, part) = ("wamid.1".to_owned(), Some("part".to_owned()));
        let pricing = Pricing::of(Some(true), Some("marketing"), Some("regular"));
        let expected = Status { id, part, recipient: ana(), kind, pricing, at: at() };
        assert_eq!(items_of("statuses", &item), [Item::Status(expected)], "{word}");
    }
    for wrong in
        [json!({}), json!({ "status": "sent" }), json!({ "status": "deleted", "id": "w", "timestamp": 1 })]
    {
        assert_eq!(items_of("statuses", &wrong), [], "{wrong}");
    }
}

#[test]
fn a_text_has_its_sender_its_time_and_the_message_that_it_answers() {
    let message =
        incoming(json!({ "type": "text", "text": { "body": "¡Hola!" }, "context": { "id": "wamid.0" } }));
    let expected = Incoming {
        id: "wamid.1".to_owned(),
        from: ana(),
        at: at(),
        answers: Some("wamid.0".to_owned()),
        content: Content::Said(Said::text("¡Hola!")),
        extras: Box::default(),
    };
    assert_eq!(message, expected);
}

#[test]
fn every_kind_of_content_is_read() {
    let some = |text: &str| Some(text.to_owned());
    let label = |text: &str| ReceivedText::cut(text, 9);
    let file = |sent_as, caption: Option<&str>, filename: Option<&str>| {
        let voice = (sent_as == SentAs::Audio).then_some(true);
        let animated = (sent_as == SentAs::Sticker).then_some(false);
        let (id, mime_type) = ("77".to_owned(), "a/b".to_owned());
        let (caption, filename) = (caption.map(label), filename.map(str::to_owned));
        Content::Media(MediaFile {
            sent_as,
            id,
            mime_type,
            sha256: some("s="),
            caption,
            filename,
            voice,
            animated,
        })
    };
    let given = |more: Value| {
        let mut file = json!({ "id": "77", "mime_type": "a/b", "sha256": "s=" });
        for (name, value) in more.as_object().into_iter().flatten() {
            file[name.as_str()] = value.clone();
        }
        file
    };
    let place = |name: Option<&str>| {
        let [latitude, longitude] = [40.5, -3.0].map(|angle| Degrees::of(angle).unwrap());
        let name = name.map(label);
        Content::Said(Said::Location(Location {
            latitude,
            longitude,
            address: name.clone(),
            name,
            url: None,
        }))
    };
    let choice = |kind, description: Option<&str>| {
        let description = description.map(label);
        Content::Said(Said::InteractiveReply { kind, id: label("yes"), title: label("Yes"), description })
    };
    let card = Card {
        name: Some(label("Eva")),
        phones: vec![label("+34 600")],
        emails: vec![ReceivedText::cut("e@x.example", 99)],
    };
    let unsupported = |kind| Content::Said(Said::unsupported(kind));
    let rows = [
        ("image", given(json!({ "caption": "Look" })), file(SentAs::Image, Some("Look"), None)),
        ("video", given(json!({})), file(SentAs::Video, None, None)),
        ("audio", given(json!({ "voice": true })), file(SentAs::Audio, None, None)),
        ("document", given(json!({ "filename": "a.pdf" })), file(SentAs::Document, None, Some("a.pdf"))),
        ("sticker", given(json!({ "animated": false })), file(SentAs::Sticker, None, None)),
        ("location", json!({ "latitude": 40.5, "longitude": -3 }), place(None)),
        (
            "location",
            json!({ "latitude": 40.5, "longitude": -3, "name": "Sol", "address": "Sol" }),
            place(Some("Sol")),
        ),
        (
            "contacts",
            json!([{
                "name": { "formatted_name": "Eva" }, "phones": [{ "phone": "+34 600" }, {}],
                "emails": [{ "email": "e@x.example" }],
            }]),
            Content::Said(Said::Contacts(vec![card])),
        ),
        (
            "button",
            json!({ "text": "Yes", "payload": "p" }),
            Content::Said(Said::ButtonReply { text: label("Yes"), payload: Some(label("p")) }),
        ),
        (
            "interactive",
            json!({ "type": "button_reply", "button_reply": { "id": "yes", "title": "Yes" } }),
            choice(ChoiceKind::Button, None),
        ),
        (
            "interactive",
            json!({ "type": "list_reply", "list_reply": { "id": "yes", "title": "Yes", "description": "d" } }),
            choice(ChoiceKind::List, Some("d")),
        ),
        (
            "reaction",
            json!({ "message_id": "w", "emoji": "👍" }),
            Content::Reaction { to: "w".to_owned(), emoji: Some(label("👍")) },
        ),
        ("reaction", json!({ "message_id": "w" }), Content::Reaction { to: "w".to_owned(), emoji: None }),
        (
            "system",
            json!({ "type": "user_changed_number", "wa_id": "34600333444", "user_id": "ES.8", "previous_user_id": "ES.7" }),
            Content::Moved {
                to: Customer { wa_id: some("34600333444"), user_id: some("ES.8"), name: None },
                previous_user_id: some("ES.7"),
            },
        ),
        ("order", json!({ "text": "c" }), unsupported("order")),
        ("image", json!({}), unsupported("image")),
        ("location", json!({ "latitude": 40.5, "longitude": 181 }), unsupported("location")),
        ("reaction", json!({ "message_id": "w".repeat(513), "emoji": "👍" }), unsupported("reaction")),
        ("interactive", json!({ "type": "nfm_reply", "nfm_reply": {} }), unsupported("interactive")),
    ];
    for (kind, content, expected) in rows {
        assert_eq!(incoming(json!({ "type": kind, kind: content })).content, expected, "{kind} {content}");
    }
    assert_eq!(incoming(json!({})).content, unsupported(""));
}

#[test]
fn a_message_with_an_id_that_fits_no_key_is_left_out() {
    let text = |id: &str| {
        let body = json!({ "body": "x" });
        json!({ "from": "34600111222", "id": id, "timestamp": "1792487728", "type": "text", "text": body })
    };
    assert_eq!(items_of("messages", &text(&"w".repeat(512))).len(), 1);
    assert_eq!(items_of("messages", &text(&"w".repeat(513))), []);
}

#[test]
fn long_texts_are_cut() {
    let message = incoming(json!({ "type": "text", "text": { "body": "ñ".repeat(4_097) } }));
    assert_eq!(message.content, Content::Said(Said::text(&"ñ".repeat(4_096))));
    let button = incoming(json!({ "type": "button", "button": { "text": "b".repeat(1_025) } }));
    let text = ReceivedText::cut(&"b".repeat(1_024), ReceivedText::MAX);
    assert_eq!(button.content, Content::Said(Said::ButtonReply { text, payload: None }));
}

#[test]
fn a_person_may_have_a_user_id_and_no_number() {
    let item = json!({ "from_user_id": "ES.7", "id": "wamid.1", "timestamp": 1_792_487_728, "type": "text", "text": { "body": "x" } });
    let value = json!({ "metadata": { "phone_number_id": "5" }, "contacts": [{ "user_id": "ES.7" }], "messages": [item] });
    let Subject::Line(_, items) = read(&piece("messages", value)) else { panic!("of a line") };
    let [Item::Message(message)] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!(message.from, Customer { user_id: Some("ES.7".to_owned()), ..Customer::default() });
}

#[test]
fn a_new_user_id_without_any_number_names_the_one_before() {
    let system = json!({ "type": "user_changed_user_id", "user_id": "ES.8", "previous_user_id": "ES.7" });
    let item = json!({ "id": "wamid.1", "timestamp": "1792487728", "type": "system", "system": system });
    assert_eq!(items_of("messages", &item).len(), 1);
    let nobody =
        json!({ "id": "wamid.1", "timestamp": "1792487728", "type": "text", "text": { "body": "x" } });
    let of_nobody = json!({ "metadata": { "phone_number_id": "5" }, "messages": [nobody] });
    assert_eq!(read(&piece("messages", of_nobody)), Subject::Line(ChannelId::parse("5").unwrap(), vec![]));
    let [Item::Message(message)] = &items_of("messages", &nobody)[..] else { panic!("one") };
    assert_eq!(message.from, ana(), "the sole contact beside it");
}

#[test]
fn a_preference_stops_or_resumes_marketing_messages() {
    for (word, stops) in [("stop", true), ("resume", false)] {
        for (category, is_marketing) in [("marketing_messages", true), ("other_messages", false)] {
            let item = json!({
                "wa_id": "34600111222", "category": category, "value": word, "timestamp": 1_792_487_728,
            });
            let expected = Preference { from: ana(), stops, is_marketing, at: at() };
            assert_eq!(items_of("user_preferences", &item), [Item::Preference(expected)]);
        }
    }
    assert_eq!(items_of("user_preferences", &json!({ "wa_id": "1", "value": "pause", "timestamp": 1 })), []);
}

#[test]
fn a_template_event_names_the_template_and_the_account() {
    let value = json!({
        "event": "REJECTED", "message_template_id": 168, "message_template_name": "welcome",
        "message_template_language": "es_ES", "reason": "INVALID_FORMAT",
        "entry_time": 1_767_323_045,
    });
    let mut expected = TemplateEvent {
        account: "2055500001".to_owned(),
        name: "welcome".to_owned(),
        language: "es_ES".to_owned(),
        news: TemplateNews::Status {
            event: "REJECTED".to_owned(),
            reason: Some("INVALID_FORMAT".to_owned()),
        },
        at: Some(Timestamp::from_millis(1_767_323_045_000)),
    };
    assert_eq!(
        read(&piece("message_template_status_update", value.clone())),
        Subject::Template(expected.clone())
    );
    let mut category = value;
    category["new_category"] = json!("UTILITY");
    category["previous_category"] = json!("MARKETING");
    expected.news = TemplateNews::Category("UTILITY".to_owned());
    assert_eq!(read(&piece("template_category_update", category)), Subject::Template(expected));
    assert_eq!(read(&piece("message_template_status_update", json!({}))), Subject::Other);
    assert_eq!(read(&piece("messages", json!({}))), Subject::Other);
}

fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "metadata",
        "phone_number_id",
        "contacts",
        "wa_id",
        "user_id",
        "profile",
        "name",
        "messages",
        "statuses",
        "user_preferences",
        "from",
        "id",
        "timestamp",
        "type",
        "text",
        "body",
        "image",
        "mime_type",
        "interactive",
        "system",
        "status",
        "errors",
        "code",
        "context",
    ]);
    let words = prop::sample::select(vec![
        "text",
        "image",
        "system",
        "sent",
        "failed",
        "stop",
        "1792487728",
        "-1",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        any::<f64>().prop_map(|value| json!(value)),
        words.prop_map(|value| json!(value)),
        ".{0,8}".prop_map(|value| json!(value)),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|values| json!(values)),
            prop::collection::hash_map(names.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_without_a_panic(value in any_json(), field in prop::sample::select(vec![
        "messages", "user_preferences", "message_template_status_update", "else",
    ])) {
        let _ = read(&piece(field, value));
    }
}

#[test]
fn a_change_with_only_some_items_keeps_these_as_they_came() {
    let status = |id: &str| json!({ "id": id, "status": "sent", "timestamp": "1792487728", "more": [id] });
    let message =
        json!({ "id": "wamid.3", "from": "34600111222", "timestamp": "1792487728", "type": "text" });
    let unreadable = json!({ "id": "wamid.4", "status": "warning", "timestamp": "1792487728" });
    let value = json!({
        "metadata": { "phone_number_id": "5" }, "contacts": [{ "wa_id": "34600111222" }],
        "statuses": [status("wamid.1"), unreadable, status("wamid.2")], "messages": [message],
    });
    let is_second = |item: &Item| matches!(item, Item::Status(status) if status.id == "wamid.2");
    let mut expected = value.clone();
    expected["statuses"] = json!([status("wamid.2")]);
    expected["messages"] = json!([]);
    assert_eq!(only(&value, is_second), expected);
    let is_message = |item: &Item| matches!(item, Item::Message(_));
    assert_eq!(only(&value, is_message)["messages"], json!([message]));
}

#[test]
fn an_edit_and_a_revoke_name_the_message_that_they_change() {
    let item = |kind: &str, content: Value| {
        let item = json!({ "from": "34600111222", "id": "wamid.2", "timestamp": "1792487728", "type": kind, kind: content });
        items_of("messages", &item)
    };
    let correction = |kind| Item::Correction {
        of: "wamid.1".to_owned(),
        correction: Correction { id: "wamid.2".to_owned(), at: at(), by: SentBy::Customer, kind },
    };
    let edit = |text: Option<&str>| {
        let text = text.map(|text| ReceivedText::cut(text, ReceivedText::MAX));
        correction(CorrectionKind::Edit { text, raw: None })
    };
    let of = |message: Value| json!({ "original_message_id": "wamid.1", "message": message });
    let image =
        |caption: Option<&str>| of(json!({ "type": "image", "image": { "id": "1", "caption": caption } }));
    assert_eq!(item("edit", of(json!({ "type": "text", "text": { "body": "Hi" } }))), [edit(Some("Hi"))]);
    assert_eq!(item("edit", image(Some("Hi"))), [edit(Some("Hi"))]);
    assert_eq!(item("edit", image(None)), [edit(None)]);
    assert_eq!(
        item("revoke", json!({ "original_message_id": "wamid.1" })),
        [correction(CorrectionKind::Revoke)]
    );
    // A longer text is cut, and stands whole beside it.
    let long = "x".repeat(ReceivedText::MAX + 1);
    let items = item("edit", of(json!({ "type": "text", "text": { "body": long } })));
    let [Item::Correction { correction, .. }] = items.as_slice() else { panic!("{items:?}") };
    let CorrectionKind::Edit { text: Some(text), raw: Some(raw) } = &correction.kind else {
        panic!("{correction:?}")
    };
    assert_eq!(text.as_str().len(), ReceivedText::MAX);
    assert!(raw.as_str().contains(&long));
}

#[test]
fn news_of_accounts_and_lines_say_what_is_true_now() {
    use domain::settings::reported::{AccountFact, LineFact, Restriction};

    let of = |field: &str, value: Value| match read(&piece(field, value)) {
        Subject::Account(event) => {
            Some((event.about, event.notice.map(|(event, _)| event), event.is_alarming))
        }
        Subject::Other => None,
        other => panic!("{other:?}"),
    };
    let account = |facts: &[(AccountFact, &str)], restrictions| {
        About::Account(facts.iter().map(|(fact, value)| (*fact, (*value).to_owned())).collect(), restrictions)
    };
    let line = |facts: &[(LineFact, &str)]| {
        let facts = facts.iter().map(|(fact, value)| (*fact, (*value).to_owned())).collect();
        About::Line(LineName::Digits("34600111222".to_owned()), facts)
    };
    let noticed = |event: &str| Some(event.to_owned());
    let banned = |state: &str| json!({ "event": "DISABLED_UPDATE", "ban_info": { "waba_ban_state": state } });
    let restriction = json!({
        "event": "ACCOUNT_RESTRICTION",
        "restriction_info": [{ "restriction_type": "RESTRICTED_ADD_PHONE_NUMBER_ACTION", "expiration": 1_767_600_000 }, {}],
    });
    let restrictions = vec![Restriction {
        kind: "RESTRICTED_ADD_PHONE_NUMBER_ACTION".to_owned(),
        until: Some(Timestamp::from_millis(1_767_600_000_000)),
        remediation: None,
    }];
    let status = |word| [(AccountFact::Status, word)];
    let disabled = noticed("DISABLED_UPDATE");
    for (value, expected) in [
        (
            restriction,
            (account(&status("RESTRICTED"), Some(restrictions)), noticed("ACCOUNT_RESTRICTION"), true),
        ),
        (banned("DISABLE"), (account(&status("DISABLED"), None), disabled.clone(), true)),
        (banned("SCHEDULE_FOR_DISABLE"), (account(&[], None), disabled.clone(), true)),
        (banned("REINSTATE"), (account(&status("ACTIVE"), Some(vec![])), disabled, true)),
        (json!({ "event": "VERIFIED_ACCOUNT" }), (account(&[], None), noticed("VERIFIED_ACCOUNT"), false)),
    ] {
        assert_eq!(of("account_update", value), Some(expected));
    }
    let capability =
        json!({ "max_daily_conversation_per_phone": 250, "max_daily_conversations_per_business": "TIER_2K" });
    let limit = account(&[(AccountFact::MessagingLimit, "TIER_2K")], None);
    assert_eq!(of("business_capability_update", capability), Some((limit, None, false)));
    let number = |rest: Value| {
        let mut value = json!({ "display_phone_number": "+34 600 111 222" });
        value.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        value
    };
    for (event, facts) in [
        ("FLAGGED", vec![(LineFact::Status, "FLAGGED")]),
        ("UNFLAGGED", vec![(LineFact::Status, "CONNECTED")]),
        ("UPGRADE", vec![]),
    ] {
        let value = number(json!({ "event": event, "current_limit": "TIER_10K" }));
        let facts = [facts, vec![(LineFact::MessagingLimit, "TIER_10K")]].concat();
        assert_eq!(of("phone_number_quality_update", value), Some((line(&facts), noticed(event), false)));
    }
    let name = |decision: &str| number(json!({ "decision": decision, "requested_verified_name": "Shop" }));
    let approved = line(&[(LineFact::NameStatus, "APPROVED"), (LineFact::VerifiedName, "Shop")]);
    assert_eq!(of("phone_number_name_update", name("APPROVED")), Some((approved, None, false)));
    let declined = line(&[(LineFact::NameStatus, "DECLINED")]);
    assert_eq!(of("phone_number_name_update", name("DECLINED")), Some((declined, None, false)));
    for (field, value) in [
        ("account_update", json!({})),
        ("account_update", json!(7)),
        ("account_alerts", json!({ "alert_type": "X", "entity_type": "PHONE_NUMBER", "entity_id": "" })),
        ("account_review_update", json!({ "decision": [] })),
        ("business_capability_update", json!({ "max_phone_numbers_per_business": 25 })),
        ("phone_number_quality_update", json!({ "event": "FLAGGED" })),
        ("phone_number_name_update", json!({ "display_phone_number": "none", "decision": "APPROVED" })),
    ] {
        assert_eq!(of(field, value), None, "{field}");
    }
}

#[test]
fn a_notice_keeps_four_kilobytes_and_words_are_cut() {
    let value = json!({ "event": "x".repeat(300), "text": "é".repeat(5_000), "entry_time": 1 });
    let Subject::Account(event) = read(&piece("account_update", value)) else { panic!("no news") };
    let (word, raw) = event.notice.unwrap();
    assert_eq!((word.len(), raw.is_cut(), event.at), (256, true, Some(Timestamp::from_millis(1_000))));
    assert!((4_093..=4_096).contains(&raw.as_str().len()));
}
