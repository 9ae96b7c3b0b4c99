//! The reader understands everything that the simulated provider posts.

use domain::message::received::{Card, Degrees, ReceivedText, Said};
use domain::message::{CorrectionKind, Pricing};
use local::simulator::{self, SimulatedApp};
use provider::webhook::{Content, Customer, Incoming, Item, StatusKind, Subject, TemplateNews, divide, read};
use serde_json::{Value, json};

/// The time of every item.
const AT: i64 = 1_792_487_728;

/// A simulator whose app does not answer.
async fn simulator() -> simulator::Provider {
    let simulator = simulator::Provider::start(0).await.unwrap();
    simulator.set_app(SimulatedApp {
        app_id: "1".to_owned(),
        app_secret: "secret".to_owned(),
        // Nothing listens there.
        webhook_url: "http://127.0.0.1:1/".to_owned(),
    });
    simulator
}

fn subjects(webhook: &Value) -> Vec<Subject> {
    divide(webhook.to_string().as_bytes()).unwrap().pieces.iter().map(read).collect()
}

/// The subjects of the webhook that these items make.
async fn posted(items: &[Value]) -> Vec<Subject> {
    let simulator = simulator().await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{}/inbound", simulator.url())).body(json!(items).to_string());
    // The answer waits for the delivery, which never happens.
    tokio::select! {
        answer = request.send() => panic!("answered: {:?}", answer.unwrap().text().await),
        all = simulator.webhooks().reaches(1) => subjects(&all[0].body),
    }
}

fn ana() -> Customer {
    let some = |text: &str| Some(text.to_owned());
    Customer { wa_id: some("34600111222"), user_id: some("ES.100034600111222"), name: some("Ana") }
}

fn message(kind: &str, more: &Value) -> Value {
    let mut request = json!({
        "type": kind, "phoneNumberId": "5", "from": "+34600111222", "name": "Ana", "timestamp": AT,
        "id": format!("wamid.{kind}"),
    });
    for (name, value) in more.as_object().unwrap() {
        request[name.as_str()] = value.clone();
    }
    request
}

/// The message with the texts that its debug output hides.
fn shown(message: &Incoming) -> String {
    let text = |text: &Option<ReceivedText>| text.as_ref().map_or("", ReceivedText::as_str).to_owned();
    let words = match &message.content {
        Content::Said(Said::Text(text)) => text.as_str().to_owned(),
        Content::Said(Said::Location(place)) => {
            let angle = |degrees: Degrees| format!("{:?}", degrees.as_f64());
            [angle(place.latitude), angle(place.longitude), text(&place.name), text(&place.address)].join(" ")
        }
        Content::Said(Said::Contacts(cards)) => {
            let texts = |card: &Card| {
                let all = card.name.iter().chain(&card.phones).chain(&card.emails);
                all.map(ReceivedText::as_str).collect::<Vec<_>>().join(" ")
            };
            cards.iter().map(texts).collect()
        }
        Content::Said(Said::ButtonReply { text: label, payload }) => {
            [label.as_str(), &text(payload)].join(" ")
        }
        Content::Said(Said::InteractiveReply { id, title, description, .. }) => {
            [id.as_str(), title.as_str(), &text(description)].join(" ")
        }
        Content::Said(Said::FlowReply { text: said, .. }) => text(said),
        Content::Said(Said::CallPermissionReply { response, .. }) => response.as_str().to_owned(),
        Content::Said(Said::Order(order)) => text(&order.text),
        Content::Said(Said::Unsupported(kind)) => format!("Unsupported {}", kind.as_str()),
        Content::Media(file) => text(&file.caption),
        Content::Reaction { emoji, .. } => text(emoji),
        Content::Moved { .. } => String::new(),
    };
    format!("{message:?} {words}")
}

