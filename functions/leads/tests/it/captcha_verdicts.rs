//! The verdicts of the captcha's provider, and their effects on the lead.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::Timestamp;
use domain::lead::captcha::{CaptchaAnswer as Solution, Threshold};
use harness::World;
use leads::Leads;
use leads::captcha::{Client, Unreachable};
use local::simulator::Captcha;
use serde_json::json;

use crate::{LONG, Site, answered, id, with};

#[tokio::test]
async fn each_verdict_of_the_provider_has_its_answer() {
    let site = Site::start().await;
    let refused = |code: &str| Ok(Solution::Refused(vec![code.to_owned()]));
    let now = site.world.db.store().now();
    let solved = |score, action: &str, hostname: &str, at| {
        Ok(Solution::Solved { score, action: action.to_owned(), hostname: hostname.to_owned(), at })
    };
    let (action, host) = ("campaign_lead", "www.example.com");
    let rows = [
        (solved(0.9, action, host, now), 202),
        (solved(0.5, action, host, now), 202),
        (solved(0.9, action, "WWW.Example.com", now), 202),
        (solved(0.499, action, host, now), 403),
        (solved(0.0, action, host, now), 403),
        (solved(0.9, "submit", host, now), 403),
        (solved(0.9, "", host, now), 403),
        (solved(0.9, action, "example.com", now), 403),
        (solved(0.9, action, "", now), 403),
        (solved(0.9, action, host, now.plus(Duration::from_secs(61))), 403),
        (solved(0.9, action, host, Timestamp::from_millis(now.as_millis() - 180_001)), 403),
        (solved(2.0, action, host, now), 422),
        (refused("missing-input-response"), 403),
        (refused("invalid-input-response"), 403),
        (refused("timeout-or-duplicate"), 403),
        (refused("bad-request"), 422),
        (refused("something-new"), 422),
        (Ok(Solution::Refused(vec![])), 422),
        (refused("missing-input-secret"), 500),
        (refused("invalid-input-secret"), 500),
        (Err(Unreachable::Connect), 422),
        (Err(Unreachable::Timeout), 422),
        (Err(Unreachable::BrokenOff), 422),
        (Err(Unreachable::Status(503)), 422),
        (Err(Unreachable::Status(404)), 422),
        (Err(Unreachable::TooLarge), 422),
        (Err(Unreachable::Unreadable("unreadable_json")), 422),
    ];
    for (number, (says, status)) in rows.into_iter().enumerate() {
        let rows = site.all_rows();
        site.captcha().says.replace(Some(says.clone()));
        let answer = site.post(&site.visitor(number)).await;
        assert_eq!(answer.status, status, "{says:?}");
        let written = if status == 202 { 3 } else { 0 };
        assert_eq!(site.all_rows(), rows + written, "{says:?}");
        assert_eq!(site.captcha().asked.borrow().len(), number + 1, "one request to the provider");
    }
    let (secret, token) = site.captcha().asked.borrow()[1].clone();
    assert_eq!((secret.as_str(), token.as_str()), (World::CAPTCHA_SECRET, "token of 1"));
}

#[tokio::test]
async fn the_workspace_sets_the_threshold() {
    let site = Site::with(|capture| capture.threshold = Threshold::parse("0.95").unwrap()).await;
    assert_eq!(site.post(&site.body()).await.status, 403);
    let site = Site::with(|capture| capture.threshold = Threshold::parse("0.9").unwrap()).await;
    assert_eq!(site.post(&site.body()).await.status, 202);
}

#[tokio::test]
async fn the_same_request_is_accepted_after_an_unavailable_captcha() {
    let site = Site::start().await;
    site.captcha().says.replace(Some(Err(Unreachable::Timeout)));
    assert_eq!(site.post(&site.body()).await.status, 422);
    site.captcha().says.replace(None);
    assert_eq!(site.post(&site.body()).await.status, 202);
}

