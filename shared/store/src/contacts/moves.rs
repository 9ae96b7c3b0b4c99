//! Contacts whose customers moved to another number or user id.

use domain::contact::reached::Move;
use domain::{Contact, ContactId};

use crate::contacts::reached::Remembered;
use crate::{Store, StoreError};

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
    /// Moves a contact to the ids that the provider named. A new number is a new
    /// version, and a new user id alone is not. The choices of the old ids also hold for the new ones. Two round
    /// trips; none if the contact has the ids or moved later.
    pub async fn move_contact(
        &self,
        seen: &Contact,
        to: Move<'_>,
        request_id: &str,
    ) -> Result<Moved, StoreError> {
        let Some(next) = seen.moved(to, self.now()) else { return Ok(Moved::Done) };
        Ok(match self.replace_ids(seen, &next, None, request_id).await? {
            Remembered::Done => Moved::Done,
            Remembered::Taken(by) => Moved::Taken(by),
            Remembered::Changed => Moved::Stale,
        })
    }
}
