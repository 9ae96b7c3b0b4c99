//! Google's reCAPTCHA siteverify, as far as lead capture needs it.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::Timestamp;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::http_server::{Asked, Reaction, Server, json as json_answer, show_ledger, text};
use super::ledger::{Ledger, now};

/// A running siteverify. Dropping it ends it.
///
/// `POST /recaptcha/api/siteverify` accepts the form fields `secret` and `response`. The token selects the answer:
///
/// | token | answer |
/// |---|---|
/// | `pass-<nonce>` | solved: score 0.9, action `campaign_lead`, challenge now |
/// | `score-<x>-<nonce>` | the same with score x |
/// | `action-<name>-<nonce>` | the same with the action `<name>` |
/// | `host-<name>-<nonce>` | the same with the hostname `<name>` |
/// | `error-<code>-<nonce>` | `success: false` and this code |
/// | `status-<http>-<nonce>` | this HTTP status (200 to 599) and a text |
/// | `garbage-<nonce>` | 200 and a text that is not JSON |
/// | `hang-<nonce>` | none: the connection stays open until the client closes it, at most a minute |
/// | any other | `invalid-input-response` |
///
/// A nonce makes the token unique. It may be a UUID. A name ends at the UUID or, without one, at the last dash. The
/// error codes that Google documents are recognized as a whole. As at Google, a token can be solved only once: a
/// repetition gets `timeout-or-duplicate`. The other kinds of tokens always get the same answer.
///
/// The secret selects the hostname in the answer: `<hostname>` for `secret-for-<hostname>`, and `localhost` for any
/// other secret. A secret that begins with `wrong` gets `invalid-input-secret` and does not use up the token. A
/// missing field gets Google's error code for it.
#[derive(Debug)]
pub struct Captcha {
    server: Server,
    ledger: Ledger,
}

impl Captcha {
    /// Starts it on this port of 127.0.0.1 (0 selects a free one).
    ///
    /// # Errors
    /// If the port is taken.
    pub async fn start(port: u16) -> io::Result<Self> {
        let ledger = Ledger::new();
        let (written, solved) = (ledger.clone(), Arc::new(Solved::default()));
        let server = Server::plain(port, move |asked| {
            let (ledger, solved) = (written.clone(), Arc::clone(&solved));
            async move { respond(&asked, &ledger, &solved).await }
        })
        .await?;
        Ok(Self { server, ledger })
    }

    /// The origin, without a trailing slash. `/ledger` on it shows the requests.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.port())
    }

    /// The requests that the simulator got.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// The longest time without an answer.
const LONGEST_HANG: Duration = Duration::from_secs(60);

async fn respond(asked: &Asked, ledger: &Ledger, solved: &Solved) -> Reaction {
    let (path, method) = (asked.uri.path(), &asked.method);
    if path == "/ledger" {
        return Some(show_ledger(ledger, method));
    }
    if path != "/recaptcha/api/siteverify" || *method != Method::POST {
        return Some(text(StatusCode::NOT_FOUND, "POST /recaptcha/api/siteverify is all there is"));
    }
    ledger.record(asked.entry());
    let (secret, token) = (field(&asked.body, "secret"), field(&asked.body, "response"));
    match token.as_deref().and_then(Token::read) {
        Some(Token::Status(status)) => Some(text(status, "as asked")),
        Some(Token::Garbage) => Some(text(StatusCode::OK, "<html>this is no JSON</html>")),
        Some(Token::Hang) => {
            tokio::time::sleep(LONGEST_HANG).await;
            None
        }
        read => {
            Some(json_answer(StatusCode::OK, &verdict(secret.as_deref(), token.as_deref(), read, solved)))
        }
    }
}

/// A field of the form. `None` if it is missing or empty.
fn field(form: &[u8], wanted: &str) -> Option<String> {
    let mut fields = url::form_urlencoded::parse(form);
    fields.find(|(name, value)| name == wanted && !value.is_empty()).map(|(_, value)| value.into_owned())
}

fn verdict(secret: Option<&str>, token: Option<&str>, read: Option<Token<'_>>, solved: &Solved) -> Value {
    let secret_code = match secret {
        None => Some("missing-input-secret"),
        Some(secret) if secret.starts_with("wrong") => Some("invalid-input-secret"),
        Some(_) => None,
    };
    let codes: Vec<&str> =
        secret_code.into_iter().chain(token.is_none().then_some("missing-input-response")).collect();
    let (Some(secret), Some(token), []) = (secret, token, &codes[..]) else { return refused(&codes) };
    let mut answer = json!({
        "success": true,
        "challenge_ts": Timestamp::parse(&now()).map(Timestamp::to_seconds_string),
        "hostname": secret.strip_prefix("secret-for-").unwrap_or("localhost"),
        "score": 0.9,
        "action": domain::lead::captcha::ACTION,
    });
    match read {
        Some(Token::Pass) => {}
        Some(Token::Score(score)) => answer["score"] = json!(score),
        Some(Token::Action(name)) => answer["action"] = json!(name),
        Some(Token::Host(name)) => answer["hostname"] = json!(name),
        Some(Token::Error(code)) => return refused(&[code]),
        Some(Token::Status(_) | Token::Garbage | Token::Hang) | None => {
            return refused(&["invalid-input-response"]);
        }
    }
    if solved.first_time(token) { answer } else { refused(&["timeout-or-duplicate"]) }
}

