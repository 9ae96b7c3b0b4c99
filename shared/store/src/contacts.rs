//! Contacts: one row each. The rows that keep identities unique and make the contact searchable are written
//! in the same transaction.

pub(crate) mod choices;
pub(crate) mod conflicts;
pub(crate) mod moves;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod reached;
pub(crate) mod row;
pub(crate) mod search;
pub(crate) mod windows;

use std::sync::Arc;

use domain::choices::Chooser;
use domain::refused::IdentityField;
use domain::{
    Cellphone, Contact, ContactId, ContactRef, Definitions, Email, ExternalId, User, UserRef, WorkspaceId,
};

use crate::contacts::plan::{Role, create_writes, replace_writes};
use crate::contacts::row::{contact, contact_in, contact_place, survivor};
use crate::dynamodb::item::{Item, check_schema, text};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::write::{Refusal, Transaction, Wrote, is_written_by};
use crate::settings::remembered::WithSetting;
use crate::settings::users::user_place;
use crate::shards::Shards;
use crate::{Store, StoreError, Table, keys};

/// The result of creating a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// The contact is stored.
    Done,
    /// Another contact of the workspace has its e-mail address, phone number or external id.
    Taken {
        /// Which of them is taken.
        field: IdentityField,
        /// The contact that has it.
        contact: ContactId,
    },
}

/// The result of replacing a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The new version is stored.
    Done,
    /// The contact was changed since it was read: read it again and merge again.
    Stale,
    /// Another contact of the workspace has the new e-mail address, phone number or external id.
    Taken {
        /// Which of them is taken.
        field: IdentityField,
        /// The contact that has it.
        contact: ContactId,
    },
}

/// A contact, and what decides how it is shown and changed.
#[derive(Clone, Debug)]
pub struct ContactRead {
    /// The contact, if it exists.
    pub contact: Option<Contact>,
    /// The contact of which it became part, if it did.
    pub merged_into: Option<ContactId>,
    /// All definitions of the workspace, including archived ones.
    pub definitions: Arc<Definitions>,
    /// The user that was named, if that user exists.
    pub named: Option<User>,
}

impl Store {
    /// The contact with this id, the workspace's definitions, and the user that `named` names (strongly consistent
    /// reads). One round trip of one call; one more if the definitions changed since the process remembered them.
    pub async fn contact_read(
        &self,
        workspace: WorkspaceId,
        id: ContactId,
        named: Option<&UserRef>,
    ) -> Result<ContactRead, StoreError> {
        let of_contact = contact_place(workspace, id);
        let of_named = named.map(|named| user_place(workspace, named));
        let places: Vec<&Place> = [&of_contact].into_iter().chain(&of_named).collect();
        let WithSetting { setting, mut rows, .. } = self.rows_with_definitions(workspace, &places).await?;
        let user = of_named.map(|place| rows.read::<User>(&place)).transpose()?.flatten();
        let found = rows.take(&of_contact);
        Ok(ContactRead {
            merged_into: found.as_ref().and_then(survivor),
            contact: contact_in(found)?,
            definitions: setting?,
            named: user,
        })
    }

    /// The contact with this id (strongly consistent read). One round trip.
    pub async fn contact(
        &self,
        workspace: WorkspaceId,
        id: ContactId,
    ) -> Result<Option<Contact>, StoreError> {
        contact_in(self.get_item(Table::Contacts, keys::contact(workspace, id)).await?)
    }

    /// The contact with this id, or the one of which it became part (strongly consistent reads). What was stored for a
    /// contact names it for good. One round trip, and one more if it became part of another one.
    pub async fn contact_or_survivor(
        &self,
        workspace: WorkspaceId,
        id: ContactId,
    ) -> Result<Option<Contact>, StoreError> {
        let Some(row) = self.get_item(Table::Contacts, keys::contact(workspace, id)).await? else {
            return Ok(None);
        };
        match survivor(&row) {
            Some(survivor) => self.contact(workspace, survivor).await,
            None => contact(row),
        }
    }

    /// The contact of which this one became part, if it did (strongly consistent read). One round trip.
    pub async fn merged_into(
        &self,
        workspace: WorkspaceId,
        id: ContactId,
    ) -> Result<Option<ContactId>, StoreError> {
        let row = self.get_item(Table::Contacts, keys::contact(workspace, id)).await?;
        Ok(row.as_ref().and_then(survivor))
    }

