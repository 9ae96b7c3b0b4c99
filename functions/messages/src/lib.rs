//! Endpoint 11: messages into a conversation.

use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};

/// Answers one request of this function's routes.
pub async fn handle(api: &Api, request: &ApiRequest) -> Response<Body> {
    api.no_such_route(request)
}
