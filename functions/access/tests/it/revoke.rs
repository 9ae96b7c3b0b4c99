//! DELETE /api-keys/{keyId}.

use std::time::Duration;

use domain::AuditFilter;
use harness::{Death, trips};
use serde_json::json;
use store::Table;

use crate::Access;

#[tokio::test]
async fn a_revoked_key_stays_in_the_list_and_a_repeat_changes_nothing() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    let revoke = || f.send(f.of_key("access-revoke.json", id));
    f.world.db.clock().advance(Duration::from_secs(1));
    let answer = revoke().await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
    assert!(!answer.headers.contains_key("content-type"));
    assert_eq!(answer.headers["x-request-id"], "r");
    let shown = f.send(f.of_key("access-get.json", id)).await.json;
    assert_eq!(shown["revokedAt"], "2026-01-02T03:04:06.678Z");
    let rows = || [Table::ApiKeys, Table::Audit].map(|table| f.world.db.rows(table));
    let before = rows();
    f.world.db.clock().advance(Duration::from_secs(60));
    assert_eq!(revoke().await.status, 204);
    assert_eq!(rows(), before);
    let log =
        f.world.db.store().audit_log(f.world.workspace, &AuditFilter::default(), 1, None).await.unwrap();
    let entry = &log.items[0];
    assert_eq!((entry.action.as_str(), &entry.subject), ("api_key.revoke", &id.to_string()));
    assert_eq!((entry.author.actor.kind(), entry.author.request_id.as_deref()), ("KEY", Some("r")));
}

#[tokio::test]
async fn a_key_may_revoke_itself_and_is_refused_after_thirty_seconds() {
    let f = Access::start().await;
    let listed = f.send(f.world.event("access-list.json").query(&[])).await.json;
    let own = listed["apiKeys"][0]["id"].as_str().unwrap().to_owned();
    let event = || f.world.event("access-revoke.json").path("keyId", &own);
    assert_eq!(f.send(event()).await.status, 204);
    f.world.db.clock().advance(Duration::from_secs(30));
    assert_eq!(f.send(event()).await.status, 403);
}

#[tokio::test]
async fn if_match_names_the_state_that_is_revoked() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    let tag = f.send(f.of_key("access-get.json", id)).await.headers["etag"].clone();
    let revoke =
        async |tag: &str| f.send(f.of_key("access-revoke.json", id).header("if-match", tag)).await.status;
    assert_eq!(revoke("\"other\"").await, 412);
    assert_eq!(f.send(f.of_key("access-get.json", id)).await.json["revokedAt"], json!(null));
    assert_eq!(revoke(&tag).await, 204);
    assert_eq!(revoke(&tag).await, 412, "the state is another one now");
    assert_eq!(revoke("*").await, 204);
}

#[tokio::test]
async fn a_revocation_takes_three_round_trips_and_is_whole_after_a_death_at_any_call() {
    let f = Access::start().await;
    f.send(f.world.event("access-list.json")).await;
    let id = f.another_key("counted").await;
    f.world.db.forget_calls();
    f.send(f.of_key("access-revoke.json", id)).await;
    assert_eq!(trips(&f.world.db.calls()), 3, "the last one looks for sessions");
    let written: f64 = f.world.db.calls().iter().map(|call| call.write_units).sum();
    assert!((written - 7.0).abs() < f64::EPSILON, "6 and the limiter's: {written}");
    for death in [Death::Before, Death::After] {
        for call in 0..4 {
            let id = f.another_key("crm").await;
            let entries = f.world.db.rows(Table::Audit).len();
            let mut dead = f.world.db.die_after(call, death);
            tokio::select! {
                _ = f.send(f.of_key("access-revoke.json", id)) => {}
                _ = &mut dead => {}
            }
            f.world.db.revive();
            let revoked = !f.send(f.of_key("access-get.json", id)).await.json["revokedAt"].is_null();
            assert_eq!(
                f.world.db.rows(Table::Audit).len() - entries,
                usize::from(revoked),
                "{call} {death:?}"
            );
            assert_eq!(f.send(f.of_key("access-revoke.json", id)).await.status, 204);
        }
    }
}
