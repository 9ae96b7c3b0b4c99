//! Endpoint 11: messages into a conversation.

mod create;

use domain::Scope;
use edge::{Api, ApiRequest, Call};
use lambda_http::{Body, Response};
use store::Bucket;

/// Answers one request of this function's routes.
pub async fn handle(api: &Api, bucket: &Bucket, request: &ApiRequest) -> Response<Body> {
    let create = async |call: &Call<'_>| create::create(call, bucket).await;
    match request.method() {
        "POST" => api.answer(request, Scope::MessagesWrite, create).await,
        _ => api.no_such_route(request),
    }
}
