//! The function's table of routes is that of the template and of openapi.yaml, and each route needs its scope.

use contacts::ROUTES;
use domain::Scopes;
use harness::{assert_described, assert_routed};

use crate::Contacts;

const FILES: [&str; 9] =
    ["list", "get", "update", "merge", "erase", "erasure-get", "opt-outs", "opt-out", "opt-in"];

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    assert_described(&local::reference::as_json(), &ROUTES);
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    assert_routed(include_str!("../../../../template.yaml"), "Contacts", &ROUTES);
}

#[tokio::test]
async fn each_route_needs_its_scope_and_other_methods_have_none() {
    let f = Contacts::start().await;
    for scope in ["contacts:read", "contacts:write", "settings:write", "*"] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        for (file, (_, _, needed)) in FILES.iter().zip(ROUTES) {
            let event = f.world.event(&format!("contacts-{file}.json")).header("x-api-key", &key);
            let may = Scopes::parse([scope]).unwrap().allow(needed);
            assert_eq!(f.send(event.clone()).await.status == 403, !may, "{file} {scope}");
            assert_eq!(f.send(event.method("PUT")).await.status, 404, "{file}");
        }
    }
}
