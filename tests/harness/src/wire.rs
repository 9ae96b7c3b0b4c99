//! Between the SDK and the database or the bucket: every attempt is counted, and may be made to fail as AWS fails
//! and the stand-ins never do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::rights::Rights;

/// One attempt of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The operation's name, such as `TransactWriteItems`.
    pub operation: String,
    /// The table or bucket it names; the tables of a transaction or a batch joined by `+`, each once.
    pub table: String,
    /// Read units (RRU) it consumed.
    pub read_units: f64,
    /// Write units (WRU) it consumed, indexes included.
    pub write_units: f64,
    /// When it began, on a clock that ticks once at each beginning and end of a call.
    pub started: u64,
    /// When it ended, on the same clock.
    pub ended: u64,
}

/// A way for a call to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// DynamoDB or S3 refuses for want of throughput; nothing was done.
    Throttled,
    /// Another transaction holds one of the items; nothing was done.
    Conflict,
    /// One of the items of a transaction is in a partition that is throttled; nothing was done.
    ItemThrottled,
    /// The call was carried out, but its answer never arrived.
    AnswerLost,
    /// The database or the bucket was not reached; nothing was done.
    Unreachable,
    /// A batch comes to none of its keys or puts.
    Unprocessed,
    /// A batch comes to half of its keys or puts, rounded down, and leaves the last ones.
    HalfProcessed,
}

/// Where a process dies: at a call of the database that it never learns the end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The call is not carried out.
    Before,
    /// The call is carried out.
    After,
}

/// The round trips one after another: the longest chain of calls of which none overlaps another in time.
pub fn trips(calls: &[Call]) -> usize {
    let mut calls: Vec<&Call> = calls.iter().collect();
    calls.sort_by_key(|call| call.ended);
    let mut free_from = 0;
    let mut chain = 0;
    for call in calls {
        if call.started >= free_from {
            free_from = call.ended;
            chain += 1;
        }
    }
    chain
}

/// What is shared between the client and the test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    ticks: u64,
    calls: Vec<Call>,
    /// Calls begun before the list was last emptied are not ended in it.
    forgotten: usize,
    faults: Vec<(String, Fault)>,
    held: Vec<(String, oneshot::Receiver<()>)>,
    dying: Option<Dying>,
}

#[derive(Debug)]
struct Dying {
    /// Calls that go on as ever before it.
    calls_left: usize,
    death: Death,
    /// Told when it is dead.
    told: Option<oneshot::Sender<()>>,
}

impl Wire {
    pub(crate) fn die_after(&self, calls: usize, death: Death) -> oneshot::Receiver<()> {
        let (told, dead) = oneshot::channel();
        self.state().dying = Some(Dying { calls_left: calls, death, told: Some(told) });
        dead
    }

    pub(crate) fn revive(&self) {
        self.state().dying = None;
    }

    /// Whether the next call goes on as ever; otherwise whether it is still carried out, and who is to be told.
    fn dies(&self) -> Option<(Death, Option<oneshot::Sender<()>>)> {
        let mut state = self.state();
        let dying = state.dying.as_mut()?;
        match dying.calls_left.checked_sub(1) {
            Some(left) => {
                dying.calls_left = left;
                None
            }
            None => match dying.told.take() {
                Some(told) => Some((dying.death, Some(told))),
                None => Some((Death::Before, None)),
            },
        }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    pub(crate) fn forget_calls(&self) {
        let mut state = self.state();
        state.forgotten += state.calls.len();
        state.calls.clear();
    }

    pub(crate) fn fail(&self, operation: &str, fault: Fault, times: usize) {
        self.state().faults.extend((0..times).map(|_| (operation.to_owned(), fault)));
    }

    pub(crate) fn heal(&self) {
        self.state().faults.clear();
    }

    pub(crate) fn hold(&self, operation: &str) -> oneshot::Sender<()> {
        let (release, released) = oneshot::channel();
        self.state().held.push((operation.to_owned(), released));
        release
    }

    /// What the next call of an operation is to wait for.
    pub(crate) fn held(&self, operation: &str) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state();
        let planned = state.held.iter().position(|(name, _)| name == operation);
        planned.map(|at| state.held.remove(at).1)
    }

