//! The routes of a function, as its code, `openapi.yaml` and `template.yaml` have them.

use std::collections::BTreeSet;

use domain::{Permission, Scope, Scopes};
use serde_json::Value;

/// The beginning of the path of every route.
const BELOW: &str = "/service/api/v1/workspaces/{workspaceId}";

/// Fails unless `openapi.yaml`, here as JSON, describes these paths with these methods and scopes, and names the scope in each
/// description. Operations without a scope are not compared.
pub fn assert_described<P: Into<Permission> + Copy>(api: &Value, routes: &[(&str, &str, P)]) {
    let mut described = BTreeSet::new();
    for (path, item) in members(&api["paths"]) {
        let Some(path) = path.strip_prefix(BELOW).filter(|path| routes.iter().any(|(_, own, _)| own == path))
        else {
            continue;
        };
        for (method, operation) in members(item) {
            let Some(scope) = operation["x-scope"].as_str() else { continue };
            described.insert((method.to_uppercase(), path.to_owned(), scope.to_owned()));
            let text = operation["description"].as_str().unwrap_or_default();
            assert!(text.contains(&format!("`{scope}`")), "{method} {path} does not name {scope}: {text}");
        }
    }
    let named = routes.iter().filter_map(|(method, path, permission)| {
        let Permission::Scope(scope) = (*permission).into() else { return None };
        let allowed = Scope::NAMES
            .iter()
            .copied()
            .filter(|name| *name != "*" && Scopes::parse([*name]).is_ok_and(|scopes| scopes.allow(scope)));
        Some(((*method).to_owned(), (*path).to_owned(), allowed.collect::<String>()))
    });
    assert_eq!(described, named.collect());
}

/// Fails unless `template.yaml` routes these methods and paths, and no others, to the function with this logical name, such as
/// `Endpoints`.
pub fn assert_routed<P>(template: &str, name: &str, routes: &[(&str, &str, P)]) {
    let function = template.split_once(&format!("\n  {name}Function:\n"));
    let function = function.and_then(|(_, rest)| rest.split_once(&format!("\n  {name}LogGroup:\n")));
    let Some((function, _)) = function else { panic!("template.yaml has no {name}Function") };
    let after = |line: &str, name: &str| line.trim().strip_prefix(name).map(str::to_owned);
    let methods = function.lines().filter_map(|line| after(line, "Method: "));
    let paths = function.lines().filter_map(|line| after(line, &format!("Path: {BELOW}")));
    let routed: BTreeSet<(String, String)> = methods.zip(paths).collect();
    let named = routes.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()));
    assert_eq!(routed, named.collect());
}

fn members(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flatten()
}
