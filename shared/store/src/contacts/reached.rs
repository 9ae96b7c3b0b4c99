//! Contacts by the ids with which the provider names customers.

use domain::choices::Chooser;
use domain::contact::address::Reached;
use domain::contact::conflict::{Conflict, ConflictReason};
use domain::contact::identified::{Identified, Word};
use domain::{BusinessAccountId, Contact, ContactId, WorkspaceId, error_chain};
use futures::future::try_join;

use crate::contacts::conflicts::conflict_write;
use crate::contacts::holder_of;
use crate::contacts::plan::{Role, reach_writes, replace_writes};
use crate::contacts::row::contact;
use crate::dynamodb::item::Item;
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::{Refusal, Transaction};
use crate::{Replaced, Store, StoreError, Table, keys};

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

/// The other contacts that have the ids of an answer.
#[derive(Clone, Copy)]
struct Holders {
    number: Option<ContactId>,
    user: Option<ContactId>,
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
            let found = self.contact(workspace, id).await?;
            if let Some(contact) = found.filter(|contact| contact.is_reached_at(reached)) {
                return Ok(Some(contact));
            }
            retries.wait().await?;
        }
        Ok(None)
    }

    /// Remembers what the provider said about a contact's customer, so that [`Store::contact_reached_at`] finds it by the ids.
    /// A number for a contact without one is a new version. Ids alone are none and make no event. Of all ids, the choice
    /// about templates that was made last holds. No round trip if the contact has the ids, otherwise two.
    pub async fn remember_reach(&self, seen: &Contact, word: &Word<'_>) -> Result<Remembered, StoreError> {
        let Some(learnt) = seen.learns(word, self.now()) else { return Ok(Remembered::Done) };
        let conflict = learnt.is_another_user.then(|| Conflict::of_user_id(&learnt.contact));
        self.replace_ids(seen, &learnt.contact, conflict.as_ref(), &self.ids.next().to_string()).await
    }

    /// Replaces the number and the ids of a contact. The choices of the old ids also hold for the new ones: they were the same
    /// person's. Two round trips.
    pub(crate) async fn replace_ids(
        &self,
        seen: &Contact,
        next: &Contact,
        conflict: Option<&Conflict>,
        request_id: &str,
    ) -> Result<Remembered, StoreError> {
        let old = Chooser::all_of(seen);
        let choices = self.joined_choices(next, &old, &old).await?;
        self.write_ids(seen, next, (choices, conflict), request_id).await
    }

    /// The same, with the choices of all ids as they were read. One round trip.
    async fn write_ids(
        &self,
        seen: &Contact,
        next: &Contact,
        (mut others, conflict): (Transaction<()>, Option<&Conflict>),
        request_id: &str,
    ) -> Result<Remembered, StoreError> {
        if let Some(conflict) = conflict {
            others.add((), conflict_write(conflict)?);
        }
        if next.version == seen.version {
            return self.replace_reach(seen, next, others).await;
        }
        let mut writes = replace_writes(seen, next, request_id)?;
        writes.add_all(|()| Role::Other, others);
        Ok(match self.execute_replacement(seen, writes, request_id).await? {
            Replaced::Done => Remembered::Done,
            Replaced::Stale => Remembered::Changed,
            Replaced::Taken { contact, .. } => Remembered::Taken(contact),
        })
    }

    /// Remembers the ids that the provider named when it accepted a message to a contact. If another contact has one of them,
    /// both are merged, or the tenant is told. The outcome of the message does not depend on it: a failure is logged. No round
    /// trip if the contact has the ids, otherwise two; if another contact has one, nothing is written to the contact, and
    /// the second reads that one.
    pub async fn remember_answer(&self, contact: &Contact, reached: &Reached, account: &BusinessAccountId) {
        let Contact { id, workspace_id, .. } = contact;
        let word = Word { reached, account, at: self.now() };
        if let Err(error) = self.learn_from_answer(contact, &word).await {
            let cause = error_chain(&error);
            tracing::warn!(workspace = %workspace_id, contact = %id, cause, "ids of the contact not remembered");
        }
    }

    async fn learn_from_answer(&self, dialled: &Contact, word: &Word<'_>) -> Result<(), StoreError> {
        let Some(learnt) = dialled.learns(word, self.now()) else { return Ok(()) };
        let (next, old) = (&learnt.contact, Chooser::all_of(dialled));
        let choices = self.joined_choices(next, &old, &old);
        // An id of another contact would refuse the write, each time that it is named.
        let (choices, mut others) = try_join(choices, self.other_holders(dialled, word.reached)).await?;
        if others.is_none() {
            let conflict = learnt.is_another_user.then(|| Conflict::of_user_id(next));
            let request = self.ids.next().to_string();
            let Remembered::Taken(_) =
                self.write_ids(dialled, next, (choices, conflict.as_ref()), &request).await?
            else {
                return Ok(());
            };
            others = self.other_holders(dialled, word.reached).await?;
        }
        match others {
            Some(others) => self.is_of_another(dialled, word, others).await,
            None => Ok(()),
        }
    }

    /// The other contacts that have the number and the user id that an answer names; `None` if no other has one.
    async fn other_holders(
        &self,
        dialled: &Contact,
        reached: &Reached,
    ) -> Result<Option<Holders>, StoreError> {
        let workspace = dialled.workspace_id;
        let places = [number_place(workspace, reached), user_place(workspace, reached)];
        let rows = self.rows_at(places.iter().flatten()).await?;
        let other = |place: &Option<Place>| {
            let row = place.as_ref().and_then(|place| rows.get(place));
            Ok::<_, StoreError>(row.map(holder_of).transpose()?.filter(|holder| *holder != dialled.id))
        };
        let holders = Holders { number: other(&places[0])?, user: other(&places[1])? };
        Ok((holders.number.is_some() || holders.user.is_some()).then_some(holders))
    }

    /// Another contact has an id that an answer names.
    async fn is_of_another(
        &self,
        dialled: &Contact,
        word: &Word<'_>,
        Holders { number, user }: Holders,
    ) -> Result<(), StoreError> {
        // The conflict is that of the contact with the user id.
        let (is, other) = match (number, user) {
            (Some(number), _) => (dialled.id, number),
            (None, Some(user)) => (user, dialled.id),
            (None, None) => return Ok(()),
        };
        let found = if is == dialled.id { other } else { is };
        let workspace = dialled.workspace_id;
        let (found, is_told) = self.contact_and_conflict(workspace, found, (is, other)).await?;
        let Some(found) = found.filter(|found| found.is_reached_at(word.reached)) else { return Ok(()) };
        let of_number = number.is_some().then_some(&found);
        let of_user = number.is_none().then_some(&found);
        match Identified::of_answer(word, dialled, of_number, of_user) {
            Identified::Same { survivor, merged } => {
                self.are_one_person(survivor, merged).await?;
            }
            Identified::Apart { is, other } if !is_told => {
                let reason = ConflictReason::NumberOfAnother;
                self.keep_conflict(&Conflict::between(is, reason, other.id, self.now())).await?;
            }
            Identified::Nobody | Identified::One(_) | Identified::Before(_) | Identified::Apart { .. } => {}
        }
        Ok(())
    }

    /// Replaces the ids of a contact without a new version, together with other rows of the person.
    async fn replace_reach(
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
                (Role::Entity, Some(row)) if has_ids_of(row, next)? => Ok(Remembered::Done),
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
    number_place(workspace, reached).into_iter().chain(user_place(workspace, reached)).collect()
}

/// The place of the row that names the contact with the number.
pub(crate) fn number_place(workspace: WorkspaceId, reached: &Reached) -> Option<Place> {
    let wa_id = reached.wa_id.as_ref()?;
    Some(Place::of(Table::Contacts, keys::contact_phone(workspace, &wa_id.key())))
}

/// The place of the row that names the contact with the user id.
pub(crate) fn user_place(workspace: WorkspaceId, reached: &Reached) -> Option<Place> {
    let user_id = reached.user_id.as_ref()?;
    Some(Place::of(Table::Contacts, keys::contact_user_id(workspace, user_id)))
}

/// The first of these places that has a row among those that were found.
pub(crate) fn first_of<'a>(places: &'a [Place], rows: &'a Rows) -> Option<(&'a Place, &'a Item)> {
    places.iter().find_map(|place| Some((place, rows.get(place)?)))
}

/// Whether another write gave the contact's row the same ids.
fn has_ids_of(row: &Item, next: &Contact) -> Result<bool, StoreError> {
    let found = contact(row.clone())?;
    Ok(found.is_some_and(|found| (&found.user_ids, &found.wa_id) == (&next.user_ids, &next.wa_id)))
}
