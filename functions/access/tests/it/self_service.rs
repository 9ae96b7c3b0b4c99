//! Scopes, and the switch that takes them from all keys of a workspace.

use std::time::Duration;

use domain::{Actor, Author, KeyId, SelfService};

use crate::Access;

pub(crate) const FORBIDDEN: &str = r#"{"title":"Forbidden","status":403,"code":"SERVICE_CORE_0301"}"#;

pub(crate) async fn switch(f: &Access, to: SelfService) {
    let store = f.world.db.store();
    let seen = store.workspace(f.world.workspace).await.unwrap().unwrap();
    let by = Author { actor: Actor::Operator("test".to_owned()), request_id: None };
    let next = seen.with_self_service(to).unwrap();
    assert!(store.update_workspace(&next, &["selfService"], &by).await.unwrap());
}

#[tokio::test]
async fn each_route_needs_its_scope() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    let rows = [
        ("access-list.json", "keys:read"),
        ("access-get.json", "keys:read"),
        ("access-revoke.json", "keys:write"),
        ("access-audit-log.json", "audit:read"),
    ];
    for (file, needed) in rows {
        for scope in ["keys:read", "keys:write", "audit:read", "settings:read", "contacts:erase", "*"] {
            let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
            let mut event = f.world.event(file).header("x-api-key", &key);
            if !["access-list.json", "access-audit-log.json"].contains(&file) {
                event = event.path("keyId", id);
            }
            let answer = f.send(event).await;
            let may = scope == needed || scope == "*";
            assert_eq!(answer.status == 403, !may, "{file} {scope} {}", answer.status);
        }
    }
}

#[tokio::test]
async fn without_self_service_every_route_is_forbidden_within_thirty_seconds() {
    let f = Access::start().await;
    let id: KeyId = f.another_key("crm").await;
    let events = || {
        [
            f.world.event("access-list.json").request_id("r"),
            f.of_key("access-get.json", id),
            f.of_key("access-revoke.json", id),
            f.world.event("access-audit-log.json").request_id("r"),
        ]
    };
    let [list, ..] = events();
    assert_eq!(f.send(list.clone()).await.status, 200);
    switch(&f, SelfService::Off).await;
    f.world.db.clock().advance(Duration::from_millis(29_999));
    assert_eq!(f.send(list.clone()).await.status, 200, "the workspace is in memory");
    f.world.db.clock().advance(Duration::from_millis(1));
    for event in events() {
        let answer = f.send(event).await;
        assert_eq!((answer.status, answer.text.as_str()), (403, FORBIDDEN));
    }
    let scopeless = f.world.key_with(f.world.workspace, &["users:read"], |_| ()).await;
    let lacking = f.send(list.clone().header("x-api-key", &scopeless)).await;
    assert_eq!(f.send(list.clone()).await, lacking, "both reasons get the same answer");
    switch(&f, SelfService::On).await;
    f.world.db.clock().advance(Duration::from_secs(30));
    assert_eq!(f.send(list).await.status, 200);
}
