//! The scripts for pages: published once, cached for a year, answered without a call.

use harness::{Answer, GatewayEvent};

use crate::Site;

/// The SHA-256 of each published script. Browsers keep a script for a year, so a row never changes and never goes: a
/// changed script is a new file and a new row.
const PUBLISHED: [(&str, &str); 2] = [
    ("lead-capture-1.js", "9b0515663c7f5967ffd13cf2a89f30163501344cf07d8531b24683a06efa5273"),
    ("lead-capture-2.js", "bd776503e94a7f4041f0ea0354e28aafc20299272ecaf6513872f7c9936bca22"),
];

fn asked(script: &str) -> GatewayEvent {
    GatewayEvent::of("leads-script.json").path("script", script)
}

fn headers(answer: &Answer) -> Vec<(&str, &str)> {
    let mut headers: Vec<_> =
        answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.sort_unstable();
    headers
}

#[tokio::test]
async fn a_published_script_never_changes_and_stays_served() {
    let site = Site::start().await;
    assert_eq!(leads::scripts::SCRIPTS.map(|(name, _)| name), PUBLISHED.map(|(name, _)| name));
    for (name, digest) in PUBLISHED {
        let answer = site.send(asked(name)).await;
        assert_eq!(
            (answer.status, domain::encoding::sha256_hex(answer.text.as_bytes())),
            (200, digest.to_owned())
        );
        let etag = format!("\"{digest}\"");
        assert_eq!(
            headers(&answer),
            [
                ("access-control-allow-origin", "*"),
                ("cache-control", "public, max-age=31536000, immutable"),
                ("content-type", "text/javascript; charset=utf-8"),
                ("etag", etag.as_str()),
                ("x-content-type-options", "nosniff"),
            ]
        );
    }
}

#[test]
fn openapi_yaml_lists_every_script_and_the_page_for_owners_names_the_last_one() {
    let names = leads::scripts::SCRIPTS.map(|(name, _)| name);
    let api = local::reference::as_json();
    let parameter = &api["paths"]["/api/v1/leadscout/scripts/{script}"]["get"]["parameters"][0];
    assert_eq!(parameter["schema"]["enum"], serde_json::json!(names));

    let page = include_str!("../../../../docs/lead-capture.md");
    let snippet = page.split("```html").nth(1).unwrap().split("```").next().unwrap();
    let newest = format!("/api/v1/leadscout/scripts/{}", names[names.len() - 1]);
    assert!(snippet.contains(&format!("{newest}'")));
    assert_eq!(domain::Capture::SCRIPT, newest, "the settings of lead capture name it too");
}

#[tokio::test]
async fn a_browser_that_has_the_script_gets_304_and_any_other_gets_the_content() {
    let site = Site::start().await;
    let first = site.send(asked("lead-capture-1.js")).await;
    let etag = first.headers["etag"].as_str();
    for known in [etag, &format!("W/{etag}"), &format!("\"other\" , {etag}"), "*"] {
        let answer = site.send(asked("lead-capture-1.js").header("if-none-match", known)).await;
        assert_eq!((answer.status, answer.text.as_str()), (304, ""), "{known}");
        let mut kept = headers(&first);
        kept.retain(|(name, _)| *name != "content-type");
        assert_eq!(headers(&answer), kept, "{known}");
    }
    for other in ["", "\"other\"", etag.trim_matches('"'), "W/*"] {
        let answer = site.send(asked("lead-capture-1.js").header("if-none-match", other)).await;
        assert_eq!((answer.status, &answer.text), (200, &first.text), "{other}");
    }
}

#[tokio::test]
async fn an_unknown_script_is_answered_like_an_unknown_path() {
    let site = Site::start().await;
    for name in
        ["", "lead-capture-0.js", "lead-capture-1", "lead-capture.js", "LEAD-CAPTURE-1.JS", "../lib.rs"]
    {
        let answer = site.send(asked(name)).await;
        let problem = r#"{"type":"SERVICE.CAMPAIGN_LEADS.INVALID_REQUEST","title":"Not Found","status":404}"#;
        assert_eq!((answer.status, answer.text.as_str()), (404, problem), "{name}");
        assert_eq!(
            headers(&answer),
            [
                ("cache-control", "no-store"),
                ("content-type", "application/problem+json"),
                ("vary", "Origin"),
                ("x-content-type-options", "nosniff"),
            ]
        );
    }
}

#[tokio::test]
async fn a_script_takes_no_call() {
    let site = Site::start().await;
    site.world.db.forget_calls();
    for name in ["lead-capture-1.js", "unknown.js"] {
        site.send(asked(name)).await;
    }
    assert_eq!(site.world.db.operations(), Vec::<String>::new());
}
