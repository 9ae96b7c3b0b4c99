//! Endpoint 9: an internal user. Beyond the specification: the lists of users and of teams, and their changes.

mod change;
mod change_team;
mod get;
mod list;
mod teams;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// The routes of this function: the method, the path below the workspace, and the scope.
pub const ROUTES: [(&str, &str, Scope); 9] = [
    ("GET", "/users", Scope::UsersRead),
    ("POST", "/users", Scope::UsersWrite),
    ("GET", "/users/{userId}", Scope::UsersRead),
    ("PATCH", "/users/{userId}", Scope::UsersWrite),
    ("GET", "/teams", Scope::UsersRead),
    ("POST", "/teams", Scope::UsersWrite),
    ("GET", "/teams/{teamId}", Scope::UsersRead),
    ("PATCH", "/teams/{teamId}", Scope::UsersWrite),
    ("DELETE", "/teams/{teamId}", Scope::UsersWrite),
];

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    let found = ROUTES.iter().find(|(method, path, _)| request.is_to(method, path));
    let Some((method, path, scope)) = found else { return api.no_such_route(request) };
    match (*method, *path) {
        ("GET", "/users") => api.answer(request, *scope, list::list).await,
        ("POST", "/users") => api.answer(request, *scope, change::create).await,
        ("PATCH", "/users/{userId}") => api.answer(request, *scope, change::update).await,
        ("GET", "/teams") => api.answer(request, *scope, teams::list).await,
        ("POST", "/teams") => api.answer(request, *scope, change_team::create).await,
        ("GET", "/teams/{teamId}") => api.answer(request, *scope, teams::get).await,
        ("PATCH", "/teams/{teamId}") => api.answer(request, *scope, change_team::update).await,
        ("DELETE", "/teams/{teamId}") => api.answer(request, *scope, change_team::delete).await,
        _ => api.answer(request, *scope, get::get).await,
    }
}
