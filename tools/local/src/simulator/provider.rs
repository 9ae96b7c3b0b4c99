//! The WhatsApp Cloud API, as far as `message-sender` and `lead-sender` need it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::http_server::{Asked, Reaction, Server, json as json_answer, show_ledger};
use super::ledger::{Ledger, joined, now, path};
use super::whatsapp::{self, Fault};

/// A running Cloud API. Dropping it ends it.
///
/// `POST /<version>/<phone-number-id>/messages` with a bearer token accepts every message that follows the Cloud
/// API's rules and returns a unique message id. The last four digits of the recipient can select another answer:
///
/// | digits | answer |
/// |---|---|
/// | `0001` | 400, error 131026: the recipient cannot be reached |
/// | `0002` | 429, error 130429, twice for each message; then it is accepted |
/// | `0003` | none: the request is read, the connection stays open |
/// | `0004` | 500, error 1, once for each message; then it is accepted |
/// | `0005` | none: the request is read, the connection closed |
/// | `0006` | 404, error 132001: the template does not exist |
///
/// Two requests are tries of the same message if recipient and body are equal. The part of a file's link after the
/// `?` is ignored, because each try signs the link anew. After acceptance, the count of tries starts again.
#[derive(Debug)]
pub struct Provider {
    server: Server,
    ledger: Ledger<Call>,
}

/// A call, as received, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The time when the request was read completely (UTC, milliseconds).
    pub at: String,
    /// The method, in upper case.
    pub method: String,
    /// The path, with its query if it has one.
    pub path: String,
    /// The headers, with names in lower case. The values of a repeated header are joined by `, `.
    pub headers: BTreeMap<String, String>,
    /// The body. `null` if it is not JSON.
    pub body: Value,
    /// The answer. `null` if there was none.
    pub answer: Option<Answered>,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl Provider {
    /// Starts it on this port of 127.0.0.1 (0 selects a free one).
    ///
    /// # Errors
    /// If the port is taken.
    pub async fn start(port: u16) -> io::Result<Self> {
        let ledger = Ledger::new();
        let (written, messages) = (ledger.clone(), Arc::new(Messages::default()));
        let server = Server::plain(port, move |asked| {
            let (ledger, messages) = (written.clone(), Arc::clone(&messages));
            async move { respond(&asked, &ledger, &messages).await }
        })
        .await?;
        Ok(Self { server, ledger })
    }

    /// The origin, without a trailing slash. `/ledger` on it shows the calls.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port())
    }

    /// The calls that the simulator got.
    pub const fn ledger(&self) -> &Ledger<Call> {
        &self.ledger
    }
}

async fn respond(asked: &Asked, ledger: &Ledger<Call>, messages: &Messages) -> Reaction {
    if asked.uri.path() == "/ledger" {
        return Some(show_ledger(ledger, &asked.method));
    }
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    let reaction = react(asked, &body, messages);
    let answer = match &reaction {
        React::Answer(answered) => Some(answered.clone()),
        React::Hang | React::Close => None,
    };
    ledger.record(Call {
        at: now(),
        method: asked.method.to_string(),
        path: path(&asked.uri),
        headers: joined(&asked.headers),
        body,
        answer,
    });
    match reaction {
        React::Answer(Answered { status, body }) => {
            Some(json_answer(StatusCode::from_u16(status).unwrap_or_default(), &body))
        }
        // The call hangs until the client closes the connection.
        React::Hang => std::future::pending().await,
        React::Close => None,
    }
}

enum React {
    Answer(Answered),
    Hang,
    Close,
}

fn react(asked: &Asked, body: &Value, messages: &Messages) -> React {
    let [_version, _phone_number_id, "messages"] = asked.segments()[..] else {
        return refused(&Fault::INVALID.because("Unsupported request: the only path is .../messages."));
    };
    if asked.method != Method::POST {
        return refused(&Fault::INVALID.because("Unsupported request: use POST for messages."));
    }
    if !has_bearer_token(asked) {
        return refused(&Fault::TOKEN.because("The access token is missing."));
    }
    let to = match whatsapp::recipient(body) {
        Ok(to) => to,
        Err(fault) => return refused(&fault),
    };
    let behaviour =
        BEHAVIOURS.iter().find(|(digits, _)| to.ends_with(digits)).map(|(_, behaviour)| behaviour);
    match behaviour {
        None => messages.accept(&to, body),
        Some(Behaviour::Refuses(fault)) => refused(fault),
        Some(Behaviour::RefusesFirst(times, fault)) if messages.tried(&to, body) <= *times => refused(fault),
        Some(Behaviour::RefusesFirst(..)) => messages.accept(&to, body),
        Some(Behaviour::Hangs) => React::Hang,
        Some(Behaviour::Closes) => React::Close,
    }
}

enum Behaviour {
    Refuses(Fault),
    /// Refuses this number of first tries of each message.
    RefusesFirst(u32, Fault),
    Hangs,
    Closes,
}

/// The behaviour for the last four digits of a recipient.
static BEHAVIOURS: [(&str, Behaviour); 6] = [
    ("0001", Behaviour::Refuses(Fault::UNDELIVERABLE)),
    ("0002", Behaviour::RefusesFirst(2, Fault::RATE_LIMIT)),
    ("0003", Behaviour::Hangs),
    ("0004", Behaviour::RefusesFirst(1, Fault::UNKNOWN_ERROR)),
    ("0005", Behaviour::Closes),
    ("0006", Behaviour::Refuses(Fault::NO_TEMPLATE)),
];

/// The state of the messages sent so far.
#[derive(Default)]
struct Messages(Mutex<State>);

#[derive(Default)]
struct State {
    accepted: u64,
    /// The number of tries of messages that are not accepted yet, by recipient and body.
    tries: HashMap<(String, String), u32>,
}

impl Messages {
    /// Counts a try of a message, from 1.
    fn tried(&self, to: &str, body: &Value) -> u32 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tries = state.tries.entry(message(to, body)).or_default();
        *tries += 1;
        *tries
    }

    fn accept(&self, to: &str, body: &Value) -> React {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.tries.remove(&message(to, body));
        state.accepted += 1;
        let id = format!("wamid.{}", STANDARD.encode(format!("{to}-{}", state.accepted)));
        React::Answer(Answered {
            status: 200,
            body: json!({
                "messaging_product": "whatsapp",
                "contacts": [{ "input": body["to"], "wa_id": to }],
                "messages": [{ "id": id }],
            }),
        })
    }
}

/// The identity of a message: its recipient and its body, without the query of a link.
fn message(to: &str, body: &Value) -> (String, String) {
    let mut body = body.clone();
    if let Some(Value::String(link)) =
        body.as_object_mut().into_iter().flatten().find_map(|(_, part)| part.get_mut("link"))
    {
        link.truncate(link.find('?').unwrap_or(link.len()));
    }
    (to.to_owned(), body.to_string())
}

fn has_bearer_token(asked: &Asked) -> bool {
    asked
        .headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .is_some_and(|token| !token.is_empty())
}

fn refused(fault: &Fault) -> React {
    React::Answer(Answered { status: fault.status, body: fault.body() })
}
