//! How many leads an operator lets in.

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

/// A lead of that visitor and brand, with a token of its own.
fn lead(site: &Site, visitor: usize, brand: &str) -> Value {
    let body = with(&site.visitor(visitor), "brandId", json!(brand));
    with(&body, "recaptchaToken", json!(format!("{visitor} {brand} {}", site.captcha().asked.borrow().len())))
}

async fn status(site: &Site, visitor: usize, brand: &str) -> u16 {
    site.post(&lead(site, visitor, brand)).await.status
}

#[tokio::test]
async fn a_workspace_takes_as_many_leads_in_a_day_as_it_is_told() {
    let site = site(Some(2), None).await;
    for (visitor, expected) in [(1, 202), (2, 202), (3, 403), (4, 403)] {
        assert_eq!(status(&site, visitor, "b1").await, expected, "{visitor}");
    }
    for visitor in [1, 2] {
        assert_eq!(status(&site, visitor, "b1").await, 202, "one that was accepted is not counted again");
    }
    assert_eq!(site.rows("lead"), 2);
}

#[tokio::test]
async fn a_number_leaves_as_many_leads_in_a_day_as_it_is_let() {
    let site = site(None, Some(2)).await;
    for (visitor, brand, expected) in
        [(1, "b1", 202), (1, "b2", 202), (1, "b3", 403), (1, "b1", 202), (2, "b1", 202), (2, "b2", 202)]
    {
        assert_eq!(status(&site, visitor, brand).await, expected, "{visitor} {brand}");
    }
}

#[tokio::test]
async fn of_two_caps_either_refuses_and_then_neither_counts() {
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
    assert_eq!(status(&site, 1, "b1").await, 202, "still the same lead, and not counted");
    assert_eq!(status(&site, 1, "b2").await, 202);
    assert_eq!(status(&site, 2, "b1").await, 403);
    clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(status(&site, 2, "b1").await, 202);
}

#[tokio::test]
async fn whoever_is_over_the_cap_was_asked_for_the_captcha_and_leaves_nothing() {
    for (daily, per_phone) in [(Some(1), None), (None, Some(1)), (Some(1), Some(1))] {
        let site = site(daily, per_phone).await;
        assert_eq!(status(&site, 1, "b1").await, 202);
        let before = site.world.db.rows(store::Table::Leads);
        let asked = site.captcha().asked.borrow().len();
        assert_eq!(status(&site, 1, "b2").await, 403);
        assert_eq!(site.captcha().asked.borrow().len(), asked + 1);
        assert_eq!(site.world.db.rows(store::Table::Leads), before);
        site.captcha().refuses("bad-request");
        assert_eq!(status(&site, 1, "b2").await, 422, "the captcha comes first");
    }
}

#[tokio::test]
async fn who_is_rejected_is_not_counted() {
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
async fn a_cap_of_none_lets_nobody_in() {
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
async fn of_many_at_once_as_many_are_let_in_as_there_is_room_for() {
    for per_phone in [None, Some(1)] {
        let site = site(Some(7), per_phone).await;
        let bodies: Vec<Value> = (0..40).map(|visitor| lead(&site, visitor, "b1")).collect();
        let answers = join_all(bodies.iter().map(|body| site.post(body))).await;
        assert_eq!(statuses(&answers), [(202, 7), (403, 33)].into());
        assert_eq!(site.rows("lead"), 7);
    }
}

#[tokio::test]
async fn a_lead_that_was_counted_and_could_not_be_stored_is_counted_no_more() {
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
async fn a_further_try_behind_a_lead_that_came_to_nothing_counts_like_any_new_lead() {
    for (daily, per_phone) in [(Some(2), None), (None, Some(2)), (Some(2), Some(2))] {
        let site = site(daily, per_phone).await;
        let first = site.accepted(&lead(&site, 1, "b1")).await;
        site.comes_to(first, "FAILED");
        let second = site.accepted(&lead(&site, 1, "b1")).await;
        assert_eq!(site.accepted(&lead(&site, 1, "b1")).await, second, "a repeat is not counted");
        site.comes_to(second, "FAILED");
        assert_eq!(status(&site, 1, "b1").await, 403, "and not answered with a lead that came to nothing");
        assert_eq!(site.rows("lead"), 2);
    }
}

#[tokio::test]
async fn whoever_tries_again_twice_at_once_is_answered_twice_though_there_is_room_for_one() {
    for (daily, per_phone) in [(Some(2), None), (None, Some(2)), (Some(2), Some(2))] {
        let site = site(daily, per_phone).await;
        let first = site.accepted(&lead(&site, 1, "b1")).await;
        site.comes_to(first, "SUPPRESSED");
        let bodies: Vec<Value> = (0..20)
            .map(|number| with(&lead(&site, 1, "b1"), "recaptchaToken", json!(format!("token {number}"))))
            .collect();
        let answers = join_all(bodies.iter().map(|body| site.post(body))).await;
        assert_eq!(statuses(&answers), [(202, 20)].into());
        assert!(answers.iter().all(|answer| answer.text == answers[0].text));
        assert_eq!(site.rows("lead"), 2);
    }
}

#[tokio::test]
async fn whoever_presses_twice_is_answered_twice_though_there_is_room_for_one() {
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
