//! The exact content of answers.

use harness::{Answer, Fault, TestClock, World};
use leads::captcha::Unreachable;
use serde_json::json;

use crate::{Site, unknown_workspace, with};

const INVALID: &str =
    r#"{"type":"SERVICE.CAMPAIGN_LEADS.INVALID_REQUEST","title":"Bad Request","status":400}"#;
const REJECTED: &str = r#"{"type":"SERVICE.CAMPAIGN_LEADS.REJECTED","title":"Forbidden","status":403}"#;
const UNAVAILABLE: &str =
    r#"{"type":"SERVICE.CAMPAIGN_LEADS.CAPTCHA_UNAVAILABLE","title":"Captcha Unavailable","status":422}"#;
const FAILED: &str =
    r#"{"type":"SERVICE.CAMPAIGN_LEADS.INTERNAL_ERROR","title":"Internal Server Error","status":500}"#;

/// The headers of an answer, sorted by name.
fn headers(answer: &Answer) -> Vec<(&str, &str)> {
    let mut headers: Vec<(&str, &str)> =
        answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.sort_unstable();
    headers
}

/// The headers of an answer to a page, or to a server if there is no page.
fn expected(page: Option<&'static str>, content_type: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut headers = vec![
        ("cache-control", "no-store"),
        ("content-type", content_type),
        ("vary", "Origin"),
        ("x-content-type-options", "nosniff"),
    ];
    if let Some(page) = page {
        headers.insert(0, ("access-control-allow-origin", page));
    }
    headers
}

