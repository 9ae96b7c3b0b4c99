//! Leads: visitors of a landing page who asked for contact, and how the service sends them the first message.
//!
//! ```text
//! QUEUED --judged: contact, conversation, message--> SENDING --message ends--> SENT, FAILED, UNKNOWN or SUPPRESSED
//!    |--cannot be sent: no line, no template-------> FAILED
//!    '--must not be sent: opted out, capture off---> SUPPRESSED
//!
//! SENT, FAILED, UNKNOWN, SUPPRESSED --later status of the message--> what the message says
//! FAILED, UNKNOWN --operator--> QUEUED        FAILED, SUPPRESSED --repeated by the visitor--> QUEUED
//! ```
//!
//! The message is sent like every template. The lead follows it.

pub mod captcha;
pub mod capture;
mod consent;
mod opening;
mod origin;
mod request;
mod sending;
mod visitor;

pub use consent::{Consent, ConsentClaim, ConsentStatus, ConsentText};
pub use origin::{SentOrigin, WebOrigin};
pub use request::{LeadRequest, VisitorSeen};
pub use sending::{Judgement, LeadKnown, NotRetried, RetryKnown};
pub use visitor::{LandingUri, LeadName, Utm};

use std::time::Duration;

use crate::ids::{BrandId, ContactId, ConversationId, LeadId, MessageId, WorkspaceId};
use crate::sending::PartError;
use crate::text::Cellphone;
use crate::time::Timestamp;
use crate::words::words;

/// An accepted lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The lead's id: the `requestId` of the response.
    pub id: LeadId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The visitor's phone number.
    pub cellphone: Cellphone,
    /// The visitor's name.
    pub name: Option<LeadName>,
    /// The brand that sends the message.
    pub brand: BrandId,
    /// The landing page.
    pub landing_uri: LandingUri,
    /// The campaign parameters of the landing page.
    pub utm: Utm,
    /// The consent record. It never changes.
    pub consent: Consent,
    /// The contact. Before the lead is judged it is the contact to create, afterwards the contact that has the
    /// number.
    pub contact: ContactId,
    /// The conversation of the lead.
    pub conversation: ConversationId,
    /// The message that is sent in the conversation.
    pub message: MessageId,
    /// The version of the message that the lead's state follows, if it has followed one.
    pub message_version: Option<u64>,
    /// Whether the conversation exists.
    pub opened: bool,
    /// The present state.
    pub state: LeadState,
    /// Why the lead is FAILED, UNKNOWN or SUPPRESSED.
    pub error: Option<PartError>,
    /// When the service accepted the lead.
    pub created_at: Timestamp,
    /// When the lead last changed.
    pub updated_at: Timestamp,
    /// Increases by one with each change of the state.
    pub version: u64,
}

/// The state of a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadState {
    /// The service accepted the lead, and has not judged it.
    Queued,
    /// The message exists, and is to be sent.
    Sending,
    /// The provider accepted the message.
    Sent,
    /// The message was not sent and will not be sent.
    Failed,
    /// Nobody knows whether the visitor received the message.
    Unknown,
    /// The message must not be sent.
    Suppressed,
}

words!(
    /// The names of the states.
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
    /// Whether the visitor received no message and will receive none. Their next request queues the lead
    /// again. The message of an UNKNOWN lead may have been sent.
    pub fn ended_without_message(self) -> bool {
        matches!(self, Self::Failed | Self::Suppressed)
    }
}

impl Lead {
    /// The time within which a request with the same number and brand repeats a lead, in any of its states.
    pub const REPEATS: Duration = Duration::from_hours(24);
}

#[cfg(test)]
mod tests;
