//! A customer's webhook endpoint, over HTTPS.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::LOCATION;
use http::{HeaderValue, StatusCode};

use super::certificate;
use super::http_server::{Answer, Asked, Server, show_ledger, text};
use super::ledger::Ledger;

/// The longest wait of `/slow/<seconds>`, far above any timeout under test.
const LONGEST_WAIT: f64 = 600.0;

/// A running receiver. Dropping it ends it.
///
/// The path selects the answer. Any suffix may follow these prefixes:
///
/// | path | answer |
/// |---|---|
/// | `/ok`, or any other | 200 |
/// | `/status/<code>` | that status |
/// | `/slow/<seconds>` | 200 after this time |
/// | `/redirect` | 302 to `/ok/redirected` |
/// | `/fail-first/<n>` | 500 for the first n requests to this full path, then 200 |
///
/// The ledger has its own plain HTTP port, so reading it adds no entry.
#[derive(Debug)]
pub struct Receiver {
    https: Server,
    ledger_http: Server,
    ledger: Ledger,
    ca_pem: String,
}

impl Receiver {
    /// Starts it on these ports of 127.0.0.1 (0 selects a free one), with a new certificate authority.
    ///
    /// # Errors
    /// If a port is taken or no certificate can be created.
    pub async fn start(https_port: u16, ledger_port: u16) -> io::Result<Self> {
        let identity = certificate::fresh_identity()?;
        let ledger = Ledger::new();
        let calls = Arc::new(Calls::default());

        let written = ledger.clone();
        let https = Server::tls(https_port, identity.tls, move |asked| {
            written.record(asked.entry());
            let calls = Arc::clone(&calls);
            async move { Some(respond(&asked, &calls).await) }
        })
        .await?;

        let shown = ledger.clone();
        let ledger_http = Server::plain(ledger_port, move |asked| {
            let answer = show_ledger(&shown, &asked.method);
            async move { Some(answer) }
        })
        .await?;
        Ok(Self { https, ledger_http, ledger, ca_pem: identity.ca_pem })
    }

    /// The origin of webhook URLs, without a trailing slash.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.https.port())
    }

    /// The origin of the ledger: `GET` reads it and `DELETE` empties it. Every path works, including `/ledger`.
    pub fn ledger_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ledger_http.port())
    }

    /// The authority's certificate, which a client must trust.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// The requests that the receiver got.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// The number of calls of each full path.
#[derive(Default)]
struct Calls(Mutex<HashMap<String, u32>>);

impl Calls {
    fn count(&self, path: &str) -> u32 {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(path.to_owned()).or_default();
        *count += 1;
        *count
    }
}

async fn respond(asked: &Asked, calls: &Calls) -> Answer {
    match asked.segments().as_slice() {
        ["status", code, ..] => match code.parse().ok().and_then(final_status) {
            Some(status) => text(status, "as asked"),
            None => unreadable("/status/<code> takes a code from 200 to 599"),
        },
        ["slow", seconds, ..] => {
            match seconds.parse().ok().filter(|wait| (0.0..=LONGEST_WAIT).contains(wait)) {
                Some(wait) => {
                    tokio::time::sleep(Duration::from_secs_f64(wait)).await;
                    text(StatusCode::OK, "ok, slowly")
                }
                None => unreadable("/slow/<seconds> takes a number from 0 to 600"),
            }
        }
        ["redirect", ..] => redirect(),
        ["fail-first", times, ..] => match times.parse::<u32>() {
            Ok(times) if calls.count(asked.uri.path()) <= times => {
                text(StatusCode::INTERNAL_SERVER_ERROR, "failing, as asked")
            }
            Ok(_) => text(StatusCode::OK, "ok, at last"),
            Err(_) => unreadable("/fail-first/<n> takes a whole number"),
        },
        _ => text(StatusCode::OK, "ok"),
    }
}

/// The status of a final answer. 1xx is not one.
fn final_status(code: u16) -> Option<StatusCode> {
    StatusCode::from_u16(code).ok().filter(|status| (200..600).contains(&status.as_u16()))
}

fn redirect() -> Answer {
    let mut answer = text(StatusCode::FOUND, "elsewhere");
    answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/ok/redirected"));
    answer
}

fn unreadable(why: &str) -> Answer {
    text(StatusCode::NOT_FOUND, why)
}
