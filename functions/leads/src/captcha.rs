//! The client of the captcha's provider.

use std::time::Duration;

use domain::lead::captcha::CaptchaAnswer;
use domain::{Secret, Timestamp};
use outbound::ClientError;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode, Url};
use rustls::RootCertStore;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use url::form_urlencoded;

/// Asks the provider about tokens. These requests leave the deployment's network, so tests replace it.
pub trait Verifier {
    /// Asks once. The provider accepts a token only once, so it would report a second request as a duplicate. If the
    /// answer is lost, it is unknown whether the provider saw the token.
    fn verify(
        &self,
        secret: &Secret,
        token: &Secret,
    ) -> impl Future<Output = Result<CaptchaAnswer, Unreachable>>;
}

/// Why the provider gave no usable answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// The connection failed: name, port or TLS.
    Connect,
    /// The time limit is over.
    Timeout,
    /// The connection ended before the answer, or the answer is not HTTP.
    BrokenOff,
    /// An HTTP status other than 200.
    Status(u16),
    /// The answer is larger than any valid one.
    TooLarge,
    /// A part of the answer is missing or invalid. The word names the part.
    Unreadable(&'static str),
}

impl Unreachable {
    /// The word for the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::BrokenOff => "broken_off",
            Self::Status(429) => "status_429",
            Self::Status(500) => "status_500",
            Self::Status(502) => "status_502",
            Self::Status(503) => "status_503",
            Self::Status(504) => "status_504",
            Self::Status(300..=399) => "status_3xx",
            Self::Status(400..=499) => "status_4xx",
            Self::Status(500..=599) => "status_5xx",
            Self::Status(_) => "status_other",
            Self::TooLarge => "too_large",
            Self::Unreadable(word) => word,
        }
    }
}

/// Google's siteverify over HTTPS. (Plain HTTP is for simulators.)
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    url: Url,
    time: Duration,
}

impl Client {
    /// The time limit of the whole call, while the visitor waits.
    pub const TIME: Duration = Duration::from_secs(3);
    /// How many bytes of an answer are read.
    const MAX_READ: usize = 16 * 1024;
    /// How long an unused connection is kept. Lambda freezes the process between requests, and only a write shows
    /// whether a connection is still open.
    const IDLE: Duration = Duration::from_secs(5);

    /// Makes a client for the siteverify of this host (`https://www.google.com`), with a time limit ([`Self::TIME`]).
    /// Making the TLS settings takes milliseconds, so a process does it once.
    pub fn new(base: &str, time: Duration) -> Result<Self, ClientError> {
        let place = outbound::url_below(base, &["recaptcha", "api", "siteverify"]);
        let url = place.ok_or(ClientError::Url { setting: "CAPTCHA_URL" })?;
        let tls = outbound::tls(RootCertStore::empty()).map_err(ClientError::Tls)?;
        let http = outbound::client(tls, "Leads")
            .https_only(url.scheme() == "https")
            .pool_idle_timeout(Self::IDLE)
            .build()
            .map_err(ClientError::Client)?;
        Ok(Self { http, url, time })
    }

    async fn ask(&self, form: String) -> Result<CaptchaAnswer, Unreachable> {
        let request = self
            .http
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        // The error may hold confidential data, so only a fixed word is kept.
        let response = request.send().await.map_err(|error| match error.is_connect() {
            true => Unreachable::Connect,
            false => Unreachable::BrokenOff,
        })?;
        match response.status() {
            StatusCode::OK => understood(&whole(response).await?),
            other => Err(Unreachable::Status(other.as_u16())),
        }
    }
}

impl Verifier for Client {
    async fn verify(&self, secret: &Secret, token: &Secret) -> Result<CaptchaAnswer, Unreachable> {
        let until = Instant::now() + self.time;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("secret", secret.expose())
            .append_pair("response", token.expose())
            .finish();
        timeout_at(until, self.ask(form)).await.unwrap_or(Err(Unreachable::Timeout))
    }
}

