//! The function's table of routes is that of the template and of openapi.yaml.

use harness::{assert_described, assert_routed};

use crate::Access;

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    assert_described(&local::reference::as_json(), &access::ROUTES);
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    assert_routed(include_str!("../../../../template.yaml"), "Access", &access::ROUTES);
}

#[tokio::test]
async fn the_event_files_are_answered_and_other_methods_have_no_route() {
    let f = Access::start().await;
    for (file, status) in [
        ("access-list.json", 200),
        ("access-get.json", 404),
        ("access-revoke.json", 404),
        ("access-session.json", 200),
        ("access-end-session.json", 403),
        ("access-sessions.json", 200),
        ("access-start-session.json", 201),
        ("access-revoke-session.json", 404),
        ("access-portal-link.json", 201),
        ("access-audit-log.json", 200),
    ] {
        let event = f.world.event(file);
        assert_eq!(f.send(event.clone()).await.status, status, "{file}");
        let other = f.send(event.method("PUT")).await;
        assert_eq!((other.status, other.json["code"].as_str()), (404, Some("SERVICE_CORE_0404")));
    }
}
