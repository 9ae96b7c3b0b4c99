//! Endpoint 11: messages into a conversation.

mod create;
mod messages;

use domain::Scope;
use edge::{ApiRequest, Call};
use lambda_http::{Body, Response};

pub use messages::Messages;

/// Handles one request to a route of this function.
pub async fn handle(messages: &Messages, request: &ApiRequest) -> Response<Body> {
    let create = async |call: &Call<'_>| create::create(messages, call).await;
    match request.method() {
        "POST" => messages.api.answer(request, Scope::MessagesWrite, create).await,
        _ => messages.api.no_such_route(request),
    }
}
