//! GET /api-keys and GET /api-keys/{keyId}.

use std::time::Duration;

use domain::{KeyId, Timestamp};
use harness::trips;
use serde_json::json;

use crate::Access;

#[tokio::test]
async fn a_key_is_shown_with_every_documented_field_and_without_its_secret_value() {
    let f = Access::start().await;
    let id = KeyId::generate(f.world.db.store().ids());
    let expiry = Timestamp::parse("2027-01-31T00:00:00Z").unwrap();
    let token = f
        .world
        .key_with(f.world.workspace, &["users:read", "contacts:read"], |key| {
            (key.id, key.name, key.expires_at) = (id, "crm".to_owned(), Some(expiry));
        })
        .await;
    let answer = f.send(f.of_key("access-get.json", id)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json,
        json!({
            "id": id.to_string(),
            "name": "crm",
            "scopes": ["contacts:read", "users:read"],
            "rate": 50,
            "burst": 100,
            "createdAt": "2026-01-02T03:04:05.678Z",
            "createdBy": {"type": "OPERATOR", "id": "test", "subject": null},
            "expiresAt": "2027-01-31T00:00:00.000Z",
            "revokedAt": null,
            "lastUsedAt": null,
        })
    );
    // Using the key changes its last use, but not its tag.
    assert_eq!(f.send(f.of_key("access-get.json", id).header("x-api-key", &token)).await.status, 403);
    let limiter = store::Limiter::new(f.world.db.store().clone());
    let rate = domain::access::api_key::RateLimit::DEFAULT;
    limiter.admit(f.world.workspace, id, rate).await.unwrap();
    let used = f.send(f.of_key("access-get.json", id)).await;
    assert_eq!(used.json["lastUsedAt"], "2026-01-02T03:04:00.000Z");
    assert_eq!(used.headers["etag"], answer.headers["etag"]);
    let sha256 = domain::ApiKeyToken::parse(&token).unwrap().sha256_hex();
    assert!(!answer.text.contains(&token) && !answer.text.contains(&sha256));
}

#[tokio::test]
async fn keys_are_listed_in_the_order_of_their_ids_page_by_page() {
    let f = Access::start().await;
    let mut ids = vec![];
    for number in 0..5 {
        ids.push(f.another_key(&format!("key {number}")).await.to_string());
    }
    let page = async |size: &str, cursor: Option<&str>| {
        let mut query = vec![("pageSize", size)];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        f.send(f.world.event("access-list.json").query(&query)).await.json
    };
    let all = page("20", None).await;
    let shown = |page: &serde_json::Value| {
        let keys = page["apiKeys"].as_array().unwrap().iter();
        keys.map(|key| key["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(all["cursor"], json!(null));
    let found = shown(&all);
    assert!(found.is_sorted() && found.len() == 6, "the five and the caller's: {found:?}");
    assert!(ids.iter().all(|id| found.contains(id)));
    let (mut walked, mut cursor) = (vec![], None::<String>);
    loop {
        let next = page("2", cursor.as_deref()).await;
        walked.extend(shown(&next));
        match next["cursor"].as_str() {
            Some(text) => cursor = Some(text.to_owned()),
            None => break,
        }
    }
    assert_eq!(walked, found);
    let callers = all["apiKeys"].as_array().unwrap().iter().filter(|key| !key["lastUsedAt"].is_null());
    assert_eq!(callers.count(), 1, "only the caller's key was used");
}

#[tokio::test]
async fn a_foreign_and_an_unknown_key_get_the_same_answer_byte_for_byte() {
    let f = Access::start().await;
    let mine = f.another_key("mine").await;
    let (other, token) = f.world.second_workspace().await;
    let from_there = async |file: &str, id: KeyId| {
        f.world.db.clock().advance(Duration::from_secs(1));
        f.send(f.of_key(file, id).path("workspaceId", other).header("x-api-key", &token)).await
    };
    for file in ["access-get.json", "access-revoke.json"] {
        let unknown = from_there(file, KeyId::generate(f.world.db.store().ids())).await;
        assert_eq!(from_there(file, mine).await, unknown);
        assert_eq!(unknown.text, r#"{"title":"API Key Not Found","status":404,"code":"SERVICE_KEY_0404"}"#);
    }
    let event = f.world.event("access-list.json").path("workspaceId", other).header("x-api-key", &token);
    let listed = f.send(event).await.json;
    assert_eq!(listed["apiKeys"].as_array().unwrap().len(), 1, "its own");
}

#[tokio::test]
async fn an_invalid_id_a_query_and_a_foreign_cursor_are_refused() {
    let f = Access::start().await;
    for file in ["access-get.json", "access-revoke.json"] {
        let answer = f.send(f.world.event(file).path("keyId", "mine").query(&[("fields", "id")])).await;
        assert_eq!(answer.status, 422);
        assert_eq!(answer.json["detail"][0]["loc"], json!(["query", "fields"]));
        assert_eq!(answer.json["detail"][1]["loc"], json!(["path", "keyId"]));
    }
    let query = [("pageSize", "101"), ("cursor", "x"), ("name", "crm")];
    let answer = f.send(f.world.event("access-list.json").query(&query)).await;
    let places: Vec<_> =
        answer.json["detail"].as_array().unwrap().iter().map(|one| one["loc"][1].clone()).collect();
    assert_eq!(places, ["name", "pageSize", "cursor"]);
}

#[tokio::test]
async fn one_key_takes_one_round_trip_and_a_list_two() {
    let f = Access::start().await;
    let id = f.another_key("one").await;
    let list = || f.world.event("access-list.json");
    f.send(f.of_key("access-get.json", id)).await;
    f.send(list()).await;
    f.world.db.forget_calls();
    f.send(f.of_key("access-get.json", id)).await;
    assert_eq!((f.world.db.calls().len(), trips(&f.world.db.calls())), (2, 1), "with the limiter");
    f.world.db.forget_calls();
    f.send(list()).await;
    assert_eq!((f.world.db.calls().len(), trips(&f.world.db.calls())), (3, 2), "with the limiter");
}
