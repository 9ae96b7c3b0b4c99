use serde_json::json;

use super::*;

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn named(name: &str, text: &str) -> Value {
    json!({ "type": "text", "parameter_name": name, "text": text })
}

fn body(values: &[Value]) -> Value {
    json!({ "type": "body", "parameters": values })
}

fn header(value: Value) -> Value {
    json!({ "type": "header", "parameters": [value] })
}

fn button(kind: &str, index: &str, value: Value) -> Value {
    json!({ "type": "button", "sub_type": kind, "index": index, "parameters": [value] })
}

/// The code of a message with these components of a template with those, if it is refused.
fn code(shown: &Value, sent: &[Value]) -> Option<u32> {
    let mut shown = shown.clone();
    if shown["status"].is_null() {
        shown["status"] = json!("APPROVED");
    }
    let template = json!({ "name": "n", "language": { "code": "es" }, "components": sent });
    let message = json!({ "type": "template", "template": template });
    let members = message["template"].as_object().unwrap();
    check("template", members).and_then(|()| judged(Some(&shown), &message)).err().map(|fault| fault.code)
}

fn of(components: Value) -> Value {
    json!({ "components": components })
}

#[test]
fn a_message_of_each_component_is_accepted_and_each_fault_has_its_code() {
    let link = json!({ "link": "https://f.example/a" });
    let two = of(json!([{ "type": "BODY", "text": "Hi {{1}}, {{2}} and {{1}}" }]));
    let by_name =
        json!({ "parameter_format": "NAMED", "components": [{ "type": "BODY", "text": "Hi {{name}}" }] });
    let image = of(json!([{ "type": "HEADER", "format": "IMAGE" }, { "type": "BODY", "text": "Hi" }]));
    let place = of(json!([{ "type": "HEADER", "format": "LOCATION" }, { "type": "BODY", "text": "Hi" }]));
    let where_ = json!({ "latitude": "1", "longitude": "2", "name": "n", "address": "a" });
    let title = of(
        json!([{ "type": "HEADER", "format": "TEXT", "text": "No {{1}}" }, { "type": "BODY", "text": "Hi" }]),
    );
    let rows = [
        (&two, vec![body(&[text("a"), text("b")])], None),
        (&two, vec![body(&[text("a")])], Some(132_000)),
        (&two, vec![], Some(132_000)),
        (&two, vec![body(&[text("a"), named("2", "b")])], Some(132_012)),
        (&two, vec![body(&[text("a"), json!({ "type": "currency" })])], Some(132_012)),
        (&two, vec![body(&[text("a"), text("")])], Some(131_008)),
        (&two, vec![body(&[text("a"), text("b\nc")])], Some(132_018)),
        (&two, vec![body(&[text("a"), text("b     c")])], Some(132_018)),
        (&two, vec![body(&[text("a"), text(&"x".repeat(1_020))])], Some(132_005)),
        (&two, vec![body(&[text("a"), text("b")]), header(text("x"))], Some(132_000)),
        (&two, vec![body(&[text("a")]), body(&[text("b")])], Some(100)),
        (&two, vec![json!({ "type": "footer", "parameters": [text("x")] })], Some(100)),
        (&two, vec![body(&[])], Some(131_009)),
        (&by_name, vec![body(&[named("name", "Ana")])], None),
        (&by_name, vec![body(&[named("other", "Ana")])], Some(132_012)),
        (&by_name, vec![body(&[text("Ana")])], Some(132_012)),
        (&image, vec![header(json!({ "type": "image", "image": link }))], None),
        (&image, vec![header(json!({ "type": "image", "image": { "id": "1" } }))], None),
        (&image, vec![], Some(132_012)),
        (&image, vec![header(json!({ "type": "video", "video": link }))], Some(132_012)),
        (&image, vec![header(json!({ "type": "image", "image": {} }))], Some(131_008)),
        (&image, vec![header(json!({ "type": "image", "image": { "link": "a" } }))], Some(131_009)),
        (&place, vec![header(json!({ "type": "location", "location": where_ }))], None),
        (&place, vec![header(json!({ "type": "location", "location": { "latitude": "1" } }))], Some(131_008)),
        (&title, vec![header(text("7"))], None),
        (&title, vec![header(text(&"7".repeat(58)))], Some(132_005)),
        (&title, vec![header(json!({ "type": "image", "image": link }))], Some(132_012)),
    ];
    for (at, (shown, sent, expected)) in rows.iter().enumerate() {
        assert_eq!(code(shown, sent), *expected, "row {at}: {sent:?}");
    }
}

