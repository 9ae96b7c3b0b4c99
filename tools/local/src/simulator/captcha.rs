//! Google's reCAPTCHA siteverify, as far as the lead capture needs it.

use std::io;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::http_server::{Answer, Asked, Server, json as json_answer, show_ledger, text};
use super::ledger::{Ledger, now};

/// A running siteverify; it ends when it is dropped.
///
/// `POST /recaptcha/api/siteverify` (form-encoded `secret` and `response`) accepts every token with score 0.9;
/// a missing field is answered as Google does, by `success: false` and its error code.
#[derive(Debug)]
pub struct Captcha {
    server: Server,
    ledger: Ledger,
}

impl Captcha {
    /// Starts it on this port of 127.0.0.1 (0 takes a free one).
    ///
    /// # Errors
    /// When the port is taken.
    pub async fn start(port: u16) -> io::Result<Self> {
        let ledger = Ledger::new();
        let written = ledger.clone();
        let server = Server::plain(port, move |asked| {
            let answer = respond(&asked, &written);
            async move { Some(answer) }
        })
        .await?;
        Ok(Self { server, ledger })
    }

    /// The origin, without a slash at its end; `/ledger` on it shows what was asked.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port())
    }

    /// What was asked.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn respond(asked: &Asked, ledger: &Ledger) -> Answer {
    match (asked.uri.path(), &asked.method) {
        ("/ledger", method) => show_ledger(ledger, method),
        ("/recaptcha/api/siteverify", &Method::POST) => {
            ledger.record(asked.entry());
            json_answer(StatusCode::OK, &verdict(&asked.body))
        }
        _ => text(StatusCode::NOT_FOUND, "POST /recaptcha/api/siteverify is all there is"),
    }
}

fn verdict(form: &[u8]) -> Value {
    let given = |wanted: &str| {
        url::form_urlencoded::parse(form).any(|(name, value)| name == wanted && !value.is_empty())
    };
    let missing: Vec<&str> = [("secret", "missing-input-secret"), ("response", "missing-input-response")]
        .into_iter()
        .filter(|(field, _)| !given(field))
        .map(|(_, code)| code)
        .collect();
    if missing.is_empty() {
        json!({
            "success": true,
            "score": 0.9,
            "action": "submit",
            "hostname": "localhost",
            "challenge_ts": now(),
        })
    } else {
        json!({ "success": false, "error-codes": missing })
    }
}
