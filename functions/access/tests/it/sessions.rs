//! Sessions of the portal, and the links that start them.

use std::time::Duration;

use domain::{ApiKeyToken, AuditFilter, Author, KeyId, KeyKind, SelfService};
use futures::future::join_all;
use harness::{Answer, Death};
use serde_json::{Value, json};
use store::{SessionStart, Table};

use crate::Access;
use crate::self_service::{FORBIDDEN, switch};

impl Access {
    /// A request of a caller with this key.
    async fn by(&self, key: &str, file: &str) -> Answer {
        self.send(self.world.event(file).header("x-api-key", key)).await
    }

    async fn start_by(&self, key: &str, body: &Value) -> Answer {
        self.send(self.world.event("access-start-session.json").header("x-api-key", key).body(body)).await
    }

    /// A session that this key or link starts.
    async fn session_of(&self, key: &str) -> String {
        let answer = self.start_by(key, &json!({})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json["apiKey"].as_str().unwrap().to_owned()
    }

    async fn link(&self, key: &str, body: &Value) -> Answer {
        self.send(self.world.event("access-portal-link.json").header("x-api-key", key).body(body)).await
    }

    /// The token of a link that this key makes.
    async fn link_of(&self, key: &str, role: &str) -> String {
        let answer = self.link(key, &json!({ "role": role })).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        token_of(&answer)
    }

    async fn end(&self, key: &str, session: &str) -> u16 {
        let event = self.world.event("access-revoke-session.json").header("x-api-key", key);
        self.send(event.path("sessionId", session)).await.status
    }

    fn later(&self, seconds: u64) {
        self.world.db.clock().advance(Duration::from_secs(seconds));
    }

    async fn actions(&self) -> Vec<&'static str> {
        let store = self.world.db.store();
        let log = store.audit_log(self.world.workspace, &AuditFilter::default(), 100, None).await.unwrap();
        log.items.iter().map(|entry| entry.action.as_str()).collect()
    }
}

fn token_of(link: &Answer) -> String {
    let url = link.json["url"].as_str().unwrap();
    url.rsplit('/').find(|part| part.starts_with("msk_")).unwrap().to_owned()
}

fn is_forbidden(answer: &Answer) {
    assert_eq!((answer.status, answer.text.as_str()), (403, FORBIDDEN));
}

#[tokio::test]
async fn a_link_starts_a_session_with_its_role_once() {
    let f = Access::start().await;
    let body = json!({
        "role": "VIEWER", "subject": "ana@example.com", "linkSeconds": 60, "sessionSeconds": 300, "confirm": true,
        "returnUrl": "https://app.example.com/settings",
    });
    f.later(1);
    let link = f.link(&f.world.key, &body).await;
    assert_eq!(link.status, 201, "{}", link.text);
    let token = token_of(&link);
    let workspace = f.world.workspace;
    let url = format!("https://api.example.com/live/portal/index.html#/sign-in/{workspace}/{token}/confirm");
    assert_eq!(link.json["url"], json!(url));
    let viewer = json!([
        "settings:read",
        "users:read",
        "templates:read",
        "webhooks:read",
        "deliveries:read",
        "usage:read"
    ]);
    assert_eq!((&link.json["role"], &link.json["scopes"]), (&json!("VIEWER"), &viewer));
    assert_eq!(link.json["expiresAt"], "2026-01-02T03:05:06.678Z");

    f.later(58);
    let started = f.start_by(&token, &json!({})).await;
    assert_eq!(started.status, 201, "{}", started.text);
    let own = f.by(&f.world.key, "access-session.json").await.json;
    let session = &started.json["session"];
    let id = session["id"].as_str().unwrap();
    assert_eq!(
        *session,
        json!({
            "id": id, "role": "VIEWER", "subject": "ana@example.com", "scopes": viewer,
            "createdBy": {"type": "KEY", "id": own["keyId"], "subject": null},
            "createdAt": "2026-01-02T03:05:04.678Z", "expiresAt": "2026-01-02T03:10:04.678Z", "revokedAt": null,
        })
    );
    let key = started.json["apiKey"].as_str().unwrap();
    assert_eq!(
        f.by(key, "access-session.json").await.json,
        json!({
            "keyId": id, "kind": "SESSION", "role": "VIEWER", "subject": "ana@example.com", "scopes": viewer,
            "expiresAt": "2026-01-02T03:10:04.678Z", "returnUrl": "https://app.example.com/settings",
            "workspace": {"id": workspace.to_string(), "name": own["workspace"]["name"]},
        })
    );
    is_forbidden(&f.start_by(&token, &json!({})).await);
    is_forbidden(&f.by(&token, "access-session.json").await);
    is_forbidden(&f.by(key, "access-sessions.json").await);
    assert_eq!(f.actions().await[..2], ["session.create", "portal_link.create"]);
    f.later(300);
    is_forbidden(&f.by(key, "access-session.json").await);
}

