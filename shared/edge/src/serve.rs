//! The loop of the functions of the Integrations API.

use std::convert::Infallible;

use lambda_http::http::HeaderMap;
use lambda_http::http::header::HOST;
use lambda_http::request::LambdaRequest;
use lambda_http::tower::util::MapRequest;
use lambda_http::{Adapter, Body, Error, LambdaEvent, Request, Response, lambda_runtime, service_fn};

use crate::ApiRequest;

/// Handles the requests of a function of the Integrations API, one after the other.
pub async fn serve<F>(handle: impl Fn(ApiRequest) -> F) -> Result<(), Error>
where
    F: Future<Output = Response<Body>> + Send,
{
    let handle = &handle;
    let answer = service_fn(move |request: Request| {
        let answer = handle(ApiRequest::new(request));
        async { Ok::<_, Infallible>(answer.await) }
    });
    lambda_runtime::run(MapRequest::new(Adapter::from(answer), without_url_headers)).await
}

/// Removes the headers from which `lambda_http` makes a URL. It panics if they make none, such as with
/// `X-Forwarded-Proto: https,http`. No function reads that URL or these headers.
fn without_url_headers(mut event: LambdaEvent<LambdaRequest>) -> LambdaEvent<LambdaRequest> {
    if let LambdaRequest::ApiGatewayV1(request) = &mut event.payload {
        let remove =
            |headers: &mut HeaderMap| ["x-forwarded-proto", HOST.as_str()].map(|name| headers.remove(name));
        remove(&mut request.headers);
        remove(&mut request.multi_value_headers);
    }
    event
}

#[cfg(test)]
mod tests {
    use lambda_http::Context;
    use serde_json::{Value, json};

    use super::*;

    fn request(headers: &Value) -> Request {
        let many: serde_json::Map<String, Value> =
            headers.as_object().unwrap().iter().map(|(name, value)| (name.clone(), json!([value]))).collect();
        let event = json!({
            "httpMethod": "GET",
            "path": "/service/api/v1/workspaces/w/contacts",
            "resource": "/service/api/v1/workspaces/{workspaceId}/contacts",
            "headers": headers,
            "multiValueHeaders": many,
            "requestContext": {"httpMethod": "GET", "requestId": "r"},
        });
        let payload: LambdaRequest = serde_json::from_value(event).unwrap();
        without_url_headers(LambdaEvent::new(payload, Context::default())).payload.into()
    }

    #[test]
    fn no_header_makes_the_url_of_a_request_panic() {
        for (name, value) in [
            ("X-Forwarded-Proto", "https,http"),
            ("X-Forwarded-Proto", ""),
            ("x-forwarded-proto", "a b"),
            ("Host", "a b"),
            ("Host", "[::1"),
            ("Host", "h:99999"),
        ] {
            let request = request(&json!({name: value, "Host-Of": "x", "x-api-key": "key"}));
            assert_eq!(ApiRequest::new(request).header("x-api-key"), Some("key"), "{name}: {value}");
        }
    }
}
