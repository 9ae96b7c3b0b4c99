//! Which pages may send leads and read the answers: the workspace's pages, spelled as browsers spell them.

use std::time::Duration;

use domain::WebOrigin;
use harness::{Fault, GatewayEvent, World};
use leads::captcha::Unreachable;
use serde_json::{Value, json};

use crate::{Site, readable_by, unknown_workspace, with};

/// The pages of the workspace.
const PAGES: &[&str] = &[
    World::PAGE,
    "https://shop.example.com:8443",
    "http://localhost:3000",
    "http://127.0.0.1:8795",
    "http://[::1]:8795",
    "https://192.0.2.7",
    "https://[2001:db8::7]",
    "https://xn--bcher-kva.example",
];

/// A page of the other workspace.
const THEIRS: &str = "https://www.other.example";

/// Origins that the workspace does not have, and values that are no origin.
const STRANGERS: &[&str] = &[
    "",
    " ",
    "null",
    "*",
    "true",
    "www.example.com",
    "//www.example.com",
    "https://",
    "https:",
    "https:www.example.com",
    "https:/www.example.com",
    "https:///www.example.com",
    "https:\\\\www.example.com",
    "http://www.example.com",
    "HTTPS://www.example.com",
    "Https://www.example.com",
    "wss://www.example.com",
    "ftp://www.example.com",
    "https://WWW.example.com",
    "https://www.example.COM",
    "https://www.example.com/",
    "https://www.example.com//",
    "https://www.example.com/spring",
    "https://www.example.com?",
    "https://www.example.com#",
    "https://www.example.com:",
    "https://www.example.com:443",
    "https://www.example.com:0443",
    "https://www.example.com:80",
    "https://www.example.com:8443",
    "https://www.example.com:444",
    "https://www.example.com.",
    "https://.www.example.com",
    "https://www.example.com.evil.example",
    "https://www.example.com-evil.example",
    "https://www.example.comevil",
    "https://www.example.co",
    "https://evil-www.example.com",
    "https://evilwww.example.com",
    "https://evil.www.example.com",
    "https://example.com",
    "https://wwwXexample.com",
    "https://ww.example.com",
    "https://*.example.com",
    "https://%77ww.example.com",
    "https://www%2eexample.com",
    "https://www.example.com@evil.example",
    "https://evil.example@www.example.com",
    "https://user@www.example.com",
    "https://user:password@www.example.com",
    "https://evil.example/https://www.example.com",
    "https://evil.example?https://www.example.com",
    "https://evil.example#https://www.example.com",
    "https://shop.example.com",
    "https://shop.example.com:443",
    "https://shop.example.com:8444",
    "https://shop.example.com:08443",
    "https://shop.example.com:84430",
    "http://localhost",
    "http://localhost:3001",
    "https://localhost:3000",
    "http://localhost.:3000",
    "http://127.0.0.1",
    "http://127.1:8795",
    "http://0x7f.0.0.1:8795",
    "http://0177.0.0.1:8795",
    "http://2130706433:8795",
    "http://127.0.0.01:8795",
    "http://127.0.0.2:8795",
    "http://[::1]",
    "http://::1:8795",
    "http://[0:0:0:0:0:0:0:1]:8795",
    "http://[::0001]:8795",
    "http://[::ffff:127.0.0.1]:8795",
    "http://192.0.2.7",
    "https://192.0.2.07",
    "https://192.0.519",
    "https://3221225991",
    "https://[::ffff:192.0.2.7]",
    "https://[2001:DB8::7]",
    "https://[2001:db8:0::7]",
    "https://2001:db8::7",
    "https://b\u{fc}cher.example",
    "https://bu\u{308}cher.example",
    "https://XN--BCHER-KVA.example",
    "https://bcher.example",
    "https://www.ex\u{430}mple.com",
    "https://www.example\u{3002}com",
    " https://www.example.com",
    "https://www.example.com ",
    "\thttps://www.example.com",
    "https://www.example.com\t",
    "https://www. example.com",
    "https://www.example.com\u{0}",
    "https://www.example.com\u{0}.evil.example",
    "https://www.example.com\r\nx: y",
    "https://www.example.com\u{7f}",
    "\u{feff}https://www.example.com",
    "https://www.example.com,https://www.example.com",
    "https://www.example.com, https://evil.example",
    "https://evil.example,https://www.example.com",
    "https://evil.example https://www.example.com",
    "https://www.example.com https://www.example.com",
    "\"https://www.example.com\"",
    "'https://www.example.com'",
    "chrome-extension://abcdefghijklmnop",
    "file://",
    "data:",
    "blob:https://www.example.com",
    "view-source:https://www.example.com",
    THEIRS,
];

