//! POST /leads/{requestId}/retry.

use domain::choices::ChoiceScope;
use domain::{Lead, LeadId, LeadState};
use harness::{Answer, Death, trips};
use serde_json::{Value, json};

use crate::{Records, code};

impl Records {
    async fn retry(&self, id: LeadId, body: &Value) -> Answer {
        let sent = self.event("retry").path("requestId", id);
        let sent = if body.is_null() { sent.raw_body("") } else { sent.body(body) };
        self.send(sent).await
    }
}

#[tokio::test]
async fn a_failed_lead_is_queued_again_with_its_entry_and_its_message() {
    let f = Records::capturing().await;
    let lead = f.failed().await;
    // The first request fills the memories.
    f.retry(f.lead(LeadState::Sent, None).await.id, &Value::Null).await;
    f.pass(1);
    f.world.db.forget_calls();
    let answer = f.retry(lead.id, &Value::Null).await;
    let calls = f.world.db.calls();
    assert_eq!(
        (answer.status, &answer.json["state"], &answer.json["error"]),
        (200, &json!("QUEUED"), &Value::Null)
    );
    let write = calls.iter().find(|call| call.operation == "TransactWriteItems").unwrap();
    assert!(trips(&calls) == 3 && calls.len() == 5 && write.write_units <= 8.0, "{calls:?}");
    let stored = f.stored(lead.id).await;
    assert_eq!((stored.state, stored.version), (LeadState::Queued, 2));
    assert_ne!(stored.message, lead.message);
    assert_eq!(f.audit().await, [("lead.retry".to_owned(), lead.id.to_string())]);
    assert_eq!(f.queued(), [lead.id.to_string()]);
    let row = f.world.db.rows(store::Table::Leads);
    let is_it = |row: &&Value| {
        row["sk"]["S"] == "L" && row["pk"]["S"].as_str().unwrap().ends_with(&lead.id.to_string())
    };
    let row = row.iter().find(is_it).unwrap();
    assert_eq!(row["dueAt"]["N"], f.world.db.store().now().as_millis().to_string(), "for the sweeper");
    // It shows the ETag of the lead as it is now.
    let read = f.send(f.event("get").path("requestId", lead.id)).await;
    assert_eq!((read.headers.get("etag"), &read.json), (answer.headers.get("etag"), &answer.json));
}

#[tokio::test]
async fn each_refusal_names_the_state_and_the_reason_and_changes_nothing() {
    let f = Records::capturing().await;
    let twice = json!({"maySendTwice": true});
    let refused = async |lead: &Lead, body: &Value, reason: &str| {
        let answer = f.retry(lead.id, body).await;
        let extra = json!({"state": lead.state.as_str(), "reason": reason});
        assert_eq!((code(&answer), &answer.json["extra"]), ((409, "SERVICE_LEAD_0409"), &extra));
        assert_eq!(f.stored(lead.id).await, *lead);
        f.pass(1);
    };
    for state in [LeadState::Queued, LeadState::Sending, LeadState::Sent, LeadState::Suppressed] {
        let lead = f.lead(state, None).await;
        refused(&lead, &twice, "STATE").await;
    }
    let unknown = f.lead(LeadState::Unknown, Some("NO_ANSWER")).await;
    for body in [Value::Null, json!({}), json!({"maySendTwice": false}), json!({"maySendTwice": null})] {
        refused(&unknown, &body, "MAY_SEND_TWICE").await;
    }
    let failed = f.failed().await;
    let (store, workspace) = (f.world.db.store(), f.world.workspace);
    for scope in [ChoiceScope::All, ChoiceScope::Marketing] {
        store.opt_out(workspace, &failed.cellphone, scope, store.now(), harness::operator()).await.unwrap();
        refused(&failed, &twice, "OPTED_OUT").await;
        let seen = store.choices(workspace, &failed.cellphone).await.unwrap().unwrap();
        store.opt_in(&seen, harness::operator()).await.unwrap();
    }
    let capture = store.capture(workspace).await.unwrap().unwrap();
    let disabled = domain::Capture { enabled: false, version: capture.version + 1, ..capture };
    f.world.save_capture(&disabled).await;
    refused(&failed, &twice, "CAPTURE_DISABLED").await;
    assert_eq!((f.audit().await, f.queued()), (vec![], vec![]));
}

#[tokio::test]
async fn an_unknown_lead_is_retried_if_the_message_may_be_sent_twice() {
    let f = Records::capturing().await;
    let lead = f.lead(LeadState::Unknown, Some("NO_ANSWER")).await;
    let answer = f.retry(lead.id, &json!({"maySendTwice": true})).await;
    assert_eq!((answer.status, f.stored(lead.id).await.state), (200, LeadState::Queued));
}

#[tokio::test]
async fn a_body_with_another_field_or_type_is_refused() {
    let f = Records::capturing().await;
    let lead = f.failed().await;
    for (body, place, kind) in [
        (json!({"force": true}), "body.force", "extra_forbidden"),
        (json!({"maySendTwice": "yes"}), "body.maySendTwice", "bool_parsing"),
        (json!([]), "body", "dict_type"),
    ] {
        let answer = f.retry(lead.id, &body).await;
        assert_eq!(answer.failures(), [(place.to_owned(), kind.to_owned())], "{body}");
    }
    assert_eq!(f.stored(lead.id).await, lead);
}

#[tokio::test]
async fn a_retry_may_depend_on_the_state_that_was_read() {
    let f = Records::capturing().await;
    let lead = f.failed().await;
    let read = f.send(f.event("get").path("requestId", lead.id)).await;
    let tag = read.headers["etag"].clone();
    let retry = async |tag: &str| {
        let event = f.event("retry").path("requestId", lead.id).header("if-match", tag);
        f.send(event).await
    };
    assert_eq!(code(&retry("\"other\"").await), (412, "SERVICE_CORE_0412"));
    assert_eq!(retry(&tag).await.status, 200);
    assert_eq!(code(&retry(&tag).await), (412, "SERVICE_CORE_0412"), "it is queued by now");
}

#[tokio::test]
async fn of_concurrent_retries_one_succeeds() {
    let f = Records::capturing().await;
    let lead = f.failed().await;
    let answers = futures::future::join_all((0..4).map(|_| f.retry(lead.id, &Value::Null))).await;
    assert_eq!((Answer::statuses(&answers), f.stored(lead.id).await.version), (vec![200, 409, 409, 409], 2));
    assert_eq!((f.audit().await.len(), f.queued().len()), (1, 1));
}

#[tokio::test]
async fn a_retry_and_its_entry_are_one_and_a_lost_message_does_not_fail_it() {
    let mut done = vec![];
    // The last of these calls is after the write.
    for calls in 0..12 {
        for death in [Death::Before, Death::After] {
            let f = Records::capturing().await;
            let lead = f.failed().await;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = f.retry(lead.id, &Value::Null) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let retried = usize::from(f.stored(lead.id).await.state == LeadState::Queued);
            assert_eq!(f.audit().await.len(), retried, "{calls} {death:?}");
            done.push(retried);
        }
    }
    assert!(done.contains(&0) && done.contains(&1) && done.is_sorted(), "{done:?}");
    let f = Records::capturing().await;
    f.queue.close(true);
    assert_eq!(f.retry(f.failed().await.id, &Value::Null).await.status, 200);
}
