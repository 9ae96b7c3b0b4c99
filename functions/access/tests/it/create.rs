//! POST /api-keys.

use std::time::Duration;

use domain::{Actor, ApiKeyToken, AuditFilter, Author, KeyId};
use futures::future::join_all;
use harness::{Answer, Death, trips};
use serde_json::{Value, json};
use store::Table;

use crate::Access;

impl Access {
    async fn create(&self, body: &Value) -> Answer {
        self.send(self.world.event("access-create.json").without_header("idempotency-key").body(body)).await
    }

    /// Sets the key rate of the workspace.
    async fn allow(&self, rate: u32) {
        let store = self.world.db.store();
        let seen = store.workspace(self.world.workspace).await.unwrap().unwrap();
        let by = Author { actor: Actor::Operator("test".to_owned()), request_id: None };
        let next = seen.with_key_rate(rate).unwrap().unwrap();
        assert!(store.update_workspace(&next, &["keyRate"], &by).await.unwrap());
    }

    async fn made(&self) -> Vec<domain::ApiKey> {
        let mut keys = self.world.db.store().api_keys(self.world.workspace).await.unwrap();
        keys.retain(|key| matches!(key.created_by, Actor::Key(_)));
        keys
    }
}

fn wanted(rate: u32) -> Value {
    json!({"name": "crm", "scopes": ["users:read"], "rate": rate})
}

