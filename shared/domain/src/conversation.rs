//! Conversations: their participants, status and list position.

mod merged;
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

use std::collections::HashMap;
use std::fmt;

use crate::ids::{ContactId, ConversationId, WorkspaceId};
use crate::text::{Unfit, line, within};
use crate::time::Timestamp;
use crate::words::words;

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The conversation's id.
    pub id: ConversationId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The title.
    pub name: Option<ConversationName>,
    /// The present status.
    pub status: ConversationStatus,
    /// The customers, 1 to [`Conversation::MAX_EXTERNALS`], without duplicates, in the order they joined.
    pub externals: Vec<External>,
    /// The agents, up to [`Conversation::MAX_INTERNALS`], without duplicates, in the order they joined.
    pub internals: Vec<Internal>,
    /// When the conversation was created. Determines its position in lists and never changes.
    pub created_at: Timestamp,
    /// When the conversation last changed.
    pub updated_at: Timestamp,
    /// The conversation's shard of the newest-first list of all conversations. It never changes
    /// ([`crate::settings::workspace::list_shard`]).
    pub list_shard: u8,
    /// Increases by one with each change.
    pub version: u64,
    /// When the conversation expires, if it was released and the deployment keeps released conversations for a
    /// limited time.
    pub expires_at: Option<Timestamp>,
}

impl Conversation {
    /// The greatest number of external participants.
    pub const MAX_EXTERNALS: usize = 10;
    /// The greatest number of internal participants.
    pub const MAX_INTERNALS: usize = 20;

    /// A new conversation: ACTIVE, without name and participants, in the first shard of the list.
    pub fn blank(id: ConversationId, workspace_id: WorkspaceId, now: Timestamp) -> Self {
        Self {
            id,
            workspace_id,
            name: None,
            status: ConversationStatus::Active,
            externals: vec![],
            internals: vec![],
            created_at: now,
            updated_at: now,
            list_shard: 0,
            version: 1,
            expires_at: None,
        }
    }

    /// The present customers, each with their line.
    pub fn recipients(&self) -> Vec<Recipient> {
        let to =
            |external: &External| Recipient { contact: external.contact, channel: external.channel.clone() };
        self.externals.iter().map(to).collect()
    }

    /// The conversation as it is shown, with when each customer was last seen. The conversation itself does not
    /// store this.
    pub fn with_seen(&self, last_seen: &HashMap<ContactId, Timestamp>) -> Self {
        let mut shown = self.clone();
        for external in &mut shown.externals {
            external.last_seen_at = last_seen.get(&external.contact).copied().or(external.last_seen_at);
        }
        shown
    }

    /// The conversation after its first interaction, which is a message from or to a customer: a GHOST
    /// becomes ACTIVE. Returns `None` if nothing changes. Onboarding templates and internal notes are not
    /// interactions.
    pub fn at_interaction(&self, now: Timestamp) -> Option<Self> {
        let visible = Self { status: ConversationStatus::Active, ..self.clone() };
        (self.status == ConversationStatus::Ghost).then(|| visible.next_of(self, now))
    }

    fn next_of(self, before: &Self, now: Timestamp) -> Self {
        // Receivers order events by this time, so it always increases, even if the clock goes back.
        let updated_at = before.updated_at.next_change(now);
        Self { updated_at, version: before.version + 1, ..self }
    }
}

/// A conversation's title: 1 to 256 characters in one line, not blank. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ConversationName(String);

impl ConversationName {
    /// The greatest number of characters in a title.
    pub const MAX: usize = 256;

    /// Parses a title.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        line(text).map(Self)
    }

    /// The title, without format characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ConversationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[ConversationName]")
    }
}

/// The status of a conversation. An update can change any status to any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationStatus {
    /// The conversation is visible.
    Active,
    /// The conversation is invisible until its first interaction, which makes it ACTIVE.
    Ghost,
    /// The conversation is closed, and the service made a summary of it.
    Released,
    /// Any agent can take the conversation.
    NotAssignedToHuman,
    /// The conversation accepts no messages.
    Blocked,
}

words!(
    /// The values of the API field, in the order of the specification.
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
