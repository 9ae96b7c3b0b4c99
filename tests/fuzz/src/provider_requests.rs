//! Requests to the URL of the provider's webhook: only the signature of these bytes is accepted, and only a plain
//! challenge is repeated.

use domain::{ProviderApp, ProviderAppId, Timestamp};
use edge::provider::{WebhookAnswer, WebhookRequest};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

use crate::leads::lists;
use crate::request::Parts;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
const SECRET: &str = "first-secret-0123456789abcdef";

/// The input is a request (`request.rs`): a path with the app's id, the query of a verification, headers, a body.
pub fn run(input: &[u8]) {
    let parts = Parts::of(input);
    let request: WebhookRequest = serde_json::from_value(json!({
        "httpMethod": parts.first.split(' ').next(),
        "pathParameters": { "appId": parts.path.first() },
        "multiValueHeaders": lists(&parts.headers),
        "multiValueQueryStringParameters": lists(&parts.query),
        "body": parts.body,
        "isBase64Encoded": parts.first.ends_with("base64"),
    }))
    .unwrap_or_default();
    if let Some(id) = request.app() {
        assert!(
            (1..=32).contains(&id.as_str().len()) && id.as_str().bytes().all(|byte| byte.is_ascii_digit())
        );
    }
    if let Some(verification) = request.verification() {
        assert!(parts.query.contains(&("hub.mode".to_owned(), "subscribe".to_owned())));
        let app = app();
        assert_eq!(app.is_verified_by(&verification.token), verification.token == "verify-token-0001");
        let challenge = verification.challenge.clone();
        let answer = serde_json::to_value(WebhookAnswer::verified(verification)).unwrap();
        assert!(!challenge.is_empty() && challenge.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!((&answer["statusCode"], &answer["body"]), (&json!(200), &json!(challenge)));
        assert_eq!(answer["headers"]["content-type"], "text/plain; charset=utf-8");
    }
    let body = request.body().unwrap_or_default();
    if let Some(signature) = request.signature() {
        signatures(&body, signature);
    }
}

fn app() -> ProviderApp {
    ProviderApp {
        id: ProviderAppId::parse("1042").unwrap(),
        workspace: None,
        secret: ProviderApp::secret(SECRET).unwrap(),
        previous: None,
        verify_token: ProviderApp::verify_token("verify-token-0001").unwrap(),
        created_at: NOW,
        version: 1,
    }
}

/// The sent signature, the right one, and the right one with one wrong digit.
fn signatures(body: &[u8], sent: &str) {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body);
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let right = format!("sha256={digits}");
    let app = app();
    let is_right = sent.strip_prefix("sha256=").is_some_and(|sent| sent.eq_ignore_ascii_case(&digits));
    assert_eq!(app.has_signed(body, sent, NOW), is_right, "{sent}");
    assert!(app.has_signed(body, &right, NOW));

    let place = right.len() - 1 - sent.len() % 64;
    let wrong = if right.as_bytes()[place] == b'0' { "1" } else { "0" };
    let wrong = format!("{}{wrong}{}", &right[..place], &right[place + 1..]);
    assert!(!app.has_signed(body, &wrong, NOW));
    assert!(!app.has_signed(&[body, b" "].concat(), &right, NOW));
}
