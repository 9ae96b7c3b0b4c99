//! A token is accepted once, and repeats of a lead do not create another one.

use std::time::Duration;

use domain::LeadState;
use futures::future::join_all;
use harness::World;
use serde_json::{Value, json};

use crate::{Site, id, statuses, with};

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn token(body: &Value, token: &str) -> Value {
    with(body, "recaptchaToken", json!(token))
}

#[tokio::test]
async fn a_repeat_with_the_same_token_gets_the_first_answer_and_another_lead_none() {
    let site = Site::start().await;
    site.world.brand("second", |_| ()).await;
    site.captcha().once.set(true);
    let body = site.body();
    let first = site.accepted(&body).await;
    let rows = site.all_rows();
    let mut same = with(&body, "name", json!("Another Name"));
    same["landingUri"] = json!("https://www.example.com/autumn");
    same["brandId"] = json!(World::BRAND);
    for body in [&body, &same] {
        assert_eq!(site.accepted(body).await, first);
    }
    for (what, other) in [
        ("number", with(&body, "cellphone", json!("+34600111223"))),
        ("brand", with(&body, "brandId", json!("second"))),
    ] {
        assert_eq!(site.post(&other).await.status, 403, "another {what}");
        site.captcha().once.set(false);
        assert_eq!(site.post(&other).await.status, 403, "although the provider accepts the token");
        site.captcha().once.set(true);
    }
    assert_eq!(site.all_rows(), rows);

    for unavailable in ["bad-request", "timeout-or-duplicate", "invalid-input-response"] {
        site.captcha().refuses(unavailable);
        assert_eq!(site.accepted(&body).await, first, "the provider's first answer decides");
    }
}

#[tokio::test]
async fn a_token_belongs_to_one_workspace() {
    let site = Site::start().await;
    let other = site.other(World::PAGE).await;
    let ours = site.accepted(&site.body()).await;
    let theirs = site.send(site.event(&site.body_of(&other)).query(&[])).await;
    assert_eq!(theirs.status, 202);
    assert_ne!(id(&theirs), ours, "the same number, brand and token");
    assert_eq!(site.rows("lead"), 2);
}

#[tokio::test]
async fn a_rejected_or_unchecked_token_stays_usable() {
    let site = Site::start().await;
    for code in ["timeout-or-duplicate", "bad-request", "invalid-input-secret"] {
        site.captcha().refuses(code);
        assert_ne!(site.post(&site.body()).await.status, 202);
    }
    site.captcha().says.replace(None);
    site.accepted(&site.visitor(1)).await;
    let mut body = site.visitor(2);
    body["recaptchaToken"] = site.body()["recaptchaToken"].clone();
    site.accepted(&body).await;
}

#[tokio::test]
async fn a_lead_is_the_same_for_a_day_with_any_token() {
    let site = Site::start().await;
    site.world.brand("second", |_| ()).await;
    let (body, clock) = (site.body(), site.world.db.clock());
    let first = site.accepted(&body).await;
    assert_eq!(site.accepted(&token(&body, "a second")).await, first);
    clock.advance(DAY);
    assert_eq!(site.accepted(&token(&body, "a third")).await, first);
    assert_eq!(site.rows("lead"), 1);

    let other = token(&with(&body, "brandId", json!("second")), "of another brand");
    assert_ne!(site.accepted(&other).await, first, "another brand");
    assert_ne!(site.accepted(&site.visitor(1)).await, first, "another number");
    assert_eq!(site.rows("lead"), 3);

    clock.advance(Duration::from_secs(1));
    let second = site.accepted(&token(&body, "a day later")).await;
    assert_ne!(second, first, "a day later it is another lead");
    assert_eq!(site.rows("lead"), 4);
    assert_eq!(site.accepted(&token(&body, "a fifth")).await, second);
    let number = |number| token(&with(&body, "cellphone", json!(number)), number);
    let mexican = site.accepted(&number("+525512345678")).await;
    assert_eq!(site.accepted(&number("+5215512345678")).await, mexican, "the other form of a number");
    assert_eq!(site.rows("leadRepeat"), 4, "the row replaces the expired one, which is deleted late");
}

