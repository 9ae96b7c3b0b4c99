//! The caps on leads that an operator sets.

use std::time::Duration;

use domain::Timestamp;
use domain::lead::capture::LeadCaps;
use futures::future::join_all;
use harness::Fault;
use serde_json::{Value, json};

use crate::{Site, statuses, with};

async fn site(daily: Option<u32>, per_phone: Option<u32>) -> Site {
    let site = Site::with(|capture| capture.caps = LeadCaps { daily, per_phone }).await;
    for brand in ["b1", "b2", "b3"] {
        site.world.brand(brand, |_| ()).await;
    }
    site
}

/// A lead of that visitor and brand, with its own token.
fn lead(site: &Site, visitor: usize, brand: &str) -> Value {
    let body = with(&site.visitor(visitor), "brandId", json!(brand));
    with(&body, "recaptchaToken", json!(format!("{visitor} {brand} {}", site.captcha().asked.borrow().len())))
}

async fn status(site: &Site, visitor: usize, brand: &str) -> u16 {
    site.post(&lead(site, visitor, brand)).await.status
}

#[tokio::test]
async fn a_workspace_accepts_leads_up_to_its_daily_cap() {
    let site = site(Some(2), None).await;
    for (visitor, expected) in [(1, 202), (2, 202), (3, 403), (4, 403)] {
        assert_eq!(status(&site, visitor, "b1").await, expected, "{visitor}");
    }
    for visitor in [1, 2] {
        assert_eq!(status(&site, visitor, "b1").await, 202, "an accepted lead is not counted again");
    }
    assert_eq!(site.rows("lead"), 2);
}

#[tokio::test]
async fn a_number_leaves_leads_up_to_its_daily_cap() {
    let site = site(None, Some(2)).await;
    for (visitor, brand, expected) in
        [(1, "b1", 202), (1, "b2", 202), (1, "b3", 403), (1, "b1", 202), (2, "b1", 202), (2, "b2", 202)]
    {
        assert_eq!(status(&site, visitor, brand).await, expected, "{visitor} {brand}");
    }
}

#[tokio::test]
async fn either_of_two_caps_refuses_and_then_neither_counts() {
    let site = site(Some(3), Some(1)).await;
    for (visitor, brand, expected) in [
        (1, "b1", 202),
        (1, "b2", 403),
        (1, "b3", 403),
        (2, "b1", 202),
        (3, "b1", 202),
        (4, "b1", 403),
        (1, "b1", 202),
    ] {
        assert_eq!(status(&site, visitor, brand).await, expected, "{visitor} {brand}");
    }
    let site = self::site(Some(1), Some(5)).await;
    for (visitor, brand, expected) in [(1, "b1", 202), (1, "b2", 403), (2, "b1", 403)] {
        assert_eq!(status(&site, visitor, brand).await, expected, "{visitor} {brand}");
    }
}

#[tokio::test]
async fn a_day_ends_at_midnight_in_utc() {
    let site = site(Some(1), Some(1)).await;
    let clock = site.world.db.clock();
    let at = |text: &str| clock.set(Timestamp::parse(text).unwrap());
    at("2026-01-02T23:59:59.999Z");
    assert_eq!(status(&site, 1, "b1").await, 202);
    assert_eq!(status(&site, 2, "b1").await, 403);
    at("2026-01-03T00:00:00.000Z");
    assert_eq!(status(&site, 1, "b1").await, 202, "the same lead, which is not counted");
    assert_eq!(status(&site, 1, "b2").await, 202);
    assert_eq!(status(&site, 2, "b1").await, 403);
    clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(status(&site, 2, "b1").await, 202);
}

#[tokio::test]
async fn a_lead_over_the_cap_has_its_captcha_checked_and_writes_nothing() {
    for (daily, per_phone) in [(Some(1), None), (None, Some(1)), (Some(1), Some(1))] {
        let site = site(daily, per_phone).await;
        assert_eq!(status(&site, 1, "b1").await, 202);
        let before = site.world.db.rows(store::Table::Leads);
        let asked = site.captcha().asked.borrow().len();
        assert_eq!(status(&site, 1, "b2").await, 403);
        assert_eq!(site.captcha().asked.borrow().len(), asked + 1);
        assert_eq!(site.world.db.rows(store::Table::Leads), before);
        site.captcha().refuses("bad-request");
        assert_eq!(status(&site, 1, "b2").await, 422, "the captcha is checked first");
    }
}