/// Reads the whole body.
async fn whole(mut response: Response) -> Result<Vec<u8>, Unreachable> {
    let mut body = vec![];
    while let Some(chunk) = response.chunk().await.map_err(|_| Unreachable::BrokenOff)? {
        if body.len() + chunk.len() > Client::MAX_READ {
            return Err(Unreachable::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn understood(body: &[u8]) -> Result<CaptchaAnswer, Unreachable> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|_| Unreachable::Unreadable("unreadable_json"))?;
    let text = |name, word| answer[name].as_str().ok_or(Unreachable::Unreadable(word));
    let moment = |text| Timestamp::parse(text).ok_or(Unreachable::Unreadable("unreadable_challenge_ts"));
    match answer["success"].as_bool() {
        Some(true) => Ok(CaptchaAnswer::Solved {
            score: answer["score"].as_f64().ok_or(Unreachable::Unreadable("unreadable_score"))?,
            action: text("action", "unreadable_action")?.to_owned(),
            hostname: text("hostname", "unreadable_hostname")?.to_owned(),
            at: moment(text("challenge_ts", "unreadable_challenge_ts")?)?,
        }),
        Some(false) => codes(&answer["error-codes"])
            .map(CaptchaAnswer::Refused)
            .ok_or(Unreachable::Unreadable("unreadable_error_codes")),
        None => Err(Unreachable::Unreadable("unreadable_success")),
    }
}

/// The texts of a list, which may be absent.
fn codes(codes: &Value) -> Option<Vec<String>> {
    match codes {
        Value::Null => Some(vec![]),
        Value::Array(codes) => codes.iter().map(|code| code.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_siteverify_path_is_appended_to_the_base() {
        for (base, url) in [
            ("https://www.google.com", "https://www.google.com/recaptcha/api/siteverify"),
            ("https://www.recaptcha.net/", "https://www.recaptcha.net/recaptcha/api/siteverify"),
            ("http://127.0.0.1:9/base", "http://127.0.0.1:9/base/recaptcha/api/siteverify"),
        ] {
            assert_eq!(Client::new(base, Client::TIME).unwrap().url.as_str(), url);
        }
        for base in ["", "www.google.com", "ftp://www.google.com", "mailto:a@b.example", "https://h/?x=1"] {
            assert!(matches!(Client::new(base, Client::TIME), Err(ClientError::Url { .. })), "{base}");
        }
    }

    #[test]
    fn an_incomplete_answer_is_refused() {
        let solved = |score| {
            let at = Timestamp::from_millis(1_767_323_045_000);
            Ok(CaptchaAnswer::Solved {
                score,
                action: "campaign_lead".to_owned(),
                hostname: "h.example".to_owned(),
                at,
            })
        };
        let with = |score: &str| {
            format!(
                r#"{{"success":true,"challenge_ts":"2026-01-02T03:04:05Z","hostname":"h.example","score":{score},"action":"campaign_lead"}}"#
            )
        };
        let without = |name: &str| with("0.9").replace(&format!("\"{name}\":"), "\"other\":");
        let refused =
            |codes: &[&str]| Ok(CaptchaAnswer::Refused(codes.iter().map(|&code| code.to_owned()).collect()));
        let unreadable = |part| Err(Unreachable::Unreadable(part));
        let rows = [
            (with("0.9"), solved(0.9)),
            (with("1"), solved(1.0)),
            (with("7"), solved(7.0)),
            (with("0.9").replace("05Z", "05.000+00:00"), solved(0.9)),
            (with("0.9").replace("{", r#"{"apk":null,"error-codes":[],"#), solved(0.9)),
            (with("\"0.9\""), unreadable("unreadable_score")),
            (with("null"), unreadable("unreadable_score")),
            (with("NaN"), unreadable("unreadable_json")),
            (with("1e999"), unreadable("unreadable_json")),
            (without("success"), unreadable("unreadable_success")),
            (without("score"), unreadable("unreadable_score")),
            (without("action"), unreadable("unreadable_action")),
            (without("hostname"), unreadable("unreadable_hostname")),
            (without("challenge_ts"), unreadable("unreadable_challenge_ts")),
            (with("0.9").replace("true", "\"true\""), unreadable("unreadable_success")),
            (with("0.9").replace("\"h.example\"", "[\"h.example\"]"), unreadable("unreadable_hostname")),
            (with("0.9").replace("2026-01-02T", "yesterday "), unreadable("unreadable_challenge_ts")),
            (r#"{"success":false}"#.to_owned(), refused(&[])),
            (r#"{"success":false,"error-codes":null}"#.to_owned(), refused(&[])),
            (r#"{"success":false,"error-codes":[]}"#.to_owned(), refused(&[])),
            (r#"{"success":false,"error-codes":["a","b"]}"#.to_owned(), refused(&["a", "b"])),
            (r#"{"success":false,"error-codes":"a"}"#.to_owned(), unreadable("unreadable_error_codes")),
            (r#"{"success":false,"error-codes":["a",1]}"#.to_owned(), unreadable("unreadable_error_codes")),
            ("{}".to_owned(), unreadable("unreadable_success")),
            ("[]".to_owned(), unreadable("unreadable_success")),
            ("null".to_owned(), unreadable("unreadable_success")),
            ("true".to_owned(), unreadable("unreadable_success")),
            (String::new(), unreadable("unreadable_json")),
            (with("0.9") + "}", unreadable("unreadable_json")),
            ("[".repeat(10_000), unreadable("unreadable_json")),
        ];
        for (body, expected) in rows {
            assert_eq!(understood(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn each_failure_has_a_word() {
        let rows = [
            (Unreachable::Connect, "connect"),
            (Unreachable::Timeout, "timeout"),
            (Unreachable::BrokenOff, "broken_off"),
            (Unreachable::TooLarge, "too_large"),
            (Unreachable::Unreadable("unreadable_score"), "unreadable_score"),
            (Unreachable::Status(204), "status_other"),
            (Unreachable::Status(302), "status_3xx"),
            (Unreachable::Status(403), "status_4xx"),
            (Unreachable::Status(429), "status_429"),
            (Unreachable::Status(500), "status_500"),
            (Unreachable::Status(502), "status_502"),
            (Unreachable::Status(503), "status_503"),
            (Unreachable::Status(504), "status_504"),
            (Unreachable::Status(507), "status_5xx"),
        ];
        for (failure, word) in rows {
            assert_eq!(failure.as_str(), word);
        }
    }
}