/// The names and values of a query.
type Query<'a> = &'a [(&'a str, &'a str)];

async fn site() -> Site {
    let pages = PAGES.iter().map(|page| WebOrigin::parse(page).unwrap()).collect();
    Site::with(|capture| capture.origins = pages).await
}

#[tokio::test]
async fn only_an_origin_spelled_as_configured_may_send_leads_and_read_answers() {
    let site = site().await;
    site.other(THEIRS).await;
    let origins = PAGES.iter().map(|page| (*page, true)).chain(STRANGERS.iter().map(|page| (*page, false)));
    for (number, (origin, allowed)) in origins.enumerate() {
        // So slow that the workspace is not over its quota.
        site.world.db.clock().advance(Duration::from_millis(100));
        let answer = site.send(site.event(&site.visitor(number)).header("origin", origin)).await;
        let (status, readable) = if allowed { (202, Some(origin)) } else { (403, None) };
        assert_eq!((answer.status, readable_by(&answer)), (status, readable), "{origin:?}");
        let answer = site.send(site.preflight().header("origin", origin)).await;
        assert_eq!((answer.status, readable_by(&answer)), (204, readable), "{origin:?}");
        assert_eq!(answer.headers["vary"], "Origin");
        assert_eq!(answer.headers.get("access-control-allow-credentials"), None);
    }
    assert_eq!(site.rows("lead"), PAGES.len());
}

#[tokio::test]
async fn two_origin_headers_are_refused_even_if_they_are_equal() {
    let site = site().await;
    for (first, second) in [
        (World::PAGE, World::PAGE),
        (World::PAGE, "https://evil.example"),
        ("https://evil.example", World::PAGE),
        (World::PAGE, ""),
        (World::PAGE, PAGES[1]),
    ] {
        let twice = |event: GatewayEvent| event.header("Origin", first).header_again("Origin", second);
        let answer = site.send(twice(site.event(&site.body()))).await;
        assert_eq!((answer.status, readable_by(&answer)), (403, None), "{first} {second}");
        let answer = site.send(twice(site.preflight())).await;
        assert_eq!((answer.status, readable_by(&answer)), (204, None), "{first} {second}");
    }
    let mut event = site.event(&site.body()).json().clone();
    event["multiValueHeaders"]["Origin"] = json!([World::PAGE]);
    let request = serde_json::from_value(event).unwrap();
    let answer = serde_json::to_value(site.leads.handle(&request).await).unwrap();
    assert_eq!(answer["statusCode"], 403, "two spellings of the header name are refused");
}