    /// A plain HTTP client with this wire around it, which may do everything or what a role allows.
    pub(crate) fn http_client(&self, rights: Option<Arc<Rights>>) -> SharedHttpClient {
        let inner = aws_smithy_http_client::Builder::new().build_http();
        SharedHttpClient::new(WiredClient { inner, wire: self.clone(), rights })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that begins: its number, and how it is to fail.
    pub(crate) fn begin(&self, operation: &str, body: &Value) -> (usize, Option<Fault>) {
        let mut state = self.state();
        let started = state.tick();
        state.calls.push(Call {
            operation: operation.to_owned(),
            table: tables(body),
            read_units: 0.0,
            write_units: 0.0,
            started,
            ended: u64::MAX,
        });
        let number = state.forgotten + state.calls.len() - 1;
        let planned = state.faults.iter().position(|(name, _)| name == operation);
        (number, planned.map(|at| state.faults.remove(at).1))
    }

    /// The call of that number ends, having consumed so many units.
    pub(crate) fn end(&self, number: usize, units: f64) {
        let mut state = self.state();
        let ended = state.tick();
        let at = number.checked_sub(state.forgotten);
        if let Some(call) = at.and_then(|at| state.calls.get_mut(at)) {
            call.ended = ended;
            match call.operation.as_str() {
                "GetItem" | "BatchGetItem" | "Query" | "TransactGetItems" => call.read_units = units,
                _ => call.write_units = units,
            }
        }
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }
}

#[derive(Debug)]
struct WiredClient {
    inner: SharedHttpClient,
    wire: Wire,
    rights: Option<Arc<Rights>>,
}

impl HttpClient for WiredClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(WiredConnector {
            inner,
            wire: self.wire.clone(),
            rights: self.rights.clone(),
        })
    }
}

#[derive(Debug)]
struct WiredConnector {
    inner: SharedHttpConnector,
    wire: Wire,
    rights: Option<Arc<Rights>>,
}

impl HttpConnector for WiredConnector {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let operation = request
            .headers()
            .get("x-amz-target")
            .and_then(|target| target.split_once('.'))
            .map_or_else(String::new, |(_, operation)| operation.to_owned());
        let mut body: Value =
            request.body().bytes().and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
        if let Some(rights) = &self.rights {
            rights.check(&operation, &body);
        }
        let (number, fault) = self.wire.begin(&operation, &body);
        let (held, dies) = (self.wire.held(&operation), self.wire.dies());
        // Tests read what a call cost; the service does not ask.
        body["ReturnConsumedCapacity"] = json!("TOTAL");
        let text = body.to_string();
        request.headers_mut().insert("content-length", text.len().to_string());
        *request.body_mut() = SdkBody::from(text);

        let (inner, wire) = (self.inner.clone(), self.wire.clone());
        HttpConnectorFuture::new(async move {
            if let Some((death, told)) = dies {
                if death == Death::After {
                    let _ = inner.call(request).await;
                }
                drop(told);
                return std::future::pending().await;
            }
            if let Some(released) = held {
                let _ = released.await;
            }
            let answer = match fault {
                Some(Fault::Throttled) => Ok(refusal("ThrottlingException", json!({}))),
                Some(Fault::Conflict) if operation != "TransactWriteItems" => {
                    Ok(refusal("TransactionConflictException", json!({})))
                }
                Some(Fault::Conflict) => Ok(cancelled("TransactionConflict", &body)),
                Some(Fault::ItemThrottled) => Ok(cancelled("ThrottlingError", &body)),
                Some(Fault::Unprocessed) => {
                    Ok(answer(200, &unprocessed(&operation, body["RequestItems"].clone())))
                }
                Some(Fault::HalfProcessed) => half_processed(&inner, request, &operation, &body).await,
                Some(Fault::Unreachable) => Err(ConnectorError::io("connection refused".into())),
                Some(Fault::AnswerLost) => match inner.call(request).await {
                    Ok(_) => Err(ConnectorError::timeout("no answer in time".into())),
                    Err(error) => Err(error),
                },
                None => inner.call(request).await,
            };
            let answer = read_units(answer).await;
            wire.end(number, answer.as_ref().map_or(0.0, |(_, units)| *units));
            answer.map(|(answer, _)| answer)
        })
    }
}

/// The answer with its body in memory, and the capacity units it tells of.
async fn read_units(
    answer: Result<HttpResponse, ConnectorError>,
) -> Result<(HttpResponse, f64), ConnectorError> {
    let mut answer = answer?;
    let body = ByteStream::new(answer.take_body()).collect().await;
    let bytes = body.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
    let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let units = match &json["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
        table => table["CapacityUnits"].as_f64().unwrap_or(0.0),
    };
    *answer.body_mut() = SdkBody::from(bytes);
    Ok((answer, units))
}

/// The answer of a batch that came to nothing of this.
fn unprocessed(operation: &str, left: Value) -> Value {
    match operation {
        "BatchWriteItem" => json!({ "UnprocessedItems": left }),
        _ => json!({ "Responses": {}, "UnprocessedKeys": left }),
    }
}

