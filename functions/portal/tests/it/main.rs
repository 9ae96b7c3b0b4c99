//! In-process tests of the portal function.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use edge::{ApiRequest, CODES};
use harness::{Answer, GatewayEvent};
use portal::{DOCUMENT, FrameAncestors, Portal};
use sha2::{Digest, Sha256};

fn portal(frame_ancestors: &str) -> Portal {
    Portal {
        capture_url: "https://capture.example.org".to_owned(),
        frame_ancestors: FrameAncestors::parse(frame_ancestors).expect("origins of the test"),
    }
}

fn get(event: GatewayEvent) -> Answer {
    portal("").handle(&ApiRequest::new(event.request())).into()
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
fn the_gateway_of_the_local_stack_is_called_without_tls() {
    let mut event = file("reference.html").json().clone();
    event["requestContext"]["domainName"] = "127.0.0.1:8787/_aws/execute-api/abc".into();
    let request = lambda_http::request::from_str(&event.to_string()).expect("an event of the gateway");
    let answer: Answer = portal("").handle(&ApiRequest::new(request)).into();
    assert!(answer.text.contains("http://127.0.0.1:8787/_aws/execute-api/abc/live/service/api/v1/"));
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
    for name in ["", "index", "../main.rs", "reference"] {
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

#[test]
fn the_address_without_a_file_leads_to_the_portal_on_the_same_host() {
    let answer = get(GatewayEvent::of("portal-home.json"));
    assert_eq!(
        (answer.status, header(&answer, "location"), answer.text.as_str()),
        (302, Some("portal/index.html"), "")
    );
    assert_eq!(header(&answer, "cache-control"), Some("no-cache"));
}

#[test]
fn the_portal_may_run_its_own_script_and_call_its_own_host_and_nothing_else() {
    let answer = get(file("index.html"));
    assert_eq!((answer.status, header(&answer, "content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(answer.text, DOCUMENT);
    let digest = |tag: &str| {
        let (_, rest) = DOCUMENT.split_once(&format!("<{tag}>")).expect("the document has the element");
        let (content, _) = rest.split_once(&format!("</{tag}>")).expect("the element ends");
        format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content.as_bytes())))
    };
    let expected = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors 'none'",
        digest("script"),
        digest("style")
    );
    assert_eq!(header(&answer, "content-security-policy"), Some(expected.as_str()));
    for (name, value) in [
        ("cache-control", "no-cache"),
        ("cross-origin-opener-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(header(&answer, name), Some(value), "{name}");
    }
    let tag = header(&answer, "etag").expect("a strong tag").to_owned();
    assert_eq!(get(file("index.html").header("if-none-match", &tag)).status, 304);
}

#[test]
fn the_pages_of_a_deployment_show_its_pages_in_a_frame_and_no_others_do() {
    for (given, expected) in [
        ("", "'none'"),
        ("https://app.example.com", "https://app.example.com"),
        ("https://a.example,https://b.example:8443", "https://a.example https://b.example:8443"),
        ("http://localhost:3000", "http://localhost:3000"),
    ] {
        for name in ["index.html", "reference.html"] {
            let answer: Answer = portal(given).handle(&ApiRequest::new(file(name).request())).into();
            let policy = header(&answer, "content-security-policy").unwrap_or_default();
            assert!(policy.ends_with(&format!("; frame-ancestors {expected}")), "{policy}");
            assert_eq!(policy.matches("frame-ancestors").count(), 1, "{policy}");
        }
    }
    for wrong in
        ["*", "http://app.example.com", "https://app.example.com/", "https://a.example; script-src *", ","]
    {
        assert!(FrameAncestors::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_document_asks_for_no_other_file() {
    for element in ["<link rel=\"stylesheet\"", "<script src", "<img", "<iframe", "@import", "url("] {
        assert!(!DOCUMENT.contains(element), "{element}");
    }
}

#[test]
fn the_portal_has_words_for_every_error_code() {
    let missing: Vec<&str> =
        CODES.iter().map(|row| row.code).filter(|code| !DOCUMENT.contains(&format!("{code}:["))).collect();
    assert!(
        missing.is_empty(),
        "add {missing:?} to functions/portal/web/src/words/codes.ts and run `make portal`"
    );
}
