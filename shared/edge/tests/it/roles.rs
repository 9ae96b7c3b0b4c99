//! `docs/portal.md`: which role may send which requests.

use domain::{Role, Scope};
use serde_json::Value;

use crate::made::{hold, read, with};

const PAGE: &str = "docs/portal.md";
/// The beginning of the path of every request of a workspace.
const BELOW: &str = "/service/api/v1/workspaces/{workspaceId}";
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// The requests that every key, session or link may send.
const OF_EVERYBODY: [(&str, &str); 3] = [("get", "/session"), ("delete", "/session"), ("post", "/sessions")];

/// The requests of a workspace with their scopes, in the order of the document.
fn requests(api: &Value) -> Vec<(&str, &str, Option<&str>)> {
    let paths = api["paths"].as_object().unwrap().iter();
    paths
        .filter_map(|(path, item)| Some((path.strip_prefix(BELOW)?, item)))
        .flat_map(|(path, item)| METHODS.map(|method| (method, path, &item[method])))
        .filter(|(_, _, operation)| operation.is_object())
        .map(|(method, path, operation)| (method, path, operation["x-scope"].as_str()))
        .collect()
}

#[test]
fn each_request_names_a_scope_that_exists_and_each_scope_has_a_request() {
    let api = local::reference::as_json();
    let requests = requests(&api);
    let without: Vec<_> = requests.iter().filter(|(_, _, scope)| scope.is_none()).collect();
    assert!(without.iter().all(|(method, path, _)| OF_EVERYBODY.contains(&(method, path))), "{without:?}");
    assert_eq!(without.len(), OF_EVERYBODY.len());
    for name in Scope::NAMES.iter().filter(|name| **name != "*") {
        assert!(requests.iter().any(|(_, _, scope)| *scope == Some(name)), "no request needs {name}");
    }
    for (method, path, scope) in requests {
        assert!(scope.is_none_or(|scope| Scope::NAMES.contains(&scope)), "{method} {path}: {scope:?}");
    }
}

#[test]
fn the_page_shows_the_requests_of_each_role() {
    let api = local::reference::as_json();
    let roles: Vec<(&str, Vec<&str>)> =
        Role::NAMES.iter().map(|name| (*name, Role::parse(name).unwrap().scopes().names())).collect();
    let names: String = roles.iter().map(|(name, _)| format!(" `{name}` |")).collect();
    let mut table = format!("| Request | Scope |{names}\n|---|---|{}\n", "---|".repeat(roles.len()));
    for (method, path, scope) in requests(&api) {
        let may = |names: &[&str]| scope.is_none_or(|scope| names.contains(&scope));
        let cells: String =
            roles.iter().map(|(_, names)| if may(names) { " yes |" } else { " - |" }).collect();
        let scope = scope.map_or("any".to_owned(), |scope| format!("`{scope}`"));
        table += &format!("| `{} {path}` | {scope} |{cells}\n", method.to_uppercase());
    }
    hold(PAGE, &with(&read(PAGE), "roles", &table));
}
