//! The client of the WhatsApp Cloud API.

use std::time::Duration;

use domain::{ChannelId, Reached};
use outbound::ClientError;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Request, Response, Url};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::body::body;
use crate::{Call, CallOutcome, Provider, Sent, bearer};

/// The Cloud API over HTTPS. Plain HTTP is for simulators.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    tls: ClientConfig,
    base: Url,
    time: Duration,
}

impl Client {
    /// The time limit for connecting, including name resolution and the TLS handshake. It is never more than
    /// half of the call's time limit. So if the connection cannot be made, the call ends as
    /// [`CallOutcome::NeverConnected`] before its own time limit.
    const CONNECT: Duration = Duration::from_secs(3);
    /// The number of bytes of an answer that are read: 64 KiB.
    const MAX_READ: usize = 64 * 1024;
    /// How long an idle connection is kept. Servers close idle connections as well: with a short time, fewer
    /// requests are written to a connection that the server is closing.
    const IDLE: Duration = Duration::from_secs(5);
    /// The maximum length of a message id, in bytes. The client treats a longer one as no id.
    const MAX_ID: usize = 512;

    /// A client for the Graph API at `graph` (`https://host`) in `version` (`v23.0`), with a time limit for
    /// each call. It builds the TLS settings, which takes milliseconds; call it once, at start.
    pub fn new(graph: &str, version: &str, time: Duration) -> Result<Self, ClientError> {
        let base = outbound::url_below(graph, &[version]).ok_or(ClientError::Url { setting: "GRAPH_URL" })?;
        let tls = outbound::tls(RootCertStore::empty()).map_err(ClientError::Tls)?;
        let http = http(&tls, &base, time).map_err(ClientError::Client)?;
        Ok(Self { http, tls, base, time })
    }

    /// The URL for the messages of a line: `{graph}/{version}/{phone-number-id}/messages`.
    fn messages_url(&self, channel: &ChannelId) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(channel.as_str()).push("messages");
        }
        url
    }

    /// The request. Returns `None` if the token is not a valid header value; the provider's tokens are.
    fn request(&self, call: Call<'_>) -> Option<Request> {
        self.http
            .post(self.messages_url(call.channel))
            .header(AUTHORIZATION, bearer(call.token)?)
            .header(CONTENT_TYPE, "application/json")
            .body(body(call.to, call.what, call.answers, call.part).to_string())
            .build()
            .ok()
    }
}

impl Provider for Client {
    async fn send(&self, call: Call<'_>) -> Sent {
        let until = Instant::now() + self.time;
        let Some(request) = self.request(call) else {
            return without_message_id(CallOutcome::NeverConnected);
        };
        match timeout_at(until, self.http.execute(request)).await {
            // The provider may or may not have received the request.
            Err(_) => without_message_id(CallOutcome::NoAnswer),
            Ok(Err(error)) if error.is_connect() => without_message_id(CallOutcome::NeverConnected),
            Ok(Err(_)) => without_message_id(CallOutcome::NoAnswer),
            Ok(Ok(response)) => {
                let status = response.status().as_u16();
                timeout_at(until, read_body(response)).await.ok().flatten().map_or_else(
                    || without_message_id(CallOutcome::NoAnswer),
                    |answer| parse_answer(status, &serde_json::from_slice(&answer).unwrap_or_default()),
                )
            }
        }
    }

    fn with_new_connections(&self) -> Self {
        let http = http(&self.tls, &self.base, self.time);
        // The same settings built a client before, so this does not fail.
        Self { http: http.unwrap_or_else(|_| self.http.clone()), ..self.clone() }
    }
}

/// Reads a body to its end, or up to [`Client::MAX_READ`]. Returns `None` if the body ends early.
async fn read_body(mut response: Response) -> Option<Vec<u8>> {
    let mut body = vec![];
    while let Some(chunk) = response.chunk().await.ok()? {
        let room = Client::MAX_READ - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if body.len() == Client::MAX_READ {
            break;
        }
    }
    Some(body)
}

/// The provider's word for a template that it accepted and holds.
const HELD: &str = "held_for_quality_assessment";

/// Interprets an answer. A 2xx without a message id counts as no answer, because it may not come from the
/// provider.
fn parse_answer(status: u16, answer: &Value) -> Sent {
    let id = answer["messages"][0]["id"].as_str();
    let id = id.filter(|id| !id.is_empty() && id.len() <= Client::MAX_ID).map(str::to_owned);
    let of_recipient = |name: &str| answer["contacts"][0][name].as_str();
    match (status, id) {
        (200..=299, None) => without_message_id(CallOutcome::NoAnswer),
        (200..=299, message_id) => Sent {
            outcome: CallOutcome::Answered { status, code: None },
            message_id,
            is_held: answer["messages"][0]["message_status"] == HELD,
            reached: Reached::named(of_recipient("wa_id"), of_recipient("user_id")),
            detail: None,
        },
        _ => {
            let code = answer["error"]["code"].as_u64().and_then(|code| u32::try_from(code).ok());
            let detail = answer["error"]["error_data"]["details"].as_str().map(str::to_owned);
            Sent { detail, ..without_message_id(CallOutcome::Answered { status, code }) }
        }
    }
}

fn without_message_id(outcome: CallOutcome) -> Sent {
    Sent { outcome, message_id: None, is_held: false, reached: Reached::default(), detail: None }
}

fn http(tls: &ClientConfig, base: &Url, time: Duration) -> reqwest::Result<reqwest::Client> {
    outbound::client(tls.clone(), "Messages")
        .https_only(base.scheme() == "https")
        .connect_timeout(Client::CONNECT.min(time / 2))
        .pool_idle_timeout(Client::IDLE)
        .build()
}

