//! Endpoints 5 to 7: the contacts of a workspace. Beyond the specification: their erasure, their merge, and who opted out.

mod erase;
mod get;
mod list;
mod merge;
mod opt_outs;
mod update;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 9] = [
    ("GET", "/contacts", Scope::ContactsRead),
    ("GET", "/contacts/{contactId}", Scope::ContactsRead),
    ("PATCH", "/contacts/{contactId}", Scope::ContactsWrite),
    ("POST", "/contacts/{contactId}/merge", Scope::ContactsWrite),
    ("POST", "/contacts/{contactId}/erasure", Scope::ContactsErase),
    ("GET", "/erasures/{erasureId}", Scope::ContactsErase),
    ("GET", "/opt-outs", Scope::ContactsRead),
    ("POST", "/opt-outs", Scope::ContactsWrite),
    ("DELETE", "/opt-outs/{optOutId}", Scope::ContactsWrite),
];

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
    let Some((method, path, scope)) = found else { return api.no_such_route(request) };
    match (*method, *path) {
        ("GET", "/contacts") => api.answer(request, *scope, list::list).await,
        ("PATCH", _) => api.answer(request, *scope, update::update).await,
        ("POST", "/contacts/{contactId}/merge") => api.answer(request, *scope, merge::merge).await,
        ("POST", "/contacts/{contactId}/erasure") => api.answer(request, *scope, erase::erase).await,
        ("GET", "/erasures/{erasureId}") => api.answer(request, *scope, erase::get).await,
        ("GET", "/opt-outs") => api.answer(request, *scope, opt_outs::list).await,
        ("POST", _) => api.answer(request, *scope, opt_outs::add).await,
        ("DELETE", _) => api.answer(request, *scope, opt_outs::remove).await,
        _ => api.answer(request, *scope, get::get).await,
    }
}
