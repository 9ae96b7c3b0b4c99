//! POST /lead-retries.

use domain::choices::ChoiceScope;
use domain::{Lead, LeadState};
use harness::{Answer, trips};
use serde_json::{Value, json};

use crate::{Records, code};

impl Records {
    async fn retry_page(&self, body: &Value) -> Answer {
        self.pass(1);
        self.send(self.event("retry-page").body(body)).await
    }

    /// Failed leads with these errors, the newest first.
    async fn failures(&self, errors: &[&str]) -> Vec<Lead> {
        let mut leads = vec![];
        for error in errors.iter().rev() {
            leads.insert(0, self.lead(LeadState::Failed, Some(error)).await);
            self.pass(1);
        }
        leads
    }
}

fn names(leads: &[&Lead]) -> Value {
    leads.iter().map(|lead| lead.id.to_string()).collect()
}

#[tokio::test]
async fn a_page_is_retried_newest_first_and_the_cursor_continues() {
    let f = Records::capturing().await;
    let leads = f.failures(&["NO_LINE", "131026", "NO_LINE", "NO_LINE"]).await;
    let sent = f.lead(LeadState::Sent, None).await;
    let first = f.retry_page(&json!({"states": ["FAILED"], "errors": ["NO_LINE"], "limit": 2})).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(
        (&first.json["retried"], &first.json["refused"]),
        (&names(&[&leads[0], &leads[2]]), &json!([]))
    );
    let workspace = f.world.workspace.to_string();
    assert_eq!(f.audit().await, [("lead_retries.request".to_owned(), workspace.clone())]);
    assert_eq!(f.queued(), [leads[0].id.to_string(), leads[2].id.to_string()]);
    let cursor = &first.json["cursor"];
    let rest = json!({"states": ["FAILED"], "errors": ["NO_LINE"], "limit": 50, "cursor": cursor});
    let second = f.retry_page(&rest).await;
    assert_eq!(second.json, json!({"retried": names(&[&leads[3]]), "refused": [], "cursor": null}));
    assert_eq!((f.stored(sent.id).await, f.stored(leads[1].id).await), (sent, leads[1].clone()));
    // A repeat finds nothing to retry, and so it has no entry.
    let again = f.retry_page(&rest).await;
    assert_eq!(again.json, json!({"retried": [], "refused": [], "cursor": null}));
    assert_eq!(f.audit().await.len(), 2);
}

#[tokio::test]
async fn each_lead_is_judged_by_itself() {
    let f = Records::capturing().await;
    let failed = f.failures(&["131026", "131026"]).await;
    let unknown = f.lead(LeadState::Unknown, Some("NO_ANSWER")).await;
    let (store, workspace) = (f.world.db.store(), f.world.workspace);
    store
        .opt_out(workspace, &failed[0].cellphone, ChoiceScope::All, store.now(), harness::operator())
        .await
        .unwrap();
    let body = json!({"states": ["FAILED", "UNKNOWN"]});
    let done = f.retry_page(&body).await.json;
    let refused = json!([
        {"id": unknown.id.to_string(), "reason": "MAY_SEND_TWICE"},
        {"id": failed[0].id.to_string(), "reason": "OPTED_OUT"},
    ]);
    assert_eq!(done, json!({"retried": names(&[&failed[1]]), "refused": refused, "cursor": null}));
    let twice = json!({"states": ["UNKNOWN"], "maySendTwice": true});
    assert_eq!(f.retry_page(&twice).await.json["retried"], names(&[&unknown]));
    let capture = store.capture(workspace).await.unwrap().unwrap();
    let disabled = domain::Capture { enabled: false, version: capture.version + 1, ..capture };
    f.world.save_capture(&disabled).await;
    let done = f.retry_page(&body).await.json;
    let reason = json!([{"id": failed[0].id.to_string(), "reason": "CAPTURE_DISABLED"}]);
    assert_eq!((&done["retried"], &done["refused"]), (&json!([]), &reason));
}