/// Carries out the first half of a batch, and answers that the rest was not come to.
async fn half_processed(
    inner: &SharedHttpConnector,
    mut request: HttpRequest,
    operation: &str,
    body: &Value,
) -> Result<HttpResponse, ConnectorError> {
    let (done, left) = halves(&body["RequestItems"]);
    let answered = if done.as_object().is_some_and(|tables| !tables.is_empty()) {
        let mut half = body.clone();
        half["RequestItems"] = done;
        let text = half.to_string();
        request.headers_mut().insert("content-length", text.len().to_string());
        *request.body_mut() = SdkBody::from(text);
        inner.call(request).await?
    } else {
        answer(200, &json!({}))
    };
    let bytes = ByteStream::new(answered.into_body()).collect().await;
    let bytes = bytes.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
    let mut told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    for (name, value) in unprocessed(operation, left).as_object().into_iter().flatten() {
        if told[name].as_object().is_none_or(|known| known.is_empty()) {
            told[name] = value.clone();
        }
    }
    Ok(answer(200, &told))
}

/// What a batch asks for, cut in the middle: the first half and the rest, each with the tables it concerns.
fn halves(asked: &Value) -> (Value, Value) {
    let rows =
        |request: &Value| request.as_array().or(request["Keys"].as_array()).cloned().unwrap_or_default();
    let tables = || asked.as_object().into_iter().flatten();
    let mut at_first = tables().map(|(_, request)| rows(request).len()).sum::<usize>() / 2;
    let (mut done, mut left) = (json!({}), json!({}));
    for (table, request) in tables() {
        let mut first = rows(request);
        let rest = first.split_off(at_first.min(first.len()));
        at_first -= first.len();
        for (half, rows) in [(&mut done, first), (&mut left, rest)] {
            if rows.is_empty() {
                continue;
            }
            half[table] = match request {
                Value::Array(_) => Value::Array(rows),
                keys => {
                    let mut keys = keys.clone();
                    keys["Keys"] = Value::Array(rows);
                    keys
                }
            };
        }
    }
    (done, left)
}

/// A transaction cancelled because of its first item.
fn cancelled(code: &str, body: &Value) -> HttpResponse {
    let items = body["TransactItems"].as_array().map_or(0, Vec::len);
    let reasons: Vec<Value> =
        (0..items).map(|at| json!({ "Code": if at == 0 { code } else { "None" } })).collect();
    refusal("TransactionCanceledException", json!({ "CancellationReasons": reasons }))
}

fn refusal(code: &str, mut body: Value) -> HttpResponse {
    body["__type"] = json!(format!("com.amazonaws.dynamodb.v20120810#{code}"));
    body["message"] = json!("injected by a test");
    answer(400, &body)
}

fn answer(status: u16, body: &Value) -> HttpResponse {
    let status = StatusCode::try_from(status).unwrap_or_else(|_| unreachable!("both are statuses"));
    let mut response = HttpResponse::new(status, SdkBody::from(body.to_string()));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

fn tables(body: &Value) -> String {
    let text = |name: &Value| name.as_str().map(str::to_owned);
    let mut names: Vec<String> = match (&body["TransactItems"], &body["RequestItems"]) {
        (Value::Array(items), _) => items
            .iter()
            .filter_map(Value::as_object)
            .flat_map(|item| item.values())
            .filter_map(|action| text(&action["TableName"]))
            .collect(),
        (_, Value::Object(tables)) => tables.keys().cloned().collect(),
        _ => text(&body["TableName"]).into_iter().collect(),
    };
    names.sort_unstable();
    names.dedup();
    names.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(started: u64, ended: u64) -> Call {
        Call {
            operation: String::new(),
            table: String::new(),
            read_units: 0.0,
            write_units: 0.0,
            started,
            ended,
        }
    }

    #[test]
    fn calls_side_by_side_are_one_trip() {
        assert_eq!(trips(&[]), 0);
        assert_eq!(trips(&[call(1, 4), call(2, 3)]), 1);
        assert_eq!(trips(&[call(1, 2), call(3, 4)]), 2);
        // A long call beside two short ones that follow each other.
        assert_eq!(trips(&[call(1, 6), call(2, 3), call(4, 5)]), 2);
    }

    #[test]
    fn a_batch_is_cut_in_the_middle_whichever_tables_it_concerns() {
        let puts = json!({ "a": [1, 2, 3], "b": [4, 5] });
        assert_eq!(halves(&puts), (json!({ "a": [1, 2] }), json!({ "a": [3], "b": [4, 5] })));
        let keys = json!({ "a": { "Keys": [1], "ConsistentRead": true }, "b": { "Keys": [2, 3, 4] } });
        let (done, left) = halves(&keys);
        assert_eq!(done, json!({ "a": { "Keys": [1], "ConsistentRead": true }, "b": { "Keys": [2] } }));
        assert_eq!(left, json!({ "b": { "Keys": [3, 4] } }));
        assert_eq!(halves(&json!({ "a": [1] })), (json!({}), json!({ "a": [1] })));
    }
}
