//! The quota of requests of each workspace.

use std::time::Duration;

use domain::Capture;
use harness::{Answer, Fault, GatewayEvent, World, trips};
use serde_json::json;

use crate::{Site, with};

const OVER: &str =
    r#"{"type":"SERVICE.CAMPAIGN_LEADS.RATE_LIMITED","title":"Too Many Requests","status":429}"#;

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(String::as_str)
}

impl Site {
    /// Uses up the quota of this many requests with leads that the captcha refuses.
    async fn use_up(&self, requests: usize) {
        self.captcha().refuses("invalid-input-response");
        for request in 0..requests {
            assert_eq!(self.post(&self.visitor(900_000)).await.status, 403, "{request}");
        }
        self.captcha().says.replace(None);
    }
}

#[tokio::test]
async fn a_workspace_over_its_quota_gets_429_and_the_pages_of_another_are_not_affected() {
    let site = Site::start().await;
    let other = site.other(World::PAGE).await;
    site.use_up(100).await;
    let refused = site.post(&site.body()).await;
    assert_eq!((refused.status, refused.text.as_str()), (429, OVER));
    assert_eq!(header(&refused, "content-type"), Some("application/problem+json"));
    assert_eq!(header(&refused, "retry-after"), Some("1"));
    assert_eq!(header(&refused, "access-control-allow-origin"), Some(World::PAGE));
    assert_eq!(header(&refused, "access-control-expose-headers"), Some("retry-after"));
    assert_eq!(site.captcha().asked.borrow().len(), 100, "the captcha is not asked");
    assert_eq!(site.all_rows(), 0);

    let theirs = site.event(&site.body_of(&other)).query(&[]);
    assert_eq!(site.send(theirs).await.status, 202);

    site.world.db.clock().advance(Duration::from_millis(100));
    assert_eq!(site.post(&site.body()).await.status, 202, "a tenth of a second gives the next request");
    assert_eq!(site.post(&site.visitor(1)).await.status, 429);
}

/// Requests to the workspace that fail one of the first checks after the shape.
fn strangers(site: &Site) -> [(&'static str, GatewayEvent); 2] {
    let wrong = with(&site.body(), "captureKey", json!("lck_wrong"));
    let elsewhere = site.event(&site.body()).header("origin", "https://evil.example");
    [("a wrong key", site.event(&wrong)), ("a foreign origin", elsewhere)]
}

#[tokio::test]
async fn strangers_use_up_a_bucket_of_their_own_and_the_page_stays_open() {
    for stranger in 0..2 {
        let site = Site::start().await;
        let (what, event) = strangers(&site)[stranger].clone();
        // The first request of a process counts in the quota of the workspace.
        for request in 0..101 {
            assert_eq!(site.send(event.clone()).await.status, 403, "{what} {request}");
        }
        for (other, event) in strangers(&site) {
            let refused = site.send(event).await;
            assert_eq!((refused.status, refused.text.as_str()), (429, OVER), "{other} after {what}");
        }
        site.use_up(98).await;
        assert_eq!(site.post(&site.body()).await.status, 202, "{what}: 100 requests, less the first");
        assert_eq!(site.post(&site.visitor(1)).await.status, 429);
    }
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_read_the_429_and_an_invalid_lead_stays_a_400() {
    let site = Site::start().await;
    let elsewhere = || strangers(&site)[1].1.clone();
    for _ in 0..101 {
        site.send(elsewhere()).await;
    }
    let refused = site.send(elsewhere()).await;
    assert_eq!((refused.status, header(&refused, "access-control-allow-origin")), (429, None));
    assert_eq!(site.post(&with(&site.body(), "cellphone", json!("nothing"))).await.status, 400);
    let preflight = site.send(site.preflight()).await;
    assert_eq!(preflight.status, 204, "a preflight does not count");
}

#[tokio::test]
async fn no_number_of_requests_shows_which_workspaces_exist_or_what_their_rate_is() {
    let mut site = Site::with(|capture| capture.rate = 2).await;
    let unknown = with(&site.body(), "workspaceId", json!(crate::unknown_workspace().to_string()));
    let other = with(&site.body(), "workspaceId", json!("22222222-2222-4222-8222-222222222222"));
    let wrong = with(&site.body(), "captureKey", json!("lck_wrong"));
    site.change(|capture| capture.enabled = false).await;
    let rows = [site.event(&unknown).query(&[]), site.event(&other).query(&[]), site.event(&wrong)];
    for event in rows {
        for request in 0..101 {
            assert_eq!(site.send(event.clone()).await.status, 403, "{request}");
        }
        assert_eq!(site.send(event).await.text, OVER);
    }
}

#[tokio::test]
async fn a_request_that_was_counted_by_old_settings_is_not_refused() {
    let mut site = Site::start().await;
    let rotated = with(&site.body(), "captureKey", json!(format!("lck_{}", "n".repeat(24))));
    for _ in 0..101 {
        assert_eq!(site.post(&rotated).await.status, 403);
    }
    assert_eq!(site.post(&rotated).await.status, 429);
    site.change(|capture| {
        capture.key = domain::CaptureKey::parse(&format!("lck_{}", "n".repeat(24))).unwrap()
    })
    .await;
    assert_eq!(site.post(&rotated).await.status, 202);
}

#[tokio::test]
async fn the_operators_rate_counts_from_the_second_request_of_a_process() {
    let site = Site::with(|capture| capture.rate = 2).await;
    site.use_up(20).await;
    assert_eq!(site.post(&site.body()).await.status, 429, "2 a second, 20 at once");
    site.world.db.clock().advance(Duration::from_secs(1));
    site.use_up(2).await;
    assert_eq!(site.post(&site.body()).await.status, 429);
}

#[tokio::test]
async fn a_new_rate_of_the_operator_counts_from_the_next_request_on() {
    let mut site = Site::start().await;
    site.use_up(60).await;
    site.change(|capture| capture.rate = Capture::MAX_RATE).await;
    // The bucket of the usual rate would be empty after 40 of them.
    site.use_up(60).await;
}

#[tokio::test]
async fn the_quota_takes_no_round_trip_of_its_own_and_one_write_unit() {
    let site = Site::start().await;
    for (body, whole) in [(site.body(), 3), (site.visitor(1), 2)] {
        site.world.db.forget_calls();
        site.accepted(&body).await;
        let calls = site.world.db.calls();
        let of_limits =
            calls.iter().filter(|call| call.table.ends_with("limits")).map(|call| call.write_units);
        assert_eq!((trips(&calls), of_limits.sum::<f64>()), (whole, 1.0));
    }
    // While the bucket is known to be empty, nothing is written.
    site.use_up(98).await;
    assert_eq!(site.post(&site.visitor(2)).await.status, 429);
    site.world.db.forget_calls();
    assert_eq!(site.post(&site.visitor(2)).await.status, 429);
    assert_eq!(site.world.db.operations(), ["BatchGetItem leads+workspaces", "Query workspaces"]);
}

#[tokio::test]
async fn a_lead_is_not_lost_because_its_request_cannot_be_counted() {
    let site = Site::start().await;
    site.world.db.fail("UpdateItem", Fault::Unreachable, 3);
    site.accepted(&site.body()).await;
}