#[tokio::test]
async fn times_bound_the_leads() {
    let f = Records::capturing().await;
    let leads = f.failures(&["131026", "131026", "131026"]).await;
    let at = |n: usize| leads[n].created_at.to_string();
    let body = json!({"states": ["FAILED"], "since": at(1), "until": at(0)});
    assert_eq!(f.retry_page(&body).await.json["retried"], names(&[&leads[1]]));
}

#[tokio::test]
async fn an_invalid_body_is_refused_with_every_failure() {
    let f = Records::capturing().await;
    let lead = f.failed().await;
    let bad = json!({
        "states": ["SENT"], "errors": [], "since": "yesterday", "until": 7, "maySendTwice": 1, "limit": 51, "brand": "x",
    });
    let failed = [
        ("brand", "extra_forbidden"),
        ("states.0", "enum"),
        ("errors", "too_short"),
        ("since", "value_error"),
        ("until", "string_type"),
        ("maySendTwice", "bool_parsing"),
        ("limit", "less_than_equal"),
    ];
    let failed = failed.map(|(name, kind)| (format!("body.{name}"), kind.to_owned()));
    assert_eq!(f.retry_page(&bad).await.failures(), failed);
    for (body, place, kind) in [
        (json!({}), "body.states", "missing"),
        (json!({"states": []}), "body.states", "too_short"),
        (json!({"states": ["FAILED", "FAILED", "FAILED"]}), "body.states", "too_long"),
        (json!({"states": ["FAILED"], "cursor": "AAAA"}), "body.cursor", "value_error"),
        (json!({"states": ["FAILED"], "errors": [""]}), "body.errors.0", "string_too_short"),
        (json!([]), "body", "dict_type"),
    ] {
        assert_eq!(f.retry_page(&body).await.failures(), [(place.to_owned(), kind.to_owned())], "{body}");
    }
    assert_eq!(code(&f.send(f.event("retry-page").raw_body("")).await).0, 400);
    assert_eq!(f.stored(lead.id).await, lead);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_filters() {
    let f = Records::capturing().await;
    f.failures(&["NO_LINE", "NO_LINE"]).await;
    let first = f.retry_page(&json!({"states": ["FAILED"], "limit": 1})).await;
    let cursor = &first.json["cursor"];
    for body in [
        json!({"states": ["FAILED", "UNKNOWN"], "cursor": cursor}),
        json!({"states": ["FAILED"], "errors": ["NO_LINE"], "cursor": cursor}),
        json!({"states": ["FAILED"], "since": "2026-01-01T00:00:00Z", "cursor": cursor}),
    ] {
        let refused = f.retry_page(&body).await;
        assert_eq!(refused.failures(), [("body.cursor".to_owned(), "value_error".to_owned())], "{body}");
    }
}

#[tokio::test]
async fn a_page_of_50_takes_few_round_trips() {
    let f = Records::capturing().await;
    for _ in 0..51 {
        f.failed().await;
        f.world.db.clock().advance(std::time::Duration::from_millis(1));
    }
    // The first request fills the memories.
    f.retry_page(&json!({"states": ["UNKNOWN"]})).await;
    f.pass(1);
    f.world.db.forget_calls();
    let done = f.retry_page(&json!({"states": ["FAILED"], "limit": 50})).await;
    let calls = f.world.db.calls();
    assert_eq!(done.json["retried"].as_array().unwrap().len(), 50);
    assert!(done.json["cursor"].is_string());
    // The list, its leads beside the settings, the entry; then the choices and the write of each lead.
    assert!(calls.len() <= 106, "{}", calls.len());
    assert!(trips(&calls) <= 12, "{}", trips(&calls));
    let units = |of: fn(&harness::Call) -> f64| calls.iter().map(of).sum::<f64>();
    let (read, written) = (units(|call| call.read_units), units(|call| call.write_units));
    assert!(read <= 150.0 && written <= 300.0, "{read} {written}");
}