#[cfg(test)]
mod tests {
    use domain::LineThrottle;
    use domain::sending::End;

    use super::*;

    const TIME: Duration = Duration::from_secs(10);

    #[test]
    fn messages_are_posted_to_the_url_of_the_lines_number() {
        for (graph, channel, url) in [
            ("https://graph.example", "123", "https://graph.example/v25.0/123/messages"),
            ("https://graph.example/", "123", "https://graph.example/v25.0/123/messages"),
            ("http://127.0.0.1:9/base/", "1", "http://127.0.0.1:9/base/v25.0/1/messages"),
            ("https://graph.example", "1/2?x#y", "https://graph.example/v25.0/1%2F2%3Fx%23y/messages"),
        ] {
            let client = Client::new(graph, "v25.0", TIME).unwrap();
            assert_eq!(client.messages_url(&ChannelId::parse(channel).unwrap()).as_str(), url);
        }
    }

    #[test]
    fn a_base_that_is_no_http_url_is_refused_at_start() {
        for graph in ["", "graph.example", "ftp://graph.example", "mailto:a@graph.example", "https://h/?x=1"]
        {
            assert!(matches!(Client::new(graph, "v25.0", TIME), Err(ClientError::Url { .. })), "{graph}");
        }
    }

    #[test]
    fn a_success_without_a_message_id_counts_as_no_answer() {
        let accepted = |id| Sent {
            outcome: CallOutcome::Answered { status: 200, code: None },
            message_id: id,
            is_held: false,
            reached: Reached::default(),
            detail: None,
        };
        let long = "x".repeat(Client::MAX_ID + 1);
        let rows = [
            (200, r#"{"messages":[{"id":"wamid.1"}]}"#.to_owned(), accepted(Some("wamid.1".to_owned()))),
            (200, r#"{"messages":[{"id":""}]}"#.to_owned(), without_message_id(CallOutcome::NoAnswer)),
            (
                200,
                format!(r#"{{"messages":[{{"id":"{long}"}}]}}"#),
                without_message_id(CallOutcome::NoAnswer),
            ),
            (200, r#"{"messages":[]}"#.to_owned(), without_message_id(CallOutcome::NoAnswer)),
            (204, "null".to_owned(), without_message_id(CallOutcome::NoAnswer)),
            (
                400,
                r#"{"error":{"code":131026}}"#.to_owned(),
                without_message_id(answered(400, Some(131_026))),
            ),
            (400, r#"{"error":{"code":"131026"}}"#.to_owned(), without_message_id(answered(400, None))),
            (400, r#"{"error":{"code":-1}}"#.to_owned(), without_message_id(answered(400, None))),
            (500, r#"{"messages":[{"id":"wamid.1"}]}"#.to_owned(), without_message_id(answered(500, None))),
        ];
        for (status, body, expected) in rows {
            assert_eq!(
                parse_answer(status, &serde_json::from_str(&body).unwrap()),
                expected,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_template_that_the_provider_holds_is_accepted_and_held() {
        for (word, is_held) in [(HELD, true), ("accepted", false), ("a later word", false)] {
            let body = format!(r#"{{"messages":[{{"id":"wamid.1","message_status":"{word}"}}]}}"#);
            let sent = parse_answer(200, &serde_json::from_str(&body).unwrap());
            assert_eq!((sent.message_id.as_deref(), sent.is_held), (Some("wamid.1"), is_held), "{word}");
            let id = "wamid.1".to_owned();
            let end = sent.end(LineThrottle::default());
            assert_eq!(end, if is_held { End::Held(id) } else { End::Sent(id) }, "{word}");
        }
    }

    #[test]
    fn an_accepted_call_names_the_recipient_and_malformed_ids_count_as_not_named() {
        let long = "1".repeat(200);
        let rows = [
            (r#"[{"input":"+5511987654321","wa_id":"551187654321"}]"#.to_owned(), "551187654321", ""),
            (r#"[{"input":"US.1","user_id":"US.1"}]"#.to_owned(), "", "US.1"),
            (
                r#"[{"wa_id":"14155550123","user_id":"US.1"},{"wa_id":"14155550199"}]"#.to_owned(),
                "14155550123",
                "US.1",
            ),
            (format!(r#"[{{"wa_id":"{long}","user_id":"{long}"}}]"#), "", ""),
            (r#"[{"wa_id":14155550123,"user_id":null}]"#.to_owned(), "", ""),
            (r#"[{"wa_id":"+14155550123","user_id":"U S"}]"#.to_owned(), "", ""),
            ("[]".to_owned(), "", ""),
            ("{}".to_owned(), "", ""),
        ];
        for (contacts, wa_id, user_id) in rows {
            let body = format!(r#"{{"contacts":{contacts},"messages":[{{"id":"wamid.1"}}]}}"#);
            let sent = parse_answer(200, &serde_json::from_str(&body).unwrap());
            let reached = Reached::named(Some(wa_id), Some(user_id));
            assert_eq!((sent.message_id.as_deref(), sent.reached), (Some("wamid.1"), reached), "{contacts}");
        }
        let refused = r#"{"contacts":[{"wa_id":"14155550123"}],"error":{"code":131026}}"#;
        let refused = parse_answer(400, &serde_json::from_str(refused).unwrap());
        assert_eq!(refused.reached, Reached::default());
    }

    fn answered(status: u16, code: Option<u32>) -> CallOutcome {
        CallOutcome::Answered { status, code }
    }
}
