//! The validation of a body.

use domain::{LeadRequest, Timestamp};
use harness::{GatewayEvent, World};
use serde_json::{Value, json};

use crate::{Site, with, without};

/// Posts a body unchanged and returns the status. Checks that a refused body writes nothing and makes no captcha
/// request.
async fn raw(site: &Site, body: &str) -> u16 {
    status(site, site.event(&json!({})).raw_body(body)).await
}

async fn status(site: &Site, event: GatewayEvent) -> u16 {
    let (rows, asked) = (site.all_rows(), site.captcha().asked.borrow().len());
    let answer = site.send(event).await;
    if answer.status != 202 {
        assert_eq!((site.all_rows(), site.captcha().asked.borrow().len()), (rows, asked));
    }
    answer.status
}

/// Checks whether a lead is accepted with each of these values in a field.
async fn field(name: &str, rows: &[(Value, bool)]) {
    let site = Site::start().await;
    for (number, (value, fits)) in rows.iter().enumerate() {
        let body = with(&site.visitor(number), name, value.clone());
        let expected = if *fits { 202 } else { 400 };
        assert_eq!(status(&site, site.event(&body)).await, expected, "{name}: {value}");
    }
}

fn a(count: usize) -> String {
    "a".repeat(count)
}

/// Values that are not a text.
fn no_texts() -> Vec<(Value, bool)> {
    [json!(7), json!(7.5), json!(true), json!(false), json!([]), json!(["x"]), json!({}), json!({"x": "y"})]
        .map(|value| (value, false))
        .to_vec()
}

#[tokio::test]
async fn only_the_required_fields_must_be_present() {
    let site = Site::start().await;
    let required = ["workspaceId", "captureKey", "cellphone", "landingUri", "consent", "recaptchaToken"];
    for name in required {
        let event = |body: &Value| site.event(body).query(&[]);
        assert_eq!(status(&site, event(&without(&site.body(), name))).await, 400, "{name} missing");
        for value in [json!(null), json!(7), json!(true), json!([]), json!({}), json!("")] {
            let body = with(&site.body(), name, value.clone());
            assert_eq!(status(&site, event(&body)).await, 400, "{name}: {value}");
        }
    }
    assert_eq!(site.body().as_object().unwrap().len(), required.len());
    assert_eq!(status(&site, site.event(&site.body())).await, 202);
    let optional = json!({"name": null, "brandId": null, "utm": null});
    let mut body = site.visitor(1);
    body.as_object_mut().unwrap().extend(optional.as_object().unwrap().clone());
    assert_eq!(status(&site, site.event(&body)).await, 202, "null is the same as absent");
    let mut body = site.visitor(2);
    body["email"] = json!({"deep": [{"deeper": [1, null, "\u{1}"]}]});
    body["consent"]["version"] = json!(2);
    body[""] = json!(null);
    assert_eq!(status(&site, site.event(&body)).await, 202, "an unknown field is ignored");
}

#[tokio::test]
async fn a_workspace_is_a_uuid() {
    let site = Site::start().await;
    let own = World::WORKSPACE;
    let braced = format!("{{{own}}}");
    for bad in
        [&own[1..], &own.replace('-', ""), &braced, &format!("urn:uuid:{own}"), &format!("{own} "), "null"]
    {
        let body = with(&site.body(), "workspaceId", json!(bad));
        assert_eq!(status(&site, site.event(&body).query(&[])).await, 400, "{bad}");
    }
    let nil = with(&site.body(), "workspaceId", json!("00000000-0000-0000-0000-000000000000"));
    assert_eq!(status(&site, site.event(&nil).query(&[])).await, 403, "an unknown workspace");
}

