//! Conversations: who talks with whom, and how it stands.

mod opening;
mod participant;
mod people;
mod plan;
mod recipient;
mod update;

pub use opening::{ConversationCreate, Opening, Party};
pub use participant::{ContactRef, External, Internal};
pub use people::{ExternalInput, KnownPeople, People};
pub use plan::OnboardingPlan;
pub use recipient::Recipient;
pub use update::{ConversationChange, ConversationUpdate};

use std::fmt;
use std::time::Duration;

use crate::ids::{ConversationId, WorkspaceId};
use crate::text::{Unfit, within};
use crate::time::Timestamp;
use crate::words::words;

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// Its title.
    pub name: Option<ConversationName>,
    /// How it stands.
    pub status: ConversationStatus,
    /// The customers who take part, 1 to [`Conversation::MAX_EXTERNALS`], each once, in the order they joined.
    pub externals: Vec<External>,
    /// The agents who take part, up to [`Conversation::MAX_INTERNALS`], each once, in the order they joined.
    pub internals: Vec<Internal>,
    /// When it was made; its place in lists, which never changes.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The shard of the newest-first list of all conversations in which it stands; never changes
    /// ([`crate::settings::workspace::list_shard`]).
    pub list_shard: u8,
    /// Grows by one with each change.
    pub version: u64,
}

impl Conversation {
    /// The greatest number of external participants.
    pub const MAX_EXTERNALS: usize = 10;
    /// The greatest number of internal participants.
    pub const MAX_INTERNALS: usize = 20;

    /// The customers to whom what is said now goes, each by their line.
    pub fn recipients(&self) -> Vec<Recipient> {
        let to =
            |external: &External| Recipient { contact: external.contact, channel: external.channel.clone() };
        self.externals.iter().map(to).collect()
    }

    /// What the first interaction makes of it, a message from or to a customer: a GHOST turns ACTIVE. Onboarding
    /// templates and internal notes are none.
    pub fn at_interaction(&self, now: Timestamp) -> Option<Self> {
        let visible = Self { status: ConversationStatus::Active, ..self.clone() };
        (self.status == ConversationStatus::Ghost).then(|| visible.next_of(self, now))
    }

    fn next_of(self, before: &Self, now: Timestamp) -> Self {
        // Receivers order what they get by it: it never stands still nor goes back, whatever the clocks do.
        let updated_at = now.max(before.updated_at.plus(Duration::from_millis(1)));
        Self { updated_at, version: before.version + 1, ..self }
    }
}

/// A conversation's title: 1 to 256 characters, not blank. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ConversationName(String);

impl ConversationName {
    /// The greatest number of characters.
    pub const MAX: usize = 256;

    /// Reads a title.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if text.trim().is_empty() {
            return Err(Unfit::Value { reason: "a name cannot be blank" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The title as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ConversationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[ConversationName]")
    }
}

/// How a conversation stands. Any status may follow any other by an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationStatus {
    /// Visible.
    Active,
    /// Invisible until its first interaction, which makes it ACTIVE.
    Ghost,
    /// Closed; a summary was made of it.
    Released,
    /// Open for any agent.
    NotAssignedToHuman,
    /// Takes no messages.
    Blocked,
}

words!(
    /// The words of the API, in the order of the specification.
    ConversationStatus {
        Active: "ACTIVE",
        Ghost: "GHOST",
        Released: "RELEASED",
        NotAssignedToHuman: "NOT_ASSIGNED_TO_HUMAN",
        Blocked: "BLOCKED",
    }
);

#[cfg(test)]
mod tests;