#[tokio::test]
async fn a_page_can_read_its_own_failures() {
    let mut site = Site::start().await;
    let body = site.body();
    let read = async |site: &Site, status: u16, body: &Value, what: &str| {
        for (origin, readable) in [(World::PAGE, Some(World::PAGE)), ("https://evil.example", None)] {
            let answer = site.send(site.event(body).header("origin", origin)).await;
            let refused = if readable.is_some() || status == 400 { status } else { 403 };
            assert_eq!((answer.status, readable_by(&answer)), (refused, readable), "{what}");
        }
    };
    read(&site, 400, &with(&body, "consent", json!(null)), "shape").await;
    read(&site, 400, &json!("no object"), "not an object, so the URL names the workspace").await;
    read(&site, 403, &with(&body, "captureKey", json!("x")), "key").await;
    site.captcha().refuses("invalid-input-response");
    read(&site, 403, &body, "captcha").await;
    site.captcha().refuses("bad-request");
    read(&site, 422, &body, "captcha unavailable").await;
    site.captcha().says.replace(Some(Err(Unreachable::Connect)));
    read(&site, 422, &body, "captcha unreachable").await;
    site.captcha().refuses("invalid-input-secret");
    read(&site, 500, &body, "our secret").await;
    site.captcha().says.replace(None);
    site.world.db.fail("TransactWriteItems", Fault::Throttled, 3);
    read(&site, 500, &body, "the transaction").await;
    // A process that knows no default brand reads the earlier leads after the settings.
    site.leads.store = site.world.db.store_of("leads");
    site.world.db.forget_calls();
    let after_the_set_up = async {
        while !site.world.db.operations().iter().any(|call| call == "BatchGetItem leads+workspaces") {
            tokio::task::yield_now().await;
        }
        site.world.db.fail("BatchGetItem", Fault::Throttled, 3);
    };
    let (answer, ()) = futures::future::join(site.post(&body), after_the_set_up).await;
    assert_eq!((answer.status, readable_by(&answer)), (500, Some(World::PAGE)), "what there is");
    site.leads.longest = Duration::from_millis(200);
    site.captcha().hangs.set(true);
    read(&site, 500, &body, "too long").await;
    site.captcha().hangs.set(false);
    site.leads.longest = crate::LONG;
    site.change(|capture| capture.brand = None).await;
    let answer = site.post(&body).await;
    assert_eq!((answer.status, readable_by(&answer)), (400, Some(World::PAGE)), "brand");
}

#[tokio::test]
async fn a_missing_captcha_secret_is_a_server_error_and_is_not_cached() {
    let site = Site::start().await;
    site.without_secret();
    let answer = site.post(&site.body()).await;
    assert_eq!((answer.status, readable_by(&answer)), (500, Some(World::PAGE)));
    assert!(site.captcha().asked.borrow().is_empty());
    site.world.set_captcha_secret(site.world.workspace, World::CAPTCHA_SECRET);
    assert_eq!(site.post(&site.body()).await.status, 202);
}

#[tokio::test]
async fn no_page_can_read_the_answer_if_the_set_up_cannot_be_read() {
    let site = Site::start().await;
    site.world.db.fail("BatchGetItem", Fault::Throttled, 3);
    let answer = site.post(&site.body()).await;
    assert_eq!((answer.status, readable_by(&answer)), (500, None));
    site.world.db.fail("Query", Fault::Throttled, 3);
    let answer = site.post(&site.body()).await;
    assert_eq!((answer.status, readable_by(&answer)), (500, Some(World::PAGE)), "the set-up was read");
    assert_eq!(site.all_rows(), 0);
}

#[tokio::test]
async fn a_disabled_set_up_refuses_leads_and_its_pages_can_read_the_answer() {
    let site = Site::with(|capture| capture.enabled = false).await;
    let answer = site.post(&site.body()).await;
    assert_eq!((answer.status, readable_by(&answer)), (403, Some(World::PAGE)));
    let answer = site.send(site.preflight()).await;
    assert_eq!((answer.status, readable_by(&answer)), (204, Some(World::PAGE)));
}

