use domain::media::FileMissing;
use domain::media::{Attached, FileName, SentAs};
use domain::message::arrival::Arrival;
use domain::message::received::{Degrees, Edit, Received};
use domain::message::{MessageType, SentBy};
use domain::{
    ChannelId, ContactId, Conversation, ConversationId, FileType, MediaId, Message, MessageId, Timestamp,
    WorkspaceId,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

fn text(text: &str) -> ReceivedText {
    ReceivedText::cut(text, ReceivedText::MAX)
}

fn message(what: ReceivedContent) -> Message {
    let at = Timestamp::from_millis(1_767_323_045_678);
    let workspace = WorkspaceId::from_uuid(Uuid::from_u128(3));
    let received = Received {
        contact: ContactId::from_uuid(Uuid::from_u128(4)),
        channel: ChannelId::parse("line").unwrap(),
        provider_message_id: "wamid.1".to_owned(),
        what,
        extras: Box::default(),
    };
    let reply_to = Some(MessageId::from_uuid(Uuid::from_u128(6)));
    let arrival = Arrival {
        by: SentBy::Customer,
        received,
        reply_to,
        created_at: Timestamp::from_millis(1_767_323_045_000),
    };
    arrival.message(&Conversation::blank(ConversationId::from_uuid(Uuid::from_u128(2)), workspace, at), 1, at)
}

fn shown(what: ReceivedContent) -> Value {
    serde_json::to_value(crate::view::message(&message(what))).unwrap()
}

fn said(said: Said) -> ReceivedContent {
    ReceivedContent::Said(said)
}

fn file(file: Result<Attached, FileMissing>, caption: Option<&str>) -> ReceivedContent {
    ReceivedContent::File {
        sent_as: SentAs::Image,
        file,
        caption: caption.map(text),
        voice: None,
        animated: None,
    }
}

#[test]
fn a_customers_text_shows_its_sender_and_what_it_answers() {
    let shown = serde_json::to_string_pretty(&crate::view::message(&message(said(Said::text("¡Hola!")))));
    insta::assert_snapshot!(shown.unwrap(), @r#"
    {
      "id": "762027c9-e625-5b02-bd0e-d7c6c73a43ab",
      "conversationId": "00000000-0000-0000-0000-000000000002",
      "workspaceId": "00000000-0000-0000-0000-000000000003",
      "sequence": 1,
      "direction": "INBOUND",
      "sender": {
        "type": "CUSTOMER",
        "contactId": "00000000-0000-0000-0000-000000000004"
      },
      "type": "TEXT",
      "messageBody": "¡Hola!",
      "content": null,
      "referral": null,
      "referredProduct": null,
      "forwarded": "NO",
      "providerErrors": [],
      "raw": null,
      "rawTruncated": false,
      "mediaIds": [],
      "replyToMessageId": "00000000-0000-0000-0000-000000000006",
      "enableExternalBroadcast": false,
      "status": "RECEIVED",
      "parts": [],
      "createdAt": "2026-01-02T03:04:05.000Z",
      "updatedAt": "2026-01-02T03:04:05.678Z",
      "editedAt": null,
      "revokedAt": null,
      "deliveredAt": null,
      "readAt": null
    }
    "#);
}

#[test]
fn every_other_type_has_an_object() {
    let stored = Attached {
        media: MediaId::from_uuid(Uuid::from_u128(5)),
        file_type: FileType::Image,
        content_type: "image/jpeg".to_owned(),
        name: FileName::parse("a.jpg").unwrap(),
        size: 7,
    };
    let card = Card { name: Some(text("Eva")), phones: vec![text("+34 600")], emails: vec![] };
    let [latitude, longitude] = [40.416_775, -3.70379].map(|angle| Degrees::of(angle).unwrap());
    let place = Location { latitude, longitude, name: Some(text("Sol")), address: None, url: None };
    let to = Some(MessageId::from_uuid(Uuid::from_u128(6)));
    let rows = [
        (
            file(Ok(stored), Some("Look")),
            ("IMAGE", json!("Look")),
            json!({ "mimeType": "image/jpeg", "fileName": "a.jpg", "sizeBytes": 7, "missing": null, "voice": null, "animated": null }),
        ),
        (
            file(Err(FileMissing::Unavailable), None),
            ("IMAGE", json!(null)),
            json!({ "mimeType": null, "fileName": null, "sizeBytes": null, "missing": "UNAVAILABLE", "voice": null, "animated": null }),
        ),
        (
            said(Said::Location(place)),
            ("LOCATION", json!(null)),
            json!({ "latitude": 40.416_775, "longitude": -3.70379, "name": "Sol", "address": null, "url": null }),
        ),
        (
            said(Said::contacts([card])),
            ("CONTACTS", json!(null)),
            json!({ "contacts": [{ "name": "Eva", "phones": ["+34 600"], "emails": [] }] }),
        ),
        (
            said(Said::ButtonReply { text: text("Yes"), payload: Some(text("p")) }),
            ("BUTTON_REPLY", json!("Yes")),
            json!({ "text": "Yes", "payload": "p" }),
        ),
        (
            said(Said::InteractiveReply {
                kind: ChoiceKind::List,
                id: text("1"),
                title: text("Yes"),
                description: None,
            }),
            ("INTERACTIVE_REPLY", json!("Yes")),
            json!({ "kind": "LIST", "id": "1", "title": "Yes", "description": null }),
        ),
        (
            ReceivedContent::Reaction { to, provider_message_id: "w".to_owned(), emoji: Some(text("👍")) },
            ("REACTION", json!(null)),
            json!({ "emoji": "👍", "messageId": "00000000-0000-0000-0000-000000000006", "providerMessageId": "w" }),
        ),
        (
            ReceivedContent::Reaction { to: None, provider_message_id: "w".to_owned(), emoji: None },
            ("REACTION", json!(null)),
            json!({ "emoji": null, "messageId": null, "providerMessageId": "w" }),
        ),
        (
            said(Said::FlowReply {
                name: Some(text("flow")),
                text: Some(text("Sent")),
                flow_token: None,
                response: Some(Raw::of(r#"{"rating":"5"}"#)),
            }),
            ("FLOW_REPLY", json!("Sent")),
            json!({ "name": "flow", "text": "Sent", "flowToken": null, "response": { "rating": "5" } }),
        ),
        (
            said(Said::Order(Order {
                catalog_id: Some(text("c")),
                text: None,
                items: vec![OrderItem {
                    product_id: Some(text("SKU1")),
                    quantity: Some(text("2")),
                    price: Some(text("7.5")),
                    currency: None,
                }],
            })),
            ("ORDER", json!(null)),
            json!({
                "catalogId": "c", "text": null,
                "items": [{ "productId": "SKU1", "quantity": 2, "price": 7.5, "currency": null }],
            }),
        ),
        (
            said(Said::CallPermissionReply {
                response: text("accept"),
                permanent: Some(false),
                expires_at: Some(Timestamp::from_millis(0)),
                source: None,
            }),
            ("CALL_PERMISSION_REPLY", json!(null)),
            json!({
                "response": "accept", "permanent": false, "expiresAt": "1970-01-01T00:00:00.000Z", "source": null,
            }),
        ),
        (
            said(Said::unsupported("poll")),
            ("UNSUPPORTED", json!(null)),
            json!({ "providerType": "poll", "error": null }),
        ),
    ];
    for (what, (message_type, body), content) in rows {
        let ids =
            if content["sizeBytes"].is_u64() { json!([Uuid::from_u128(5).to_string()]) } else { json!([]) };
        let shown = shown(what);
        assert_eq!(
            (&shown["type"], &shown["messageBody"], &shown["content"]),
            (&json!(message_type), &body, &content)
        );
        assert_eq!(shown["mediaIds"], ids, "{message_type}");
    }
}

#[test]
fn the_largest_messages_fit_into_an_event() {
    // JSON needs six bytes for a control character.
    let worst = |characters| text(&"\u{1}".repeat(characters));
    let card = || Card { name: Some(worst(40)), phones: vec![worst(6); Said::MAX_IN_CARD], emails: vec![] };
    let cards = Said::contacts(std::iter::repeat_with(card).take(Said::MAX_CARDS));
    let Said::Contacts(kept) = &cards else { panic!("cards") };
    assert_eq!(kept.len(), Said::MAX_CARDS);
    let tiny = Card {
        name: None,
        phones: vec![worst(1); Said::MAX_IN_CARD],
        emails: vec![worst(1); Said::MAX_IN_CARD],
    };
    let tiny = Said::contacts(std::iter::repeat_with(|| tiny.clone()).take(Said::MAX_CARDS));
    for largest in [cards, tiny, Said::text(&"\u{1}".repeat(ReceivedText::MAX))] {
        let body = serde_json::to_vec(&crate::view::message(&message(said(largest)))).unwrap();
        assert!(body.len() < domain::Event::MAX_BODY - 1_024, "{}", body.len());
    }
}

#[test]
fn what_the_provider_says_beside_the_content_is_shown() {
    let mut message = message(said(Said::unsupported("poll")));
    let domain::message::Content::Received(received) = &mut message.content else { panic!("received") };
    *received.extras = Extras {
        referral: Some(Referral([(ReferralField::ClickId, text("ARA1"))].into())),
        referred_product: Some(ReferredProduct { catalog_id: Some(text("c")), product_id: None }),
        forwarded: domain::message::received::Forwarded::Many,
        errors: vec![ProviderError { code: Some(131_051), title: Some(text("Unknown")), details: None }],
        raw: Some(Raw::of(r#"{"poll":{"name":"Lunch?"}}"#)),
        edit: Some(Edit { at: Timestamp::from_millis(7_000), id: "wamid.e".to_owned() }),
        revoked_at: None,
    };
    let shown = serde_json::to_value(crate::view::message(&message)).unwrap();
    let error = json!({ "code": 131_051, "title": "Unknown", "details": null });
    assert_eq!(shown["content"], json!({ "providerType": "poll", "error": error }));
    assert_eq!((&shown["editedAt"], &shown["revokedAt"]), (&json!("1970-01-01T00:00:07.000Z"), &json!(null)));
    assert_eq!((&shown["providerErrors"], &shown["forwarded"]), (&json!([error]), &json!("MANY")));
    assert_eq!(shown["referredProduct"], json!({ "catalogId": "c", "productId": null }));
    assert_eq!((&shown["referral"]["clickId"], &shown["referral"]["body"]), (&json!("ARA1"), &json!(null)));
    assert_eq!(shown["referral"].as_object().unwrap().len(), 11);
    assert_eq!((&shown["raw"]["poll"]["name"], &shown["rawTruncated"]), (&json!("Lunch?"), &json!(false)));

    let domain::message::Content::Received(received) = &mut message.content else { panic!("received") };
    received.extras.raw = Some(Raw::of(&format!(r#"{{"a":"{}"}}"#, "é".repeat(Raw::MAX))));
    let shown = serde_json::to_value(crate::view::message(&message)).unwrap();
    let text = shown["raw"]["text"].as_str().unwrap();
    assert!(shown["rawTruncated"] == true && text.len() <= Raw::MAX && text.starts_with(r#"{"a":"é"#));
}

#[test]
fn a_deleted_message_shows_its_type_and_when_it_was_deleted() {
    let mut message = message(ReceivedContent::Revoked(MessageType::Image));
    let domain::message::Content::Received(received) = &mut message.content else { panic!("received") };
    received.extras.revoked_at = Some(Timestamp::from_millis(8_000));
    let shown = serde_json::to_value(crate::view::message(&message)).unwrap();
    assert_eq!((&shown["type"], &shown["revokedAt"]), (&json!("IMAGE"), &json!("1970-01-01T00:00:08.000Z")));
    assert_eq!(
        (&shown["messageBody"], &shown["content"], &shown["mediaIds"]),
        (&json!(null), &json!(null), &json!([]))
    );
}
