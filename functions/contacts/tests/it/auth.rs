//! Authentication and rate limits. A refused caller learns nothing from the answer.

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{Actor, Author, KeyId, WorkspaceId};
use harness::{Answer, Fault, GatewayEvent, TestClock, World};

use crate::Contacts;

const FORBIDDEN: &str = r#"{"title":"Forbidden","status":403,"code":"SERVICE_CORE_0301"}"#;

fn list(world: &World) -> GatewayEvent {
    world.event("contacts-list.json").query(&[]).request_id("r")
}

#[tokio::test]
async fn every_refused_key_gets_the_same_answer_byte_for_byte() {
    let f = Contacts::start().await;
    let w = &f.world;
    let now = w.db.store().now();
    let (_, foreign) = w.second_workspace().await;
    let expired = w.key_with(w.workspace, &["*"], |key| key.expires_at = Some(now)).await;
    let revoked = w.key_with(w.workspace, &["*"], |key| key.revoked_at = Some(now)).await;
    let scopeless = w.key_with(w.workspace, &["users:read"], |_| ()).await;
    let unknown = domain::ApiKeyToken::from_entropy([99; 8]);
    let rows = [
        ("missing", list(w).without_header("x-api-key")),
        ("empty", list(w).header("x-api-key", "")),
        ("malformed", list(w).header("x-api-key", "msk_nonsense")),
        ("unknown", list(w).header("x-api-key", unknown.expose())),
        ("of another workspace", list(w).header("x-api-key", &foreign)),
        ("expired", list(w).header("x-api-key", &expired)),
        ("revoked", list(w).header("x-api-key", &revoked)),
        ("without the scope", list(w).header("x-api-key", &scopeless)),
        ("for an unknown workspace", list(w).path("workspaceId", WorkspaceId::generate(w.db.store().ids()))),
        ("for a workspace that is no id", list(w).path("workspaceId", "x")),
        ("with a wrong query", list(w).header("x-api-key", &foreign).query(&[("pageSize", "0")])),
    ];
    let first = f.send(rows[0].1.clone()).await;
    assert_eq!((first.status, first.text.as_str()), (403, FORBIDDEN));
    for (what, event) in rows {
        assert_eq!(f.send(event).await, first, "{what}");
    }
    assert_eq!(f.send(list(w)).await.status, 200);
}

#[tokio::test]
async fn a_read_scope_does_not_allow_writes() {
    let f = Contacts::start().await;
    let reading = f.world.key_with(f.world.workspace, &["contacts:read"], |_| ()).await;
    assert_eq!(f.send(list(&f.world).header("x-api-key", &reading)).await.status, 200);
    let patch = f.world.event("contacts-update.json").header("x-api-key", &reading);
    assert_eq!(f.send(patch).await.status, 403);
}

