//! The function's table of routes is that of the template and of openapi.yaml.

use std::collections::BTreeSet;

use domain::{Permission, Scopes};

use crate::Access;

const BELOW: &str = "/service/api/v1/workspaces/{workspaceId}";

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    let api = local::reference::as_json();
    let mut described = BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(scope) = operation["x-scope"].as_str() else { continue };
            let path = path.strip_prefix(BELOW).unwrap();
            if !access::ROUTES.iter().any(|(_, own, _)| *own == path) {
                continue;
            }
            described.insert((method.to_uppercase(), path.to_owned(), scope.to_owned()));
            let text = operation["description"].as_str().unwrap();
            assert!(text.contains(&format!("`{scope}`")), "{text}");
        }
    }
    let named = access::ROUTES.iter().filter_map(|(method, path, permission)| {
        let Permission::Scope(scope) = *permission else { return None };
        let allowed = domain::Scope::NAMES
            .iter()
            .copied()
            .filter(|name| *name != "*" && Scopes::parse([*name]).is_ok_and(|scopes| scopes.allow(scope)));
        Some(((*method).to_owned(), (*path).to_owned(), allowed.collect::<String>()))
    });
    assert_eq!(described, named.collect());
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    let template = include_str!("../../../../template.yaml");
    let (_, function) = template.split_once("\n  AccessFunction:\n").unwrap();
    let (function, _) = function.split_once("\n  AccessLogGroup:\n").unwrap();
    let after = |line: &str, name: &str| line.trim().strip_prefix(name).map(str::to_owned);
    let methods = function.lines().filter_map(|line| after(line, "Method: "));
    let paths = function.lines().filter_map(|line| after(line, &format!("Path: {BELOW}")));
    let routed: BTreeSet<(String, String)> = methods.zip(paths).collect();
    let named = access::ROUTES.map(|(method, path, _)| (method.to_owned(), path.to_owned()));
    assert_eq!(routed, BTreeSet::from(named));
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
