//! The WhatsApp Cloud API: what is posted to it, how a call can end, and what each ending means.
//!
//! A send must never be repeated blindly: whoever has been written to once must not be written to twice. This
//! room therefore says of every way a call can end which of five things it means; the senders only obey.

mod body;
mod client;
mod meaning;

use std::future::Future;

use domain::{Cellphone, ChannelId, Secret};

pub use body::Outgoing;
pub use client::{Client, ClientError};
pub use meaning::{Ending, GIVE_UP, Meaning, RETRIES, THROTTLED, meaning};

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

/// Sends messages. The one place where a sender leaves our own network, so tests stand in for it.
pub trait Provider: Sized {
    /// Sends once: no retries, no redirects.
    fn send(&self, call: Call<'_>) -> impl Future<Output = Sent>;

    /// The same provider without the connections made so far. To be asked for at the beginning of each invocation:
    /// an environment that stood still in between may hold connections that are dead without showing it, and what is
    /// written into such a one is a send of unknown outcome.
    fn afresh(&self) -> Self;
}