#[tokio::test]
async fn every_capture_key_other_than_the_workspaces_is_rejected() {
    let site = Site::start().await;
    let other = site.other("https://other.example").await;
    let key = site.capture.key.as_str();
    let swapped: String = key.chars().rev().collect();
    for wrong in [
        "x",
        " ",
        "lck_",
        "lck_000000000000000000000000",
        &key[..27],
        &key[1..],
        &key[4..],
        &format!("{key}0"),
        &format!(" {key}"),
        &format!("{key} "),
        &format!("{key}\n"),
        &key.to_uppercase(),
        &key.replace("lck_", "LCK_"),
        &swapped,
        other.key.as_str(),
        &a(128),
        &"\u{1f600}".repeat(128),
    ] {
        let body = with(&site.body(), "captureKey", json!(wrong));
        assert_eq!(status(&site, site.event(&body)).await, 403, "{wrong:?}");
    }
    for bad in [a(129), format!("{key}\u{0}"), "\u{1f600}".repeat(129)] {
        let body = with(&site.body(), "captureKey", json!(bad));
        assert_eq!(status(&site, site.event(&body)).await, 400, "{bad:?}");
    }
}

#[tokio::test]
async fn a_number_is_e164_and_valid_in_its_plan() {
    let good = ["+34600111222", "+14155550123", "+442079460958", "+4915112345678", "+525512345678"];
    let bad = [
        "34600111222",
        "0034600111222",
        "+34 600 111 222",
        "+34-600-111-222",
        "(+34)600111222",
        "+34600111222 ",
        " +34600111222",
        "tel:+34600111222",
        "+34600111222x1",
        "\u{ff0b}34600111222",
        "+\u{663}\u{664}600111222",
        "+34600111222\n",
        "+34600111222\u{0}",
        "++34600111222",
        "+",
        "+0",
        "+0034600111222",
        // Numbers with a valid shape that are not in their plan.
        "+3460011122",
        "+346001112223",
        "+34100111222",
        "+34000000000",
        "+10005550123",
        "+11234567890",
        "+99912345678",
        "+21012345678",
        "+123456789012345",
        "+1234567890123456",
    ];
    let rows: Vec<(Value, bool)> =
        good.map(|number| (json!(number), true)).into_iter().chain(bad.map(|n| (json!(n), false))).collect();
    field("cellphone", &rows).await;
}

#[tokio::test]
async fn a_name_is_optional_may_be_blank_and_has_at_most_a_hundred_characters() {
    let mut rows = no_texts();
    rows.extend([
        (json!(null), true),
        (json!(""), true),
        (json!("  \n\t "), true),
        (json!("A"), true),
        (json!("Ada Lovelace"), true),
        (json!(a(100)), true),
        (json!(format!("  {}\t", a(100))), true),
        (json!("\u{e9}".repeat(100)), true),
        (json!("\u{1f469}\u{1f3fd}".repeat(50)), true),
        (json!(a(101)), false),
        (json!("\u{e9}".repeat(101)), false),
        (json!("Ada\u{0}"), false),
        (json!("Ada\u{7}"), false),
        (json!("Ada\r"), false),
        (json!("Ada\u{85}"), false),
    ]);
    field("name", &rows).await;
}

#[tokio::test]
async fn a_brand_belongs_to_the_workspace_or_is_its_default() {
    let mut rows = no_texts();
    rows.extend([
        (json!(null), true),
        (json!(World::BRAND), true),
        (json!(""), false),
        (json!(" "), false),
        (json!("another"), false),
        (json!("BRAND"), false),
        (json!("brand "), false),
        (json!("brand\u{0}"), false),
        (json!(a(5_000)), false),
    ]);
    field("brandId", &rows).await;
}

#[tokio::test]
async fn a_brand_is_required_if_there_is_no_default() {
    let site = Site::with(|capture| capture.brand = None).await;
    assert_eq!(site.post(&site.body()).await.status, 400);
    assert_eq!(site.post(&with(&site.body(), "brandId", json!(null))).await.status, 400);
    assert_eq!(site.post(&with(&site.body(), "brandId", json!(World::BRAND))).await.status, 202);
    let gone = domain::BrandId::parse("gone").unwrap();
    let site = Site::with(|capture| capture.brand = Some(gone)).await;
    assert_eq!(site.post(&site.body()).await.status, 400, "a default that does not exist");
    let other = site.other("https://other.example").await;
    site.world.brand_of(other.workspace_id, "theirs", |_| ()).await;
    assert_eq!(site.post(&with(&site.body(), "brandId", json!("theirs"))).await.status, 400);
}

