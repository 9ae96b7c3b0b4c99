//! Endpoint 8: the custom attribute definitions of a workspace. Beyond the specification: the templates that open
//! conversations.

mod list;
mod onboarding;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 3] = [
    ("GET", "/settings/attributes", Scope::SettingsRead),
    ("GET", "/settings/onboarding", Scope::SettingsRead),
    ("PUT", "/settings/onboarding", Scope::SettingsWrite),
];

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
    let Some((method, path, scope)) = found else { return api.no_such_route(request) };
    match (*method, *path) {
        ("GET", "/settings/onboarding") => api.answer(request, *scope, onboarding::get).await,
        ("PUT", _) => api.answer(request, *scope, onboarding::put).await,
        _ => api.answer(request, *scope, list::list).await,
    }
}