#[tokio::test]
async fn the_answer_to_a_lead_has_only_its_id() {
    let site = Site::start().await;
    let answer = site.post(&site.body()).await;
    let lead = crate::id(&answer);
    assert_eq!((answer.status, answer.text.as_str()), (202, format!(r#"{{"requestId":"{lead}"}}"#).as_str()));
    assert_eq!(headers(&answer), expected(Some(World::PAGE), "application/json"));
    assert_eq!(site.lead(lead).await.id, lead, "it is stored when it is answered");

    let from_server = site.send(site.event(&site.visitor(1)).without_header("origin")).await;
    assert_eq!(from_server.status, 202);
    assert_eq!(headers(&from_server), expected(None, "application/json"));
}

#[tokio::test]
async fn the_answer_to_a_preflight_lists_what_a_page_may_do() {
    let site = Site::start().await;
    let answer = site.send(site.preflight()).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    assert_eq!(
        headers(&answer),
        [
            ("access-control-allow-headers", "content-type, baggage, sentry-trace, traceparent, tracestate"),
            ("access-control-allow-methods", "POST"),
            ("access-control-allow-origin", World::PAGE),
            ("access-control-max-age", "7200"),
            ("cache-control", "no-store"),
            ("vary", "Origin"),
            ("x-content-type-options", "nosniff"),
        ]
    );
}

#[tokio::test]
async fn each_problem_has_only_type_title_and_status() {
    let site = Site::start().await;
    let problem = async |status: u16, text: &str, content: serde_json::Value| {
        for page in [Some(World::PAGE), None] {
            let event = site.event(&content);
            let answer = site.send(if page.is_some() { event } else { event.without_header("origin") }).await;
            assert_eq!((answer.status, answer.text.as_str()), (status, text));
            assert_eq!(headers(&answer), expected(page, "application/problem+json"), "{text}");
        }
    };
    problem(400, INVALID, with(&site.body(), "cellphone", json!("none"))).await;
    problem(403, REJECTED, with(&site.body(), "captureKey", json!("lck_another"))).await;
    site.captcha().says.replace(Some(Err(Unreachable::Timeout)));
    problem(422, UNAVAILABLE, site.body()).await;
    site.captcha().says.replace(None);
    site.world.db.fail("TransactWriteItems", Fault::Unreachable, 6);
    problem(500, FAILED, site.body()).await;
    assert_eq!(site.all_rows(), 0);
}

#[tokio::test]
async fn the_outcomes_of_leads_are_counted() {
    let site = Site::start().await;
    site.accepted(&site.body()).await;
    let other = site.visitor(2);
    assert_eq!(site.post(&with(&other, "cellphone", json!("none"))).await.status, 400);
    assert_eq!(site.post(&with(&other, "captureKey", json!("lck_another"))).await.status, 403);
    site.captcha().says.replace(Some(Err(Unreachable::Timeout)));
    assert_eq!(site.post(&other).await.status, 422);
    site.captcha().refuses("invalid-input-secret");
    assert_eq!(site.post(&other).await.status, 500);
    let told: Vec<_> = site.counted.values().into_iter().collect();
    let expected = [
        ("CaptchaMisconfigured", vec![1]),
        ("CaptchaUnavailable", vec![1]),
        ("LeadsAccepted", vec![1]),
        ("LeadsRejected", vec![1, 1]),
    ];
    assert_eq!(told, expected.map(|(name, counts)| (name.to_owned(), counts)));
}

#[tokio::test]
async fn every_rejection_has_the_same_answer() {
    let mut site = Site::with(|capture| capture.caps.per_phone = Some(1)).await;
    let mut bodies = vec![];
    let mut rejected = |cause: &str, answer: Answer| {
        assert_eq!((answer.status, answer.text.as_str()), (403, REJECTED), "{cause}");
        bodies.push(answer.text);
    };
    let body = site.body();
    rejected("unknown workspace", {
        let body = with(&body, "workspaceId", json!(unknown_workspace().to_string()));
        site.send(site.event(&body).query(&[])).await
    });
    rejected("key", site.post(&with(&body, "captureKey", json!("lck_000000000000000000000000"))).await);
    rejected("origin", site.send(site.event(&body).header("origin", "https://evil.example")).await);
    let codes = ["missing-input-response", "invalid-input-response", "timeout-or-duplicate"];
    for code in codes {
        site.captcha().refuses(code);
        rejected(code, site.post(&body).await);
    }
    let (at, action, hostname) = (site.world.db.store().now(), "campaign_lead", "www.example.com");
    let late = at.plus(std::time::Duration::from_secs(600));
    for (cause, score, action, hostname, at) in [
        ("score", 0.49, action, hostname, at),
        ("action", 0.9, "submit", hostname, at),
        ("hostname", 0.9, action, "evil.example", at),
        ("from the future", 0.9, action, hostname, late),
    ] {
        let (action, hostname) = (action.to_owned(), hostname.to_owned());
        let solved = domain::lead::captcha::CaptchaAnswer::Solved { score, action, hostname, at };
        site.captcha().says.replace(Some(Ok(solved)));
        rejected(cause, site.post(&body).await);
    }
    site.captcha().says.replace(None);
    assert_eq!(site.all_rows(), 0, "the token of a rejected lead is not stored");

    site.accepted(&body).await;
    let mut another = site.visitor(7);
    another["recaptchaToken"] = body["recaptchaToken"].clone();
    rejected("token used", site.post(&another).await);
    site.world.brand("second", |_| ()).await;
    let mut more = with(&body, "brandId", json!("second"));
    more["recaptchaToken"] = json!("another");
    rejected("cap", site.post(&more).await);
    site.change(|capture| capture.enabled = false).await;
    rejected("disabled", site.post(&site.visitor(8)).await);
    site.change(|capture| capture.enabled = true).await;
    site.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    rejected("disabled workspace", site.post(&site.visitor(9)).await);
    assert_eq!(bodies.len(), 3 + 3 + 4 + 4);
}

#[tokio::test]
async fn the_event_files_are_a_lead_and_its_preflight() {
    let site = Site::start().await;
    let event = harness::GatewayEvent::of("leads-accept.json");
    let text = event.json()["body"].as_str().unwrap();
    let key = "lck_ReplaceThisByTheKey00000";
    assert!(text.contains(key));
    let answer = site.send(event.clone().raw_body(&text.replace(key, site.capture.key.as_str()))).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    assert_eq!(site.send(site.preflight()).await.status, 204);
}
