//! The order of the checks. A refused caller cannot find out which of the first checks failed.

use harness::TestClock;
use serde_json::{Value, json};

use crate::{Site, unknown_workspace, with};

/// The database calls of a request before the first check. Only a well-formed request has earlier leads.
fn first_trip(is_well_formed: bool) -> [&'static str; 3] {
    let read = if is_well_formed { "BatchGetItem leads+workspaces" } else { "BatchGetItem workspaces" };
    [read, "Query workspaces", "UpdateItem limits"]
}

#[tokio::test]
async fn the_first_failed_check_decides() {
    let mut site = Site::start().await;
    site.captcha().refuses("bad-request");
    let mut body = site.body();
    // From the last check to the first: each new fault hides the ones before it.
    assert_eq!(site.post(&body).await.status, 422, "captcha");
    body["brandId"] = json!("another");
    assert_eq!(site.post(&body).await.status, 400, "brand before captcha");
    assert_eq!(site.captcha().asked.borrow().len(), 1);
    for what in ["origin", "key", "disabled", "disabled workspace", "unknown workspace"] {
        let mut event = site.event(&body);
        match what {
            "origin" => event = event.header("origin", "https://evil.example"),
            "key" => body["captureKey"] = json!("lck_wrong"),
            "disabled" => site.change(|capture| capture.enabled = false).await,
            "disabled workspace" => site.world.change_workspace(|of| of.disabled(TestClock::START)).await,
            _ => body["workspaceId"] = json!(unknown_workspace().to_string()),
        }
        if what != "origin" {
            event = site.event(&body).query(&[]);
        }
        assert_eq!(site.send(event).await.status, 403, "{what} before brand");
    }
    let unnamed = |body: &Value| site.event(body).query(&[]).header("origin", "https://evil.example");
    for (field, value) in [
        ("consent", json!({"status": "NOT_PROVIDED"})),
        ("cellphone", json!("+34100111222")),
        ("landingUri", json!("nowhere")),
        ("recaptchaToken", json!("")),
    ] {
        let answer = site.send(unnamed(&with(&body, field, value))).await;
        assert_eq!(answer.status, 400, "{field} before the sender");
    }
    assert_eq!(site.send(unnamed(&body)).await.status, 403);
    assert_eq!(site.captcha().asked.borrow().len(), 1, "no other workspace was read");
    assert_eq!(site.all_rows(), 0);
}

#[tokio::test]
async fn every_refusal_before_the_captcha_makes_the_same_calls() {
    let mut site = Site::start().await;
    let other = site.other("https://other.example").await;
    let body = site.body();
    let unknown = with(&body, "workspaceId", json!(unknown_workspace().to_string()));
    let no_uuid = with(&body, "workspaceId", json!("x"));
    let of = |site: &Site, body: &Value| site.event(body).query(&[]);
    let mut rows = vec![
        ("empty", 400, site.event(&body).raw_body("")),
        ("empty, nowhere", 400, of(&site, &body).raw_body("")),
        ("no JSON", 400, site.event(&body).raw_body("{")),
        ("too large", 400, site.event(&body).raw_body(&" ".repeat(20_000))),
        ("content type", 400, site.event(&body).header("content-type", "text/plain")),
        ("no workspace", 400, of(&site, &no_uuid)),
        (
            "another workspace",
            400,
            site.event(&with(&body, "workspaceId", json!(other.workspace_id.to_string()))),
        ),
        (
            "unknown workspace on the URL",
            400,
            site.event(&body).query(&[("workspaceId", &unknown_workspace().to_string())]),
        ),
        ("no workspace on the URL", 400, site.event(&body).query(&[("workspaceId", "x")])),
        (
            "two workspaces on the URL",
            400,
            site.event(&body).query(&[("workspaceId", "x"), ("workspaceId", "y")]),
        ),
        ("unknown workspace", 403, of(&site, &unknown)),
        (
            "unknown workspace, key of a known one",
            403,
            of(&site, &with(&unknown, "captureKey", json!(other.key.as_str()))),
        ),
        ("key", 403, site.event(&with(&body, "captureKey", json!("x")))),
        ("key of another", 403, site.event(&with(&body, "captureKey", json!(other.key.as_str())))),
        ("origin", 403, site.event(&body).header("origin", "https://evil.example")),
        ("brand", 400, site.event(&with(&body, "brandId", json!("another")))),
    ];
    for (name, value) in
        [("cellphone", json!("+34100111222")), ("consent", json!({"status": "NOT_PROVIDED"}))]
    {
        rows.push((name, 400, site.event(&with(&body, name, value.clone()))));
        rows.push((name, 400, of(&site, &with(&unknown, name, value.clone()))));
        rows.push((name, 400, of(&site, &with(&no_uuid, name, value))));
    }
    for (what, status, event) in rows {
        refused_with_equal_calls(&mut site, what, status, event).await;
    }
    site.change(|capture| capture.enabled = false).await;
    let event = site.event(&body);
    refused_with_equal_calls(&mut site, "disabled", 403, event).await;
    site.change(|capture| capture.enabled = true).await;
    site.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    let event = site.event(&body);
    refused_with_equal_calls(&mut site, "disabled workspace", 403, event).await;
    assert!(site.captcha().asked.borrow().is_empty());
    assert_eq!(site.all_rows(), 0);
}

#[tokio::test]
async fn a_process_that_remembers_makes_the_same_call_for_an_unknown_workspace() {
    let site = Site::start().await;
    let body = with(&site.body(), "captureKey", json!("x"));
    let unknown = with(&body, "workspaceId", json!(unknown_workspace().to_string()));
    let send = |body: &Value| site.send(site.event(body).query(&[]));
    site.world.db.clock().advance(std::time::Duration::from_secs(30));
    for body in [&body, &unknown] {
        send(body).await;
        site.world.db.forget_calls();
        assert_eq!(send(body).await.status, 403);
        assert_eq!(site.world.db.operations(), ["BatchGetItem leads+workspaces", "UpdateItem limits"]);
        assert_eq!(harness::trips(&site.world.db.calls()), 1);
    }
}

/// The process remembers no settings before the request.
async fn refused_with_equal_calls(site: &mut Site, what: &str, status: u16, event: harness::GatewayEvent) {
    site.leads.store = site.world.db.store_of("leads");
    site.world.db.forget_calls();
    let answer = site.send(event).await;
    assert_eq!(
        (answer.status, site.world.db.operations()),
        (status, first_trip(status == 403 || what == "brand").map(str::to_owned).to_vec()),
        "{what}"
    );
    assert_eq!(harness::trips(&site.world.db.calls()), 1, "{what}: all at the same time");
}
