//! GET /audit-log.

use std::time::Duration;

use harness::trips;
use serde_json::{Value, json};

use crate::Access;

async fn changed() -> (Access, [String; 2]) {
    let f = Access::start().await;
    let minute = || f.world.db.clock().advance(Duration::from_secs(60));
    minute();
    let crm = f.another_key("crm").await;
    minute();
    f.send(f.of_key("access-revoke.json", crm)).await;
    let own = f.send(f.world.event("access-list.json").query(&[])).await.json;
    let own = own["apiKeys"].as_array().unwrap().iter().find(|key| key["name"] == "test").unwrap();
    let ids = [own["id"].as_str().unwrap().to_owned(), crm.to_string()];
    (f, ids)
}

fn actions(page: &Value) -> Vec<&str> {
    page["entries"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn entries_have_every_documented_field_newest_first() {
    let (f, [own, crm]) = changed().await;
    let page = f.send(f.world.event("access-audit-log.json").query(&[])).await.json;
    assert_eq!(actions(&page), ["api_key.revoke", "api_key.create", "api_key.create"]);
    assert_eq!(page["cursor"], json!(null));
    let mut newest = page["entries"][0].clone();
    assert!(newest["id"].take().is_string());
    assert_eq!(
        newest,
        json!({
            "id": null,
            "at": "2026-01-02T03:06:05.678Z",
            "actor": {"type": "KEY", "id": own, "subject": null},
            "action": "api_key.revoke",
            "subject": {"type": "api_key", "id": crm},
            "fields": [],
            "requestId": "r",
        })
    );
}

#[tokio::test]
async fn entries_are_found_by_each_filter_and_page_by_page() {
    let (f, [own, crm]) = changed().await;
    let list =
        async |query: &[(&str, &str)]| f.send(f.world.event("access-audit-log.json").query(query)).await;
    let [revoked, created] = ["api_key.revoke", "api_key.create"];
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let rows: &[Row<'_>] = &[
        (&[("action", created)], &[created, created]),
        (&[("actorId", &own)], &[revoked]),
        (&[("actorId", "test")], &[created, created]),
        (&[("subjectId", &crm)], &[revoked, created]),
        (&[("subjectId", &crm), ("action", created)], &[created]),
        (&[("since", "2026-01-02T03:05:05.678Z")], &[revoked, created]),
        (&[("until", "2026-01-02T03:05:05.678Z")], &[created]),
        (&[("since", "2026-01-02T04:05:05+01:00"), ("until", "2026-01-02T03:06:00Z")], &[created]),
        (&[("subjectId", "nothing")], &[]),
    ];
    for (query, expected) in rows {
        let answer = list(query).await;
        assert_eq!((answer.status, actions(&answer.json)), (200, expected.to_vec()), "{query:?}");
        let (mut walked, mut cursor) = (vec![], None::<String>);
        loop {
            let mut query = [*query, &[("pageSize", "1")]].concat();
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = list(&query).await.json;
            walked.extend(actions(&page).into_iter().map(str::to_owned));
            match page["cursor"].as_str() {
                Some(text) => cursor = Some(text.to_owned()),
                None => break,
            }
        }
        assert_eq!(walked, *expected, "{query:?}");
    }
    let cursor = list(&[("pageSize", "1")]).await.json["cursor"].as_str().unwrap().to_owned();
    let other = list(&[("pageSize", "1"), ("action", created), ("cursor", &cursor)]).await;
    assert_eq!((other.status, &other.json["detail"][0]["loc"][1]), (422, &json!("cursor")));
}

#[tokio::test]
async fn unfit_filters_are_refused_together() {
    let f = Access::start().await;
    let query = [
        ("action", "key.revoke"),
        ("actorId", ""),
        ("since", "yesterday"),
        ("until", "2026-02-30T00:00:00Z"),
        ("fields", "name"),
    ];
    let answer = f.send(f.world.event("access-audit-log.json").query(&query)).await;
    let failures = answer.json["detail"].as_array().unwrap();
    let found: Vec<_> =
        failures.iter().map(|one| (one["loc"][1].as_str().unwrap(), one["type"].as_str().unwrap())).collect();
    assert_eq!(
        found,
        [
            ("fields", "extra_forbidden"),
            ("action", "enum"),
            ("actorId", "string_too_short"),
            ("since", "value_error"),
            ("until", "value_error"),
        ]
    );
}

#[tokio::test]
async fn a_log_takes_one_round_trip_and_shows_no_other_workspace() {
    let (f, _) = changed().await;
    let (other, token) = f.world.second_workspace().await;
    let event = || f.world.event("access-audit-log.json").query(&[]);
    f.send(event()).await;
    f.world.db.forget_calls();
    f.send(event()).await;
    assert_eq!((f.world.db.calls().len(), trips(&f.world.db.calls())), (2, 1), "with the limiter");
    let theirs = f.send(event().path("workspaceId", other).header("x-api-key", &token)).await.json;
    assert_eq!(actions(&theirs), ["api_key.create"], "its own key");
}