#[tokio::test]
async fn a_rejected_lead_is_not_counted() {
    let site = site(Some(1), Some(1)).await;
    for code in ["invalid-input-response", "bad-request", "invalid-input-secret"] {
        site.captcha().refuses(code);
        assert_ne!(status(&site, 1, "b1").await, 202);
    }
    site.captcha().says.replace(None);
    assert_eq!(site.post(&with(&lead(&site, 1, "b1"), "captureKey", json!("x"))).await.status, 403);
    assert_eq!(site.all_rows(), 0);
    assert_eq!(status(&site, 1, "b1").await, 202);
}

#[tokio::test]
async fn a_cap_of_zero_refuses_every_lead() {
    for (daily, per_phone) in [(Some(0), None), (None, Some(0)), (Some(0), Some(9))] {
        let site = site(daily, per_phone).await;
        assert_eq!(status(&site, 1, "b1").await, 403);
        assert_eq!(site.rows("lead"), 0);
    }
}

#[tokio::test]
async fn each_workspace_counts_for_itself_and_changed_caps_count_at_once() {
    let mut site = site(Some(1), Some(1)).await;
    let other = site.other(harness::World::PAGE).await;
    assert_eq!(status(&site, 1, "b1").await, 202);
    let theirs = site.event(&site.body_of(&other)).query(&[]);
    assert_eq!(site.send(theirs).await.status, 202);
    assert_eq!(status(&site, 2, "b1").await, 403);
    site.change(|capture| capture.caps.daily = Some(2)).await;
    assert_eq!(status(&site, 2, "b1").await, 202);
    site.change(|capture| capture.caps = LeadCaps::default()).await;
    assert_eq!(status(&site, 2, "b2").await, 202);
}

#[tokio::test]
async fn concurrent_leads_are_accepted_up_to_the_cap() {
    for per_phone in [None, Some(1)] {
        let site = site(Some(7), per_phone).await;
        let bodies: Vec<Value> = (0..40).map(|visitor| lead(&site, visitor, "b1")).collect();
        let answers = join_all(bodies.iter().map(|body| site.post(body))).await;
        assert_eq!(statuses(&answers), [(202, 7), (403, 33)].into());
        assert_eq!(site.rows("lead"), 7);
    }
}

#[tokio::test]
async fn the_count_of_a_lead_that_could_not_be_stored_is_reverted() {
    for (daily, per_phone) in [(Some(1), None), (None, Some(1)), (Some(1), Some(1))] {
        let site = site(daily, per_phone).await;
        for _ in 0..3 {
            site.world.db.fail("TransactWriteItems", Fault::Throttled, 3);
            assert_eq!(status(&site, 1, "b1").await, 500);
        }
        assert_eq!(status(&site, 1, "b1").await, 202, "{daily:?} {per_phone:?}");
        assert_eq!(status(&site, 1, "b2").await, 403);
    }
}

#[tokio::test]
async fn a_repeat_never_counts_and_is_never_refused_by_a_cap() {
    for (daily, per_phone) in [(Some(1), None), (None, Some(1)), (Some(1), Some(1))] {
        let site = site(daily, per_phone).await;
        let first = site.accepted(&lead(&site, 1, "b1")).await;
        for state in ["FAILED", "SUPPRESSED", "SENT"] {
            site.set_state(first, state);
            assert_eq!(site.accepted(&lead(&site, 1, "b1")).await, first, "{state}");
        }
        assert_eq!((status(&site, 1, "b2").await, site.rows("lead")), (403, 1));
    }
}

#[tokio::test]
async fn repeated_clicks_all_get_the_answer_although_the_cap_allows_one() {
    for (daily, per_phone) in [(Some(1), None), (None, Some(1)), (Some(1), Some(1))] {
        let site = site(daily, per_phone).await;
        let token = |number: usize| with(&site.body(), "recaptchaToken", json!(format!("token {number}")));
        let bodies: Vec<Value> = (0..20).map(token).collect();
        let answers = join_all(bodies.iter().map(|body| site.post(body))).await;
        assert_eq!(statuses(&answers), [(202, 20)].into());
        assert!(answers.iter().all(|answer| answer.text == answers[0].text));
        assert_eq!(site.rows("lead"), 1);
    }
}
