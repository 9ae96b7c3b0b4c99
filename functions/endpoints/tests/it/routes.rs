//! The function's table of routes is that of the template and of openapi.yaml, and each route needs its scope.

use std::time::Duration;

use domain::{EndpointId, Scopes, SelfService};
use endpoints::ROUTES;
use harness::{assert_described, assert_routed};

use crate::{Endpoints, code};

const FILES: [&str; 9] =
    ["list", "create", "get", "update", "delete", "enable", "disable", "rotate-secret", "activate-secret"];

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    assert_described(&local::reference::as_json(), &ROUTES);
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    assert_routed(include_str!("../../../../template.yaml"), "Endpoints", &ROUTES);
}

#[tokio::test]
async fn the_event_files_are_answered_and_other_methods_have_no_route() {
    let f = Endpoints::start().await;
    for file in FILES {
        let event = f.world.event(&format!("endpoints-{file}.json"));
        let expected = match file {
            "list" => 200,
            "create" => 201,
            _ => 404,
        };
        assert_eq!(f.send(event.clone()).await.status, expected, "{file}");
        assert_eq!(code(&f.send(event.method("PUT")).await), (404, "SERVICE_CORE_0404"), "{file}");
    }
}

#[tokio::test]
async fn each_route_needs_its_scope_and_self_service() {
    let f = Endpoints::start().await;
    let id = EndpointId::generate(f.world.db.store().ids());
    let mut keys = vec![];
    for scope in ["webhooks:read", "webhooks:write", "settings:read", "*"] {
        keys.push((scope, f.world.key_with(f.world.workspace, &[scope], |_| ()).await));
    }
    for (file, (_, _, needed)) in FILES.iter().zip(ROUTES) {
        for (scope, key) in &keys {
            let event = f.of(file, id).header("x-api-key", key);
            let may = Scopes::parse([*scope]).unwrap().allow(needed);
            assert_eq!(f.send(event).await.status == 403, !may, "{file} {scope}");
        }
    }
    f.world.change_workspace(|workspace| workspace.with_self_service(SelfService::Off)).await;
    f.world.db.clock().advance(Duration::from_secs(30));
    for file in FILES {
        assert_eq!(code(&f.send(f.of(file, id)).await), (403, "SERVICE_CORE_0301"), "{file}");
    }
}

#[tokio::test]
async fn a_foreign_and_an_unknown_endpoint_get_the_same_answer_byte_for_byte() {
    let f = Endpoints::start().await;
    let mine = f.endpoint().await.id;
    let (other, token) = f.world.second_workspace().await;
    let from_there = async |file: &str, id| {
        f.world.db.clock().advance(Duration::from_secs(1));
        f.send(f.of(file, id).path("workspaceId", other).header("x-api-key", &token)).await
    };
    for file in &FILES[2..] {
        let unknown = from_there(file, EndpointId::generate(f.world.db.store().ids())).await;
        assert_eq!(from_there(file, mine).await, unknown, "{file}");
        let text = r#"{"title":"Webhook Resource Not Found","status":404,"code":"SERVICE_WEBHOOK_0404"}"#;
        assert_eq!(unknown.text, text, "{file}");
    }
    assert!(f.stored(mine).await.is_enabled());
}

#[tokio::test]
async fn an_invalid_id_and_a_query_are_refused_together() {
    let f = Endpoints::start().await;
    for file in &FILES[2..] {
        let event = f.world.event(&format!("endpoints-{file}.json"));
        let answer = f.send(event.path("endpointId", "mine").query(&[("fields", "id")])).await;
        let failed: Vec<String> = answer.failures().into_iter().map(|(place, _)| place).collect();
        assert_eq!((answer.status, failed.len()), (422, 2), "{file} {failed:?}");
    }
}
