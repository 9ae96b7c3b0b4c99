//! What a simulation needs from the stand-ins for AWS: no sockets, no threads and no time of their own.
//!
//! Each call asks a [`Turns`] when it is executed, whether it fails, and when its caller learns of it. With paused time
//! (`tokio::time::pause`) the order of all calls then depends on the answers of the [`Turns`] alone.

use std::fmt::Debug;
use std::time::Duration;

use aws_sdk_dynamodb::config::{AsyncSleep, Sleep};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::{answer_text, operation_of};

/// The pauses of the SDK between its attempts. Their length is random, so each becomes a whole number of steps.
#[derive(Debug)]
pub(crate) struct EvenPauses;

impl AsyncSleep for EvenPauses {
    fn sleep(&self, time: Duration) -> Sleep {
        const STEP_MS: u128 = 16;
        let steps = time.as_millis() / STEP_MS + 1;
        let time = Duration::from_millis(u64::try_from(steps * STEP_MS).unwrap_or(u64::MAX));
        Sleep::new(tokio::time::sleep(time))
    }
}

/// A client that calls the database in this process.
pub(crate) fn direct_client(database: Database) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(Direct(database));
    http_client_fn(move |_, _| connector.clone())
}

struct Direct(Database);

impl Debug for Direct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Direct")
    }
}

impl HttpConnector for Direct {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        let (status, body) = match execute(&self.0, &operation_of(&request), body) {
            Ok(answer) => (200, answer),
            Err(error) => (error.status_code(), error.to_json()),
        };
        HttpConnectorFuture::ready(Ok::<HttpResponse, _>(answer_text(status, body)))
    }
}

fn execute(database: &Database, operation: &str, body: &[u8]) -> Result<String, DynoxideError> {
    match operation {
        "PutItem" => run(body, |request| database.put_item(request)),
        "GetItem" => run(body, |request| database.get_item(request)),
        "DeleteItem" => run(body, |request| database.delete_item(request)),
        "UpdateItem" => run(body, |request| database.update_item(request)),
        "Query" => run(body, |request| database.query(request)),
        "BatchGetItem" => run(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => run(body, |request| database.batch_write_item(request)),
        "TransactWriteItems" => run(body, |request| database.transact_write_items(request)),
        "TransactGetItems" => run(body, |request| database.transact_get_items(request)),
        other => panic!("the simulated database does not know {other}"),
    }
}

fn run<Q: DeserializeOwned, A: Serialize>(
    body: &[u8],
    call: impl FnOnce(Q) -> Result<A, DynoxideError>,
) -> Result<String, DynoxideError> {
    let request = serde_json::from_slice(body).unwrap_or_else(|error| panic!("a call of the SDK: {error}"));
    Ok(serde_json::to_string(&call(request)?).unwrap_or_else(|error| panic!("an answer: {error}")))
}
