//! Endpoint 11: messages into a conversation. Beyond the specification: the messages of a conversation, one of them, and the
//! templates that messages can be.

mod create;
mod get;
mod list;
mod messages;
mod templates;

use domain::Scope;
use edge::{ApiRequest, Call};
use lambda_http::{Body, Response};

pub use messages::Messages;

/// Handles one request to a route of this function.
pub async fn handle(messages: &Messages, request: &ApiRequest) -> Response<Body> {
    let api = &messages.api;
    let create = async |call: &Call<'_>| create::create(messages, call).await;
    let preview = async |call: &Call<'_>| templates::preview(messages, call).await;
    let named = ["conversationId", "messageId", "templateId"].map(|name| request.path(name).is_some());
    match (request.method(), named) {
        ("POST", [false, false, false]) => api.answer(request, Scope::MessagesWrite, create).await,
        ("GET", [true, false, false]) => api.answer(request, Scope::MessagesRead, list::list).await,
        ("GET", [false, true, false]) => api.answer(request, Scope::MessagesRead, get::get).await,
        ("GET", [false, false, false]) if request.path_ends_with("templates") => {
            api.answer(request, Scope::TemplatesRead, templates::list).await
        }
        ("GET", [false, false, true]) => api.answer(request, Scope::TemplatesRead, templates::get).await,
        ("POST", [false, false, true]) => api.answer(request, Scope::TemplatesRead, preview).await,
        _ => api.no_such_route(request),
    }
}
