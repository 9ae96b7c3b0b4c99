//! Endpoints 1 to 4: the conversations of a workspace.

mod create;
mod get;
mod list;
mod people;
mod shown;
mod update;

use std::time::Duration;

use domain::Scope;
use edge::{Api, ApiRequest, Call};
use lambda_http::{Body, Response};

/// Handles one request to a route of this function. If no visit sends the messages of a new conversation before
/// `first_due`, the sweeper queues its lane from then on.
pub async fn handle(api: &Api, first_due: Duration, request: &ApiRequest) -> Response<Body> {
    let create = async |call: &Call<'_>| create::create(call, first_due).await;
    match (request.method(), request.path("conversationId")) {
        ("POST", None) => api.answer(request, Scope::ConversationsWrite, create).await,
        ("GET", None) => api.answer(request, Scope::ConversationsRead, list::list).await,
        ("GET", Some(_)) => api.answer(request, Scope::ConversationsRead, get::get).await,
        ("PATCH", Some(_)) => api.answer(request, Scope::ConversationsWrite, update::update).await,
        _ => api.no_such_route(request),
    }
}
