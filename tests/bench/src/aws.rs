//! A stand-in for the services of AWS: DynamoDB from the embedded one, what it costs counted on the way; a queue that takes
//! everything; and the two others that functions call, which say yes to everything.

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

/// What answers an operation and its body.
pub(crate) type Canned = Arc<dyn Fn(&str, &Value) -> Value + Send + Sync>;

/// What answers the calls of DynamoDB.
#[derive(Clone)]
pub enum Database {
    /// The embedded one that is served at this address.
    Served(String),
    /// A closure, given operation and body: where not the database is measured but who calls it.
    Canned(Canned),
}

/// A message that was queued.
#[derive(Clone, Debug)]
pub struct Queued {
    /// The name of its queue.
    pub queue: String,
    /// Its body.
    pub body: String,
    /// For how long it is held back.
    pub delay: Duration,
}

/// All of AWS, and the providers of captchas and messages, at one address.
pub struct Aws {
    /// The server.
    pub server: Server,
    seen: Seen,
}

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    ticks: u64,
    calls: Vec<Call>,
    queued: Vec<Queued>,
    /// How long the database itself took.
    stored: Duration,
    /// Connections to the database that nobody uses at the moment.
    idle: Vec<SendRequest<Full<Bytes>>>,
}

impl Seen {
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
    /// Starts it before a database, with TLS if an authority is given. `traffic` is told of each call of the database.
    pub async fn start(database: Database, authority: Option<&Authority>, traffic: Traffic) -> Self {
        let seen = Seen::default();
        let calls = seen.clone();
        let tls = authority.map(|authority| authority.server.clone());
        let answer = move |request| answer(database.clone(), calls.clone(), traffic.clone(), request);
        Self { server: Server::start(tls, answer).await, seen }
    }

    /// What was called since the last time this was asked: the calls of the database and those of others, and how long the
    /// database took over its own.
    pub fn take(&self) -> (Vec<Call>, Duration) {
        let mut state = self.seen.state();
        (std::mem::take(&mut state.calls), std::mem::take(&mut state.stored))
    }

    /// What was queued since the last time this was asked.
    pub fn take_queued(&self) -> Vec<Queued> {
        std::mem::take(&mut self.seen.state().queued)
    }
}

async fn answer(database: Database, seen: Seen, traffic: Traffic, request: Incoming) -> Answer {
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
        _ if request.path.contains("siteverify") => json_answer(&solved()),
        _ => json_answer(&json!({ "messages": [{ "id": "wamid.bench" }] })),
    };
    call.ended = seen.tick();
    seen.state().calls.push(call);
    answer
}

/// Whether an operation only reads; a transaction of reads and writes costs writes.
fn reads(operation: &str) -> bool {
    ["Get", "Query", "Scan", "BatchGet", "TransactGet"].iter().any(|name| operation.starts_with(name))
}

/// The database's answer, and the units it counted.
async fn forward(database: &str, seen: &Seen, asked: &Incoming) -> (Answer, f64) {
    // What a call cost is read here; the functions do not ask.
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
    let response = sender.send_request(request.expect("a request")).await.expect("the database answers");
    let status = response.status();
    let body = response.into_body().collect().await.expect("the database answers").to_bytes();
    seen.state().idle.push(sender);
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let units = match &told["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
        table => table["CapacityUnits"].as_f64().unwrap_or_default(),
    };
    let headers = vec![("content-type", "application/x-amz-json-1.0".to_owned())];
    (Answer { status, headers, body }, units)
}

async fn connected(database: &str) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(database).await.expect("a database");
    let _ = stream.set_nodelay(true);
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("a connection");
    tokio::spawn(connection);
    sender
}

fn queued(seen: &Seen, body: &Bytes) -> Value {
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

/// A captcha that was solved a moment ago by somebody who seems human.
fn solved() -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = domain::Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap_or_default());
    json!({
        "success": true,
        "challenge_ts": at.to_string(),
        "hostname": "www.example.com",
        "score": 0.9,
        "action": domain::captcha::ACTION,
    })
}

fn json_answer(body: &Value) -> Answer {
    let headers = vec![("content-type", "application/json".to_owned())];
    Answer { status: StatusCode::OK, headers, body: Bytes::from(body.to_string()) }
}