#[tokio::test]
async fn a_landing_page_is_an_http_url() {
    let page = "https://www.example.com/";
    let long = |count: usize| format!("{page}{}", a(count - page.len()));
    let mut rows = no_texts();
    rows.extend([
        (json!(page), true),
        (json!("https://www.example.com"), true),
        (json!("http://www.example.com/a/b?c=d&e=%20#f"), true),
        (json!("HTTPS://WWW.EXAMPLE.COM/"), true),
        (json!("https://b\u{fc}cher.example/\u{f1}"), true),
        (json!("https://elsewhere.example:8443/"), true),
        (json!("http://127.0.0.1:8000/"), true),
        (json!(long(2_048)), true),
        (json!(long(2_049)), false),
        (json!(""), false),
        (json!("/spring"), false),
        (json!("www.example.com"), false),
        (json!("//www.example.com/"), false),
        (json!("https://"), false),
        (json!("https:// /"), false),
        (json!("ftp://www.example.com/"), false),
        (json!("javascript:alert(1)"), false),
        (json!("data:text/html,x"), false),
        (json!("file:///etc/passwd"), false),
        (json!("mailto:a@example.com"), false),
        (json!("https://www.example.com/a b"), false),
        (json!("https://www.example.com/\n"), false),
        (json!(" https://www.example.com/"), false),
        (json!("https://www.example.com/\u{0}"), false),
        (json!("https://www.example.com:99999/"), false),
    ]);
    field("landingUri", &rows).await;
}

#[tokio::test]
async fn attribution_has_up_to_twenty_texts() {
    let texts = |count: usize| -> Value { (0..count).map(|n| (format!("k{n}"), json!("v"))).collect() };
    let mut rows: Vec<(Value, bool)> = [json!(7), json!(true), json!("x"), json!([]), json!([["a", "b"]])]
        .map(|value| (value, false))
        .to_vec();
    rows.extend([
        (json!(null), true),
        (json!({}), true),
        (json!({"utm_source": "search", "x": ""}), true),
        (texts(20), true),
        (texts(21), false),
        (json!({a(256): a(256)}), true),
        (json!({"\u{e9}".repeat(256): "\u{e9}".repeat(256)}), true),
        (json!({a(257): "x"}), false),
        (json!({"x": a(257)}), false),
        (json!({"": "x"}), false),
        (json!({"x": null}), false),
        (json!({"x": 7}), false),
        (json!({"x": true}), false),
        (json!({"x": ["y"]}), false),
        (json!({"x": {"y": "z"}}), false),
        (json!({"x": "\u{0}"}), false),
        (json!({"\u{0}": "x"}), false),
        (json!({"x": "a\nb"}), true),
    ]);
    field("utm", &rows).await;
}

#[tokio::test]
async fn consent_is_required() {
    let mut rows: Vec<(Value, bool)> =
        [json!(null), json!(7), json!(true), json!("GRANTED"), json!([]), json!({})]
            .map(|value| (value, false))
            .to_vec();
    let status = |status: Value| json!({ "status": status });
    rows.extend([
        (status(json!("GRANTED")), true),
        (status(json!("NOT_PROVIDED")), false),
        (json!({"status": "NOT_PROVIDED", "capturedAt": "2026-01-02T03:04:05.678Z"}), false),
        (json!({"capturedAt": "2026-01-02T03:04:05.678Z"}), false),
    ]);
    rows.extend(
        ["granted", "Granted", "GRANTED ", "", "YES", "true"].map(|word| (status(json!(word)), false)),
    );
    rows.extend([json!(null), json!(true), json!(1), json!(["GRANTED"])].map(|value| (status(value), false)));
    field("consent", &rows).await;
}