#[tokio::test]
async fn a_new_key_is_shown_once_with_its_secret_value_and_works() {
    let f = Access::start().await;
    let body = json!({
        "name": "crm", "scopes": ["keys:read", "users:read", "keys:read"], "burst": 7,
        "expiresAt": "2027-01-31T01:00:00+01:00",
    });
    f.world.db.clock().advance(Duration::from_secs(1));
    let answer = f.create(&body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let mut shown = answer.json.clone();
    let token = shown["apiKey"].take().as_str().unwrap().to_owned();
    let id = shown["id"].take().as_str().unwrap().to_owned();
    let own = shown["createdBy"]["id"].take();
    assert_eq!(
        shown,
        json!({
            "id": null,
            "name": "crm",
            "scopes": ["users:read", "keys:read"],
            "rate": 50,
            "burst": 7,
            "createdAt": "2026-01-02T03:04:06.678Z",
            "createdBy": {"type": "KEY", "id": null, "subject": null},
            "expiresAt": "2027-01-31T00:00:00.000Z",
            "revokedAt": null,
            "lastUsedAt": null,
            "apiKey": null,
        })
    );
    assert!(!answer.headers.contains_key("etag"), "the tag of the first answer would be of no other");
    let list = f.send(f.world.event("access-list.json").header("x-api-key", &token)).await;
    assert_eq!(list.status, 200);
    assert!(!list.text.contains(&token));
    let rows: Vec<_> = Table::ALL.into_iter().flat_map(|table| f.world.db.rows(table)).collect();
    assert!(rows.iter().all(|row| !row.to_string().contains(&token)), "only its hash is stored");
    assert!(
        f.world
            .db
            .rows(Table::ApiKeys)
            .iter()
            .any(|row| { row["pk"]["S"] == ApiKeyToken::parse(&token).unwrap().sha256_hex() })
    );
    let log =
        f.world.db.store().audit_log(f.world.workspace, &AuditFilter::default(), 1, None).await.unwrap();
    let entry = &log.items[0];
    assert_eq!((entry.action.as_str(), &entry.subject), ("api_key.create", &id));
    assert_eq!(json!(entry.author.actor.id()), own);
}

#[tokio::test]
async fn unfit_fields_are_refused_together_and_an_unknown_one_too() {
    let f = Access::start().await;
    let body = json!({
        "name": " ", "scopes": ["users:read", "users"], "rate": 501, "burst": 0, "expiresAt": "2026-01-02T03:04:05Z",
        "expires": "2027-01-31T00:00:00Z",
    });
    let answer = f.create(&body).await;
    let failures = answer.json["detail"].as_array().unwrap();
    let found: Vec<String> = failures
        .iter()
        .map(|one| {
            format!(
                "{} {}",
                one["loc"].as_array().unwrap()[1..]
                    .iter()
                    .map(|part| part.as_str().unwrap())
                    .collect::<Vec<_>>()
                    .join("."),
                one["type"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "expires extra_forbidden",
            "name value_error",
            "scopes.1 enum",
            "rate less_than_equal",
            "burst greater_than_equal",
            "expiresAt value_error",
        ]
    );
    for (body, place) in [
        (json!({"scopes": ["users:read"]}), "name"),
        (json!({"name": "crm"}), "scopes"),
        (json!({"name": "crm", "scopes": []}), "scopes"),
        (json!({"name": "crm", "scopes": "users:read"}), "scopes"),
        (json!({"name": "crm", "scopes": ["users:read"], "expiresAt": "tomorrow"}), "expiresAt"),
    ] {
        let answer = f.create(&body).await;
        assert_eq!((answer.status, &answer.json["detail"][0]["loc"][1]), (422, &json!(place)), "{body}");
    }
    let optional =
        json!({"name": "crm", "scopes": ["users:read"], "rate": null, "burst": null, "expiresAt": null});
    let made = f.create(&optional).await.json;
    assert_eq!((&made["rate"], &made["burst"], &made["expiresAt"]), (&json!(50), &json!(100), &json!(null)));
    assert_eq!(f.made().await.len(), 1);
}

#[tokio::test]
async fn a_key_makes_no_key_with_scopes_that_it_does_not_hold() {
    let f = Access::start().await;
    let with = async |held: &[&str], scopes: &[&str]| {
        let key = f.world.key_with(f.world.workspace, held, |_| ()).await;
        let body = json!({"name": "crm", "scopes": scopes, "rate": 1});
        let event = f.world.event("access-create.json").without_header("idempotency-key").body(&body);
        f.send(event.header("x-api-key", &key)).await
    };
    for (held, scopes, beyond) in [
        (&["keys:write"][..], &["keys:write"][..], &[][..]),
        (&["keys:write", "users:read"], &["users:read"], &[]),
        (&["keys:write"], &["users:read", "keys:write", "contacts:erase"], &["users:read", "contacts:erase"]),
        (&["*"], &["users:read", "contacts:write"], &[]),
        (&["*"], &["contacts:erase"], &["contacts:erase"]),
        (&["*", "contacts:erase"], &["contacts:erase"], &[]),
        (&["*", "contacts:erase"], &["*", "users:read"], &["*"]),
    ] {
        let answer = with(held, scopes).await;
        if beyond.is_empty() {
            assert_eq!(answer.status, 201, "{held:?} {scopes:?} {}", answer.text);
            continue;
        }
        let expected = json!({
            "title": "Scopes Not Held", "status": 422, "code": "SERVICE_KEY_1101", "extra": {"scopes": beyond},
        });
        assert_eq!(answer.json, expected, "{held:?} {scopes:?}");
    }
    assert_eq!(with(&["keys:read", "users:read"], &["users:read"]).await.status, 403);
}

#[tokio::test]
async fn the_keys_of_tenants_stay_under_the_key_rate_of_their_workspace() {
    let f = Access::start().await;
    assert_eq!(f.create(&wanted(150)).await.status, 201);
    let over = f.create(&wanted(51)).await;
    let refusal = |limit: &str, of: u32| {
        let extra = json!({"limit": limit, "of": of});
        json!({"title": "Limit Reached", "status": 422, "code": "SERVICE_SETTING_1201", "extra": extra})
    };
    assert_eq!(over.json, refusal("keyRate", 200));
    assert_eq!(f.create(&wanted(50)).await.status, 201);
    f.allow(201).await;
    assert_eq!(f.create(&wanted(2)).await.json, refusal("keyRate", 201));
    let key = f.create(&wanted(1)).await.json["id"].as_str().unwrap().to_owned();
    f.send(f.world.event("access-revoke.json").path("keyId", &key)).await;
    assert_eq!(f.create(&wanted(1)).await.status, 201, "a revoked key makes room");
    f.allow(10_000).await;
    for _ in f.made().await.iter().filter(|key| key.revoked_at.is_none()).count()..100 {
        // The caller's own limit is not the matter here.
        f.world.db.clock().advance(Duration::from_secs(1));
        assert_eq!(f.create(&wanted(1)).await.status, 201);
    }
    assert_eq!(f.create(&wanted(1)).await.json, refusal("apiKeys", 100));
}

#[tokio::test]
async fn of_sixteen_requests_at_the_same_time_no_more_than_fit_make_a_key() {
    let f = Access::start().await;
    let answers = join_all((0..16).map(|_| async { f.create(&wanted(60)).await.status })).await;
    // On a busy machine, a loser may give up before it is judged again.
    assert!(answers.iter().all(|status| [201, 422, 503].contains(status)), "{answers:?}");
    let made = answers.iter().filter(|status| **status == 201).count();
    assert!((1..=3).contains(&made), "{answers:?}");
    let rates: u32 = f.made().await.iter().map(|key| key.rate.per_second).sum();
    assert_eq!(rates, 60 * u32::try_from(made).unwrap());
}

#[tokio::test]
async fn a_repeat_under_an_idempotency_key_gets_null_for_the_secret_value() {
    let f = Access::start().await;
    let send = async |body: Value| f.send(f.world.event("access-create.json").body(&body)).await;
    let first = send(wanted(1)).await;
    let again = send(wanted(1)).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    let mut expected = first.json.clone();
    assert!(expected["apiKey"].take().is_string());
    assert_eq!(again.json, expected);
    assert_eq!(f.made().await.len(), 1);
    let other = send(wanted(2)).await;
    assert_eq!((other.status, other.json["code"].as_str()), (422, Some("SERVICE_CORE_0423")));
    let token = first.json["apiKey"].as_str().unwrap();
    let rows = f.world.db.rows(Table::ApiKeys);
    assert!(rows.iter().all(|row| !row.to_string().contains(token)));
    // At the same time, too.
    let event = || f.world.event("access-create.json").header("idempotency-key", "at once").body(&wanted(1));
    let both = [f.send(event()), f.send(event())];
    let both = join_all(both).await;
    let secrets = both.iter().filter(|answer| answer.json["apiKey"].is_string()).count();
    assert_eq!((both[0].json["id"].clone(), secrets), (both[1].json["id"].clone(), 1));
    f.world.db.clock().advance(Duration::from_secs(24 * 3600 + 1));
    assert!(send(wanted(1)).await.json["apiKey"].is_string(), "an answer is kept for a day");
}

#[tokio::test]
async fn a_creation_takes_three_round_trips_and_is_whole_after_a_death_at_any_call() {
    let f = Access::start().await;
    f.create(&wanted(1)).await;
    f.world.db.forget_calls();
    assert_eq!(f.create(&wanted(1)).await.status, 201);
    assert_eq!(trips(&f.world.db.calls()), 3);
    for death in [Death::Before, Death::After] {
        for call in 0..4 {
            let before = (f.made().await.len(), f.world.db.rows(Table::Audit).len());
            let (mut dead, body) = (f.world.db.die_after(call, death), wanted(1));
            tokio::select! {
                _ = f.create(&body) => {}
                _ = &mut dead => {}
            }
            f.world.db.revive();
            let after = (f.made().await.len(), f.world.db.rows(Table::Audit).len());
            assert_eq!(after.0 - before.0, after.1 - before.1, "{call} {death:?}");
            let copies = f.world.db.rows_of(Table::ApiKeys, "apiKeyCopy").len();
            assert_eq!(f.world.db.rows_of(Table::ApiKeys, "apiKey").len(), copies, "{call} {death:?}");
        }
    }
    let ids: Vec<KeyId> = f.made().await.iter().map(|key| key.id).collect();
    assert!(ids.len() >= 2);
}
