//! Endpoint 11: messages into a conversation. Beyond the specification: the messages of a conversation, and one of them.

mod create;
mod get;
mod list;
mod messages;

use domain::Scope;
use edge::{ApiRequest, Call};
use lambda_http::{Body, Response};

pub use messages::Messages;

/// Handles one request to a route of this function.
pub async fn handle(messages: &Messages, request: &ApiRequest) -> Response<Body> {
    let create = async |call: &Call<'_>| create::create(messages, call).await;
    match (request.method(), request.path("conversationId"), request.path("messageId")) {
        ("POST", None, None) => messages.api.answer(request, Scope::MessagesWrite, create).await,
        ("GET", Some(_), None) => messages.api.answer(request, Scope::MessagesRead, list::list).await,
        ("GET", None, Some(_)) => messages.api.answer(request, Scope::MessagesRead, get::get).await,
        _ => messages.api.no_such_route(request),
    }
}
