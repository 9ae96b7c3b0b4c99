//! Endpoint 10: files made ready for upload.

mod create;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};
use store::Bucket;

/// Answers one request of this function's routes.
pub async fn handle(api: &Api, bucket: &Bucket, request: &ApiRequest) -> Response<Body> {
    match request.method() {
        "POST" => {
            api.answer(request, Scope::FilesWrite, async |call| create::create(call, bucket).await).await
        }
        _ => api.no_such_route(request),
    }
}