#[tokio::test]
async fn the_time_of_the_consent_is_a_date_time() {
    let site = Site::start().await;
    let moment = |text: &str| Timestamp::parse(text);
    let rows: &[(Value, Option<Option<Timestamp>>)] = &[
        (json!(null), Some(None)),
        (json!("2026-01-02T03:04:05.678Z"), Some(moment("2026-01-02T03:04:05.678Z"))),
        (json!("2026-01-02T03:04:05Z"), Some(moment("2026-01-02T03:04:05.000Z"))),
        (json!("2026-01-02T04:04:05.678+01:00"), Some(moment("2026-01-02T03:04:05.678Z"))),
        (json!("2026-01-02T03:04:05.678901Z"), Some(moment("2026-01-02T03:04:05.678Z"))),
        (json!("1970-01-01T00:00:00.001Z"), Some(moment("1970-01-01T00:00:00.001Z"))),
        (json!("1969-12-31T23:59:59Z"), None),
        (json!("2026-01-02"), None),
        (json!("2026-01-02T03:04:05"), None),
        (json!("2026-02-30T03:04:05Z"), None),
        (json!("2026-01-02T25:04:05Z"), None),
        (json!("yesterday"), None),
        (json!(""), None),
        (json!(1_767_323_045), None),
        (json!({}), None),
    ];
    for (number, (value, expected)) in rows.iter().enumerate() {
        let mut body = site.visitor(number);
        body["consent"]["capturedAt"] = value.clone();
        match expected {
            Some(expected) => {
                let id = site.accepted(&body).await;
                assert_eq!(site.lead(id).await.consent.captured_at, *expected, "{value}");
            }
            None => assert_eq!(status(&site, site.event(&body)).await, 400, "{value}"),
        }
    }
}

#[tokio::test]
async fn the_text_of_the_consent_is_text_of_up_to_2000_characters() {
    let site = Site::start().await;
    let rows = [
        (json!(null), true),
        (json!(""), true),
        (json!("I agree.\n\tReally."), true),
        (json!(a(2_000)), true),
        (json!(a(2_001)), false),
        (json!("bell\u{7}"), false),
        (json!(7), false),
        (json!({}), false),
        (json!(["I agree."]), false),
    ];
    for (number, (text, is_valid)) in rows.iter().enumerate() {
        let mut body = site.visitor(number);
        body["consent"]["text"] = text.clone();
        let rows = site.all_rows();
        assert_eq!(status(&site, site.event(&body)).await, if *is_valid { 202 } else { 400 }, "{text}");
        assert_eq!(site.all_rows() > rows, *is_valid, "{text}");
    }
}

#[tokio::test]
async fn a_captcha_token_has_a_minimum_and_maximum_length() {
    let mut rows = no_texts();
    rows.extend([
        (json!("t"), true),
        (json!(" "), true),
        (json!(a(8_192)), true),
        (json!(a(8_193)), false),
        (json!("token\u{0}"), false),
    ]);
    field("recaptchaToken", &rows).await;
}

#[tokio::test]
async fn a_body_is_one_json_object() {
    let site = Site::start().await;
    let good = site.body().to_string();
    let open = &good[..good.len() - 1];
    let nested = |depth: usize| format!("{open},\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    for (what, body) in [
        ("nothing", String::new()),
        ("white space", " \n".to_owned()),
        ("no JSON", "workspaceId=x".to_owned()),
        ("null", "null".to_owned()),
        ("a number", "7".to_owned()),
        ("a text", "\"x\"".to_owned()),
        ("a list", format!("[{good}]")),
        ("half of it", open.to_owned()),
        ("more behind it", format!("{good}{good}")),
        ("a comma too many", format!("{open},}}")),
        ("a comment", format!("{good}//")),
        ("a byte order mark", format!("\u{feff}{good}")),
        ("the same key twice", format!("{open},\"captureKey\":\"x\"}}")),
        ("the same key twice, alike", format!("{open},\"name\":\"x\",\"name\":\"x\"}}")),
        ("the same key twice in what is ignored", format!("{open},\"x\":[{{\"y\":1,\"y\":1}}]}}")),
        ("the same key in two spellings", format!("{open},\"name\":\"x\",\"n\\u0061me\":\"x\"}}")),
        ("nested too deeply", nested(200)),
        ("nested without an end", "[".repeat(16_000)),
        ("half a character", format!("{open},\"name\":\"\\ud83d\"}}")),
        ("a bare control character", format!("{open},\"name\":\"a\u{1}b\"}}")),
    ] {
        assert_eq!(raw(&site, &body).await, 400, "{what}");
    }
    assert_eq!(raw(&site, &nested(50)).await, 202);
    let mut null = site.event(&site.body()).json().clone();
    null["body"] = Value::Null;
    let request = serde_json::from_value(null).unwrap();
    assert_eq!(serde_json::to_value(site.leads.handle(&request).await).unwrap()["statusCode"], 400);
}

