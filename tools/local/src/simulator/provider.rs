//! The WhatsApp Cloud API, as far as the senders need it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::http_server::{Answer, Asked, Server, json as json_answer, show_ledger};
use super::ledger::Ledger;

/// A running Cloud API; it ends when it is dropped.
///
/// `POST /<version>/<phone-number-id>/messages` with a bearer token accepts every message that names its
/// recipient and answers a message id of its own; anything else is answered by an error in Graph's shape.
#[derive(Debug)]
pub struct Provider {
    server: Server,
    ledger: Ledger,
}

impl Provider {
    /// Starts it on this port of 127.0.0.1 (0 takes a free one).
    ///
    /// # Errors
    /// When the port is taken.
    pub async fn start(port: u16) -> io::Result<Self> {
        let ledger = Ledger::new();
        let written = ledger.clone();
        let sent = Arc::new(AtomicU64::new(0));
        let server = Server::plain(port, move |asked| {
            let answer = respond(&asked, &written, &sent);
            async move { answer }
        })
        .await?;
        Ok(Self { server, ledger })
    }

    /// The origin, without a slash at its end; `/ledger` on it shows what was sent.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port())
    }

    /// What was sent.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn respond(asked: &Asked, ledger: &Ledger, sent: &AtomicU64) -> Answer {
    match (asked.segments().as_slice(), &asked.method) {
        (["ledger"], method) => show_ledger(ledger, method),
        ([_version, _phone_number_id, "messages"], &Method::POST) => {
            ledger.record(asked.entry());
            send(asked, sent)
        }
        _ => graph_error(StatusCode::BAD_REQUEST, 100, "Unsupported request"),
    }
}

fn send(asked: &Asked, sent: &AtomicU64) -> Answer {
    if !has_bearer_token(asked) {
        return graph_error(StatusCode::UNAUTHORIZED, 190, "Invalid OAuth access token");
    }
    let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    if message["messaging_product"] != "whatsapp" {
        return graph_error(
            StatusCode::BAD_REQUEST,
            100,
            "(#100) The parameter messaging_product is required.",
        );
    }
    let Some(to) = message["to"].as_str().filter(|to| !to.is_empty()) else {
        return graph_error(StatusCode::BAD_REQUEST, 100, "(#100) The parameter to is required.");
    };
    let number = sent.fetch_add(1, Ordering::Relaxed) + 1;
    let digits: String = to.chars().filter(char::is_ascii_digit).collect();
    let id = format!("wamid.{}", STANDARD.encode(format!("{digits}-{number}")));
    json_answer(
        StatusCode::OK,
        &json!({
            "messaging_product": "whatsapp",
            "contacts": [{ "input": to, "wa_id": digits }],
            "messages": [{ "id": id }],
        }),
    )
}

fn has_bearer_token(asked: &Asked) -> bool {
    asked
        .headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .is_some_and(|token| !token.is_empty())
}

fn graph_error(status: StatusCode, code: u32, message: &str) -> Answer {
    json_answer(
        status,
        &json!({ "error": { "message": message, "type": "OAuthException", "code": code, "fbtrace_id": "local" } }),
    )
}
