use serde_json::json;

use super::*;

/// A template as the provider shows it, values for it, and the components of its message.
struct Case {
    what: &'static str,
    shown: Value,
    values: &'static [(&'static str, &'static str)],
    sent: Value,
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn body(shown: &str) -> Value {
    json!({ "type": "BODY", "text": shown })
}

fn header(format: &str) -> Value {
    json!({ "type": "HEADER", "format": format, "example": { "header_handle": ["https://cdn.example/sample"] } })
}

fn with_buttons(buttons: Value) -> Value {
    json!({ "components": [body("Hello"), { "type": "BUTTONS", "buttons": buttons }] })
}

fn button(kind: &str, index: &str, parameter: Value) -> Value {
    json!({ "type": "button", "sub_type": kind, "index": index, "parameters": [parameter] })
}

fn texts_and_headers() -> Vec<Case> {
    let link = "https://files.example/a?X-Amz-Signature=1";
    vec![
        Case {
            what: "a body by places, whose first place is used twice",
            shown: json!({ "components": [body("Hi {{2}}, {{1}} and {{1}}"), { "type": "FOOTER", "text": "Bye" }] }),
            values: &[("1", "a"), ("2", "b")],
            sent: json!([{ "type": "body", "parameters": [text("a"), text("b")] }]),
        },
        Case {
            what: "a header and a body by names",
            shown: json!({
                "parameter_format": "NAMED",
                "components": [{ "type": "HEADER", "format": "TEXT", "text": "Order {{order}}" }, body("Hi {{name}}")],
            }),
            values: &[("header.order", "7"), ("name", "Ana")],
            sent: json!([
                { "type": "header", "parameters": [{ "type": "text", "text": "7", "parameter_name": "order" }] },
                { "type": "body", "parameters": [{ "type": "text", "text": "Ana", "parameter_name": "name" }] },
            ]),
        },
        Case {
            what: "texts without parameters",
            shown: json!([body("Hello"), { "type": "HEADER", "format": "TEXT", "text": "News" }]),
            values: &[],
            sent: json!([]),
        },
        Case {
            what: "an image",
            shown: json!({ "components": [header("IMAGE"), body("Hello")] }),
            values: &[("header.image", "https://files.example/a?X-Amz-Signature=1")],
            sent: json!([{ "type": "header", "parameters": [{ "type": "image", "image": { "link": link } }] }]),
        },
        Case {
            what: "a film",
            shown: json!({ "components": [header("VIDEO"), body("Hello")] }),
            values: &[("header.video", "https://files.example/a?X-Amz-Signature=1")],
            sent: json!([{ "type": "header", "parameters": [{ "type": "video", "video": { "link": link } }] }]),
        },
        Case {
            what: "a document with its name",
            shown: json!({ "components": [header("DOCUMENT"), body("Hello")] }),
            values: &[
                ("header.document", "https://files.example/a?X-Amz-Signature=1"),
                ("header.filename", "offer.pdf"),
            ],
            sent: json!([{
                "type": "header",
                "parameters": [{ "type": "document", "document": { "link": link, "filename": "offer.pdf" } }],
            }]),
        },
        Case {
            what: "a place",
            shown: json!({ "components": [{ "type": "HEADER", "format": "LOCATION" }, body("Hello")] }),
            values: &[
                ("header.latitude", "37.44"),
                ("header.longitude", "-122.16"),
                ("header.name", "Shop"),
                ("header.address", "1 Main St"),
            ],
            sent: json!([{ "type": "header", "parameters": [{ "type": "location", "location": {
                "latitude": "37.44", "longitude": "-122.16", "name": "Shop", "address": "1 Main St",
            } }] }]),
        },
    ]
}

fn buttons_and_more() -> Vec<Case> {
    let flow = json!({ "flow_token": "t", "flow_action_data": { "screen": 1 } });
    vec![
        Case {
            what: "buttons that take a value and buttons that take none",
            shown: with_buttons(json!([
                { "type": "QUICK_REPLY", "text": "Yes" },
                { "type": "QUICK_REPLY", "text": "No" },
                { "type": "PHONE_NUMBER", "text": "Call", "phone_number": "+12025550101" },
                { "type": "URL", "text": "Shop", "url": "https://shop.example" },
                { "type": "URL", "text": "Order", "url": "https://shop.example/{{1}}" },
                { "type": "COPY_CODE", "example": "SAVE" },
                { "type": "FLOW", "text": "Book", "flow_id": "9" },
                { "type": "VOICE_CALL", "text": "Call now" },
            ])),
            values: &[
                ("button.1.payload", "no"),
                ("button.4.url", "o/7?x"),
                ("button.5.code", "SAVE10"),
                ("button.6.flowToken", "t"),
                ("button.6.flowData", r#"{"screen":1}"#),
            ],
            sent: json!([
                button("quick_reply", "1", json!({ "type": "payload", "payload": "no" })),
                button("url", "4", text("o/7?x")),
                button("copy_code", "5", json!({ "type": "coupon_code", "coupon_code": "SAVE10" })),
                button("flow", "6", json!({ "type": "action", "action": flow })),
            ]),
        },
        Case {
            what: "a code for a sign-in, as it was made and as it is shown",
            shown: json!({ "components": [
                body("{{1}} is your code."),
                { "type": "BUTTONS", "buttons": [
                    { "type": "OTP", "text": "Copy", "otp_type": "COPY_CODE" },
                    { "type": "URL", "text": "Copy", "url": "https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&code=otp{{1}}" },
                ] },
            ] }),
            values: &[("1", "123456")],
            sent: json!([
                { "type": "body", "parameters": [text("123456")] },
                button("url", "0", text("123456")),
                button("url", "1", text("123456")),
            ]),
        },
        Case {
            what: "an offer that ends",
            shown: json!({ "components": [
                { "type": "LIMITED_TIME_OFFER", "limited_time_offer": { "text": "Soon over", "has_expiration": true } },
                body("Hello"),
                { "type": "BUTTONS", "buttons": [{ "type": "COPY_CODE", "example": "x" }] },
            ] }),
            values: &[("offer.expiresAt", "2026-01-02T03:04:05Z"), ("button.0.code", "X")],
            sent: json!([
                { "type": "limited_time_offer", "parameters": [{
                    "type": "limited_time_offer", "limited_time_offer": { "expiration_time_ms": 1_767_323_045_000_u64 },
                }] },
                button("copy_code", "0", json!({ "type": "coupon_code", "coupon_code": "X" })),
            ]),
        },
        Case {
            what: "a carousel",
            shown: json!({ "components": [body("For {{1}}"), { "type": "CAROUSEL", "cards": [
                { "components": [
                    header("IMAGE"),
                    body("Item {{1}}"),
                    { "type": "BUTTONS", "buttons": [{ "type": "URL", "text": "Buy", "url": "https://s.example/{{1}}" }] },
                ] },
                { "components": [header("VIDEO"), { "type": "BUTTONS", "buttons": [{ "type": "QUICK_REPLY", "text": "x" }] }] },
            ] }] }),
            values: &[
                ("1", "Ana"),
                ("card.0.header.image", "https://f.example/0"),
                ("card.0.1", "Hat"),
                ("card.0.button.0.url", "hat"),
                ("card.1.header.video", "https://f.example/1"),
            ],
            sent: json!([
                { "type": "body", "parameters": [text("Ana")] },
                { "type": "carousel", "cards": [
                    { "card_index": 0, "components": [
                        { "type": "header", "parameters": [{ "type": "image", "image": { "link": "https://f.example/0" } }] },
                        { "type": "body", "parameters": [text("Hat")] },
                        button("url", "0", text("hat")),
                    ] },
                    { "card_index": 1, "components": [
                        { "type": "header", "parameters": [{ "type": "video", "video": { "link": "https://f.example/1" } }] },
                    ] },
                ] },
            ]),
        },
    ]
}

#[test]
fn each_component_of_the_provider_is_sent_in_its_form() {
    for Case { what, shown, values, sent } in texts_and_headers().into_iter().chain(buttons_and_more()) {
        let form = read_form(&shown).unwrap();
        assert_eq!(form.unsupported, None, "{what}");
        let values: Values =
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let slots: Vec<String> = form.slots().into_iter().map(|slot| slot.name).collect();
        assert!(values.keys().all(|name| slots.contains(name)), "{what}: {slots:?}");
        assert_eq!(json!(components(&form, &values)), sent, "{what}");
    }
}

#[test]
fn a_component_of_another_kind_makes_a_template_unsupported() {
    let of = |component: Value| json!({ "components": [body("Hello"), component] });
    for shown in [
        of(json!({ "type": "HEADER", "format": "GIF" })),
        of(json!({ "type": "HEADER", "format": "PRODUCT" })),
        of(json!({ "type": "BUTTONS", "buttons": [{ "type": "CATALOG", "text": "x" }] })),
        of(json!({ "type": "BUTTONS", "buttons": [{ "type": "MPM", "text": "x" }] })),
        of(
            json!({ "type": "CAROUSEL", "cards": [{ "components": [{ "type": "HEADER", "format": "PRODUCT" }] }] }),
        ),
        of(json!({ "type": "ORDER_DETAILS" })),
        of(json!({ "type": "NEW_KIND", "text": "é".repeat(4_000) })),
        of(json!({})),
    ] {
        let form = read_form(&shown).unwrap();
        assert!(form.unsupported.as_ref().is_some_and(|raw| raw.len() <= Form::MAX_RAW), "{shown}");
    }
}

#[test]
fn what_is_no_template_is_refused() {
    for shown in [json!(null), json!({}), json!({ "components": [] }), json!([header("IMAGE")])] {
        assert!(read_form(&shown).is_err(), "{shown}");
    }
    assert!(read_form(&json!({ "parameter_format": "NEW", "components": [body("x")] })).is_err());
}