#[tokio::test]
async fn a_body_has_at_most_sixteen_kibibytes() {
    let site = Site::start().await;
    let sized = |number: usize, size: usize| {
        let body = with(&site.visitor(number), "padding", json!(""));
        let missing = size - body.to_string().len();
        with(&body, "padding", json!(a(missing))).to_string()
    };
    assert_eq!(LeadRequest::MAX_BODY, 16_384);
    for (number, (size, expected)) in
        [(16_383, 202), (16_384, 202), (16_385, 400), (300_000, 400)].iter().enumerate()
    {
        let body = sized(number, *size);
        assert_eq!(body.len(), *size);
        assert_eq!(raw(&site, &body).await, *expected, "{size}");
        let encoded = base64(body.replace("token of", "token, of").as_bytes());
        let expected = if *size == 16_384 { 400 } else { *expected };
        assert_eq!(encoded_status(&site, &encoded).await, expected, "{size} and one more, encoded");
    }
}

#[tokio::test]
async fn an_encoded_body_is_decoded() {
    let site = Site::start().await;
    let good = site.body().to_string();
    assert_eq!(encoded_status(&site, &base64(good.as_bytes())).await, 202);
    assert_eq!(encoded_status(&site, &good).await, 400, "not encoded");
    assert_eq!(encoded_status(&site, "").await, 400);
    for bytes in [&b"\xff\xfe"[..], &b"\xc3"[..], &b"\xed\xa0\x80"[..], &b"\xc0\xaf"[..]] {
        let mut body = good.clone().into_bytes();
        body.truncate(body.len() - 1);
        body.extend_from_slice(b",\"name\":\"");
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\"}");
        assert_eq!(encoded_status(&site, &base64(&body)).await, 400, "{bytes:?} is not UTF-8");
    }
}

async fn encoded_status(site: &Site, encoded: &str) -> u16 {
    let mut event = site.event(&json!({})).raw_body(encoded).json().clone();
    event["isBase64Encoded"] = json!(true);
    let request = serde_json::from_value(event).unwrap();
    let answer = serde_json::to_value(site.leads.handle(&request).await).unwrap();
    u16::try_from(answer["statusCode"].as_u64().unwrap()).unwrap()
}

/// Base64, which the gateway uses for bodies that are not text.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = ALPHABET[number >> (18 - 6 * place) & 63];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[tokio::test]
async fn a_body_must_be_declared_as_json() {
    let site = Site::start().await;
    let rows: &[(&str, u16)] = &[
        ("application/json", 202),
        ("Application/JSON", 202),
        ("application/json; charset=utf-8", 202),
        ("application/json;charset=\"UTF-8\"", 202),
        ("", 400),
        ("text/plain", 400),
        ("text/plain;charset=UTF-8", 400),
        ("text/json", 400),
        ("application/problem+json", 400),
        ("application/x-www-form-urlencoded", 400),
        ("multipart/form-data; boundary=x", 400),
        ("application/json; charset=iso-8859-1", 400),
        ("application/json, application/json", 400),
    ];
    for (number, (content_type, expected)) in rows.iter().enumerate() {
        let event = site.event(&site.visitor(number)).header("content-type", content_type);
        assert_eq!(status(&site, event).await, *expected, "{content_type}");
    }
    let event = site.event(&site.body());
    assert_eq!(status(&site, event.clone().without_header("content-type")).await, 400);
    assert_eq!(status(&site, event.header_again("content-type", "application/json")).await, 400, "twice");
}
