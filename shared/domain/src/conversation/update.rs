//! What an update makes of a conversation.

use crate::contact::Contact;
use crate::conversation::participant::ContactRef;
use crate::conversation::people::{ExternalInput, People};
use crate::conversation::{Conversation, ConversationName, ConversationStatus};
use crate::ids::{ContactId, UserId};
use crate::patch::Patch;
use crate::refused::Refused;
use crate::settings::user::UserRef;

impl Conversation {
    /// The conversation after an update, with the contacts that are made with it; `None` when the update changes
    /// nothing. `people` are those whom the update names.
    ///
    /// People are compared by who they are. To add somebody who takes part and to remove somebody who does not changes
    /// nothing, whatever else is said of them, so that an update can be repeated; who is named in both lists takes
    /// part afterwards.
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
        let strangers = people.join_externals(&mut externals, &update.add_externals)?;

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
        Ok(Some(ConversationChange { conversation: next.next_of(self, people.now), strangers }))
    }

    /// The contact so named. A participant shown by an address that is nobody's any more is still found by it.
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

/// A partial update: what is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationUpdate {
    /// The title.
    pub name: Patch<ConversationName>,
    /// The status.
    pub status: Option<ConversationStatus>,
    /// Customers who are to take part.
    pub add_externals: Vec<ExternalInput>,
    /// Customers who are not.
    pub remove_externals: Vec<ContactRef>,
    /// Agents who are to take part.
    pub add_internals: Vec<UserRef>,
    /// Agents who are not.
    pub remove_internals: Vec<UserRef>,
}

/// A conversation after an update, with what is made together with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationChange {
    /// Its next version.
    pub conversation: Conversation,
    /// The contacts of customers who were none.
    pub strangers: Vec<Contact>,
}