#[tokio::test]
async fn every_kind_of_message_is_read_with_its_sender_and_its_content() {
    let file = |caption: Option<&str>| match caption {
        Some(caption) => json!({ "data": "eA==", "caption": caption, "contextId": "wamid.0" }),
        None => json!({ "data": "eA==", "contextId": "wamid.0" }),
    };
    let card = json!({ "name": "Eva", "phones": ["+34 600"], "emails": ["e@x.example"] });
    // The type, its fields, and what the reader must find in them.
    let rows: [(&str, Value, &[&str]); 13] = [
        ("text", json!({ "text": "STOP", "contextId": "wamid.0" }), &["STOP", "wamid.0"]),
        ("image", file(Some("Look")), &["Image", "image/jpeg", "Look", "wamid.0"]),
        ("video", file(Some("Look")), &["Video", "video/mp4", "Look"]),
        ("audio", file(None), &["Audio", "audio/ogg"]),
        (
            "document",
            json!({ "data": "eA==", "fileName": "a.pdf" }),
            &["Document", "application/pdf", "a.pdf"],
        ),
        ("sticker", file(None), &["Sticker", "image/webp"]),
        (
            "location",
            json!({ "latitude": 40.5, "longitude": -3, "placeName": "Sol", "address": "Puerta" }),
            &["40.5", "-3.0", "Sol", "Puerta"],
        ),
        ("contacts", json!({ "contacts": [card] }), &["Eva", "+34 600", "e@x.example"]),
        ("button", json!({ "text": "Yes", "payload": "p-1" }), &["Yes", "p-1"]),
        ("interactive", json!({ "text": "Yes", "choiceId": "c-1" }), &["Yes", "c-1"]),
        (
            "interactive",
            json!({ "text": "Yes", "choiceId": "c-1", "description": "All of it" }),
            &["Yes", "c-1", "All of it"],
        ),
        ("reaction", json!({ "text": "👍", "contextId": "wamid.0" }), &["👍", "wamid.0"]),
        ("unsupported", json!({}), &["Unsupported unsupported"]),
    ];
    let requests: Vec<Value> = rows.iter().map(|(kind, more, _)| message(kind, more)).collect();
    let subjects = posted(&requests).await;
    assert_eq!(subjects.len(), rows.len());
    for ((kind, _, words), subject) in rows.iter().zip(&subjects) {
        let Subject::Line(line, items) = subject else { panic!("{subject:?}") };
        let [Item::Message(message)] = items.as_slice() else { panic!("{items:?}") };
        assert_eq!((line.as_str(), &message.from), ("5", &ana()));
        assert_eq!((message.id.as_str(), message.at.as_seconds()), (format!("wamid.{kind}").as_str(), AT));
        let read = shown(message);
        words.iter().for_each(|word| assert!(read.contains(word), "{word}: {read}"));
        assert_eq!(read.contains("Unsupported"), *kind == "unsupported", "{read}");
    }
}

