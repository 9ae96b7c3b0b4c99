//! Endpoint 9: an internal user. Beyond the specification: the lists of users and of teams.

mod get;
mod list;
mod teams;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    let is_to = |path| request.is_to("GET", path);
    match request.method() {
        "GET" if is_to("/users") => api.answer(request, Scope::UsersRead, list::list).await,
        "GET" if is_to("/teams") => api.answer(request, Scope::UsersRead, teams::list).await,
        "GET" if is_to("/teams/{teamId}") => api.answer(request, Scope::UsersRead, teams::get).await,
        "GET" => api.answer(request, Scope::UsersRead, get::get).await,
        _ => api.no_such_route(request),
    }
}
