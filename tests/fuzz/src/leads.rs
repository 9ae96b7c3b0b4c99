//! Lead capture: what a page sends, and what it may read of the response.

use domain::SentOrigin;
use domain::lead::{ConsentText, LandingUri, LeadRequest, Utm};
use edge::capture::{CaptureAnswer, CaptureRequest, LeadProblem};
use leads::scripts;
use serde_json::{Map, Value, json};

use crate::request::Parts;

/// The input is a request (`request.rs`). `base64` at the end of its first line says how the body is encoded.
pub fn run(input: &[u8]) {
    let parts = Parts::of(input);
    let request: CaptureRequest = serde_json::from_value(json!({
        "httpMethod": parts.first.split(' ').next(),
        "pathParameters": { "script": parts.path.first().cloned().unwrap_or_default() },
        "multiValueHeaders": lists(&parts.headers),
        "multiValueQueryStringParameters": lists(&parts.query),
        "body": parts.body,
        "isBase64Encoded": parts.first.ends_with("base64"),
    }))
    .unwrap();
    let origin = request.origin();
    if let SentOrigin::One(origin) = &origin {
        assert!(origin.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    let script = scripts::named(request.script());
    readable(&CaptureAnswer::script(&request, script), if script.is_some() { &[200, 304] } else { &[404] });
    readable(&CaptureAnswer::preflight(&origin), &[204]);

    let content = request.content(|phone| !phone.digits().ends_with('7'));
    let accepted = match content.lead {
        Ok(lead) => {
            assert_eq!(content.workspace, lead.workspace_id);
            check(&lead);
            Ok(domain::LeadId::from_uuid(*lead.workspace_id.as_uuid()))
        }
        Err(problem) => {
            log(&problem);
            Err(problem)
        }
    };
    readable(&CaptureAnswer::of(&accepted, &origin), &[202, 400]);
    assert!(
        request.workspace() == content.workspace || parts.query.iter().all(|(name, _)| name != "workspaceId")
    );
}

/// Lists of values by name, as the gateway sends them.
pub(crate) fn lists(pairs: &[(String, String)]) -> Map<String, Value> {
    let mut lists = Map::new();
    for (name, value) in pairs {
        let list = lists.entry(name.clone()).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(json!(value));
    }
    lists
}

fn check(lead: &LeadRequest) {
    let characters = |text: &str| text.chars().count();
    assert!((1..=LeadRequest::MAX_KEY).contains(&characters(lead.capture_key.expose())));
    assert!((1..=LeadRequest::MAX_TOKEN).contains(&characters(lead.captcha.expose())));
    assert!(!lead.cellphone.as_str().ends_with('7'));
    assert!(characters(lead.landing_uri.as_str()) <= LandingUri::MAX);
    assert!(lead.utm.values().len() <= Utm::MAX);
    for (key, value) in lead.utm.values() {
        assert!((1..=Utm::MAX_TEXT).contains(&characters(key)) && characters(value) <= Utm::MAX_TEXT);
        assert!(!format!("{key}{value}").contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    }
    assert!(lead.name.as_ref().is_none_or(|name| !name.as_str().is_empty()));
    assert!(lead.consent.captured_at.is_none_or(|at| at.as_millis() > 0));
    let text = lead.consent.text.as_ref().map_or("x", |text| text.as_str());
    assert!((1..=ConsentText::MAX).contains(&characters(text)));
}

/// The reason names each field and what is wrong with it. It goes to the log, so it holds nothing of the visitor: only
/// letters that the service wrote itself.
fn log(problem: &LeadProblem) {
    let LeadProblem::Invalid(reason) = problem else { panic!("{problem:?}") };
    for part in reason.split(", ") {
        let (place, why) = part.split_once(": ").unwrap_or_else(|| panic!("no field: {reason:?}"));
        let is_known = place == "content-type" || place.starts_with("body") || place == "query.workspaceId";
        assert!(is_known && !why.is_empty(), "{reason:?}");
        assert!(place.bytes().all(|byte| byte.is_ascii_alphabetic() || b".-".contains(&byte)), "{reason:?}");
    }
    assert!(reason.is_ascii() && !reason.contains(char::is_control), "{reason:?}");
}

/// The status is one of these, and no header can end early.
fn readable(answer: &CaptureAnswer, statuses: &[u64]) {
    let answer = serde_json::to_value(answer).unwrap();
    assert!(statuses.contains(&answer["statusCode"].as_u64().unwrap()), "{answer}");
    for (name, value) in answer["headers"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{name}: {value:?}");
    }
    if answer["statusCode"].as_u64() >= Some(400) {
        let body: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
        assert_eq!(body["status"], answer["statusCode"]);
    }
}
