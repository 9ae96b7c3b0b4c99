//! Contacts whose customers moved to another number or user id.

use domain::choices::Chooser;
use domain::contact::address::Reached;
use domain::{Contact, ContactId, Timestamp};

use crate::contacts::plan::{Role, replace_writes};
use crate::contacts::reached::Remembered;
use crate::{Replaced, Store, StoreError};

/// The result of moving a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The contact has the new ids, since now or before.
    Done,
    /// This other contact has one of the new ids. Nothing is written.
    Taken(ContactId),
    /// The contact has changed since it was read: read it again.
    Stale,
}

impl Store {
    /// Moves a contact to the ids that the provider named, as of the provider's time. A new number is a new
    /// version, and a new user id alone is not. The choices of the old ids also hold for the new ones. Two round
    /// trips; none if the contact has the ids or moved later.
    pub async fn move_contact(
        &self,
        seen: &Contact,
        to: &Reached,
        at: Timestamp,
        request_id: &str,
    ) -> Result<Moved, StoreError> {
        let Some(next) = seen.moved(to, at, self.now()) else { return Ok(Moved::Done) };
        let old = Chooser::all_of(seen);
        let choices = self.joined_choices(&next, &old, &old).await?;
        if next.version == seen.version {
            return Ok(match self.replace_reach(seen, &next, choices).await? {
                Remembered::Done => Moved::Done,
                Remembered::Taken(by) => Moved::Taken(by),
                Remembered::Changed => Moved::Stale,
            });
        }
        let mut writes = replace_writes(seen, &next, request_id)?;
        writes.add_all(|()| Role::Other, choices);
        Ok(match self.execute_replacement(seen, writes, request_id).await? {
            Replaced::Done => Moved::Done,
            Replaced::Stale => Moved::Stale,
            Replaced::Taken { contact, .. } => Moved::Taken(contact),
        })
    }
}
