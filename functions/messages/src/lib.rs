//! Endpoint 11: messages into a conversation.

mod create;

use std::time::Duration;

use domain::Scope;
use edge::{Api, ApiRequest, Call};
use lambda_http::{Body, Response};
use store::Bucket;

/// What a process of this function holds.
pub struct Messages {
    /// The frame of the API.
    pub api: Api,
    /// Where files are uploaded.
    pub bucket: Bucket,
    /// When the sweeper looks after a message whose sending nobody began.
    pub first_due: Duration,
}

/// Answers one request of this function's routes.
pub async fn handle(messages: &Messages, request: &ApiRequest) -> Response<Body> {
    let create = async |call: &Call<'_>| create::create(messages, call).await;
    match request.method() {
        "POST" => messages.api.answer(request, Scope::MessagesWrite, create).await,
        _ => messages.api.no_such_route(request),
    }
}
