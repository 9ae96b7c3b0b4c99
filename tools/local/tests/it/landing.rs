//! The landing page's servers: the page at both origins, its settings after the call of `open`, and its security
//! headers.

use local::landing::{Landing, Settings};
use reference::Deployed;
use reqwest::{Client, Response};
use serde_json::{Value, json};

fn client() -> Client {
    // The call fails if another test of this process made it first. The provider is then installed too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

async fn get(url: String) -> Response {
    client().get(url).send().await.unwrap()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers()[name].to_str().unwrap()
}

async fn landing() -> Landing {
    Landing::start(0, 0).await.unwrap()
}

fn settings() -> Settings {
    Settings {
        capture_url: "http://127.0.0.1:8787/_aws/execute-api/abc/v1".to_owned(),
        workspace_id: "8d0e1f6a-5d2c-4c35-9d0e-0b7f4a7b1c11".to_owned(),
        capture_key: "key".to_owned(),
        brand_id: None,
        captcha: "simulated",
    }
}

#[tokio::test]
async fn both_origins_serve_the_same_page() {
    let landing = landing().await;
    assert_ne!(landing.url(), landing.foreign_url());
    for origin in [landing.url(), landing.foreign_url()] {
        for (path, content_type, contained) in [
            ("/?utm_source=mail", "text/html; charset=utf-8", "<form"),
            ("/landing.css", "text/css; charset=utf-8", ":focus-visible"),
            ("/landing.js", "text/javascript; charset=utf-8", "/scripts/lead-capture-2.js"),
            ("/reference.js", "text/javascript; charset=utf-8", "localStorage"),
        ] {
            let response = get(format!("{origin}{path}")).await;
            assert_eq!(response.status(), 200, "{path}");
            assert_eq!(header(&response, "content-type"), content_type, "{path}");
            assert!(response.text().await.unwrap().contains(contained), "{path}");
        }
    }
}

#[tokio::test]
async fn the_api_reference_shows_every_operation_and_every_error_code() {
    let landing = landing().await;
    let response = get(landing.reference_url()).await;
    assert_eq!(header(&response, "content-type"), "text/html; charset=utf-8");
    let page = response.text().await.unwrap();

    let api = reference::as_json();
    let items = ["paths", "webhooks"].into_iter().flat_map(|part| api[part].as_object().unwrap().values());
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let ids: Vec<&str> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
    assert!(ids.len() > 20, "{ids:?}");
    for id in ids {
        assert!(page.contains(&format!("<article id=\"{id}\">")), "{id}");
        assert!(page.contains(&format!("<a href=\"#{id}\">")), "{id} is not in the table of contents");
    }
    for example in api["components"]["examples"].as_object().unwrap().values() {
        let Some(code) = example["value"]["code"].as_str() else { continue };
        assert!(page.contains(&format!("<tr id=\"{code}\">")), "{code}");
    }
    // A body that is a choice shows the fields of each of its objects.
    let message = page.split("<article id=\"createMessage\">").nth(1).unwrap();
    let message = message.split("<h4>Responses</h4>").next().unwrap();
    for shown in
        ["Either <a href=\"#schema-TextMessageCreate\">", "Or <a href=\"#schema-FileMessageCreate\">"]
    {
        let fields = message.split(shown).nth(1).unwrap_or_default();
        assert!(fields.contains("<code>messageBody</code>"), "{shown}");
    }
    // Every link within the page has its target.
    for link in page.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
    }

    let response = get(format!("{}/openapi.yaml", landing.url())).await;
    assert_eq!(header(&response, "content-type"), "application/yaml; charset=utf-8");
    assert_eq!(response.text().await.unwrap(), reference::OPENAPI);
    assert_eq!(get(format!("{}/reference.css", landing.url())).await.status(), 200);
}

/// The text of the request of an operation, as the browser copies it.
fn request_of(page: &str, operation: &str) -> String {
    let article = page.split(&format!("<article id=\"{operation}\">")).nth(1).unwrap();
    let code = article.split("<div class=\"curl\">").nth(1).unwrap().split("<code>").nth(1).unwrap();
    let code = code.split("</code>").next().unwrap();
    code.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[tokio::test]
async fn the_requests_of_the_reference_name_the_deployed_hosts_and_the_demos_ids() {
    let landing = landing().await;
    let page = get(landing.reference_url()).await.text().await.unwrap();
    assert!(request_of(&page, "getContact").starts_with(
        "curl -s 'https://api.example.com/service/api/v1/workspaces/3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90/contacts/"
    ));
    assert!(
        request_of(&page, "getCaptureHealth").starts_with("curl -s 'https://capture.example.com/health'")
    );

    landing.describe(Deployed {
        api_url: "http://127.0.0.1:8787/_aws/execute-api/abc/live".to_owned(),
        capture_url: "http://127.0.0.1:8787/_aws/execute-api/def/live".to_owned(),
        ids: vec![
            ("3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90", "W".to_owned()),
            ("a18eabcd-ae14-4325-9568-1c361b76a862", "C".to_owned()),
        ],
    });
    let page = get(landing.reference_url()).await.text().await.unwrap();
    let update = request_of(&page, "updateContact");
    let head = r#"curl -s -X PATCH 'http://127.0.0.1:8787/_aws/execute-api/abc/live/service/api/v1/workspaces/W/contacts/C' \
  -H "x-api-key: $KEY" \
  -H 'content-type: application/json' \
  -d '"#;
    let body = update.strip_prefix(head).and_then(|rest| rest.strip_suffix('\'')).unwrap();
    assert_eq!(serde_json::from_str::<Value>(body).unwrap()["firstName"], "Augusta");
    assert_eq!(
        request_of(&page, "preflightCampaignLead"),
        "curl -s -X OPTIONS 'http://127.0.0.1:8787/_aws/execute-api/def/live/api/v1/leadscout/campaign-leads?workspaceId=W' \\\n  \
         -H 'Origin: https://www.example.com'"
    );
}

#[tokio::test]
async fn the_settings_are_served_after_open() {
    let landing = landing().await;
    let url = format!("{}/settings.json", landing.url());
    assert_eq!(get(url.clone()).await.status(), 503);

    landing.open(settings());
    for origin in [landing.url(), landing.foreign_url()] {
        let response = get(format!("{origin}/settings.json")).await;
        assert_eq!(header(&response, "content-type"), "application/json");
        let shown: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        assert_eq!(
            shown,
            json!({
                "captureUrl": "http://127.0.0.1:8787/_aws/execute-api/abc/v1",
                "workspaceId": "8d0e1f6a-5d2c-4c35-9d0e-0b7f4a7b1c11",
                "captureKey": "key",
                "brandId": null,
                "captcha": "simulated",
            })
        );
    }
}

#[tokio::test]
async fn the_policy_allows_only_the_page_itself_and_the_lead_capture_api() {
    let landing = landing().await;
    let response = get(landing.url()).await;
    assert!(header(&response, "content-security-policy").contains("connect-src 'self';"));

    landing.open(settings());
    let response = get(landing.url()).await;
    assert_eq!(
        header(&response, "content-security-policy"),
        "default-src 'none'; script-src 'self' http://127.0.0.1:8787; style-src 'self'; img-src data:; \
         connect-src 'self' http://127.0.0.1:8787; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    assert_eq!(header(&response, "x-content-type-options"), "nosniff");
    assert_eq!(header(&response, "cache-control"), "no-store");
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let landing = landing().await;
    assert_eq!(get(format!("{}/landing", landing.url())).await.status(), 404);
    assert_eq!(client().post(landing.url()).body("{}").send().await.unwrap().status(), 405);
}