#[tokio::test]
async fn one_of_many_exchanges_of_a_link_succeeds() {
    let f = Access::start().await;
    let token = f.link_of(&f.world.key, "ADMIN").await;
    let nothing = json!({});
    let answers = join_all((0..20).map(|_| f.start_by(&token, &nothing))).await;
    assert_eq!(Answer::statuses(&answers), [&[201][..], &[403; 19]].concat());
    assert_eq!(
        f.by(&f.world.key, "access-sessions.json").await.json["sessions"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_link_that_is_late_or_whose_maker_is_gone_starts_nothing() {
    let f = Access::start().await;
    let late = f.link(&f.world.key, &json!({"role": "VIEWER", "linkSeconds": 60})).await;
    let by_session = f.session_of(&f.world.key).await;
    let orphan = f.link_of(&by_session, "VIEWER").await;
    assert_eq!(f.by(&by_session, "access-end-session.json").await.status, 204);
    is_forbidden(&f.start_by(&orphan, &json!({})).await);
    f.later(60);
    is_forbidden(&f.start_by(&token_of(&late), &json!({})).await);

    let maker = f.world.key_with(f.world.workspace, &["*"], |_| ()).await;
    let id = f.by(&maker, "access-session.json").await.json["keyId"].as_str().unwrap().to_owned();
    let link = f.link_of(&maker, "DEVELOPER").await;
    assert_eq!(f.send(f.of_key("access-revoke.json", KeyId::parse(&id).unwrap())).await.status, 204);
    is_forbidden(&f.start_by(&link, &json!({})).await);
    assert_eq!(f.actions().await.iter().filter(|action| **action == "session.create").count(), 1);
}

#[tokio::test]
async fn a_key_starts_sessions_with_its_scopes_by_name_and_sessions_start_none() {
    let f = Access::start().await;
    let key = f.world.key_with(f.world.workspace, &["users:read", "portal:write"], |_| ()).await;
    let started = f.start_by(&key, &json!({"seconds": 300})).await.json;
    assert_eq!(started["session"]["scopes"], json!(["users:read", "portal:write"]));
    assert_eq!((&started["session"]["role"], &started["session"]["subject"]), (&json!(null), &json!(null)));
    assert_eq!(started["session"]["expiresAt"], "2026-01-02T03:09:05.678Z");
    is_forbidden(&f.start_by(started["apiKey"].as_str().unwrap(), &json!({})).await);
    let of_all = f.session_of(&f.world.key).await;
    let scopes = f.by(&of_all, "access-session.json").await.json["scopes"].clone();
    assert!(scopes.as_array().unwrap().len() > 10 && !scopes.to_string().contains('*'));
    is_forbidden(&f.by(&f.world.key, "access-end-session.json").await);
}

#[tokio::test]
async fn a_link_gives_at_most_what_its_maker_holds() {
    let f = Access::start().await;
    let key =
        f.world.key_with(f.world.workspace, &["portal:write", "settings:read", "users:read"], |_| ()).await;
    let refused = f.link(&key, &json!({"role": "VIEWER"})).await;
    assert_eq!((refused.status, &refused.json["code"]), (422, &json!("SERVICE_KEY_1101")));
    assert_eq!(
        refused.json["extra"],
        json!({"scopes": ["templates:read", "webhooks:read", "deliveries:read", "usage:read"]})
    );
    let admin = f.session_of(&f.link_of(&f.world.key, "ADMIN").await).await;
    let colleague = f.session_of(&f.link_of(&admin, "ADMIN").await).await;
    let own = f.by(&colleague, "access-session.json").await.json;
    assert_eq!((&own["role"], own["scopes"].to_string().contains("erase")), (&json!("ADMIN"), false));
}

#[tokio::test]
async fn the_requests_of_sessions_count_for_the_key_that_they_began_with() {
    let f = Access::start().await;
    let limit = domain::access::api_key::RateLimit::new(1, 4).unwrap();
    let key = f.world.key_with(f.world.workspace, &["*"], |key| key.rate = limit).await;
    let session = f.session_of(&f.link_of(&key, "VIEWER").await).await;
    let mut statuses = vec![];
    for caller in [&session, &key, &session] {
        statuses.push(f.by(caller, "access-session.json").await.status);
    }
    assert_eq!(statuses, [200, 200, 429], "two requests made the session");
}

#[tokio::test]
async fn a_session_ends_by_its_user_by_an_admin_and_with_its_key() {
    let f = Access::start().await;
    let maker = f.world.key_with(f.world.workspace, &["*"], |_| ()).await;
    let maker_id = f.by(&maker, "access-session.json").await.json["keyId"].as_str().unwrap().to_owned();
    let [own, ended, left] =
        [f.session_of(&maker).await, f.session_of(&maker).await, f.session_of(&maker).await];
    let by_link = f.session_of(&f.link_of(&left, "VIEWER").await).await;
    let others = f.session_of(&f.world.key).await;
    let id_of =
        async |key: &str| f.by(key, "access-session.json").await.json["keyId"].as_str().unwrap().to_owned();
    let id = id_of(&ended).await;
    assert_eq!(f.by(&own, "access-end-session.json").await.status, 204);
    assert_eq!(f.end(&f.world.key, &id).await, 204);
    let before = f.world.db.rows(Table::ApiKeys);
    assert_eq!(f.end(&f.world.key, &id).await, 204, "a repeat");
    assert_eq!(f.world.db.rows(Table::ApiKeys), before);
    assert_eq!(f.end(&f.world.key, "5d7f9b1c-8a2c-4e6f-9d0b-1e3a5c7d9f2b").await, 404);
    assert_eq!(f.end(&f.world.key, &maker_id).await, 404, "a key is no session");

    assert_eq!(f.send(f.of_key("access-revoke.json", KeyId::parse(&maker_id).unwrap())).await.status, 204);
    f.later(30);
    for gone in [&own, &ended, &left, &by_link] {
        is_forbidden(&f.by(gone, "access-session.json").await);
    }
    assert_eq!(f.by(&others, "access-session.json").await.status, 200);
    let listed = f.by(&f.world.key, "access-sessions.json").await.json;
    let revoked =
        listed["sessions"].as_array().unwrap().iter().filter(|session| !session["revokedAt"].is_null());
    assert_eq!(revoked.count(), 4);
    assert_eq!(f.actions().await.iter().filter(|action| **action == "session.revoke").count(), 4);
}

#[tokio::test]
async fn a_revoked_key_starts_no_session_while_a_function_remembers_it() {
    let f = Access::start().await;
    let maker = f.world.key_with(f.world.workspace, &["*"], |_| ()).await;
    let id = f.by(&maker, "access-session.json").await.json["keyId"].as_str().unwrap().to_owned();
    let link = f.link_of(&f.session_of(&maker).await, "VIEWER").await;
    assert_eq!(f.send(f.of_key("access-revoke.json", KeyId::parse(&id).unwrap())).await.status, 204);
    let before = f.world.db.rows(Table::ApiKeys);
    assert_eq!(f.by(&maker, "access-session.json").await.status, 200, "the function remembers the key");
    is_forbidden(&f.start_by(&maker, &json!({})).await);
    is_forbidden(&f.start_by(&link, &json!({})).await);
    assert_eq!(f.world.db.rows(Table::ApiKeys), before);
}

/// The makers of a link are read before the session is stored: a maker or the root can be revoked in between.
#[tokio::test]
async fn a_session_is_not_stored_if_a_key_behind_it_is_revoked_meanwhile() {
    for is_root_revoked in [false, true] {
        let f = Access::start().await;
        let maker = f.session_of(&f.world.key).await;
        let token = f.link_of(&maker, "VIEWER").await;
        let (store, hash) = (f.world.db.store(), ApiKeyToken::parse(&token).unwrap().sha256_hex());
        let link = store.api_key(&hash).await.unwrap().unwrap();
        let KeyKind::Link(what) = &link.kind else { panic!("a link is expected") };
        let makers = store.makers(&link).await.unwrap();
        let session = link.linked_session(what, &makers, KeyId::generate(store.ids()), store.now()).unwrap();
        let by = Author { actor: session.actor(), request_id: None };
        if is_root_revoked {
            store.revoke_api_key(link.workspace_id, link.bucket, &by).await.unwrap();
        } else {
            assert_eq!(f.by(&maker, "access-end-session.json").await.status, 204);
        }
        let by_link = Some((hash.as_str(), &link));
        let started = store.start_session(("hash", &session), by_link, &by).await.unwrap();
        assert_eq!(started, SessionStart::MakerRevoked);
        assert!(store.api_key("hash").await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_revocation_that_dies_while_it_ends_sessions_is_finished_by_its_repeat() {
    for death in [Death::Before, Death::After] {
        for call in 0..7 {
            let f = Access::start().await;
            let maker = f.world.key_with(f.world.workspace, &["*"], |_| ()).await;
            let id = f.by(&maker, "access-session.json").await.json["keyId"].as_str().unwrap().to_owned();
            let sessions = [f.session_of(&maker).await, f.session_of(&maker).await];
            let event = || f.of_key("access-revoke.json", KeyId::parse(&id).unwrap());
            let mut dead = f.world.db.die_after(call, death);
            tokio::select! {
                _ = f.send(event()) => {}
                _ = &mut dead => {}
            }
            f.world.db.revive();
            assert_eq!(f.send(event()).await.status, 204);
            f.later(30);
            for session in &sessions {
                is_forbidden(&f.by(session, "access-session.json").await);
            }
        }
    }
}

#[tokio::test]
async fn without_self_service_links_and_sessions_are_refused() {
    let f = Access::start().await;
    let link = f.link_of(&f.world.key, "VIEWER").await;
    let session = f.session_of(&f.world.key).await;
    switch(&f, SelfService::Off).await;
    f.later(30);
    is_forbidden(&f.start_by(&link, &json!({})).await);
    is_forbidden(&f.by(&session, "access-session.json").await);
    is_forbidden(&f.link(&f.world.key, &json!({"role": "VIEWER"})).await);
    assert_eq!(f.by(&f.world.key, "access-session.json").await.status, 200, "a program's key stays");
}

#[tokio::test]
async fn bad_requests_name_each_field() {
    let f = Access::start().await;
    let body = json!({
        "role": "OWNER", "subject": " ", "linkSeconds": 59, "sessionSeconds": 86_401, "confirm": "yes",
        "returnUrl": "http://example.com", "minutes": 5,
    });
    let link = f.link(&f.world.key, &body).await;
    assert_eq!(link.status, 422);
    let of = |answer: &Answer| -> Vec<String> {
        let details = answer.json["detail"].as_array().unwrap().clone();
        let mut named: Vec<String> =
            details.iter().map(|at| at["loc"][1].as_str().unwrap().to_owned()).collect();
        named.sort();
        named
    };
    let all = ["confirm", "linkSeconds", "minutes", "returnUrl", "role", "sessionSeconds", "subject"];
    assert_eq!(of(&link), all);
    assert_eq!(
        of(&f.start_by(&f.world.key, &json!({"seconds": 299, "role": "ADMIN"})).await),
        ["role", "seconds"]
    );
    let token = f.link_of(&f.world.key, "VIEWER").await;
    assert_eq!(of(&f.start_by(&token, &json!({"seconds": 300})).await), ["seconds"]);
    assert_eq!(f.start_by(&token, &json!({})).await.status, 201, "a refused request spends no link");
}

#[tokio::test]
async fn the_secret_values_of_links_and_sessions_are_stored_nowhere() {
    let f = Access::start().await;
    let link = f.link_of(&f.world.key, "ADMIN").await;
    let session = f.session_of(&link).await;
    let rows: Vec<_> = Table::ALL.into_iter().flat_map(|table| f.world.db.rows(table)).collect();
    for token in [&link, &session] {
        assert!(rows.iter().all(|row| !row.to_string().contains(token.as_str())));
        let hash = ApiKeyToken::parse(token).unwrap().sha256_hex();
        assert!(rows.iter().any(|row| row["pk"]["S"] == hash.as_str()));
    }
    let listed = f.by(&f.world.key, "access-sessions.json").await;
    assert!(
        !listed.text.contains("msk_")
            && !listed.text.contains(&ApiKeyToken::parse(&session).unwrap().sha256_hex())
    );
    let keys = f.send(f.world.event("access-list.json")).await.json;
    assert_eq!(keys["apiKeys"].as_array().unwrap().len(), 1, "links and sessions are no keys of programs");
}

#[tokio::test]
async fn each_request_takes_the_round_trips_and_units_of_the_design() {
    let f = Access::start().await;
    f.by(&f.world.key, "access-session.json").await;
    let counted = || f.world.db.spent();
    f.world.db.forget_calls();
    let link = f.link_of(&f.world.key, "VIEWER").await;
    let made = counted();
    let session = f.session_of(&link).await;
    let exchanged = counted();
    f.session_of(&f.world.key).await;
    let started = counted();
    f.by(&session, "access-end-session.json").await;
    let ended = counted();
    // One unit and the first trip are the limiter's. A link or a session is authenticated in one trip more.
    assert_eq!([made, exchanged, started, ended], [(2, 5.0), (3, 11.0), (2, 9.0), (3, 7.0)]);
}
