//! Endpoint 10: prepares files for upload. Beyond the specification: downloads of files.

mod create;
mod get;

use domain::Scope;
use edge::{Api, ApiRequest};
use lambda_http::{Body, Response};
use store::Bucket;

/// Handles one request to a route of this function.
pub async fn handle(api: &Api, bucket: &Bucket, request: &ApiRequest) -> Response<Body> {
    match (request.method(), request.path("mediaId")) {
        ("POST", None) => {
            api.answer(request, Scope::FilesWrite, async |call| create::create(call, bucket).await).await
        }
        ("GET", Some(_)) => {
            api.answer(request, Scope::FilesRead, async |call| get::get(call, bucket).await).await
        }
        _ => api.no_such_route(request),
    }
}
