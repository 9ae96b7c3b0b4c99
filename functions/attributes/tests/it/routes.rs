//! The function's table of routes is that of the template and of openapi.yaml, and each route needs its scope.

use std::time::Duration;

use attributes::ROUTES;
use domain::{Scopes, SelfService};
use harness::{assert_described, assert_routed};

use crate::{Attributes, code};

const FILES: [&str; 5] = ["list", "brands", "lines", "onboarding", "set-onboarding"];

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
        assert_eq!(f.send(event.clone()).await.status, 200, "{file}");
        assert_eq!(code(&f.send(event.method("DELETE")).await), (404, "SERVICE_CORE_0404"), "{file}");
    }
}

#[tokio::test]
async fn each_route_needs_its_scope_and_changes_need_self_service() {
    let f = Attributes::start().await;
    let mut keys = vec![];
    for scope in ["settings:read", "settings:write", "users:read", "*"] {
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
