//! The API keys of a workspace, the sessions of its portal, and its audit log. Beyond the specification.

mod audit_log;
mod create;
mod get;
mod list;
mod portal_links;
mod revoke;
mod session;
mod sessions;
mod update;

use domain::secret::Randomness;
use domain::{Permission, Scope};
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// The routes of this function: the method, the path below the workspace, and what it asks of the caller's key.
pub const ROUTES: [(&str, &str, Permission); 12] = [
    ("GET", "/api-keys", Permission::Scope(Scope::KeysRead)),
    ("POST", "/api-keys", Permission::Scope(Scope::KeysWrite)),
    ("GET", "/api-keys/{keyId}", Permission::Scope(Scope::KeysRead)),
    ("PATCH", "/api-keys/{keyId}", Permission::Scope(Scope::KeysWrite)),
    ("DELETE", "/api-keys/{keyId}", Permission::Scope(Scope::KeysWrite)),
    ("GET", "/session", Permission::SeeSession),
    ("DELETE", "/session", Permission::EndSession),
    ("GET", "/sessions", Permission::Scope(Scope::PortalWrite)),
    ("POST", "/sessions", Permission::StartSession),
    ("DELETE", "/sessions/{sessionId}", Permission::Scope(Scope::PortalWrite)),
    ("POST", "/portal-links", Permission::Scope(Scope::PortalWrite)),
    ("GET", "/audit-log", Permission::Scope(Scope::AuditRead)),
];

/// Handles one request to a route of this function. `random` makes the secret values of new keys.
pub async fn handle(api: &Api, random: &dyn Randomness, request: &ApiRequest) -> Response<Body> {
    let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
    let Some((method, path, wanted)) = found else { return api.no_such_route(request) };
    match (*method, *path) {
        ("GET", "/api-keys") => api.answer(request, *wanted, list::list).await,
        ("POST", "/api-keys") => {
            api.answer(request, *wanted, async |call| create::create(call, random).await).await
        }
        ("GET", "/api-keys/{keyId}") => api.answer(request, *wanted, get::get).await,
        ("PATCH", _) => api.answer(request, *wanted, update::update).await,
        ("DELETE", "/api-keys/{keyId}") => api.answer(request, *wanted, revoke::revoke).await,
        ("GET", "/session") => api.answer(request, *wanted, session::get).await,
        ("DELETE", "/session") => api.answer(request, *wanted, session::end).await,
        ("GET", "/sessions") => api.answer(request, *wanted, sessions::list).await,
        ("POST", "/sessions") => {
            api.answer(request, *wanted, async |call| session::start(call, random).await).await
        }
        ("DELETE", _) => api.answer(request, *wanted, sessions::end).await,
        ("POST", _) => {
            api.answer(request, *wanted, async |call| portal_links::create(call, random).await).await
        }
        _ => api.answer(request, *wanted, audit_log::list).await,
    }
}