#[tokio::test]
async fn a_repeated_lead_answers_the_same_id_whatever_became_of_it() {
    for (state, is_taken_up) in [
        ("QUEUED", false),
        ("SENDING", false),
        ("SENT", false),
        ("UNKNOWN", false),
        ("FAILED", true),
        ("SUPPRESSED", true),
    ] {
        let site = Site::start().await;
        let first = site.accepted(&site.body()).await;
        let text = site.post(&site.body()).await.text;
        site.set_state(first, state);
        let before = site.lead(first).await;
        site.world.db.forget_calls();
        let answer = site.post(&token(&site.body(), "a second")).await;
        assert_eq!((answer.status, &answer.text), (202, &text), "{state}");
        let calls = site.world.db.operations();
        let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
        assert_eq!(calls[3..], ["GetItem leads", "TransactWriteItems leads"], "the same calls: {state}");
        assert_eq!((site.rows("lead"), site.rows("leadRepeat")), (1, 1), "{state}");
        let after = site.lead(first).await;
        match is_taken_up {
            true => assert_eq!((after.state, after.version), (LeadState::Queued, before.version + 1)),
            false => assert_eq!(after, before, "{state}"),
        }
        assert_eq!((after.consent, after.created_at), (before.consent, before.created_at), "{state}");
        // The day is that of the first lead.
        site.world.db.clock().advance(DAY);
        assert_eq!(site.accepted(&token(&site.body(), "a third")).await, first, "{state}");
        site.world.db.clock().advance(Duration::from_secs(1));
        assert_ne!(site.accepted(&token(&site.body(), "a fourth")).await, first, "{state}");
    }
}

#[tokio::test]
async fn a_repeat_of_a_deleted_lead_gets_its_id_too() {
    let site = Site::start().await;
    let first = site.accepted(&site.body()).await;
    site.remove(first);
    assert_eq!(site.accepted(&token(&site.body(), "a second")).await, first);
    assert_eq!(site.rows("lead"), 0);
}

#[tokio::test]
async fn of_many_concurrent_repeats_one_takes_the_lead_up() {
    for state in ["FAILED", "SUPPRESSED"] {
        let site = Site::start().await;
        let first = site.accepted(&site.body()).await;
        site.set_state(first, state);
        let before = site.lead(first).await.version;
        let bodies: Vec<Value> = (0..50).map(|number| token(&site.body(), &number.to_string())).collect();
        let answers = join_all(bodies.iter().map(|body| site.post(body))).await;
        assert_eq!(statuses(&answers), [(202, 50)].into());
        assert!(answers.iter().all(|answer| id(answer) == first), "{state}");
        assert_eq!((site.rows("lead"), site.lead(first).await.version), (1, before + 1), "{state}");
    }
}

#[tokio::test]
async fn a_repeat_whose_first_lead_is_unreadable_is_a_server_error_and_writes_nothing() {
    let site = Site::start().await;
    let first = site.accepted(&site.body()).await;
    site.set_state(first, "FAILED");
    let before = site.all_rows();
    let read = site.world.db.hold("BatchGetItem");
    let second = token(&site.body(), "a second");
    site.world.db.forget_calls();
    let (answer, ()) = futures::future::join(site.post(&second), async {
        while !site.world.db.operations().iter().any(|call| call.starts_with("BatchGetItem")) {
            tokio::task::yield_now().await;
        }
        site.world.db.fail("GetItem", harness::Fault::Throttled, 3);
        drop(read);
    })
    .await;
    assert_eq!((answer.status, site.all_rows()), (500, before));
    assert_eq!(site.accepted(&second).await, first, "its token is not used up");
}

#[tokio::test]
async fn the_token_of_a_repeated_lead_is_used_up() {
    let site = Site::start().await;
    let first = site.accepted(&site.body()).await;
    let again = token(&site.body(), "a second");
    assert_eq!(site.accepted(&again).await, first);
    assert_eq!(site.accepted(&again).await, first);
    assert_eq!(site.post(&token(&site.visitor(1), "a second")).await.status, 403);
    assert_eq!(site.rows("captchaToken"), 2);
}