#[tokio::test]
async fn a_secret_is_remembered_for_five_minutes() {
    let site = Site::start().await;
    let asked = || site.captcha().asked.borrow().last().unwrap().0.clone();
    let clock = site.world.db.clock();
    site.accepted(&site.visitor(1)).await;
    site.world.set_captcha_secret(site.world.workspace, "rotated");
    clock.advance(Duration::from_secs(299));
    site.accepted(&site.visitor(2)).await;
    assert_eq!(asked(), World::CAPTCHA_SECRET);
    clock.advance(Duration::from_secs(1));
    site.accepted(&site.visitor(3)).await;
    assert_eq!(asked(), "rotated");
}

#[tokio::test]
async fn a_secret_that_the_provider_refuses_is_read_again() {
    let site = Site::start().await;
    site.accepted(&site.visitor(1)).await;
    site.world.set_captcha_secret(site.world.workspace, "rotated");
    for code in ["invalid-input-secret", "missing-input-secret"] {
        site.captcha().refuses(code);
        assert_eq!(site.post(&site.visitor(2)).await.status, 500);
    }
    site.captcha().says.replace(None);
    site.accepted(&site.visitor(2)).await;
    let asked = site.captcha().asked.borrow();
    let secrets: Vec<&str> = asked.iter().map(|(secret, _)| secret.as_str()).collect();
    assert_eq!(secrets, [World::CAPTCHA_SECRET, World::CAPTCHA_SECRET, "rotated", "rotated"]);
}

#[tokio::test]
async fn each_workspace_has_a_secret_of_its_own() {
    let site = Site::start().await;
    let other = site.other(World::PAGE).await;
    site.world.set_captcha_secret(other.workspace_id, "theirs");
    site.accepted(&site.body()).await;
    assert_eq!(site.send(site.event(&site.body_of(&other)).query(&[])).await.status, 202);
    site.accepted(&site.visitor(1)).await;
    let asked = site.captcha().asked.borrow();
    let secrets: Vec<&str> = asked.iter().map(|(secret, _)| secret.as_str()).collect();
    assert_eq!(secrets, [World::CAPTCHA_SECRET, "theirs", World::CAPTCHA_SECRET]);
}

#[tokio::test]
async fn leads_are_accepted_with_the_real_client() {
    let site = Site::start().await;
    let provider = Captcha::start(0).await.unwrap();
    let workspace = site.world.workspace;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    site.world.db.clock().set(Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap()));
    site.world.set_captcha_secret(workspace, "secret-for-www.example.com");
    let leads = Leads {
        store: site.world.db.store_of("leads"),
        quotas: leads::Quotas::new(site.world.db.store_of("leads")),
        captcha: Client::new(&provider.url(), Duration::from_secs(1)).unwrap(),
        first_due: Duration::from_secs(120),
        longest: LONG,
        metrics: runtime::Metrics::kept(site.world.db.clock().clone()).0,
    };
    let post = async |number: usize, token: &str| {
        let body = with(&site.visitor(number), "recaptchaToken", json!(token));
        answered(&leads, &site.event(&body)).await
    };
    let first = post(1, "pass-1").await;
    assert_eq!(first.status, 202, "{}", first.text);
    let again = post(1, "pass-1").await;
    assert_eq!((again.status, id(&again)), (202, id(&first)));
    for (number, token, status) in [
        (2, "pass-1", 403),
        (3, "score-0.3-3", 403),
        (4, "score-0.5-4", 202),
        (5, "action-submit-5", 403),
        (6, "host-evil.example-6", 403),
        (7, "error-timeout-or-duplicate-7", 403),
        (8, "error-bad-request-8", 422),
        (9, "unheard of", 403),
        (10, "status-503-10", 422),
        (11, "garbage-11", 422),
        (12, "hang-12", 422),
    ] {
        assert_eq!(post(number, token).await.status, status, "{token}");
    }
    assert_eq!(site.rows("lead"), 2);

    site.world.set_captcha_secret(workspace, "wrong");
    site.world.db.clock().advance(Duration::from_secs(5 * 60));
    assert_eq!(post(13, "pass-13").await.status, 500);
    drop(provider);
    site.world.set_captcha_secret(workspace, "secret-for-www.example.com");
    assert_eq!(post(14, "pass-14").await.status, 422, "no provider listens");
}
