//! The test vectors in `tests/receivers/vectors.json`: signed requests, intact and tampered, with the
//! expected result of each.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets, signature};
use domain::{EndpointSecrets, Event, EventType, Timestamp};
use edge::view;
use serde::Serialize;

use super::events::{Example, at, example_of};
use crate::made::hold;

/// When the requests are made, in seconds of the story.
const SECONDS: u64 = 120;
/// The placeholder for the long middle of a body.
const FILL: &str = "{fill}";

/// A request and the expected result of its verification.
#[derive(Clone, Serialize)]
struct Vector {
    name: String,
    /// The receiver's secrets.
    secrets: Vec<String>,
    /// The receiver's clock in Unix seconds.
    now: i64,
    headers: BTreeMap<&'static str, String>,
    body: String,
    /// The number of `x` that replace `{fill}` in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<usize>,
    /// Whether the Standard Webhooks signature is valid.
    standard: bool,
    /// Whether the legacy signature is valid.
    legacy: bool,
}

impl Vector {
    fn named(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    fn with_header(&self, name: &'static str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.insert(name, value.to_owned());
        other
    }

    fn without_header(&self, name: &str) -> Self {
        let mut other = self.clone();
        other.headers.remove(name);
        other
    }

    fn received_after(&self, seconds: i64) -> Self {
        Self { now: self.now + seconds, ..self.clone() }
    }

    fn held(&self, secrets: &[&SigningSecret]) -> Self {
        Self { secrets: shown(secrets), ..self.clone() }
    }

    fn verifies(self, standard: bool, legacy: bool) -> Self {
        Self { standard, legacy, ..self }
    }
}

fn shown(secrets: &[&SigningSecret]) -> Vec<String> {
    secrets.iter().map(|secret| secret.expose().to_owned()).collect()
}

/// A secret from fixed bytes.
fn secret(seed: u8) -> SigningSecret {
    SigningSecret::from_entropy(std::array::from_fn(|at| (at as u8).wrapping_mul(37).wrapping_add(seed)))
}

fn signed_under(signing: &SigningSecrets, event: &Event, body: &[u8]) -> BTreeMap<&'static str, String> {
    let secrets =
        EndpointSecrets { api_key: ReceiverKey::parse("their-own-key").unwrap(), signing: signing.clone() };
    let headers = signature::headers(event.id, body, &secrets, at(SECONDS));
    headers.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect()
}

/// A request that arrives without delay at a receiver with the only secret.
fn request(name: &str, example: &Example) -> Vector {
    let only = secret(1);
    Vector {
        name: name.to_owned(),
        secrets: shown(&[&only]),
        now: at(SECONDS).as_seconds(),
        headers: signed_under(&SigningSecrets::only(only), &example.event, &example.body),
        body: String::from_utf8(example.body.clone()).unwrap(),
        fill: None,
        standard: true,
        legacy: true,
    }
}

