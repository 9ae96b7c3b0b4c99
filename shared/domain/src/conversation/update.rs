//! The effect of an update on a conversation.

use std::time::Duration;

use crate::contact::Contact;
use crate::conversation::participant::ContactRef;
use crate::conversation::people::{ExternalInput, People};
use crate::conversation::{Conversation, ConversationName, ConversationStatus};
use crate::ids::{ContactId, UserId};
use crate::patch::Patch;
use crate::refused::Refused;
use crate::settings::user::UserRef;

impl Conversation {
    /// The conversation after an update, with the contacts that are created with it. Returns `None` if the
    /// update changes nothing. `people` are the people that the update refers to.
    ///
    /// The function compares people by contact or user, not by identifier. Adding a present participant or
    /// removing an absent one changes nothing, even if the line or brand differs, so an update can be
    /// repeated. A person in both lists participates afterwards.
    pub fn apply(
        &self,
        update: &ConversationUpdate,
        people: &People<'_>,
    ) -> Result<Option<ConversationChange>, Refused> {
        let staying: Vec<ContactId> =
            update.add_externals.iter().filter_map(|input| people.known.contact(&input.named)).collect();
        let leaving = update.remove_externals.iter().filter_map(|named| self.contact_named(named, people));
        let leaving: Vec<ContactId> = leaving.filter(|contact| !staying.contains(contact)).collect();
        let mut externals = self.externals.clone();
        externals.retain(|external| !leaving.contains(&external.contact));
        let new_contacts = people.join_externals(&mut externals, &update.add_externals)?;

        let users = |named: &[UserRef]| -> Vec<UserId> {
            named.iter().filter_map(|named| people.known.user(named)).map(|user| user.id).collect()
        };
        let (staying, leaving) = (users(&update.add_internals), users(&update.remove_internals));
        let mut internals = self.internals.clone();
        internals.retain(|internal| staying.contains(&internal.user) || !leaving.contains(&internal.user));
        people.join_internals(&mut internals, &update.add_internals)?;

        let name = update.name.applied_to(&self.name);
        let status = update.status.unwrap_or(self.status);
        let next = Self { name, status, externals, internals, ..self.clone() };
        if next == *self {
            return Ok(None);
        }
        next.check_participants()?;
        Ok(Some(ConversationChange { conversation: next.next_of(self, people.now), new_contacts }))
    }

    /// The contact with this identifier. If the address now belongs to no contact, it still finds the
    /// participant that is shown by it.
    fn contact_named(&self, named: &ContactRef, people: &People<'_>) -> Option<ContactId> {
        let shown = || self.externals.iter().find(|external| external.shown.same_as(named));
        people.known.contact(named).or_else(|| shown().map(|external| external.contact))
    }

    fn check_participants(&self) -> Result<(), Refused> {
        if self.externals.is_empty() {
            return Err(Refused::NoExternalLeft);
        }
        for (side, there, max) in [
            ("externals", self.externals.len(), Self::MAX_EXTERNALS),
            ("internals", self.internals.len(), Self::MAX_INTERNALS),
        ] {
            if there > max {
                return Err(Refused::TooManyParticipants { side, max });
            }
        }
        Ok(())
    }
}

/// A partial update. An absent field stays unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationUpdate {
    /// The title.
    pub name: Patch<ConversationName>,
    /// The status.
    pub status: Option<ConversationStatus>,
    /// Customers to add.
    pub add_externals: Vec<ExternalInput>,
    /// Customers to remove.
    pub remove_externals: Vec<ContactRef>,
    /// Agents to add.
    pub add_internals: Vec<UserRef>,
    /// Agents to remove.
    pub remove_internals: Vec<UserRef>,
}

/// A conversation after an update, with the items that are created with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationChange {
    /// The conversation's next version.
    pub conversation: Conversation,
    /// New contacts for customers who have none.
    pub new_contacts: Vec<Contact>,
}

impl ConversationChange {
    /// The change with the end of the conversation's retention. A release sets it, later changes leave it, and
    /// a conversation that is reopened does not expire. `before` is the conversation before the change, and
    /// `kept` is how long released conversations are kept.
    pub fn retained(mut self, before: &Conversation, kept: Option<Duration>) -> Self {
        let next = &mut self.conversation;
        let is_released = |status| status == ConversationStatus::Released;
        next.expires_at = match (is_released(before.status), is_released(next.status)) {
            (_, false) => None,
            (true, true) => before.expires_at,
            (false, true) => kept.map(|kept| next.updated_at.plus(kept)),
        };
        self
    }
}
