//! Leads: visitors of a landing page who asked to be written to, and how the first message comes to them.
//!
//! ```text
//! QUEUED --begun--> SENDING --accepted---------------------> SENT
//!    |                |  ^-----surely not taken, throttled-- (waits, and is tried again)
//!    |                |------refused, given up-------------> FAILED  --operator--> QUEUED
//!    |                '------no answer, sender died--------> UNKNOWN --operator--> QUEUED
//!    |--cannot be sent: no line, no template, ...----------> FAILED
//!    '--must not be sent: opted out, capture disabled------> SUPPRESSED
//! ```

pub mod captcha;
pub mod capture;
mod consent;
mod opening;
mod origin;
mod request;
mod sending;
mod visitor;

pub use consent::{Consent, ConsentStatus};
pub use opening::LeadOpening;
pub use origin::{SentOrigin, WebOrigin};
pub use request::{LeadRequest, VisitorSeen};
pub use sending::{LeadKnown, LeadWord, NotSent};
pub use visitor::{LandingUri, LeadName, Utm};

use std::time::Duration;

use crate::ids::{BrandId, ContactId, ConversationId, LeadId, MessageId, WorkspaceId};
use crate::sending::{PartError, Progress};
use crate::text::Cellphone;
use crate::time::Timestamp;
use crate::words::words;

/// A lead that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// Its id: the `requestId` that was answered.
    pub id: LeadId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The visitor's number.
    pub cellphone: Cellphone,
    /// The visitor's name.
    pub name: Option<LeadName>,
    /// The brand in whose name is written.
    pub brand: BrandId,
    /// The page.
    pub landing_uri: LandingUri,
    /// What campaign brought the visitor there.
    pub utm: Utm,
    /// The permission to write. Never changes.
    pub consent: Consent,
    /// The contact: the one to be made, until [`Lead::opened`]; then whoever has the number.
    pub contact: ContactId,
    /// The conversation that is opened.
    pub conversation: ConversationId,
    /// The message that is sent in it.
    pub message: MessageId,
    /// Whether contact, conversation and message stand.
    pub opened: bool,
    /// How far it has come.
    pub state: LeadState,
    /// Why it is FAILED, UNKNOWN or SUPPRESSED.
    pub error: Option<PartError>,
    /// How sending stands.
    pub progress: Progress,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Grows by one with each change of its state.
    pub version: u64,
}

/// How far a lead has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadState {
    /// Accepted; nothing was sent.
    Queued,
    /// A call was begun, or is to be tried again.
    Sending,
    /// The provider accepted the message.
    Sent,
    /// It is not sent, and not to be any more.
    Failed,
    /// A call was begun whose outcome nobody knows.
    Unknown,
    /// It must not be sent.
    Suppressed,
}

words!(
    /// The words.
    LeadState {
        Queued: "QUEUED",
        Sending: "SENDING",
        Sent: "SENT",
        Failed: "FAILED",
        Unknown: "UNKNOWN",
        Suppressed: "SUPPRESSED",
    }
);

impl LeadState {
    /// Whether nothing more is done about it by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Sending)
    }

    /// Whether the visitor got no message by it and gets none: their next try is a new lead. An UNKNOWN one may have
    /// been sent.
    pub fn came_to_nothing(self) -> bool {
        matches!(self, Self::Failed | Self::Suppressed)
    }
}

impl Lead {
    /// For so long the same number and brand are the same lead, unless it came to nothing.
    pub const REPEATS: Duration = Duration::from_secs(24 * 3_600);
}

#[cfg(test)]
mod tests;
