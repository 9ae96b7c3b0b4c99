//! The loop of the functions of the Integrations API.

use std::convert::Infallible;

use lambda_http::{Body, Error, Response, service_fn};

use crate::ApiRequest;

/// Handles the requests of a function of the Integrations API, one after the other.
pub async fn serve<F>(handle: impl Fn(ApiRequest) -> F) -> Result<(), Error>
where
    F: Future<Output = Response<Body>> + Send,
{
    let handle = &handle;
    lambda_http::run(service_fn(move |request| {
        let answer = handle(ApiRequest::new(request));
        async { Ok::<_, Infallible>(answer.await) }
    }))
    .await
}
