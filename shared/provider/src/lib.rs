//! The WhatsApp Cloud API: the requests to it, how a call can end, and what each ending means.
//!
//! A send must never be repeated blindly, because the recipient could get the message twice. This crate
//! therefore maps each ending of a call to one of six meanings ([`Meaning`]). The senders only act on the
//! meaning.

mod body;
mod client;
mod components;
mod files;
mod meaning;
mod templates;
pub mod webhook;

use std::future::Future;

use domain::sending::{End, PartError};
use domain::{Address, ChannelId, LineThrottle, PartId, Reached, Secret};
use reqwest::Response;
use reqwest::header::HeaderValue;

pub use body::{Outgoing, body};
pub use client::Client;
pub use components::{Values, read_form};
pub use files::{FetchedFile, FileClient, FileHosts, NotAHost, NotFetched, WantedFile};
pub use meaning::{CallOutcome, Meaning, meaning};
pub use templates::{ListedLine, NotRead, SimulatedGraph, TemplateClient, TemplatePage};

/// One call: a message, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The line that sends.
    pub channel: &'a ChannelId,
    /// The line's access token.
    pub token: &'a Secret,
    /// The recipient.
    pub to: &'a Address,
    /// The content to send.
    pub what: &'a Outgoing,
    /// The provider's id of the message that this one answers. The recipient sees that message quoted above.
    pub answers: Option<&'a str>,
    /// The part that the message is. The provider repeats it in each status of the message.
    pub part: PartId,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// How the call ended, as far as the client can tell.
    pub outcome: CallOutcome,
    /// The provider's id of the message, if the provider accepted it.
    pub message_id: Option<String>,
    /// Whether the provider accepted it and holds it, until it knows the quality of the template.
    pub is_held: bool,
    /// The ids by which the provider named the recipient, if it accepted the message.
    pub reached: Reached,
    /// What the provider says about an error, in its words.
    pub detail: Option<String>,
}

impl Sent {
    /// What the end of the call means for the state of the send. `slower` is the line's throttle state to
    /// store if the provider throttled the line.
    pub fn end(self, slower: LineThrottle) -> End {
        let unknown = End::Unknown(PartError::of(PartError::NO_ANSWER));
        match meaning(self.outcome) {
            Meaning::Accepted => match self.message_id {
                Some(id) if self.is_held => End::Held(id),
                Some(id) => End::Sent(id),
                None => unknown,
            },
            Meaning::Failed => {
                let error = PartError::of(code(self.outcome));
                End::Failed(error.because_of(self.detail))
            }
            Meaning::Unknown => unknown,
            Meaning::Retry => End::NotTaken,
            Meaning::TemplatePaused => End::TemplatePaused,
            Meaning::Throttled => End::LineThrottled(slower),
            Meaning::RecipientThrottled => End::Throttled,
        }
    }
}

/// The provider's error code. If the provider gave none, the HTTP status (`HTTP_<status>`).
fn code(outcome: CallOutcome) -> String {
    match outcome {
        CallOutcome::Answered { code: Some(code), .. } => code.to_string(),
        CallOutcome::Answered { status, code: None } => format!("HTTP_{status}"),
        CallOutcome::NeverConnected | CallOutcome::NoAnswer => PartError::NO_ANSWER.to_owned(),
    }
}

/// Sends messages. This is the only place where a sender leaves the service's own network, so tests replace
/// it.
pub trait Provider: Sized {
    /// Sends once: no retries, no redirects.
    fn send(&self, call: Call<'_>) -> impl Future<Output = Sent>;

    /// The same provider with new connections. Call it at the start of each invocation: an environment that
    /// was frozen in between may hold dead connections that still look open, and a request that is written to
    /// one of these has an unknown outcome.
    fn with_new_connections(&self) -> Self;
}

/// The `Authorization` of a call with this token. `None` if the token is not a valid header value; the provider's tokens
/// are.
fn bearer(token: &Secret) -> Option<HeaderValue> {
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
    bearer.set_sensitive(true);
    Some(bearer)
}

/// The Graph API's code of an object that does not exist.
const NO_OBJECT: u64 = 100;
const BROKE_OFF: &str = "the provider's answer broke off";

/// Reads an answer up to a number of bytes, or says why it is not whole.
async fn read_answer(mut response: Response, most: usize) -> Result<Vec<u8>, &'static str> {
    let mut answer = vec![];
    while let Some(chunk) = response.chunk().await.map_err(|_| BROKE_OFF)? {
        answer.extend_from_slice(&chunk);
        if answer.len() > most {
            return Err("the provider's answer is too long");
        }
    }
    Ok(answer)
}
