//! The layer between the SDK and the database or the bucket. It records every attempt, and can make an attempt fail in
//! the ways of AWS that the stand-ins do not produce.

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

use crate::fault::{Death, Fault};
use crate::rights::Rights;
use crate::safeguards::Safeguards;
use crate::turns::{Turn, Turns};

/// One attempt of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The operation's name, such as `TransactWriteItems`.
    pub operation: String,
    /// The table or bucket of the call. The tables of a transaction or a batch are joined by `+`, each once.
    pub table: String,
    /// Consumed read units (RRU).
    pub read_units: f64,
    /// Consumed write units (WRU), including those of indexes.
    pub write_units: f64,
    /// The start, on a clock that ticks at the start and the end of every call.
    pub started: u64,
    /// The end, on the same clock.
    pub ended: u64,
}

impl Fault {
    /// Whether S3 and SQS can fail like this.
    pub(crate) fn is_of_every_service(self) -> bool {
        matches!(self, Self::Throttled | Self::AnswerLost | Self::Unreachable)
    }
}

/// The number of sequential round trips: the length of the longest chain of calls that do not overlap in time.
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

/// The state that the client and the test share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    ticks: u64,
    calls: Vec<Call>,
    /// The number of calls removed from `calls`. A call that is still running when it is removed is not recorded.
    forgotten: usize,
    faults: Vec<(String, Fault)>,
    held: Vec<(String, oneshot::Receiver<()>)>,
    dying: Option<Dying>,
    safeguards: Safeguards,
    /// Decides about each call, in a simulation.
    turns: Option<Arc<dyn Turns>>,
}

#[derive(Debug)]
struct Dying {
    /// Calls that still succeed before the death.
    calls_left: usize,
    death: Death,
    /// Dropped at the death, which ends the test's receiver.
    on_death: Option<oneshot::Sender<()>>,
}

impl Wire {
    /// A wire that removes the safeguard that the environment names.
    pub(crate) fn of_environment() -> Self {
        let wire = Self::default();
        wire.state().safeguards = Safeguards::of_environment();
        wire
    }

    /// Lets `turns` decide about each call.
    pub(crate) fn take_turns(&self, turns: Arc<dyn Turns>) {
        self.state().turns = Some(turns);
    }

    /// The turn of a call that starts now, in a simulation.
    pub(crate) fn turn(&self, operation: &str, body: &Value) -> Option<Turn> {
        let turns = self.state().turns.clone();
        turns.map(|turns| turns.turn(operation, body))
    }

    /// Lets the simulation change the answer of a read of an index.
    fn read(&self, operation: &str, body: &Value, response: &mut HttpResponse) {
        let turns = self.state().turns.clone();
        if let (Some(turns), "Query", true) = (turns, operation, body["IndexName"].is_string()) {
            let bytes = response.body().bytes().unwrap_or_default();
            let mut json: Value = serde_json::from_slice(bytes).unwrap_or_default();
            turns.read(operation, body, &mut json);
            *response = answer(response.status().as_u16(), &json);
        }
    }

    pub(crate) fn remove_safeguard(&self, safeguard: &str) {
        self.state().safeguards.remove(safeguard);
    }

    pub(crate) fn safeguards(&self) -> Vec<String> {
        self.state().safeguards.seen().iter().cloned().collect()
    }

    pub(crate) fn refused_safeguards(&self) -> Vec<String> {
        self.state().safeguards.refused().iter().cloned().collect()
    }

    pub(crate) fn report_safeguards(&self) {
        self.state().safeguards.report();
    }

    pub(crate) fn die_after(&self, calls: usize, death: Death) -> oneshot::Receiver<()> {
        let (on_death, dead) = oneshot::channel();
        self.state().dying = Some(Dying { calls_left: calls, death, on_death: Some(on_death) });
        dead
    }

    pub(crate) fn revive(&self) {
        self.state().dying = None;
    }

