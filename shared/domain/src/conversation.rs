//! Conversations: who talks with whom, and how it stands.

use std::fmt;

use crate::ids::{ContactId, ConversationId, UserId, WorkspaceId};
use crate::line::{BrandId, ChannelId};
use crate::text::{Cellphone, Email, Unfit, within};
use crate::time::Timestamp;
use crate::user::UserRef;

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
    /// ([`crate::workspace::list_shard`]).
    pub list_shard: u8,
    /// Grows by one with each change.
    pub version: u64,
}

impl Conversation {
    /// The greatest number of external participants.
    pub const MAX_EXTERNALS: usize = 10;
    /// The greatest number of internal participants.
    pub const MAX_INTERNALS: usize = 20;

    /// What the first interaction makes of it, a message from or to a customer: a GHOST turns ACTIVE. Onboarding
    /// templates and internal notes are none.
    pub fn at_interaction(&self, now: Timestamp) -> Option<Self> {
        (self.status == ConversationStatus::Ghost).then(|| Self {
            status: ConversationStatus::Active,
            updated_at: now,
            version: self.version + 1,
            ..self.clone()
        })
    }
}

/// A customer in a conversation. Who they are is the contact; how they were named is only shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The contact.
    pub contact: ContactId,
    /// As the caller named them.
    pub shown: ContactRef,
    /// The line through which they are reached.
    pub channel: ChannelId,
    /// The brand that writes to them.
    pub brand: BrandId,
    /// Since when they take part.
    pub joined_at: Timestamp,
    /// When they were last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// An agent in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Internal {
    /// The user.
    pub user: UserId,
    /// As the caller named them; by e-mail where a team's turn assigned them.
    pub shown: UserRef,
    /// Since when they take part.
    pub joined_at: Timestamp,
    /// When they were last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// How a caller names a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactRef {
    /// By the contact's id.
    Id(ContactId),
    /// By e-mail address.
    Email(Email),
    /// By phone number.
    Cellphone(Cellphone),
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

impl ConversationStatus {
    /// The words of the API, in the order of the specification.
    pub const NAMES: &'static [&'static str] =
        &["ACTIVE", "GHOST", "RELEASED", "NOT_ASSIGNED_TO_HUMAN", "BLOCKED"];
    const ALL: [Self; 5] =
        [Self::Active, Self::Ghost, Self::Released, Self::NotAssignedToHuman, Self::Blocked];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(Unfit::NotOneOf { expected: Self::NAMES })
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn of_all_conversations_only_a_ghost_changes_at_an_interaction() {
        let id = Uuid::from_u128(1);
        let now = Timestamp::from_millis(7);
        for status in ConversationStatus::ALL {
            let conversation = Conversation {
                id: ConversationId::from_uuid(id),
                workspace_id: WorkspaceId::from_uuid(id),
                name: ConversationName::parse("Order 7").ok(),
                status,
                externals: vec![],
                internals: vec![],
                created_at: Timestamp::from_millis(0),
                updated_at: Timestamp::from_millis(0),
                list_shard: 3,
                version: 4,
            };
            let active = Conversation {
                status: ConversationStatus::Active,
                updated_at: now,
                version: 5,
                ..conversation.clone()
            };
            let expected = (status == ConversationStatus::Ghost).then_some(active);
            assert_eq!(conversation.at_interaction(now), expected, "{status:?}");
        }
    }
}
