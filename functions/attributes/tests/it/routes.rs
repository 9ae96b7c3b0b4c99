//! The function's table of routes is that of the template and of openapi.yaml, and each route needs its scope.

use std::time::Duration;

use attributes::ROUTES;
use domain::{AttributeId, Scopes, SelfService};
use harness::{assert_described, assert_routed};

use crate::{Attributes, code};

const FILES: [&str; 17] = [
    "list",
    "create",
    "get",
    "update",
    "add-value",
    "rename-value",
    "brands",
    "lines",
    "keywords",
    "set-keywords",
    "reset-keywords",
    "capture",
    "update-capture",
    "rotate-capture-key",
    "onboarding",
    "set-onboarding",
    "usage",
];

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    assert_described(&local::reference::as_json(), &ROUTES);
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    assert_routed(include_str!("../../../../template.yaml"), "Attributes", &ROUTES);
}

#[tokio::test]
async fn the_event_files_are_answered_and_other_methods_have_no_route() {
    let f = Attributes::start().await;
    for file in FILES {
        let event = f.world.event(&format!("attributes-{file}.json"));
        let expected = match file {
            "create" => 201,
            "reset-keywords" => 204,
            "get" | "update" | "add-value" | "rename-value" => 404,
            _ => 200,
        };
        assert_eq!(f.send(event.clone()).await.status, expected, "{file}");
        assert_eq!(code(&f.send(event.method("OPTIONS")).await), (404, "SERVICE_CORE_0404"), "{file}");
    }
}

#[tokio::test]
async fn each_route_needs_its_scope_and_changes_need_self_service() {
    let f = Attributes::start().await;
    let mut keys = vec![];
    for scope in ["settings:read", "settings:write", "users:read", "usage:read", "*"] {
        keys.push((scope, f.world.key_with(f.world.workspace, &[scope], |_| ()).await));
    }
    for (file, (_, _, needed)) in FILES.iter().zip(ROUTES) {
        for (scope, key) in &keys {
            let event = f.world.event(&format!("attributes-{file}.json")).header("x-api-key", key);
            let may = Scopes::parse([*scope]).unwrap().allow(needed);
            assert_eq!(f.send(event).await.status == 403, !may, "{file} {scope}");
        }
    }
    f.world.change_workspace(|workspace| workspace.with_self_service(SelfService::Off)).await;
    f.world.db.clock().advance(Duration::from_secs(30));
    for (file, (_, _, needed)) in FILES.iter().zip(ROUTES) {
        let answer = f.send(f.world.event(&format!("attributes-{file}.json"))).await;
        assert_eq!(answer.status == 403, needed.manages(), "{file}");
    }
}

#[tokio::test]
async fn foreign_and_unknown_attributes_get_the_same_answers_byte_for_byte() {
    let f = Attributes::start().await;
    let mine = f.world.closed_attribute("grade", &["a"], |_| ()).await;
    let (other, token) = f.world.second_workspace().await;
    let unknown_id = AttributeId::generate(f.world.db.store().ids());
    for file in ["get", "update", "add-value", "rename-value"] {
        let from_there = async |id: AttributeId| {
            f.world.db.clock().advance(Duration::from_secs(1));
            let event = f.world.event(&format!("attributes-{file}.json")).request_id("r");
            let event = event.path("attributeId", id).path("valueId", mine.closed_values[0].id);
            f.send(event.path("workspaceId", other).header("x-api-key", &token)).await
        };
        let unknown = from_there(unknown_id).await;
        assert_eq!(from_there(mine.id).await, unknown, "{file}");
        let text = r#"{"title":"Setting Not Found","status":404,"code":"SERVICE_SETTING_0404"}"#;
        assert_eq!(unknown.text, text, "{file}");
    }
    assert_eq!(f.definition(mine.id).await, mine);
}