    /// `None` if the next call proceeds. Otherwise whether it is still executed, and the sender to drop.
    fn dies(&self) -> Option<(Death, Option<oneshot::Sender<()>>)> {
        let mut state = self.state();
        let dying = state.dying.as_mut()?;
        match dying.calls_left.checked_sub(1) {
            Some(left) => {
                dying.calls_left = left;
                None
            }
            None => match dying.on_death.take() {
                Some(on_death) => Some((dying.death, Some(on_death))),
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

    /// Forgets the holds of an operation that no call has met yet.
    pub(crate) fn forget_holds(&self, operation: &str) {
        self.state().held.retain(|(name, _)| name != operation);
    }

    /// The receiver that the next call of an operation waits for, if the test holds it.
    pub(crate) fn held(&self, operation: &str) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state();
        let planned = state.held.iter().position(|(name, _)| name == operation);
        planned.map(|at| state.held.remove(at).1)
    }

    /// A plain HTTP client on this wire. With `rights`, it allows only the calls that the role allows.
    pub(crate) fn http_client(&self, rights: Option<Arc<Rights>>) -> SharedHttpClient {
        self.client_over(aws_smithy_http_client::Builder::new().build_http(), rights)
    }

    /// A client on this wire whose calls `inner` executes.
    pub(crate) fn client_over(
        &self,
        inner: SharedHttpClient,
        rights: Option<Arc<Rights>>,
    ) -> SharedHttpClient {
        SharedHttpClient::new(WiredClient { inner, wire: self.clone(), rights })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the start of a call. Returns its number and its planned fault.
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

    /// Records the end of a call and the units that it consumed.
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
        let operation = operation_of(&request);
        let mut body: Value =
            request.body().bytes().and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
        let recorded = crate::recorded::line(request.headers().get("x-amz-target"), &body);
        if let Some(rights) = &self.rights {
            rights.check(&operation, &body);
        }
        // The turn does not see which safeguards are removed.
        let turn = self.wire.turn(&operation, &body);
        let is_weaker = self.wire.state().safeguards.apply(&operation, &mut body);
        if let Some(turn) = turn {
            if is_weaker {
                set_body(&mut request, &body);
            }
            let (inner, wire) = (self.inner.clone(), self.wire.clone());
            return HttpConnectorFuture::new(async move {
                turn.before.await;
                let mut answer = execute(&inner, request, turn.fault, &operation, &body).await;
                if let Ok(answer) = &mut answer {
                    wire.read(&operation, &body, answer);
                }
                let outcome = outcome(&answer);
                if outcome != REFUSED {
                    crate::recorded::keep(recorded);
                }
                if let Ok(answer) = &answer
                    && outcome.starts_with("400 ")
                {
                    let answer = serde_json::from_slice(answer.body().bytes().unwrap_or_default());
                    let answer: Value = answer.unwrap_or_default();
                    wire.state().safeguards.note_refusals(&operation, &body, &answer);
                }
                (turn.after)(&outcome).await;
                answer
            });
        }
        let (number, fault) = self.wire.begin(&operation, &body);
        let (held, dies) = (self.wire.held(&operation), self.wire.dies());
        // Ask DynamoDB for the cost of the call, for the tests. The service does not ask for it.
        body["ReturnConsumedCapacity"] = json!("TOTAL");
        set_body(&mut request, &body);

        let (inner, wire) = (self.inner.clone(), self.wire.clone());
        HttpConnectorFuture::new(async move {
            if let Some((death, on_death)) = dies {
                if death == Death::After {
                    let _ = inner.call(request).await;
                }
                drop(on_death);
                return std::future::pending().await;
            }
            if let Some(released) = held {
                let _ = released.await;
            }
            let answer = execute(&inner, request, fault, &operation, &body).await;
            let (answer, units) = read_units(answer).await;
            // A test may make a wrong call on purpose. The database refuses it, as AWS does.
            if outcome(&answer) != REFUSED {
                crate::recorded::keep(recorded);
            }
            wire.end(number, units);
            answer
        })
    }
}

/// Executes a call, or fails as `fault` says.
async fn execute(
    inner: &SharedHttpConnector,
    request: HttpRequest,
    fault: Option<Fault>,
    operation: &str,
    body: &Value,
) -> Result<HttpResponse, ConnectorError> {
    match fault {
        Some(Fault::Throttled) => Ok(refusal("ThrottlingException", json!({}))),
        Some(Fault::Expired) => Ok(refusal("ExpiredIteratorException", json!({}))),
        Some(Fault::Conflict) if operation != "TransactWriteItems" => {
            Ok(refusal("TransactionConflictException", json!({})))
        }
        Some(Fault::Conflict) => Ok(cancelled("TransactionConflict", body)),
        Some(Fault::ItemThrottled) => Ok(cancelled("ThrottlingError", body)),
        Some(Fault::Unprocessed) => Ok(answer(200, &unprocessed(operation, body["RequestItems"].clone()))),
        Some(Fault::HalfProcessed) => half_processed(inner, request, operation, body).await,
        Some(Fault::Unreachable) => Err(ConnectorError::io("connection refused".into())),
        Some(Fault::AnswerLost) => match inner.call(request).await {
            Ok(_) => Err(ConnectorError::timeout("no answer in time".into())),
            Err(error) => Err(error),
        },
        None => inner.call(request).await,
    }
}

fn set_body(request: &mut HttpRequest, body: &Value) {
    let text = body.to_string();
    request.headers_mut().insert("content-length", text.len().to_string());
    *request.body_mut() = SdkBody::from(text);
}

/// The outcome of a call that AWS does not accept.
const REFUSED: &str = "400 ValidationException";

/// The outcome of a call in a word or two: the status and the type of an error.
fn outcome(answer: &Result<HttpResponse, ConnectorError>) -> String {
    match answer {
        Ok(response) if response.status().as_u16() == 200 => "200".to_owned(),
        Ok(response) => {
            let body: Value =
                serde_json::from_slice(response.body().bytes().unwrap_or_default()).unwrap_or_default();
            let kind = body["__type"].as_str().unwrap_or_default().rsplit('#').next().unwrap_or_default();
            format!("{} {kind}", response.status().as_u16())
        }
        Err(error) => error.to_string(),
    }
}

/// The operation of a call of DynamoDB or SQS.
pub(crate) fn operation_of(request: &HttpRequest) -> String {
    let target = request.headers().get("x-amz-target").and_then(|target| target.split_once('.'));
    target.map_or_else(String::new, |(_, operation)| operation.to_owned())
}

/// Reads the body into memory. Returns the response and the capacity units that it reports.
async fn read_units(
    answer: Result<HttpResponse, ConnectorError>,
) -> (Result<HttpResponse, ConnectorError>, f64) {
    match read_units_of(answer).await {
        Ok((answer, units)) => (Ok(answer), units),
        Err(error) => (Err(error), 0.0),
    }
}

async fn read_units_of(
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

/// The response of a batch that left this part unprocessed.
fn unprocessed(operation: &str, left: Value) -> Value {
    match operation {
        "BatchWriteItem" => json!({ "UnprocessedItems": left }),
        _ => json!({ "Responses": {}, "UnprocessedKeys": left }),
    }
}

/// Executes the first half of a batch and reports the rest as unprocessed.
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
    let mut response: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    for (name, value) in unprocessed(operation, left).as_object().into_iter().flatten() {
        if response[name].as_object().is_none_or(|known| known.is_empty()) {
            response[name] = value.clone();
        }
    }
    Ok(answer(200, &response))
}

/// Splits the content of a batch in the middle: the first half and the rest, each with its tables.
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

/// A transaction that is cancelled because of its first item.
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
    answer_text(status, body.to_string())
}

pub(crate) fn answer_text(status: u16, body: String) -> HttpResponse {
    let status = StatusCode::try_from(status).unwrap_or_else(|_| unreachable!("every status here is valid"));
    let mut response = HttpResponse::new(status, SdkBody::from(body));
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
    fn calls_that_overlap_are_one_round_trip() {
        assert_eq!(trips(&[]), 0);
        assert_eq!(trips(&[call(1, 4), call(2, 3)]), 1);
        assert_eq!(trips(&[call(1, 2), call(3, 4)]), 2);
        // One long call, and two short sequential calls during it.
        assert_eq!(trips(&[call(1, 6), call(2, 3), call(4, 5)]), 2);
    }

    #[test]
    fn a_batch_over_several_tables_is_split_in_the_middle() {
        let puts = json!({ "a": [1, 2, 3], "b": [4, 5] });
        assert_eq!(halves(&puts), (json!({ "a": [1, 2] }), json!({ "a": [3], "b": [4, 5] })));
        let keys = json!({ "a": { "Keys": [1], "ConsistentRead": true }, "b": { "Keys": [2, 3, 4] } });
        let (done, left) = halves(&keys);
        assert_eq!(done, json!({ "a": { "Keys": [1], "ConsistentRead": true }, "b": { "Keys": [2] } }));
        assert_eq!(left, json!({ "b": { "Keys": [3, 4] } }));
        assert_eq!(halves(&json!({ "a": [1] })), (json!({}), json!({ "a": [1] })));
    }
}
