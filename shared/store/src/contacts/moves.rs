//! Contacts whose customers moved to another number or user id.

use domain::choices::{Choices, Chooser};
use domain::contact::address::Reached;
use domain::{Contact, ContactId, Timestamp, WaId};

use crate::contacts::choices::choices_write;
use crate::contacts::plan::{Role, replace_writes};
use crate::contacts::reached::Remembered;
use crate::dynamodb::write::Transaction;
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
    /// version, and a new user id alone is not. An opt-out of the old ids also holds for the new ones. Two round
    /// trips, or three for a person who opted out; none if the contact has the ids or moved later.
    pub async fn move_contact(
        &self,
        seen: &Contact,
        to: &Reached,
        at: Timestamp,
        request_id: &str,
    ) -> Result<Moved, StoreError> {
        let Some(next) = seen.moved(to, at, self.now()) else { return Ok(Moved::Done) };
        let opt_outs = self.opt_outs_that_follow(seen, &next).await?;
        if next.version == seen.version {
            return Ok(match self.replace_reach(seen, &next, opt_outs).await? {
                Remembered::Done => Moved::Done,
                Remembered::Taken(by) => Moved::Taken(by),
                Remembered::Changed => Moved::Stale,
            });
        }
        let mut writes = replace_writes(seen, &next, request_id)?;
        writes.add_all(|()| Role::Other, opt_outs);
        Ok(match self.execute_replacement(seen, writes, request_id).await? {
            Replaced::Done => Moved::Done,
            Replaced::Stale => Moved::Stale,
            Replaced::Taken { contact, .. } => Moved::Taken(contact),
        })
    }

    /// The writes that opt the new number and the new user id out, if the person opted out under the old ones. One round
    /// trip; two if the person did.
    async fn opt_outs_that_follow(
        &self,
        seen: &Contact,
        next: &Contact,
    ) -> Result<Transaction<()>, StoreError> {
        let workspace = seen.workspace_id;
        let mut old = Choices::choosers(seen.cellphone.as_ref(), seen.user_id.as_ref());
        old.extend(seen.wa_id.as_ref().and_then(WaId::cellphone).as_ref().map(Chooser::from));
        let of_old: Vec<Choices> = self.choices_of(workspace, &old).await?.into_iter().flatten().collect();
        let mut new = Choices::choosers(next.cellphone.as_ref(), next.user_id.as_ref());
        new.retain(|new| !old.contains(new));
        if !of_old.iter().any(|kept| kept.outs().next().is_some()) {
            return Ok(Transaction::new());
        }
        let of_new = self.choices_of(workspace, &new).await?;
        let mut follows = Transaction::new();
        for (new, of_new) in new.iter().zip(&of_new) {
            // The opt-outs of the old ids made the events.
            if let Some(next) = Choices::following(&of_old, of_new.as_ref(), new, seen.id, self.now()) {
                follows.add((), choices_write(of_new.as_ref(), &next)?);
            }
        }
        Ok(follows)
    }
}
