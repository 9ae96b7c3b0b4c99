//! A stand-in for AWS. It forwards calls of DynamoDB to the embedded database and counts their cost. Its queue accepts
//! everything, and the bucket of failures is empty. It also answers for the providers of captchas and messages, which accept everything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harness::Call;
use http::header::CONTENT_LENGTH;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::serve::{Answer, Authority, Incoming, Server};
use crate::traffic::Traffic;

/// Returns the response to an operation and its body.
pub(crate) type Canned = Arc<dyn Fn(&str, &Value) -> Value + Send + Sync>;

/// The source of DynamoDB's responses.
#[derive(Clone)]
pub enum Database {
    /// The embedded database served at this address.
    Served(String),
    /// A closure that gets operation and body, for measurements of the caller and not of the database.
    Canned(Canned),
}

/// A queued message.
#[derive(Clone, Debug)]
pub struct Queued {
    /// The name of the queue.
    pub queue: String,
    /// The message body.
    pub body: String,
    /// The delay of the message.
    pub delay: Duration,
}

/// All services of AWS and the providers of captchas and messages, at one address.
pub struct Aws {
    /// The server.
    pub server: Server,
    seen: SeenCalls,
}

#[derive(Clone, Default)]
struct SeenCalls(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    ticks: u64,
    calls: Vec<Call>,
    queued: Vec<Queued>,
    /// The total time that the database itself took.
    stored: Duration,
    /// Idle connections to the database.
    idle: Vec<SendRequest<Full<Bytes>>>,
}

impl SeenCalls {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        let mut state = self.state();
        state.ticks += 1;
        state.ticks
    }
}

impl Aws {
    /// Starts the stand-in in front of a database, with TLS if an authority is given. `traffic` counts each call of the
    /// database.
    pub async fn start(database: Database, authority: Option<&Authority>, traffic: Traffic) -> Self {
        let seen = SeenCalls::default();
        let calls = seen.clone();
        let tls = authority.map(|authority| authority.server.clone());
        let answer = move |request| answer(database.clone(), calls.clone(), traffic.clone(), request);
        Self { server: Server::start(tls, answer).await, seen }
    }

    /// The calls since the last `take`, of the database and of other services, and the total time that the database
    /// took for its calls.
    pub fn take(&self) -> (Vec<Call>, Duration) {
        let mut state = self.seen.state();
        (std::mem::take(&mut state.calls), std::mem::take(&mut state.stored))
    }

    /// The messages queued since the last `take_queued`.
    pub fn take_queued(&self) -> Vec<Queued> {
        std::mem::take(&mut self.seen.state().queued)
    }
}

async fn answer(database: Database, seen: SeenCalls, traffic: Traffic, request: Incoming) -> Answer {
    let target =
        request.headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let (service, operation) = target.split_once('.').unwrap_or(("", request.path.as_str()));
    let mut call = Call {
        operation: operation.to_owned(),
        table: String::new(),
        read_units: 0.0,
        write_units: 0.0,
        started: seen.tick(),
        ended: 0,
    };
    let answer = match service {
        "DynamoDB_20120810" => {
            let _under_way = traffic.call();
            let begun = Instant::now();
            let (answer, units) = match &database {
                Database::Served(address) => {
                    forward(address.trim_start_matches("http://"), &seen, &request).await
                }
                Database::Canned(answer) => {
                    let body = serde_json::from_slice(&request.body).unwrap_or_default();
                    (json_answer(&answer(operation, &body)), 0.0)
                }
            };
            seen.state().stored += begun.elapsed();
            match reads(operation) {
                true => call.read_units = units,
                false => call.write_units = units,
            }
            answer
        }
        "AmazonSQS" => json_answer(&queued(&seen, &request.body)),
        _ if request.path.starts_with("/test-failures") => Answer {
            status: StatusCode::OK,
            headers: vec![("content-type", "application/xml".to_owned())],
            body: Bytes::from_static(
                b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>",
            ),
        },
        _ if request.path.contains("siteverify") => json_answer(&solved()),
        _ => json_answer(&json!({ "messages": [{ "id": "wamid.bench" }] })),
    };
    call.ended = seen.tick();
    seen.state().calls.push(call);
    answer
}

/// Whether an operation only reads. A transaction of reads and writes consumes write units.
fn reads(operation: &str) -> bool {
    ["Get", "Query", "Scan", "BatchGet", "TransactGet"].iter().any(|name| operation.starts_with(name))
}

/// Forwards a call. Returns the database's response and the units that it counted.
async fn forward(database: &str, seen: &SeenCalls, asked: &Incoming) -> (Answer, f64) {
    // Ask DynamoDB for the cost of the call. The functions do not ask for it.
    let mut body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    body["ReturnConsumedCapacity"] = json!("TOTAL");
    let kept = asked.headers.iter().filter(|(name, _)| *name != CONTENT_LENGTH);
    let request = kept
        .fold(Request::post("/"), |request, (name, value)| request.header(name, value))
        .body(Full::new(Bytes::from(body.to_string())));
    let idle = seen.state().idle.pop().filter(|sender| !sender.is_closed());
    let mut sender = match idle {
        Some(sender) => sender,
        None => connected(database).await,
    };
    let response =
        sender.send_request(request.expect("a valid request")).await.expect("a response of the database");
    let status = response.status();
    let body = response.into_body().collect().await.expect("a response of the database").to_bytes();
    seen.state().idle.push(sender);
    let notified: Value = serde_json::from_slice(&body).unwrap_or_default();
    let units = match &notified["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
        table => table["CapacityUnits"].as_f64().unwrap_or_default(),
    };
    let headers = vec![("content-type", "application/x-amz-json-1.0".to_owned())];
    (Answer { status, headers, body }, units)
}

async fn connected(database: &str) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(database).await.expect("a connection to the database");
    let _ = stream.set_nodelay(true);
    let (sender, connection) =
        handshake(TokioIo::new(stream)).await.expect("an HTTP handshake with the database");
    tokio::spawn(connection);
    sender
}

fn queued(seen: &SeenCalls, body: &Bytes) -> Value {
    let asked: Value = serde_json::from_slice(body).unwrap_or_default();
    let queue = asked["QueueUrl"].as_str().and_then(|url| url.rsplit('/').next()).unwrap_or_default();
    let mut taken = vec![];
    for entry in asked["Entries"].as_array().into_iter().flatten() {
        seen.state().queued.push(Queued {
            queue: queue.to_owned(),
            body: entry["MessageBody"].as_str().unwrap_or_default().to_owned(),
            delay: Duration::from_secs(entry["DelaySeconds"].as_u64().unwrap_or_default()),
        });
        taken.push(json!({ "Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "" }));
    }
    json!({ "Successful": taken, "Failed": [] })
}

/// A captcha that was solved just now with the score of a human.
fn solved() -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = domain::Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap_or_default());
    json!({
        "success": true,
        "challenge_ts": at.to_string(),
        "hostname": "www.example.com",
        "score": 0.9,
        "action": domain::lead::captcha::ACTION,
    })
}

fn json_answer(body: &Value) -> Answer {
    let headers = vec![("content-type", "application/json".to_owned())];
    Answer { status: StatusCode::OK, headers, body: Bytes::from(body.to_string()) }
}
