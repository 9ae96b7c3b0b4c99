//! Endpoints 1 to 4: the conversations of a workspace.

mod list;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// Answers one request of this function's routes.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    match (request.method(), request.path("conversationId")) {
        ("GET", None) => api.answer(request, Scope::ConversationsRead, list::list).await,
        _ => api.no_such_route(request),
    }
}
