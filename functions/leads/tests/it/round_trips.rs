//! The cost of a lead, and the effects of failed calls.

use std::time::Duration;

use harness::{Fault, trips};

use crate::Site;

const FIRST: [&str; 3] = ["BatchGetItem leads+workspaces", "Query workspaces", "UpdateItem limits"];

fn called(operations: &[&[&str]]) -> Vec<String> {
    operations.concat().into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_lead_takes_two_round_trips_and_the_first_of_a_process_one_more_during_the_captcha_check() {
    let site = Site::start().await;
    let (secret, traces, store) = ("GetItem secrets", "BatchGetItem leads", "TransactWriteItems leads");
    site.world.db.forget_calls();
    site.accepted(&site.body()).await;
    let cold = site.world.db.calls();
    assert_eq!(site.world.db.operations(), called(&[&FIRST, &[secret, traces, store]]));
    assert_eq!(trips(&cold), 3);

    site.world.db.forget_calls();
    site.accepted(&site.visitor(1)).await;
    let warm = site.world.db.calls();
    assert_eq!(site.world.db.operations(), called(&[&FIRST, &[store]]));
    assert_eq!(trips(&warm), 2);
    let units: Vec<(f64, f64)> = warm.iter().map(|call| (call.read_units, call.write_units)).collect();
    // Set-up, brands, state, token and repeat are read strongly, one unit each. The quota is one write. A transaction
    // writes three rows, and the lead's row is in three indexes.
    assert_eq!(units, [(4.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 9.0)]);
}

#[tokio::test]
async fn the_text_of_a_consent_costs_what_its_length_adds_to_the_row() {
    let site = Site::start().await;
    for (number, (length, units)) in
        [(0, 9.0), (150, 9.0), (300, 11.0), (2_000, 13.0)].into_iter().enumerate()
    {
        let mut body = site.visitor(number);
        body["consent"]["text"] = serde_json::json!("a".repeat(length));
        site.accepted(&body).await;
        assert_eq!(site.world.db.calls().last().unwrap().write_units, units, "{length}");
    }
}

#[tokio::test]
async fn earlier_leads_are_read_again_if_the_default_brand_is_another_one_by_now() {
    let mut site = Site::start().await;
    site.world.brand("other", |_| ()).await;
    let named = |brand: &str| crate::with(&site.visitor(1), "brandId", serde_json::json!(brand));
    let (of_old, of_new) = (named(harness::World::BRAND), named("other"));
    let first = site.accepted(&of_new).await;
    site.change(|capture| capture.brand = domain::BrandId::parse("other").ok()).await;
    site.world.db.forget_calls();
    let unnamed = crate::with(&site.visitor(1), "recaptchaToken", serde_json::json!("another"));
    assert_eq!(site.accepted(&unnamed).await, first);
    let again = ["BatchGetItem leads", "GetItem leads", "TransactWriteItems leads"];
    assert_eq!(
        site.world.db.operations(),
        called(&[&FIRST, &again]),
        "the first read was of the old default"
    );
    let of_old = crate::with(&of_old, "recaptchaToken", serde_json::json!("a third"));
    assert_ne!(site.accepted(&of_old).await, first);
}

#[tokio::test]
async fn each_cap_costs_one_more_round_trip() {
    for (daily, per_phone, caps) in [(Some(9), None, 1), (None, Some(9), 1), (Some(9), Some(9), 2)] {
        let site =
            Site::with(|capture| capture.caps = domain::lead::capture::LeadCaps { daily, per_phone }).await;
        site.accepted(&site.body()).await;
        site.world.db.forget_calls();
        site.accepted(&site.visitor(1)).await;
        let counts = vec!["UpdateItem leads"; caps];
        let expected = called(&[&FIRST, &counts, &["TransactWriteItems leads"]]);
        assert_eq!(site.world.db.operations(), expected);
        assert_eq!(trips(&site.world.db.calls()), 2 + caps);
    }
}

#[tokio::test]
async fn a_repeated_lead_writes_its_token_and_queues_a_lead_that_was_not_sent() {
    for (state, units) in [("SENT", 2.0), ("SUPPRESSED", 6.0)] {
        let site = Site::start().await;
        let first = site.accepted(&site.body()).await;
        site.set_state(first, state);
        let rows = site.all_rows();
        site.world.db.forget_calls();
        let again = crate::with(&site.body(), "recaptchaToken", serde_json::json!("another"));
        assert_eq!(site.accepted(&again).await, first);
        let calls = site.world.db.calls();
        let writes = ["GetItem leads", "TransactWriteItems leads"];
        assert_eq!(site.world.db.operations(), called(&[&FIRST, &writes]), "{state}");
        assert_eq!((trips(&calls), calls[3].read_units), (3, 1.0), "{state}");
        // The token; the lead, which enters the index of what is due and leaves the state in that of all leads.
        assert_eq!(calls[4].write_units, units, "{state}");
        assert_eq!(site.all_rows(), rows + 1, "{state}");
    }
}

#[tokio::test]
async fn a_failed_captcha_makes_the_same_calls_with_or_without_an_earlier_lead() {
    let site = Site::start().await;
    let first = site.accepted(&site.body()).await;
    site.set_state(first, "FAILED");
    site.captcha().refuses("invalid-input-response");
    for (what, body) in [("known", site.body()), ("unknown", site.visitor(1))] {
        site.world.db.forget_calls();
        let body = crate::with(&body, "recaptchaToken", serde_json::json!(what));
        assert_eq!(site.post(&body).await.status, 403);
        assert_eq!(site.world.db.operations(), called(&[&FIRST]), "{what}");
    }
}

#[tokio::test]
async fn a_lead_is_accepted_only_after_it_is_stored() {
    for fault in [Fault::Throttled, Fault::Unreachable] {
        let site = Site::start().await;
        for operation in ["GetItem", "Query", "BatchGetItem", "TransactWriteItems"] {
            site.world.db.fail(operation, fault, 3);
            let answer = site.post(&site.body()).await;
            assert_eq!(answer.status, 500, "{operation} {fault:?}");
            assert_eq!(site.all_rows(), 0, "{operation} {fault:?}");
            site.world.db.heal();
        }
        site.accepted(&site.body()).await;
    }
}

#[tokio::test]
async fn a_call_that_fails_once_or_twice_is_retried() {
    for (operation, fault) in [
        ("GetItem", Fault::Throttled),
        ("Query", Fault::Unreachable),
        ("BatchGetItem", Fault::Throttled),
        ("BatchGetItem", Fault::Unprocessed),
        ("TransactWriteItems", Fault::Throttled),
        ("TransactWriteItems", Fault::Unreachable),
        ("TransactWriteItems", Fault::Conflict),
        ("TransactWriteItems", Fault::ItemThrottled),
        ("TransactWriteItems", Fault::AnswerLost),
    ] {
        let site = Site::start().await;
        site.world.db.fail(operation, fault, 2);
        site.accepted(&site.body()).await;
        assert_eq!((site.rows("lead"), site.all_rows()), (1, 3), "{operation} {fault:?}");
    }
}

#[tokio::test]
async fn a_lead_with_a_lost_answer_is_accepted_once_and_its_repeat_is_answered() {
    let site = Site::start().await;
    site.captcha().once.set(true);
    site.world.db.fail("TransactWriteItems", Fault::AnswerLost, 3);
    assert_eq!(site.post(&site.body()).await.status, 500);
    assert_eq!(site.rows("lead"), 1, "the answer is lost, but the lead is stored");
    let same_token = site.accepted(&site.body()).await;
    let new_token = crate::with(&site.body(), "recaptchaToken", serde_json::json!("another"));
    assert_eq!(site.accepted(&new_token).await, same_token);
    assert_eq!(site.rows("lead"), 1);
    assert_eq!(site.lead(same_token).await.id, same_token);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_a_server_error() {
    let mut site = Site::start().await;
    site.leads.longest = Duration::from_millis(150);
    for operation in ["GetItem", "Query", "BatchGetItem", "TransactWriteItems"] {
        let held = site.world.db.hold(operation);
        let answer = site.post(&site.body()).await;
        assert_eq!(answer.status, 500, "{operation}");
        assert_eq!(answer.json["type"], "SERVICE.CAMPAIGN_LEADS.INTERNAL_ERROR");
        drop(held);
    }
    site.captcha().hangs.set(true);
    assert_eq!(site.post(&site.body()).await.status, 500, "captcha");
    assert_eq!(site.rows("lead"), 0);
    assert!(leads::LONGEST < Duration::from_secs(10), "the function's time-out in template.yaml");
}
