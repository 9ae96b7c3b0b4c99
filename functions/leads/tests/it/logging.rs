//! The log lines of requests, which have no personal data.

use edge::capture::CaptureRequest;
use harness::{Fault, Pipe, World};
use leads::captcha::Unreachable;
use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;

use crate::{Site, with};

#[derive(Default)]
struct Log(Pipe);

impl Log {
    /// Records the log lines of this thread, from every module.
    fn listen(&self) -> impl Drop + use<> {
        let lines = self.0.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(LevelFilter::INFO)
            .with_writer(move || lines.clone())
            .finish();
        tracing_subscriber::util::SubscriberInitExt::set_default(subscriber)
    }

    fn lines(&self) -> Vec<Value> {
        let text = self.0.take();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test]
async fn each_request_logs_one_line_with_the_cause_and_without_visitor_data() {
    let mut site = Site::start().await;
    let mut body = site.body();
    body["name"] = json!("Very Personal");
    body["landingUri"] = json!("https://www.example.com/very-personal");
    body["utm"] = json!({"very-personal-key": "very-personal-value"});
    body["recaptchaToken"] = json!("very-personal-token");
    body["consent"]["capturedAt"] = json!("2025-05-05T05:05:05Z");
    let secrets = [
        "ersonal", // name, landing page, campaign and token
        "600111222",
        "2025-05-05",
        "203.0.113.7",
        "Firefox",
        "evil",
        World::CAPTCHA_SECRET,
        site.capture.key.as_str(),
    ]
    .map(str::to_owned);
    let log = Log::default();
    let listening = log.listen();
    let told = |what: &str, level: &str, word: &str| {
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{what}: {lines:?}");
        let text = lines[0].to_string();
        assert_eq!(lines[0]["level"], level, "{what}: {text}");
        assert!(text.contains(word) && text.contains(World::WORKSPACE), "{what}: {text}");
        for secret in &secrets {
            assert!(!text.contains(secret), "{what}: {secret} is in {text}");
        }
    };
    let id = site.accepted(&body).await;
    told("accepted", "INFO", &id.to_string());

    for (what, changed, word) in [
        ("number", with(&body, "cellphone", json!("+34600111222600111222")), "body.cellphone"),
        ("consent", with(&body, "consent", json!({"status": "evil"})), "body.consent.status: enum"),
        ("utm value", with(&body, "utm", json!({"very-personal-key": 7})), "body.utm: string_type"),
        ("utm key", with(&body, "utm", json!({"very-personal\u{0}": "x"})), "body.utm: value_error"),
        ("landing page", with(&body, "landingUri", json!("very personal")), "body.landingUri: value_error"),
        ("brand", with(&body, "brandId", json!("personal")), "body.brandId"),
        ("key", with(&body, "captureKey", json!("ersonal")), "capture key"),
    ] {
        site.post(&changed).await;
        told(what, "INFO", word);
    }
    for (what, text, word) in [
        ("no JSON", "{\"Very Personal\":evil}", "expected value"),
        ("twice", "{\"Personal\":1,\"Personal\":2}", "same key twice"),
        ("cut off", "{\"Personal", "EOF"),
    ] {
        site.send(site.event(&body).raw_body(text)).await;
        told(what, "INFO", word);
    }
    site.send(site.event(&body).header("origin", "https://evil.example")).await;
    told("origin", "INFO", "origin");
    let other = with(&body, "cellphone", json!("+34600111223"));
    site.post(&other).await;
    told("token", "INFO", "token used");
    let other = with(&other, "recaptchaToken", json!("very-personal-2"));
    site.captcha().says.replace(Some(Err(Unreachable::Status(503))));
    site.post(&other).await;
    told("captcha", "INFO", "status_503");
    site.captcha().refuses("invalid-input-secret");
    site.post(&other).await;
    told("secret", "ERROR", "refuses the secret of the workspace");
    site.captcha().says.replace(None);
    site.world.db.fail("TransactWriteItems", Fault::Throttled, 3);
    site.post(&other).await;
    told("transaction", "ERROR", "500");
    site.world.db.fail("GetItem", Fault::Unreachable, 3);
    site.send(site.preflight()).await;
    told("preflight", "ERROR", "settings not read");
    site.change(|capture| capture.caps.daily = Some(0)).await;
    site.post(&other).await;
    told("cap", "INFO", "operator");
    site.without_secret();
    site.world.db.clock().advance(std::time::Duration::from_secs(300));
    site.post(&other).await;
    told("no secret", "ERROR", "no captcha secret");
    drop(listening);
}

#[tokio::test]
async fn the_debug_output_of_a_request_hides_its_content() {
    let site = Site::start().await;
    let mut body = site.body();
    body["name"] = json!("Personal");
    body["utm"] = json!({"Personal": "Personal"});
    body["landingUri"] = json!("https://www.example.com/Personal");
    body["recaptchaToken"] = json!("Personal");
    let event = site.event(&body).json().clone();
    let request: CaptureRequest = serde_json::from_value(event).unwrap();
    assert_eq!(format!("{request:?}"), "CaptureRequest(GatewayRequest { http_method: \"POST\", .. })");
    let asked = format!("{:?}", request.content(|_| true).lead.unwrap());
    for secret in ["Personal", "600111222", "www.example.com", site.capture.key.as_str()] {
        assert!(!asked.contains(secret), "{asked}");
    }
}
