//! What the service did not decide about contacts, each kept once. Its row is the event.

use domain::contact::conflict::{Conflict, ConflictReason};
use domain::{Contact, ContactId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::contacts::row::{contact_in, contact_place, ids_of_key};
use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{Item, key_of, read, row};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

/// The kind of the row.
pub(crate) const KIND: &str = "contactConflict";

impl Store {
    /// Keeps a conflict, so that the tenant is told. Returns whether it is new. One round trip.
    pub async fn keep_conflict(&self, conflict: &Conflict) -> Result<bool, StoreError> {
        Ok(matches!(self.write(conflict_write(conflict)?).await?, Wrote::Done(_)))
    }

    /// A contact, and whether the tenant was told that the second of these contacts has the number of the first one's customer
    /// (strongly consistent reads). One round trip.
    pub(crate) async fn contact_and_conflict(
        &self,
        workspace_id: WorkspaceId,
        id: ContactId,
        (contact, other): (ContactId, ContactId),
    ) -> Result<(Option<Contact>, bool), StoreError> {
        let (reason, at) = (ConflictReason::NumberOfAnother, self.now());
        let of_conflict = conflict_place(&Conflict { workspace_id, contact, reason, other: Some(other), at });
        let of_contact = contact_place(workspace_id, id);
        let mut rows = self.rows_at([&of_contact, &of_conflict]).await?;
        let found = contact_in(rows.take(&of_contact))?;
        Ok((found, rows.get(&of_conflict).is_some()))
    }

    /// The conflicts of a contact (strongly consistent read). One round trip.
    pub async fn conflicts(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<Conflict>, StoreError> {
        self.query_all(conflicts_of(workspace, contact)).await?.into_iter().map(conflict).collect()
    }

    /// Deletes the conflicts of a contact. One round trip, and one for each.
    pub async fn erase_conflicts(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<(), StoreError> {
        for item in self.query_all(conflicts_of(workspace, contact)).await? {
            self.write(Write::delete(Table::Contacts, key_of(&item))).await?;
        }
        Ok(())
    }
}

fn conflicts_of(workspace: WorkspaceId, contact: ContactId) -> Query {
    Query::of(Table::Contacts, keys::contact(workspace, contact).0).begins_with(keys::CONFLICT)
}

/// Where a conflict is kept.
fn conflict_place(conflict: &Conflict) -> Place {
    Place::of(Table::Contacts, keys::conflict(conflict))
}

/// The write that keeps a conflict, unless it is kept.
pub(crate) fn conflict_write(conflict: &Conflict) -> Result<Write, StoreError> {
    Ok(Write::put(Table::Contacts, row(keys::conflict(conflict), KIND, conflict)?).when_absent())
}

/// Reads a conflict from its row.
pub(crate) fn conflict(item: Item) -> Result<Conflict, StoreError> {
    let (workspace_id, contact) = ids_of_key(&item)?;
    Ok(Conflict { workspace_id, contact, ..read(item)? })
}

/// `W#C#<contact>` / `X#<reason>#<other contact, or when>`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Conflict", rename_all = "camelCase")]
struct ConflictRow {
    #[serde(skip, default = "OfKey::placeholder")]
    workspace_id: WorkspaceId,
    #[serde(skip, default = "OfKey::placeholder")]
    contact: ContactId,
    #[serde(with = "fields::text")]
    reason: ConflictReason,
    #[serde(
        rename = "otherContactId",
        with = "fields::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    other: Option<ContactId>,
    #[serde(with = "fields::text")]
    at: Timestamp,
}

stored! { Conflict = ConflictRow }