fn refused(codes: &[&str]) -> Value {
    json!({ "success": false, "error-codes": codes })
}

/// The tokens that were solved.
#[derive(Default)]
struct Solved(Mutex<HashSet<String>>);

impl Solved {
    fn first_time(&self, token: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token.to_owned())
    }
}

/// The answer that a token selects.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Pass,
    Score(f64),
    Action(&'a str),
    Host(&'a str),
    Error(&'a str),
    Status(StatusCode),
    Garbage,
    Hang,
}

impl<'a> Token<'a> {
    fn read(token: &'a str) -> Option<Self> {
        let (kind, rest) = token.split_once('-')?;
        match kind {
            "pass" | "garbage" | "hang" if rest.is_empty() => None,
            "pass" => Some(Self::Pass),
            "garbage" => Some(Self::Garbage),
            "hang" => Some(Self::Hang),
            "score" => name(rest)?.parse().ok().filter(|score: &f64| score.is_finite()).map(Self::Score),
            "action" => name(rest).map(Self::Action),
            "host" => name(rest).map(Self::Host),
            "error" => code(rest).map(Self::Error),
            "status" => {
                let status: u16 = name(rest)?.parse().ok()?;
                StatusCode::from_u16(status).ok().filter(|_| (200..600).contains(&status)).map(Self::Status)
            }
            _ => None,
        }
    }
}

/// The codes that Google documents.
const CODES: [&str; 6] = [
    "missing-input-secret",
    "invalid-input-secret",
    "missing-input-response",
    "invalid-input-response",
    "bad-request",
    "timeout-or-duplicate",
];

/// The code in front of a nonce.
fn code(rest: &str) -> Option<&str> {
    let known = CODES.into_iter().find(|code| rest.starts_with(code));
    let Some(known) = known else { return name(rest) };
    let nonce = rest[known.len()..].strip_prefix('-')?;
    (!nonce.is_empty()).then_some(known)
}

/// The name in front of a nonce.
fn name(rest: &str) -> Option<&str> {
    let uuid = rest.len().checked_sub(36).and_then(|at| rest.get(at..)).filter(|end| is_uuid(end));
    let (name, nonce) = match uuid {
        Some(uuid) => (rest.strip_suffix(uuid)?.strip_suffix('-')?, uuid),
        None => rest.rsplit_once('-')?,
    };
    (!name.is_empty() && !nonce.is_empty()).then_some(name)
}

fn is_uuid(text: &str) -> bool {
    text.char_indices().all(|(at, c)| match at {
        8 | 13 | 18 | 23 => c == '-',
        _ => c.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_selects_the_answer() {
        const UUID: &str = "0c8f6dd2-93a1-4a3b-9d5a-2f6a1f0f7c11";
        let with_uuid = |kind: &str| format!("{kind}-{UUID}");
        let status = |status| Some(Token::Status(StatusCode::from_u16(status).unwrap()));
        let rows = [
            ("pass-1".to_owned(), Some(Token::Pass)),
            (with_uuid("pass"), Some(Token::Pass)),
            ("score-0.3-1".to_owned(), Some(Token::Score(0.3))),
            (with_uuid("score-0.3"), Some(Token::Score(0.3))),
            ("score-7-x".to_owned(), Some(Token::Score(7.0))),
            ("action-submit-1".to_owned(), Some(Token::Action("submit"))),
            ("action-sign-up-1".to_owned(), Some(Token::Action("sign-up"))),
            (with_uuid("action-sign-up"), Some(Token::Action("sign-up"))),
            ("host-evil.example-1".to_owned(), Some(Token::Host("evil.example"))),
            (with_uuid("host-my-shop.example"), Some(Token::Host("my-shop.example"))),
            ("error-timeout-or-duplicate-1".to_owned(), Some(Token::Error("timeout-or-duplicate"))),
            ("error-bad-request-a-b-c".to_owned(), Some(Token::Error("bad-request"))),
            (with_uuid("error-invalid-input-secret"), Some(Token::Error("invalid-input-secret"))),
            ("error-browser-error-1".to_owned(), Some(Token::Error("browser-error"))),
            (with_uuid("error-browser-error"), Some(Token::Error("browser-error"))),
            ("status-503-1".to_owned(), status(503)),
            (with_uuid("status-429"), status(429)),
            (with_uuid("hang"), Some(Token::Hang)),
            ("garbage-1".to_owned(), Some(Token::Garbage)),
        ];
        for (token, expected) in rows {
            assert_eq!(Token::read(&token), expected, "{token}");
        }
        for other in [
            "",
            "-",
            "pass",
            "pass-",
            "hang-",
            "garbage-",
            "Pass-1",
            "token",
            "03AGdBq25",
            "score-1",
            "score--1",
            "score-high-1",
            "score-NaN-1",
            "score-inf-1",
            "action-submit",
            "action--1",
            "action-submit-",
            "host-1",
            UUID,
            "status-503",
            "status-99-1",
            "status-600-1",
            "status-ok-1",
            "error-bad-request",
            "error-bad-request-",
            "error-bad-requests-1",
            "error-1",
        ] {
            assert_eq!(Token::read(other), None, "{other}");
        }
        assert_eq!(
            Token::read(&with_uuid("action")),
            None,
            "a UUID is the nonce, whatever is missing before it"
        );
    }
}
