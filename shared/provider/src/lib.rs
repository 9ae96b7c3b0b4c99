//! The WhatsApp Cloud API: what is posted to it, how a call can end, and what each ending means.
//!
//! A send must never be repeated blindly: whoever has been written to once must not be written to twice. This
//! room therefore says of every way a call can end which of six things it means; the senders only obey.

mod body;
mod client;
mod meaning;

use std::future::Future;

use domain::message::PartError;
use domain::sending::End;
use domain::{Cellphone, ChannelId, LineThrottle, Secret};

pub use body::Outgoing;
pub use client::Client;
pub use meaning::{Ending, Meaning, meaning};

/// One call: a message, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// From which line.
    pub channel: &'a ChannelId,
    /// What proves that the line is ours.
    pub token: &'a Secret,
    /// To whom.
    pub to: &'a Cellphone,
    /// What.
    pub what: &'a Outgoing,
    /// The provider's id of the message it answers, which is then shown above it.
    pub answers: Option<&'a str>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// As far as we can tell.
    pub ending: Ending,
    /// The provider's id of the message, if it took it.
    pub message_id: Option<String>,
}

impl Sent {
    /// What the end of the call makes of what was sent; `slower` is how its line stands then, should the provider have
    /// asked to slow down with it.
    pub fn end(self, slower: LineThrottle) -> End {
        let unknown = End::Unknown(PartError::of(PartError::NO_ANSWER));
        match meaning(self.ending) {
            Meaning::Accepted => self.message_id.map_or(unknown, End::Sent),
            Meaning::Failed => End::Failed(PartError::of(code(self.ending))),
            Meaning::Unknown => unknown,
            Meaning::Retry => End::NotTaken,
            Meaning::Throttled => End::LineThrottled(slower),
            Meaning::RecipientThrottled => End::Throttled,
        }
    }
}

/// The provider's code; where it gave none, the status it gave instead.
fn code(ending: Ending) -> String {
    match ending {
        Ending::Answered { code: Some(code), .. } => code.to_string(),
        Ending::Answered { status, code: None } => format!("HTTP_{status}"),
        Ending::NeverConnected | Ending::NoAnswer => PartError::NO_ANSWER.to_owned(),
    }
}

/// Sends messages. The one place where a sender leaves our own network, so tests stand in for it.
pub trait Provider: Sized {
    /// Sends once: no retries, no redirects.
    fn send(&self, call: Call<'_>) -> impl Future<Output = Sent>;

    /// The same provider without the connections made so far. To be asked for at the beginning of each invocation:
    /// an environment that stood still in between may hold connections that are dead without showing it, and what is
    /// written into such a one is a send of unknown outcome.
    fn afresh(&self) -> Self;
}
