//! Contacts whose customers moved to another number or user id.

use domain::contact::address::Reached;
use domain::inbound::opt_out::{Chooser, Chosen, OptOut};
use domain::{Contact, ContactId, Timestamp, WaId};
use futures::future::try_join;

use crate::contacts::plan::ContactPlan;
use crate::contacts::reached::Remembered;
use crate::dynamodb::write::Write;
use crate::leads::opt_outs::choice_write;
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
    /// version, and an opt-out of the old number also holds for it. A new user id alone is not a new version.
    /// Two round trips, or one if the number stays; none if the contact has the ids or moved later.
    pub async fn move_contact(
        &self,
        seen: &Contact,
        to: &Reached,
        at: Timestamp,
        request_id: &str,
    ) -> Result<Moved, StoreError> {
        let Some(next) = seen.moved(to, at, self.now()) else { return Ok(Moved::Done) };
        if next.version == seen.version {
            return Ok(match self.replace_reach(seen, &next).await? {
                Remembered::Done => Moved::Done,
                Remembered::Taken(by) => Moved::Taken(by),
                Remembered::Changed => Moved::Stale,
            });
        }
        let opt_out = self.opt_out_that_follows(seen, &next).await?;
        let mut plan = ContactPlan::replace(seen, &next, request_id)?;
        plan.add_other(opt_out);
        Ok(match self.execute_replacement(seen, plan, request_id).await? {
            Replaced::Done => Moved::Done,
            Replaced::Stale => Moved::Stale,
            Replaced::Taken { contact, .. } => Moved::Taken(contact),
        })
    }

    /// The write that opts the new number out, if one of the old ones did and the new one did not. One round
    /// trip.
    async fn opt_out_that_follows(
        &self,
        seen: &Contact,
        next: &Contact,
    ) -> Result<Option<Write>, StoreError> {
        let known_as = seen.wa_id.as_ref().and_then(WaId::cellphone);
        let numbers = seen.cellphone.iter().chain(&known_as).map(Chooser::from);
        let old: Vec<Chooser> = numbers.chain(seen.user_id.iter().map(Chooser::from)).collect();
        let Some(new) = &next.cellphone else { return Ok(None) };
        let (workspace, new) = (seen.workspace_id, Chooser::from(new));
        let of_old =
            futures::future::try_join_all(old.into_iter().map(|old| self.opt_out_of(workspace, old)));
        let (of_old, of_new) = try_join(of_old, self.choice_of(workspace, &new)).await?;
        let Some(of_old) = of_old.into_iter().flatten().min_by_key(|opt_out| opt_out.since) else {
            return Ok(None);
        };
        let OptOut { choice, source, since, .. } = of_old;
        let chosen = Chosen { choice, source, at: since, contact: Some(seen.id) };
        // The old number's opt-out made the event.
        let next = OptOut::after(of_new.as_ref(), workspace, &new, true, chosen, self.now());
        next.map(|next| choice_write(of_new.as_ref(), &next)).transpose()
    }
}
