//! The API keys of a workspace, and its audit log. Beyond the specification.

mod audit_log;
mod create;
mod get;
mod list;
mod revoke;
mod update;

use domain::Scope;
use domain::secret::Randomness;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 6] = [
    ("GET", "/api-keys", Scope::KeysRead),
    ("POST", "/api-keys", Scope::KeysWrite),
    ("GET", "/api-keys/{keyId}", Scope::KeysRead),
    ("PATCH", "/api-keys/{keyId}", Scope::KeysWrite),
    ("DELETE", "/api-keys/{keyId}", Scope::KeysWrite),
    ("GET", "/audit-log", Scope::AuditRead),
];

/// Handles one request to a route of this function. `random` makes the secret values of new keys.
pub async fn handle(api: &Api, random: &dyn Randomness, request: &ApiRequest) -> Response<Body> {
    let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
    let Some((method, path, scope)) = found else { return api.no_such_route(request) };
    match (*method, *path) {
        ("GET", "/api-keys") => api.answer(request, *scope, list::list).await,
        ("POST", _) => api.answer(request, *scope, async |call| create::create(call, random).await).await,
        ("PATCH", _) => api.answer(request, *scope, update::update).await,
        ("GET", "/api-keys/{keyId}") => api.answer(request, *scope, get::get).await,
        ("DELETE", _) => api.answer(request, *scope, revoke::revoke).await,
        _ => api.answer(request, *scope, audit_log::list).await,
    }
}
