//! Endpoint 10: prepares files for upload.

mod create;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};
use store::Bucket;

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, bucket: &Bucket, request: &ApiRequest) -> Response<Body> {
    match request.method() {
        "POST" => {
            api.answer(request, Scope::FilesWrite, async |call| create::create(call, bucket).await).await
        }
        _ => api.no_such_route(request),
    }
}