#[tokio::test]
async fn changes_of_customers_templates_and_accounts_are_read() {
    let requests = [
        message("text", &json!({ "text": "Hi", "from": null, "fromUserId": "ES.7" })),
        message("reaction", &json!({ "contextId": "wamid.0" })),
        message("system", &json!({ "newFrom": "+34600333444" })),
        message("system", &json!({ "from": null, "fromUserId": "ES.7", "newUserId": "ES.8" })),
        message("preferences", &json!({ "id": null, "preference": "stop" })),
        message("preferences", &json!({ "id": null, "preference": "resume" })),
        json!({
            "type": "template", "businessAccountId": "9", "templateName": "welcome", "language": "es_ES",
            "event": "REJECTED", "reason": "INVALID_FORMAT",
        }),
        json!({ "type": "change", "field": "account_update", "value": { "event": "DISABLED_UPDATE" } }),
    ];
    let without_nulls = |request: &Value| -> Value {
        let fields = request.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        fields.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let requests: Vec<Value> = requests.iter().map(without_nulls).collect();
    let subjects = posted(&requests).await;
    let [hidden, removed, moved, moved_id, stop, resume, template, account] = subjects.as_slice() else {
        panic!("{subjects:?}")
    };
    // What the reader must find, and what it must not find.
    let rows: [(&Subject, &[&str], &[&str]); 6] = [
        (hidden, &["wa_id: None", "user_id: Some(\"ES.7\")", "Hi"], &[]),
        (removed, &["emoji: None", "wamid.0"], &[]),
        (
            moved,
            &[
                "34600111222",
                "wa_id: Some(\"34600333444\")",
                "user_id: Some(\"ES.100034600333444\")",
                "previous_user_id: Some(\"ES.100034600111222\")",
            ],
            &["Unsupported"],
        ),
        (
            moved_id,
            &["user_id: Some(\"ES.8\")", "previous_user_id: Some(\"ES.7\")"],
            &["Unsupported", "wa_id: Some"],
        ),
        (stop, &["stops: true", "ES.100034600111222", "Ana"], &[]),
        (resume, &["stops: false", "34600111222"], &[]),
    ];
    for (subject, words, others) in rows {
        let read = match subject {
            Subject::Line(_, items) => match items.as_slice() {
                [Item::Message(message)] => shown(message),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        };
        words.iter().for_each(|word| assert!(read.contains(word), "{word}: {read}"));
        others.iter().for_each(|word| assert!(!read.contains(word), "{word}: {read}"));
    }
    let Subject::Template(event) = template else { panic!("{template:?}") };
    assert_eq!((event.account.as_str(), event.name.as_str()), ("9", "welcome"));
    let rejected =
        TemplateNews::Status { event: "REJECTED".to_owned(), reason: Some("INVALID_FORMAT".to_owned()) };
    assert_eq!((event.language.as_str(), &event.news), ("es_ES", &rejected));
    let Subject::Account(event) = account else { panic!("{account:?}") };
    assert_eq!(event.notice.as_ref().map(|(event, _)| event.as_str()), Some("DISABLED_UPDATE"));
}

#[tokio::test]
async fn a_status_names_the_part_that_the_send_named() {
    let person = |wa_id: Option<&str>, user_id: Option<&str>| {
        let [wa_id, user_id] = [wa_id, user_id].map(|id| id.map(str::to_owned));
        Customer { wa_id, user_id, name: None }
    };
    let rows = [
        (json!({ "to": "+12025550101" }), person(Some("12025550101"), Some("US.100012025550101"))),
        (json!({ "recipient": "ES.7" }), person(None, Some("ES.7"))),
    ];
    for (recipient, expected) in rows {
        let simulator = simulator().await;
        let mut body = json!({
            "messaging_product": "whatsapp", "type": "text", "text": { "body": "Hi" }, "biz_opaque_callback_data": "c.m.0",
        });
        for (name, value) in recipient.as_object().unwrap() {
            body[name.as_str()] = value.clone();
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(format!("{}/v25.0/5/messages", simulator.url()));
        let answer = request.header("authorization", "Bearer t").body(body.to_string()).send().await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        let all = simulator.webhooks().reaches(1).await;
        let [Subject::Line(line, items)] = &subjects(&all[0].body)[..] else { panic!("{all:?}") };
        let [Item::Status(status)] = items.as_slice() else { panic!("{items:?}") };
        assert_eq!((line.as_str(), &status.recipient), ("5", &expected));
        assert_eq!(
            (json!(status.id), status.part.as_deref()),
            (answer["messages"][0]["id"].clone(), Some("c.m.0"))
        );
        assert_eq!(status.kind, StatusKind::Sent);
        let pricing = Pricing::of(Some(false), Some("service"), Some("free_customer_service"));
        assert_eq!(status.pricing, pricing);
    }
}

#[tokio::test]
async fn an_edit_and_a_deletion_name_the_message() {
    let subjects = posted(&[
        message("edit", &json!({ "text": "Hi", "contextId": "wamid.0" })),
        message("edit", &json!({ "caption": "Below", "contextId": "wamid.0" })),
        message("revoke", &json!({ "contextId": "wamid.0" })),
    ])
    .await;
    let shown: Vec<(String, Option<String>)> = subjects
        .iter()
        .map(|subject| match subject {
            Subject::Line(_, items) => match items.as_slice() {
                [Item::Correction { of, correction }] => match &correction.kind {
                    CorrectionKind::Edit { text, raw: None } => {
                        (of.clone(), text.as_ref().map(|text| text.as_str().to_owned()))
                    }
                    CorrectionKind::Revoke => (of.clone(), None),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    let of = |text: Option<&str>| ("wamid.0".to_owned(), text.map(str::to_owned));
    assert_eq!(shown, [of(Some("Hi")), of(Some("Below")), of(None)]);
}
