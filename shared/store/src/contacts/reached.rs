//! Contacts by the ids with which the provider names customers.

use domain::choices::Chooser;
use domain::contact::address::Reached;
use domain::{Contact, ContactId, ProviderUserId, WaId, WorkspaceId, error_chain};

use crate::contacts::holder_of;
use crate::contacts::plan::{Role, reach_writes};
use crate::dynamodb::item::{Item, text};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::{Refusal, Transaction};
use crate::{Store, StoreError, Table, keys};

/// The result of remembering a contact's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// The contact has the ids, since now or before.
    Done,
    /// This other contact has one of the ids. Nothing is written.
    Taken(ContactId),
    /// The contact was erased, or its number or ids have changed since it was read. Nothing is written.
    Changed,
}

impl Store {
    /// The contact that the provider names with these ids (strongly consistent read). The number, in any written form,
    /// counts before the user id. One round trip; none without ids.
    pub async fn contact_reached_at(
        &self,
        workspace: WorkspaceId,
        reached: &Reached,
    ) -> Result<Option<ContactId>, StoreError> {
        let places = places(workspace, reached);
        let rows = self.rows_at(&places).await?;
        first_of(&places, &rows).map(|(_, row)| holder_of(row)).transpose()
    }

    /// The same contact as it is now. Two round trips; one if there is none, and none without ids. More if the contact
    /// gives up the ids, or is erased, between the two reads.
    pub async fn reached_contact(
        &self,
        workspace: WorkspaceId,
        reached: &Reached,
    ) -> Result<Option<Contact>, StoreError> {
        let mut retries = RetryTime::new(self);
        while let Some(id) = self.contact_reached_at(workspace, reached).await? {
            let contact = self.contact(workspace, id).await?;
            if let Some(contact) = contact.filter(|contact| contact.is_reached_at(reached)) {
                return Ok(Some(contact));
            }
            retries.wait().await?;
        }
        Ok(None)
    }

    /// Remembers the ids under which the provider reached a contact, so that [`Store::contact_reached_at`]
    /// finds it by them. This is not a new version of the contact and makes no event. Of all ids, the choice about templates
    /// that was made last holds. No round trip if the contact has the ids, otherwise two.
    pub async fn remember_reach(&self, seen: &Contact, reached: &Reached) -> Result<Remembered, StoreError> {
        match seen.reached(reached) {
            None => Ok(Remembered::Done),
            Some(next) => {
                // A user id that another one replaces was the same person's.
                let old = Chooser::all_of(seen);
                let next = next.with_time_of_number(seen, self.now());
                let choices = self.joined_choices(&next, &old, &old).await?;
                self.replace_reach(seen, &next, choices).await
            }
        }
    }

    /// Remembers the ids that the provider named when it accepted a message to a contact. The outcome of the
    /// message does not depend on it: a failure is logged. No round trip if the contact has the ids, otherwise
    /// two.
    pub async fn remember_answer(&self, contact: &Contact, reached: &Reached) {
        let Contact { id, workspace_id, .. } = contact;
        match self.remember_reach(contact, reached).await {
            Ok(Remembered::Done | Remembered::Changed) => {}
            Ok(Remembered::Taken(by)) => tracing::warn!(
                workspace = %workspace_id, contact = %id, by = %by,
                "the provider names two contacts by the same id, not remembered",
            ),
            Err(error) => {
                let cause = error_chain(&error);
                tracing::warn!(workspace = %workspace_id, contact = %id, cause, "ids of the contact not remembered");
            }
        }
    }

    /// Replaces the ids of a contact, together with other rows of the person.
    pub(crate) async fn replace_reach(
        &self,
        seen: &Contact,
        next: &Contact,
        others: Transaction<()>,
    ) -> Result<Remembered, StoreError> {
        let mut writes = reach_writes(seen, next, self.now())?;
        writes.add_all(|()| Role::Other, others);
        let Err(refusals) = self.transact(writes).await? else { return Ok(Remembered::Done) };
        for Refusal { role, found } in &refusals {
            return match (role, found) {
                (Role::Entity, Some(row)) if has_ids_of(row, next) => Ok(Remembered::Done),
                (Role::Entity, _) => Ok(Remembered::Changed),
                (Role::Claim(_), Some(row)) => Ok(Remembered::Taken(holder_of(row)?)),
                (Role::Other, _) => Ok(Remembered::Changed),
                _ => continue,
            };
        }
        let reason = "it does not hold the id that its contact shows".to_owned();
        Err(StoreError::Unreadable { key: keys::contact(seen.workspace_id, seen.id).0, reason })
    }
}

/// The places of the rows that may find the customer, in the order in which they count.
pub(crate) fn places(workspace: WorkspaceId, reached: &Reached) -> Vec<Place> {
    let Reached { wa_id, user_id } = reached;
    let number = wa_id.as_ref().map(|wa_id| keys::contact_phone(workspace, &wa_id.key()));
    let user = user_id.as_ref().map(|user_id| keys::contact_user_id(workspace, user_id));
    number.into_iter().chain(user).map(|key| Place::of(Table::Contacts, key)).collect()
}

/// The first of these places that has a row among those that were found.
pub(crate) fn first_of<'a>(places: &'a [Place], rows: &'a Rows) -> Option<(&'a Place, &'a Item)> {
    places.iter().find_map(|place| Some((place, rows.get(place)?)))
}

/// Whether another write gave the contact's row the same ids.
fn has_ids_of(row: &Item, contact: &Contact) -> bool {
    text(row, "userId") == contact.user_id.as_ref().map_or("", ProviderUserId::as_str)
        && text(row, "waId") == contact.wa_id.as_ref().map_or("", WaId::as_str)
}