    /// The contact with this e-mail address, compared without case (strongly consistent read). One round
    /// trip.
    pub async fn contact_holding_email(
        &self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> Result<Option<ContactId>, StoreError> {
        self.holder(keys::contact_email(workspace, email)).await
    }

    /// The contact with this phone number in any written form (strongly consistent read). One round trip.
    pub async fn contact_holding_cellphone(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
    ) -> Result<Option<ContactId>, StoreError> {
        self.holder(keys::contact_phone(workspace, &cellphone.key())).await
    }

    /// The contact with this id in the tenant's own system (strongly consistent read). One round trip.
    pub async fn contact_holding_external_id(
        &self,
        workspace: WorkspaceId,
        external_id: &ExternalId,
    ) -> Result<Option<ContactId>, StoreError> {
        self.holder(keys::contact_external_id(workspace, external_id)).await
    }

    /// Stores a new contact; searches find it at once. One round trip; one more if the workspace's shards are
    /// not in memory.
    ///
    /// Returns an error if another request stored a contact with this id before.
    pub async fn create_contact(&self, contact: &Contact, request_id: &str) -> Result<Created, StoreError> {
        let shards = self.shards(contact.workspace_id).await?.write;
        let writes = create_writes(contact, shards, request_id)?;
        let Err(refusals) = self.transact(writes).await? else { return Ok(Created::Done) };
        match refusals.into_iter().next() {
            Some(refusal) if refusal.role == Role::Entity && refusal.is_of(request_id) => {
                return Ok(Created::Done);
            }
            Some(Refusal { role: Role::Claim(field), found: Some(row) }) => {
                return Ok(Created::Taken { field, contact: holder_of(&row)? });
            }
            _ => {}
        }
        Err(StoreError::Failed(format!("there is a contact {} already", contact.id).into()))
    }

    /// Stores `new`, the next version of the contact that was read as `old`. One round trip; one more if a contact with a
    /// user id gets a number, because their choices about templates become one. One write unit per kilobyte if neither
    /// identities nor search terms changed.
    pub async fn replace_contact(
        &self,
        old: &Contact,
        new: &Contact,
        request_id: &str,
    ) -> Result<Replaced, StoreError> {
        let mut writes = replace_writes(old, new, request_id)?;
        let choices = self.joined_choices(new, &Chooser::all_of(old), &[]).await?;
        writes.add_all(|()| Role::Other, choices);
        self.execute_replacement(old, writes, request_id).await
    }

    /// Executes the writes of a replacement.
    pub(crate) async fn execute_replacement(
        &self,
        old: &Contact,
        writes: Transaction<Role>,
        request_id: &str,
    ) -> Result<Replaced, StoreError> {
        let writes = match writes.single() {
            Ok(only) => {
                let wrote = self.write(only).await?;
                return Ok(match wrote {
                    Wrote::Refused(row)
                        if !row.as_ref().is_some_and(|row| is_written_by(row, request_id)) =>
                    {
                        Replaced::Stale
                    }
                    Wrote::Done(_) | Wrote::Refused(_) => Replaced::Done,
                });
            }
            Err(writes) => writes,
        };
        let Err(refusals) = self.transact(writes).await? else { return Ok(Replaced::Done) };
        // The write of the contact itself comes first, and its refusal decides. If an earlier attempt of this
        // request or a newer version wrote the contact, the other rows are correct.
        for refusal in &refusals {
            return match (refusal.role, &refusal.found) {
                (Role::Entity, _) if refusal.is_of(request_id) => Ok(Replaced::Done),
                (Role::Entity, _) => Ok(Replaced::Stale),
                (Role::Claim(field), Some(row)) => Ok(Replaced::Taken { field, contact: holder_of(row)? }),
                // The choices of one of the ids changed since they were read.
                (Role::Other, _) => Ok(Replaced::Stale),
                _ => continue,
            };
        }
        let reason = "it does not hold the identity that its contact shows".to_owned();
        Err(StoreError::Unreadable { key: keys::contact(old.workspace_id, old.id).0, reason })
    }

    /// The numbers of shards of the workspace's lists; one if the workspace does not exist. One round trip if
    /// they are not in memory.
    pub(crate) async fn shards(&self, workspace: WorkspaceId) -> Result<Shards, StoreError> {
        if let Some(shards) = self.remembered_shards(workspace) {
            return Ok(shards);
        }
        let found = self.workspace(workspace).await?;
        let shards = found.as_ref().map_or(Shards { read: 1, write: 1 }, Shards::of);
        self.memories.shards.keep(workspace, shards, self.now());
        Ok(shards)
    }

    /// The numbers of shards if they are in memory.
    pub(crate) fn remembered_shards(&self, workspace: WorkspaceId) -> Option<Shards> {
        self.memories.shards.get(&workspace, self.now())
    }

    async fn holder(&self, (pk, sk): (String, &'static str)) -> Result<Option<ContactId>, StoreError> {
        self.get_item(Table::Contacts, (pk, sk)).await?.as_ref().map(holder_of).transpose()
    }
}

/// Where the row is that shows which contact a reference names.
pub(crate) fn named_place(workspace: WorkspaceId, named: &ContactRef) -> Place {
    let key = match named {
        ContactRef::Id(id) => keys::contact(workspace, *id),
        ContactRef::Email(email) => keys::contact_email(workspace, email),
        ContactRef::Cellphone(cellphone) => keys::contact_phone(workspace, &cellphone.key()),
    };
    Place::of(Table::Contacts, key)
}

/// The contacts that these references name, each with its reference. `places` are those of the references.
pub(crate) fn contacts_found(
    rows: &Rows,
    named: &[ContactRef],
    places: &[Place],
) -> Result<Vec<(ContactRef, ContactId)>, StoreError> {
    let mut found = vec![];
    for (named, place) in named.iter().zip(places) {
        let Some(row) = rows.get(place) else { continue };
        let contact = match named {
            ContactRef::Id(id) => survivor(row).unwrap_or(*id),
            ContactRef::Email(_) | ContactRef::Cellphone(_) => holder_of(row)?,
        };
        found.push((named.clone(), contact));
    }
    Ok(found)
}

/// The contact that an identity row names.
pub(crate) fn holder_of(row: &Item) -> Result<ContactId, StoreError> {
    // The row's key contains the identity, which is personal data.
    const KEY: &str = "of an identity";
    check_schema(row, KEY)?;
    ContactId::parse(text(row, "contactId"))
        .map_err(|unfit| StoreError::Unreadable { key: KEY.to_owned(), reason: unfit.to_string() })
}