#[tokio::test]
async fn the_transaction_detects_a_token_accepted_after_the_lookup() {
    for same in [true, false] {
        let site = Site::start().await;
        let late = if same { site.body() } else { token(&site.visitor(1), "token") };
        let release = site.world.db.hold("TransactWriteItems");
        let (late, first) = futures::future::join(site.post(&late), async {
            while !site.world.db.operations().iter().any(|call| call.starts_with("TransactWriteItems")) {
                tokio::task::yield_now().await;
            }
            let first = site.accepted(&site.body()).await;
            drop(release);
            first
        })
        .await;
        assert_eq!(site.rows("lead"), 1);
        if same {
            assert_eq!((late.status, id(&late)), (202, first));
        } else {
            assert_eq!(late.status, 403);
        }
    }
}

#[tokio::test]
async fn a_token_that_the_provider_has_just_seen_is_looked_up_again() {
    let site = Site::start().await;
    site.captcha().once.set(true);
    let body = site.body();
    let until = async |look_ups: usize| {
        while site.world.db.operations().iter().filter(|call| *call == "BatchGetItem leads").count()
            < look_ups
        {
            tokio::task::yield_now().await;
        }
    };
    let store = site.world.db.hold("TransactWriteItems");
    let first_is_stored_meanwhile = async {
        until(2).await;
        let look_up = site.world.db.hold("BatchGetItem");
        drop(store);
        while site.rows("lead") == 0 {
            tokio::task::yield_now().await;
        }
        drop(look_up);
    };
    let (first, second, ()) =
        futures::future::join3(site.post(&body), site.post(&body), first_is_stored_meanwhile).await;
    assert_eq!((first.status, second.status, first.text), (202, 202, second.text));
    until(3).await;
}

#[tokio::test]
async fn one_of_fifty_concurrent_visitors_with_one_token_is_accepted() {
    for once in [true, false] {
        let site = Site::start().await;
        site.captcha().once.set(once);
        let bodies: Vec<Value> = (0..50).map(|number| token(&site.visitor(number), "token")).collect();
        let answers = join_all(bodies.iter().map(|body| site.post(body))).await;
        assert_eq!(statuses(&answers), [(202, 1), (403, 49)].into(), "{once}");
        assert_eq!((site.rows("lead"), site.rows("captchaToken"), site.rows("leadRepeat")), (1, 1, 1));
    }
}

#[tokio::test]
async fn fifty_equal_concurrent_requests_are_one_lead() {
    let site = Site::start().await;
    let body = site.body();
    let answers = join_all((0..50).map(|_| site.post(&body))).await;
    assert_eq!(statuses(&answers), [(202, 50)].into());
    assert!(answers.iter().all(|answer| answer.text == answers[0].text));
    assert_eq!(site.all_rows(), 3);

    let site = Site::start().await;
    let body = site.body();
    site.captcha().once.set(true);
    let answers = join_all((0..50).map(|_| site.post(&body))).await;
    let accepted: Vec<_> = answers.iter().filter(|answer| answer.status == 202).map(id).collect();
    assert!(!accepted.is_empty() && accepted.iter().all(|id| *id == accepted[0]));
    assert!(answers.iter().all(|answer| [202, 403].contains(&answer.status)));
    assert_eq!(site.all_rows(), 3);
}

#[tokio::test]
async fn a_hundred_concurrent_requests_of_one_visitor_are_one_lead() {
    let site = Site::start().await;
    let bodies: Vec<Value> = (0..100).map(|number| token(&site.body(), &format!("token {number}"))).collect();
    let answers = join_all(bodies.iter().map(|body| site.post(body))).await;
    assert_eq!(statuses(&answers), [(202, 100)].into());
    assert!(answers.iter().all(|answer| answer.text == answers[0].text));
    assert_eq!((site.rows("lead"), site.rows("leadRepeat"), site.rows("captchaToken")), (1, 1, 100));
}
