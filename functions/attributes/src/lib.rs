//! Endpoint 8: the custom attribute definitions of a workspace.

mod list;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    match request.method() {
        "GET" => api.answer(request, Scope::SettingsRead, list::list).await,
        _ => api.no_such_route(request),
    }
}