#[tokio::test]
async fn a_preflight_is_204_for_every_url_and_failure() {
    let mut site = Site::start().await;
    let workspace = World::WORKSPACE;
    let upper = workspace.to_uppercase();
    let unknown = unknown_workspace().to_string();
    let rows: &[(Query<'_>, bool)] = &[
        (&[("workspaceId", workspace)], true),
        (&[("workspaceId", &upper)], true),
        (&[("workspaceId", workspace), ("utm_source", "x"), ("utm_source", "y")], true),
        (&[], false),
        (&[("workspaceid", workspace)], false),
        (&[("workspaceId", "")], false),
        (&[("workspaceId", &workspace[1..])], false),
        (&[("workspaceId", "*")], false),
        (&[("workspaceId", "00000000-0000-0000-0000-000000000000")], false),
        (&[("workspaceId", &unknown)], false),
        (&[("workspaceId", workspace), ("workspaceId", workspace)], false),
        (&[("workspaceId", workspace), ("workspaceId", &unknown)], false),
    ];
    for (query, readable) in rows {
        let answer = site.send(site.preflight().query(query)).await;
        let readable = readable.then_some(World::PAGE);
        assert_eq!((answer.status, readable_by(&answer)), (204, readable), "{query:?}");
    }
    let mut event = site.preflight().json().clone();
    event["multiValueQueryStringParameters"] = Value::Null;
    let request = serde_json::from_value(event).unwrap();
    let answer = serde_json::to_value(site.leads.handle(&request).await).unwrap();
    assert_eq!(
        (&answer["statusCode"], answer["headers"].get("access-control-allow-origin")),
        (&json!(204), None)
    );

    for fault in [Fault::Throttled, Fault::Unreachable, Fault::AnswerLost] {
        site.world.db.fail("GetItem", fault, 3);
        let answer = site.send(site.preflight()).await;
        assert_eq!((answer.status, readable_by(&answer), answer.text.as_str()), (204, None, ""), "{fault:?}");
    }
    site.leads.longest = Duration::from_millis(100);
    let held = site.world.db.hold("GetItem");
    let answer = site.send(site.preflight()).await;
    assert_eq!((answer.status, readable_by(&answer)), (204, None), "too long");
    drop(held);
    let answer = site.send(site.preflight().without_header("origin")).await;
    assert_eq!((answer.status, readable_by(&answer)), (204, None), "not an allowed page");
}

#[tokio::test]
async fn the_workspace_in_the_url_must_be_that_of_the_body() {
    let site = Site::start().await;
    let other = site.other(THEIRS).await;
    let (ours, theirs) = (World::WORKSPACE, other.workspace_id.to_string());
    let upper = ours.to_uppercase();
    let rows: &[(Query<'_>, u16, bool)] = &[
        (&[("workspaceId", ours)], 202, true),
        (&[("workspaceId", &upper)], 202, true),
        (&[], 202, true),
        (&[("workspaceid", &theirs)], 202, true),
        (&[("utm_source", "x"), ("utm_source", "y"), ("", "")], 202, true),
        (&[("workspaceId", ours), ("fbclid", "x"), ("gclid", "")], 202, true),
        // The URL is read before the body and decides whose pages may read the answer, even if it names no known
        // workspace.
        (&[("workspaceId", &theirs)], 400, false),
        (&[("workspaceId", "")], 400, false),
        (&[("workspaceId", " ")], 400, false),
        (&[("workspaceId", "ours")], 400, false),
        (&[("workspaceId", &ours[..35])], 400, false),
        (&[("workspaceId", ours), ("workspaceId", ours)], 400, false),
        (&[("workspaceId", ours), ("workspaceId", &theirs)], 400, false),
    ];
    for (number, (query, status, readable)) in rows.iter().enumerate() {
        let answer = site.send(site.event(&site.visitor(number)).query(query)).await;
        let readable = readable.then_some(World::PAGE);
        assert_eq!((answer.status, readable_by(&answer)), (*status, readable), "{query:?}");
    }
    let theirs = site.event(&site.body()).query(&[("workspaceId", &theirs)]).header("origin", THEIRS);
    let answer = site.send(theirs).await;
    assert_eq!((answer.status, readable_by(&answer)), (400, Some(THEIRS)));
    let mut body = site.visitor(100);
    body["workspaceId"] = json!(upper);
    assert_eq!(site.post(&body).await.status, 202);
}
