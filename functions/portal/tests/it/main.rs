//! In-process tests of the portal function.

use edge::ApiRequest;
use harness::{Answer, GatewayEvent};
use portal::Portal;

fn get(event: GatewayEvent) -> Answer {
    let portal = Portal { capture_url: "https://capture.example.org".to_owned() };
    portal.handle(&ApiRequest::new(event.request())).into()
}

fn file(name: &str) -> GatewayEvent {
    GatewayEvent::of("portal-file.json").path("file", name)
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(String::as_str)
}

#[test]
fn the_reference_names_the_hosts_of_the_deployment() {
    let answer = get(file("reference.html"));
    assert_eq!((answer.status, header(&answer, "content-type")), (200, Some("text/html; charset=utf-8")));
    let page = &answer.text;
    assert!(page.contains("https://api.example.com/live/service/api/v1/workspaces/"), "{page}");
    assert!(page.contains("https://capture.example.org/api/v1/leadscout/campaign-leads"));
    assert!(!page.contains(".invalid") && !page.contains("shell.sh"));
}

#[test]
fn a_page_loads_the_files_beside_it_and_no_others() {
    for (name, content_type) in [
        ("reference.css", "text/css; charset=utf-8"),
        ("reference.js", "text/javascript; charset=utf-8"),
        ("openapi.yaml", "application/yaml; charset=utf-8"),
    ] {
        let answer = get(file(name));
        assert_eq!((answer.status, header(&answer, "content-type")), (200, Some(content_type)), "{name}");
        let policy = header(&answer, "content-security-policy").unwrap_or_default();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
    }
    for name in ["", "index.html", "../main.rs", "reference"] {
        assert_eq!((get(file(name)).status, get(file(name)).text.as_str()), (404, ""), "{name}");
    }
}

#[test]
fn a_browser_that_has_the_file_gets_304() {
    let first = get(file("openapi.yaml"));
    let tag = header(&first, "etag").unwrap_or_default().to_owned();
    assert_eq!(header(&first, "cache-control"), Some("no-cache"));
    let again = get(file("openapi.yaml").header("if-none-match", &format!("W/{tag}")));
    assert_eq!((again.status, again.text.as_str(), header(&again, "etag")), (304, "", Some(tag.as_str())));
    assert_eq!(get(file("openapi.yaml").header("if-none-match", "\"x\"")).status, 200);
    assert_eq!(get(file("reference.js").header("if-none-match", &tag)).status, 200);
}