/// The request in the page: its headers in sending order, its body, and the secret.
pub(crate) fn shown_request() -> (Vec<(&'static str, String)>, Vec<u8>, String) {
    let example = example_of(EventType::ContactUpdated);
    let secrets = EndpointSecrets {
        api_key: ReceiverKey::parse("their-own-key").unwrap(),
        signing: SigningSecrets::only(secret(1)),
    };
    let headers = signature::headers(example.event.id, &example.body, &secrets, at(SECONDS));
    let headers = headers.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect();
    (headers, example.body, secret(1).expose().to_owned())
}

/// A request with the largest possible body.
fn largest() -> Vector {
    let event = example_of(EventType::MessageCreated).event;
    let with = |text: &str| view::event_body(&event, &BTreeMap::from([("text", text)])).unwrap();
    let short = with(FILL);
    let fill = Event::MAX_BODY + FILL.len() - short.len();
    let body = with(&"x".repeat(fill));
    assert_eq!(body.len(), Event::MAX_BODY);
    let headers = signed_under(&SigningSecrets::only(secret(1)), &event, &body);
    let example = Example { event, body: short, when: "" };
    Vector { headers, fill: Some(fill), ..request("a body as large as they get, 256 KB", &example) }
}

fn empty() -> Vector {
    let Example { event, .. } = example_of(EventType::WebhookTest);
    let body = view::event_body(&event, &BTreeMap::<(), ()>::new()).unwrap();
    request("an empty payload", &Example { event, body, when: "" })
}

/// All steps of a rotation from one secret to another, for receivers that hold the old, the new, or both.
fn rotation(example: &Example) -> Vec<Vector> {
    let (old, new) = (secret(1), secret(2));
    let begun = SigningSecrets { next: Some(new.clone()), ..SigningSecrets::only(old.clone()) };
    let overlap = |until: Timestamp| SigningSecrets {
        previous: Some((old.clone(), until)),
        ..SigningSecrets::only(new.clone())
    };
    let activated = overlap(at(SECONDS).plus(Duration::from_secs(60)));
    let over = overlap(at(SECONDS));
    let both: &[&SigningSecret] = &[&old, &new];
    let (old, new): (&[_], &[_]) = (&[&old], &[&new]);
    [
        ("rotation begun, the receiver holds the old secret", &begun, old, true, true),
        ("rotation begun, the receiver holds the new secret", &begun, new, true, false),
        ("rotation begun, the receiver holds both", &begun, both, true, true),
        ("new secret activated, the receiver holds the old one", &activated, old, true, false),
        ("new secret activated, the receiver holds the new one", &activated, new, true, true),
        ("new secret activated, the receiver holds both", &activated, both, true, true),
        ("overlap over, the receiver holds the old secret", &over, old, false, false),
        ("overlap over, the receiver holds the new secret", &over, new, true, true),
    ]
    .map(|(name, signing, holds, standard, legacy)| {
        let headers = signed_under(signing, &example.event, &example.body);
        Vector { headers, ..request(name, example) }.held(holds).verifies(standard, legacy)
    })
    .into()
}

fn vectors() -> Vec<Vector> {
    let example = example_of(EventType::ContactUpdated);
    let good = request("a body with accents", &example);
    let header = |name| good.headers[name].as_str();
    let (id, timestamp) = (signature::STANDARD_ID, signature::STANDARD_TIMESTAMP);
    let (standard, legacy) = (signature::STANDARD_SIGNATURE, signature::SIGNATURE);
    let bare = header(standard).trim_start_matches("v1,").to_owned();
    let hex = header(legacy).trim_start_matches("sha256=").to_owned();
    let tampered = |name, from: &str, to: &str| {
        let body = good.body.replacen(from, to, 1);
        assert_ne!(body, good.body);
        Vector { body, ..good.named(name) }.verifies(false, false)
    };
    let mut vectors = vec![
        good.clone(),
        request("a body of ASCII alone", &example_of(EventType::WebhookTest)),
        empty(),
        largest(),
        // The body.
        tampered("another byte in the body", "maria@", "marib@"),
        tampered("a body that was parsed and written again", ",\"", ", \""),
        tampered("a body with its accents escaped", "í", "\\u00ed"),
        Vector { body: format!("{}\n", good.body), ..good.named("a newline behind the body") }
            .verifies(false, false),
        // The secret.
        good.named("another secret").held(&[&secret(3)]).verifies(false, false),
        good.named("no secret at all").held(&[]).verifies(false, false),
        good.named("one of three secrets").held(&[&secret(3), &secret(4), &secret(1)]),
        // The time, which the legacy signature does not cover.
        good.named("five minutes late").received_after(300),
        good.named("more than five minutes late").received_after(301).verifies(false, true),
        good.named("five minutes early").received_after(-300),
        good.named("more than five minutes early").received_after(-301).verifies(false, true),
        good.named("recorded, and sent again under a new timestamp")
            .received_after(3_600)
            .with_header(timestamp, &(good.now + 3_600).to_string())
            .with_header(signature::TIMESTAMP, &(good.now + 3_600).to_string())
            .verifies(false, true),
        good.named("a timestamp that is no number").with_header(timestamp, "now").verifies(false, true),
        good.named("a timestamp with a sign")
            .with_header(timestamp, &format!("+{}", good.now))
            .verifies(false, true),
        good.named("a timestamp beyond all numbers")
            .with_header(timestamp, &"9".repeat(40))
            .verifies(false, true),
        // The id.
        good.named("another id")
            .with_header(id, &example_of(EventType::LeadSent).event.id.to_string())
            .verifies(false, true),
        // The Standard Webhooks signatures.
        good.named("a signature of an unknown version beside ours")
            .with_header(standard, &format!("v2,AAAA v1a,{bare} {}", header(standard))),
        good.named("signatures of unknown versions alone")
            .with_header(standard, &format!("v2,{bare} v1a,{bare}"))
            .verifies(false, true),
        good.named("a signature without a version").with_header(standard, &bare).verifies(false, true),
        good.named("an empty signature").with_header(standard, "v1,").verifies(false, true),
        good.named("a signature cut short")
            .with_header(standard, &header(standard)[..20])
            .verifies(false, true),
        good.named("the signature with something behind it")
            .with_header(standard, &format!("v1,{bare}AAAA"))
            .verifies(false, true),
        // The legacy signature.
        good.named("a legacy signature without its algorithm")
            .with_header(legacy, &hex)
            .verifies(true, false),
        good.named("a legacy signature of another algorithm")
            .with_header(legacy, &format!("sha1={hex}"))
            .verifies(true, false),
        good.named("a legacy signature cut short")
            .with_header(legacy, &header(legacy)[..40])
            .verifies(true, false),
        good.named("an empty legacy signature").with_header(legacy, "").verifies(true, false),
    ];
    vectors.extend(
        [id, timestamp, standard]
            .map(|name| good.named(&format!("without {name}")).without_header(name).verifies(false, true)),
    );
    vectors.push(good.named(&format!("without {legacy}")).without_header(legacy).verifies(true, false));
    vectors.push(
        good.named("without any signature")
            .without_header(legacy)
            .without_header(standard)
            .verifies(false, false),
    );
    vectors.extend(rotation(&example));
    vectors
}

#[test]
fn the_vectors_match_the_codes_signatures() {
    let vectors = serde_json::to_string_pretty(&vectors()).unwrap();
    hold("tests/receivers/vectors.json", &format!("{vectors}\n"));
}
