//! Links to the portal and its sessions.

use domain::{ApiKeyToken, AuditAction, AuditFilter, KeyId, KeyKind, Role, Scopes, WorkspaceId};
use serde_json::json;
use store::SessionStart;

use crate::Desk;

const API: &str = "https://api.example.com/live";

async fn link(desk: &Desk, workspace: &str, more: &[&str]) -> serde_json::Value {
    let command = ["portal", "link", "--workspace", workspace, "--role", "ADMIN", "--api-url", API];
    desk.json(&[&command, more].concat()).await
}

/// A session that a link of the operator started.
async fn session(desk: &Desk, workspace: &str) -> KeyId {
    let made = link(desk, workspace, &["--subject", "ana@example.com"]).await;
    let url = made["url"].as_str().unwrap();
    let token = url.strip_suffix("/confirm").unwrap().rsplit('/').next().unwrap();
    let store = desk.db.store();
    let sha256_hex = ApiKeyToken::parse(token).unwrap().sha256_hex();
    let stored = store.api_key(&sha256_hex).await.unwrap().unwrap();
    let KeyKind::Link(what) = &stored.kind else { panic!("a link is expected") };
    let makers = store.makers(&stored).await.unwrap();
    let id = KeyId::generate(store.ids());
    let session = stored.linked_session(what, &makers, id, store.now()).unwrap();
    let by = domain::Author { actor: session.actor(), request_id: None };
    let hash = format!("{:0>64}", id.to_string());
    let link = Some((sha256_hex.as_str(), &stored));
    assert_eq!(store.start_session((&hash, &session), link, &by).await.unwrap(), SessionStart::Done);
    assert_eq!(store.start_session(("other", &session), link, &by).await.unwrap(), SessionStart::LinkUsed);
    id
}

#[tokio::test]
async fn an_operator_makes_a_link_that_the_person_confirms() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = link(&desk, &workspace, &[]).await;
    let url = made["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&format!("{API}/portal/index.html#/sign-in/{workspace}/msk_")), "{url}");
    assert!(url.ends_with("/confirm"), "{url}");
    assert_eq!((&made["role"], &made["expiresAt"]), (&json!("ADMIN"), &json!("2026-01-02T03:14:05.678Z")));
    let rows = desk.db.rows(store::Table::ApiKeys);
    assert!(rows.iter().all(|row| !row.to_string().contains("msk_")));
    assert_eq!(rows[0]["scopes"]["L"].as_array().unwrap().len(), Scopes::all_by_name().names().len());
    for (valid, is_made) in [("59s", false), ("24h", true), ("25h", false), ("2020-01-01", false)] {
        let command = ["portal", "link", "--workspace", &workspace, "--role", "VIEWER", "--api-url", API];
        let ran = desk.run(&[&command[..], &["--valid", valid]].concat()).await;
        assert_eq!(ran.status == 0, is_made, "{valid}: {ran:?}");
    }
    assert_eq!(Role::NAMES, ["VIEWER", "DEVELOPER", "ADMIN"]);
}

#[tokio::test]
async fn sessions_are_listed_and_signed_out_one_by_one_or_all() {
    let (desk, workspace) = Desk::with_workspace().await;
    let [first, second] = [session(&desk, &workspace).await, session(&desk, &workspace).await];
    let listed = desk.json(&["portal", "sessions", "--workspace", &workspace]).await;
    let seen = listed.as_array().unwrap().iter().find(|seen| seen["sessionId"] == first.to_string()).unwrap();
    assert_eq!((&seen["role"], &seen["subject"]), (&json!("ADMIN"), &json!("ana@example.com")));
    assert_eq!((&seen["createdBy"]["type"], &seen["revokedAt"]), (&json!("OPERATOR"), &json!(null)));
    let (sign_out, first) = (["portal", "sign-out", "--workspace", &workspace], first.to_string());
    let one = [&sign_out[..], &["--session", &first]].concat();
    assert_eq!(desk.json(&one).await, json!({"ended": 1}));
    assert_eq!(desk.json(&one).await, json!({"ended": 0}), "a repeat");
    let all = [&sign_out[..], &["--all"]].concat();
    assert_eq!(desk.json(&all).await, json!({"ended": 1}));
    let left = desk.db.store().sessions(WorkspaceId::parse(&workspace).unwrap()).await.unwrap();
    assert!(
        left.iter().all(|session| session.revoked_at.is_some()) && left.iter().any(|left| left.id == second)
    );
    let unknown = [&sign_out[..], &["--session", "5d7f9b1c-8a2c-4e6f-9d0b-1e3a5c7d9f2b"]].concat();
    assert_eq!(
        desk.refused(&unknown).await,
        "The workspace has no session 5d7f9b1c-8a2c-4e6f-9d0b-1e3a5c7d9f2b."
    );
}

#[tokio::test]
async fn a_revoked_key_takes_its_sessions_along() {
    let (desk, workspace) = Desk::with_workspace().await;
    let key = desk.json(&["key", "create", "--workspace", &workspace, "--name", "crm", "--scope", "*"]).await;
    let key = key["keyId"].as_str().unwrap();
    let (store, id) = (desk.db.store(), WorkspaceId::parse(&workspace).unwrap());
    let listed = store.listed_key(id, KeyId::parse(key).unwrap()).await.unwrap().unwrap();
    let session = listed.key.session(KeyId::generate(store.ids()), 300, store.now());
    let by = domain::Author { actor: listed.key.actor(), request_id: None };
    assert_eq!(store.start_session(("hash", &session), None, &by).await.unwrap(), SessionStart::Done);
    desk.json(&["key", "revoke", "--workspace", &workspace, "--key", key]).await;
    assert!(store.sessions(id).await.unwrap()[0].revoked_at.is_some());
    let only = AuditFilter { action: Some(AuditAction::SessionRevoke), ..AuditFilter::default() };
    let log = store.audit_log(id, &only, 10, None).await.unwrap();
    assert_eq!((log.items.len(), log.items[0].author.actor.kind()), (1, "OPERATOR"));
}
