//! A client that reads a database in process and whose writes succeed without an effect: every request finds the same
//! rows, so a result depends on the request alone, and a million requests need no server.

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use dynoxide::Database;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The HTTP connector behind the client.
#[derive(Clone)]
pub(crate) struct Frozen(pub(crate) Database);

impl std::fmt::Debug for Frozen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Frozen")
    }
}

impl HttpConnector for Frozen {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.split_once('.').map_or("", |(_, operation)| operation);
        let body = request.body().bytes().unwrap_or_default();
        let text = match operation {
            "GetItem" => answered(body, |read| self.0.get_item(read)),
            "BatchGetItem" => answered(body, |read| self.0.batch_get_item(read)),
            "Query" => answered(body, |read| self.0.query(read)),
            "PutItem" | "UpdateItem" | "DeleteItem" | "BatchWriteItem" | "TransactWriteItems" => {
                "{}".to_owned()
            }
            other => panic!("a frozen database has no {other}"),
        };
        let status = StatusCode::try_from(200).unwrap_or_else(|_| unreachable!("200 is a status"));
        let mut response = HttpResponse::new(status, SdkBody::from(text));
        response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
        HttpConnectorFuture::ready(Ok(response))
    }
}

/// The response to a read. A read that DynamoDB refuses is a fault of the service.
fn answered<Q: DeserializeOwned, A: Serialize, E: std::fmt::Display>(
    body: &[u8],
    read: impl FnOnce(Q) -> Result<A, E>,
) -> String {
    let request = serde_json::from_slice(body).unwrap_or_else(|error| panic!("no request: {error}"));
    let answer = read(request).unwrap_or_else(|error| panic!("the database refuses a read: {error}"));
    serde_json::to_string(&answer).unwrap_or_else(|error| panic!("no response: {error}"))
}