#[tokio::test]
async fn a_mistyped_key_causes_no_database_read() {
    let f = Contacts::start().await;
    f.world.db.forget_calls();
    let mut mistyped = f.world.key.clone();
    mistyped.replace_range(10..11, "!");
    f.send(list(&f.world).header("x-api-key", &mistyped)).await;
    assert_eq!(f.world.db.sorted_operations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_key_of_a_disabled_workspace_gets_the_answer_of_an_unknown_key_within_thirty_seconds() {
    let f = Contacts::start().await;
    let w = &f.world;
    let second = w.key_with(w.workspace, &["*"], |_| ()).await;
    let unknown = domain::ApiKeyToken::from_entropy([99; 8]);
    let refused = f.send(list(w).header("x-api-key", unknown.expose())).await;
    let send = || f.send(list(w));
    assert_eq!(send().await.status, 200);
    w.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    w.db.clock().advance(Duration::from_millis(29_999));
    assert_eq!(send().await.status, 200, "the state is in memory");
    w.db.clock().advance(Duration::from_millis(1));
    assert_eq!(send().await, refused);
    assert_eq!(f.send(list(w).header("x-api-key", &second)).await, refused);
    w.change_workspace(|workspace| workspace.enabled()).await;
    w.db.clock().advance(Duration::from_secs(30));
    assert_eq!(send().await.status, 200);
}

#[tokio::test]
async fn key_and_workspace_are_read_in_one_round_trip_and_remembered() {
    let f = Contacts::start().await;
    let w = &f.world;
    let key = w.key_with(w.workspace, &["users:read"], |_| ()).await;
    let send = |event: GatewayEvent| f.send(event.header("x-api-key", &key));
    w.db.forget_calls();
    assert_eq!(send(list(w)).await.status, 403, "the key has no scope, so nothing else is read");
    assert_eq!(w.db.sorted_operations(), ["BatchGetItem api-keys+workspaces"]);
    w.db.forget_calls();
    send(list(w)).await;
    let elsewhere = WorkspaceId::generate(w.db.store().ids());
    send(list(w).path("workspaceId", elsewhere)).await;
    assert_eq!(
        w.db.sorted_operations(),
        Vec::<String>::new(),
        "a key of another workspace needs no read of the workspace"
    );
}

#[tokio::test]
async fn a_revoked_key_stays_valid_for_at_most_thirty_seconds() {
    let f = Contacts::start().await;
    let w = &f.world;
    let id = KeyId::generate(w.db.store().ids());
    let key = w.key_with(w.workspace, &["*"], |key| key.id = id).await;
    let send = || f.send(list(w).header("x-api-key", &key));
    assert_eq!(send().await.status, 200);
    let by = Author { actor: Actor::Operator("test".to_owned()), request_id: None };
    w.db.store().revoke_api_key(w.workspace, id, &by).await.unwrap();
    w.db.clock().advance(Duration::from_millis(29_999));
    assert_eq!(send().await.status, 200);
    w.db.clock().advance(Duration::from_millis(1));
    assert_eq!(send().await.status, 403);
}

#[tokio::test]
async fn an_unknown_key_is_cached_for_five_seconds() {
    let f = Contacts::start().await;
    let unknown = domain::ApiKeyToken::from_entropy([99; 8]);
    let send = || f.send(list(&f.world).header("x-api-key", unknown.expose()));
    f.world.db.forget_calls();
    send().await;
    send().await;
    assert_eq!(f.world.db.sorted_operations(), ["BatchGetItem api-keys+workspaces"]);
    f.world.db.clock().advance(Duration::from_secs(5));
    send().await;
    assert_eq!(f.world.db.sorted_operations(), ["BatchGetItem api-keys+workspaces"; 2]);
}

#[tokio::test]
async fn requests_over_the_rate_limit_get_429_with_retry_after() {
    let f = Contacts::start().await;
    let w = &f.world;
    let slow = RateLimit { per_second: 1, burst: 2 };
    let key = w.key_with(w.workspace, &["*"], |key| key.rate = slow).await;
    let send = || f.send(list(w).header("x-api-key", &key));
    assert_eq!([send().await.status, send().await.status], [200, 200]);
    let refused = send().await;
    assert_eq!(refused.status, 429);
    assert_eq!(
        refused.text,
        r#"{"title":"Too Many Requests","status":429,"code":"SERVICE_RATE_LIMIT_0001"}"#
    );
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.headers["x-request-id"], "r");
    w.db.clock().advance(Duration::from_secs(1));
    assert_eq!(send().await.status, 200);
}

#[tokio::test]
async fn every_answer_to_a_valid_key_says_what_is_left_of_its_rate_limit_and_no_other_does() {
    let f = Contacts::start().await;
    let w = &f.world;
    let key = w.key_with(w.workspace, &["*"], |key| key.rate = RateLimit { per_second: 2, burst: 5 }).await;
    let scopeless = w.key_with(w.workspace, &["users:read"], |_| ()).await;
    let of = |answer: Answer| {
        let header = |name: &str| answer.headers.get(name).cloned().unwrap_or_default();
        (answer.status, header("ratelimit-policy"), header("ratelimit"))
    };
    let list = || list(w).header("x-api-key", &key);
    let unknown = w.event("contacts-get.json").path("contactId", WorkspaceId::generate(w.db.store().ids()));
    let rows = [
        (list(), 200, r#""key";r=4;t=1"#),
        (list().query(&[("pageSize", "0")]), 422, r#""key";r=3;t=1"#),
        (unknown.header("x-api-key", &key), 404, r#""key";r=2;t=2"#),
        (list(), 200, r#""key";r=1;t=2"#),
        (list(), 200, r#""key";r=0;t=3"#),
        (list(), 429, r#""key";r=0;t=1"#),
    ];
    let policy = r#""key";q=5;w=3"#.to_owned();
    for (event, status, left) in rows {
        assert_eq!(of(f.send(event).await), (status, policy.clone(), left.to_owned()));
    }
    w.db.clock().advance(Duration::from_secs(60));
    w.db.fail("Query", Fault::Unreachable, 6);
    assert_eq!(of(f.send(list()).await), (503, policy, r#""key";r=4;t=1"#.to_owned()));
    for event in [list().header("x-api-key", &scopeless), list().without_header("x-api-key")] {
        assert_eq!(of(f.send(event).await), (403, String::new(), String::new()));
    }
}

#[tokio::test]
async fn a_request_over_the_rate_limit_writes_nothing() {
    let f = Contacts::start().await;
    let w = &f.world;
    let contact = w.contact(|_| ()).await;
    let key = w.key_with(w.workspace, &["*"], |key| key.rate = RateLimit { per_second: 1, burst: 1 }).await;
    let patch = |name: &str| {
        w.event("contacts-update.json")
            .header("x-api-key", &key)
            .path("contactId", contact.id)
            .body(&serde_json::json!({ "firstName": name }))
    };
    assert_eq!(f.send(patch("First")).await.status, 200);
    assert_eq!(f.send(patch("Second")).await.status, 429);
    let kept = w.db.store().contact(w.workspace, contact.id).await.unwrap().unwrap();
    assert_eq!(kept.first_name.unwrap().as_str(), "First");
}

#[tokio::test]
async fn an_invalid_request_over_the_rate_limit_gets_429() {
    let f = Contacts::start().await;
    let w = &f.world;
    let key = w.key_with(w.workspace, &["*"], |key| key.rate = RateLimit { per_second: 1, burst: 1 }).await;
    let wrong = list(w).header("x-api-key", &key).query(&[("pageSize", "0")]);
    assert_eq!(f.send(wrong.clone()).await.status, 422);
    assert_eq!(f.send(wrong).await.status, 429);
}

#[tokio::test]
async fn an_unavailable_table_causes_503() {
    let f = Contacts::start().await;
    let busy = r#"{"title":"Service Unavailable","status":503,"code":"SERVICE_CORE_0503"}"#;
    f.world.db.fail("GetItem", Fault::Throttled, 6);
    let answer: Answer = f.send(list(&f.world)).await;
    assert_eq!((answer.status, answer.text.as_str()), (503, busy), "during the key lookup");
    f.send(list(&f.world)).await;
    f.world.db.fail("UpdateItem", Fault::Throttled, 3);
    let answer = f.send(list(&f.world)).await;
    assert_eq!((answer.status, answer.text.as_str()), (503, busy), "in the limiter");
    f.world.db.fail("Query", Fault::Unreachable, 6);
    let answer = f.send(list(&f.world)).await;
    assert_eq!((answer.status, answer.text.as_str()), (503, busy), "in the list");
    assert_eq!(answer.headers["x-request-id"], "r");
}

#[tokio::test]
async fn an_unknown_method_gets_404() {
    let f = Contacts::start().await;
    let answer = f.send(list(&f.world).method("DELETE")).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (404, Some("SERVICE_CORE_0404")));
}

#[tokio::test]
async fn a_request_that_takes_too_long_gets_503_before_the_functions_timeout() {
    let f = Contacts::start().await;
    let api = f.cold().answering_within(Duration::from_millis(1));
    let request = edge::ApiRequest::new(list(&f.world).request());
    let hangs = async |_: &edge::Call<'_>| std::future::pending().await;
    let answer: Answer = api.answer(&request, domain::Scope::ContactsRead, hangs).await.into();
    assert_eq!((answer.status, answer.json["code"].as_str()), (503, Some("SERVICE_CORE_0503")));
    assert_eq!(answer.headers["x-request-id"], "r");
}