#[test]
fn buttons_offers_and_cards_take_their_values_only() {
    let buttons = of(json!([{ "type": "BODY", "text": "Hi" }, { "type": "BUTTONS", "buttons": [
        { "type": "QUICK_REPLY", "text": "a" },
        { "type": "URL", "text": "b", "url": "https://s.example/{{1}}" },
        { "type": "COPY_CODE", "example": "x" },
        { "type": "PHONE_NUMBER", "text": "c", "phone_number": "+1" },
        { "type": "FLOW", "text": "d" },
    ] }]));
    let url = || button("url", "1", text("o/7"));
    let copy = |code: &str| button("copy_code", "2", json!({ "type": "coupon_code", "coupon_code": code }));
    let reply = |index| button("quick_reply", index, json!({ "type": "payload", "payload": "p" }));
    let offer = of(json!([{ "type": "BODY", "text": "Hi" },
        { "type": "LIMITED_TIME_OFFER", "limited_time_offer": { "text": "t", "has_expiration": true } }]));
    let ends = |ends: Value| {
        let value =
            json!({ "type": "limited_time_offer", "limited_time_offer": { "expiration_time_ms": ends } });
        json!({ "type": "limited_time_offer", "parameters": [value] })
    };
    let cards = of(json!([{ "type": "BODY", "text": "Hi" }, { "type": "CAROUSEL", "cards": [
        { "components": [{ "type": "HEADER", "format": "IMAGE" }, { "type": "BODY", "text": "{{1}}" }] },
    ] }]));
    let card = |index: u64, components: Value| json!({ "type": "carousel", "cards": [{ "card_index": index, "components": components }] });
    let picture = header(json!({ "type": "image", "image": { "link": "https://f.example/0" } }));
    let rows = [
        (&buttons, vec![url(), copy("SAVE")], None),
        (
            &buttons,
            vec![
                reply("0"),
                url(),
                copy("SAVE"),
                button("flow", "4", json!({ "type": "action", "action": {} })),
            ],
            None,
        ),
        (&buttons, vec![copy("SAVE")], Some(132_018)),
        (&buttons, vec![url(), copy(&"x".repeat(16))], Some(132_018)),
        (&buttons, vec![url(), copy("SAVE"), reply("3")], Some(132_018)),
        (&buttons, vec![url(), copy("SAVE"), reply("9")], Some(132_018)),
        (
            &buttons,
            vec![button("url", "1", json!({ "type": "payload", "payload": "p" })), copy("SAVE")],
            Some(132_012),
        ),
        (&buttons, vec![button("url", "1", json!({ "type": "text" })), copy("SAVE")], Some(131_008)),
        (&offer, vec![ends(json!(1))], None),
        (&offer, vec![ends(json!("soon"))], Some(131_008)),
        (&offer, vec![], Some(131_008)),
        (&cards, vec![card(0, json!([picture, body(&[text("Hat")])]))], None),
        (&cards, vec![card(1, json!([picture, body(&[text("Hat")])]))], Some(131_008)),
        (&cards, vec![card(0, json!([picture]))], Some(132_000)),
        (&cards, vec![card(0, json!([picture, { "type": "poem" }]))], Some(100)),
        (&cards, vec![], Some(132_000)),
    ];
    for (at, (shown, sent, expected)) in rows.iter().enumerate() {
        assert_eq!(code(shown, sent), *expected, "row {at}: {sent:?}");
    }
}

#[test]
fn only_an_approved_template_is_sent() {
    for (status, expected) in [
        ("APPROVED", None),
        ("PAUSED", Some(132_015)),
        ("DISABLED", Some(132_016)),
        ("PENDING", Some(132_001)),
        ("REJECTED", Some(132_001)),
        ("ARCHIVED", Some(132_001)),
    ] {
        let shown = json!({ "status": status, "components": [{ "type": "BODY", "text": "Hi" }] });
        assert_eq!(code(&shown, &[]), expected, "{status}");
    }
    assert_eq!(judged(None, &json!({})).map_err(|fault| fault.code), Err(132_001));
}
