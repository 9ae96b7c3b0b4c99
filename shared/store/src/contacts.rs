//! Contacts: one row each, with the rows by which they are unique and found written in the same transaction.

pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod search;

use std::collections::BTreeSet;
use std::time::Duration;

use domain::refused::IdentityField;
use domain::{Cellphone, Contact, ContactId, ContactRef, Email, Workspace, WorkspaceId};

use crate::contacts::plan::{Plan, Role};
use crate::contacts::row::ContactRow;
use crate::dynamodb::item::{Item, PK, check_schema, key, text};
use crate::dynamodb::write::{Transacted, Wrote, is_by};
use crate::{Store, StoreError, Table, keys};

/// For how long a process remembers over how many shards a workspace's lists are spread. Less than the minute
/// that an operator waits between raising the shards read and those written.
pub(crate) const SHARD_MEMORY: Duration = Duration::from_secs(30);

/// What became of a new contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It exists.
    Done,
    /// Another contact of the workspace has its e-mail address or phone number.
    Taken {
        /// Which of the two.
        field: IdentityField,
        /// The contact that has it.
        contact: ContactId,
    },
}

/// What became of a changed contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// It is stored.
    Done,
    /// Somebody changed it meanwhile: read it again and merge anew.
    Stale,
    /// Another contact of the workspace has the new e-mail address or phone number.
    Taken {
        /// Which of the two.
        field: IdentityField,
        /// The contact that has it.
        contact: ContactId,
    },
}

/// Over how many shards a workspace's lists are spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shards {
    pub(crate) read: u8,
    pub(crate) write: u8,
}

impl Shards {
    /// Those of a workspace that was just read.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        Self { read: workspace.list_shards_read, write: workspace.list_shards_write }
    }
}

impl Store {
    /// The contact of that id, read strongly. One trip.
    pub async fn contact(
        &self,
        workspace: WorkspaceId,
        id: ContactId,
    ) -> Result<Option<Contact>, StoreError> {
        let row: Option<ContactRow> = self.get_row(Table::Contacts, keys::contact(workspace, id)).await?;
        row.map(Contact::try_from).transpose()
    }

    /// The contact that has this e-mail address, in any case, read strongly. One trip.
    pub async fn contact_holding_email(
        &self,
        workspace: WorkspaceId,
        email: &Email,
    ) -> Result<Option<ContactId>, StoreError> {
        self.holder(keys::contact_email(workspace, email)).await
    }

    /// The contact that has this phone number, read strongly. One trip.
    pub async fn contact_holding_cellphone(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
    ) -> Result<Option<ContactId>, StoreError> {
        self.holder(keys::contact_cellphone(workspace, cellphone)).await
    }

    /// Which contacts are so named, each as it was named; a name that is nobody's is left out. One trip, none without
    /// names.
    pub async fn contacts_named(
        &self,
        workspace: WorkspaceId,
        named: &[ContactRef],
    ) -> Result<Vec<(ContactRef, ContactId)>, StoreError> {
        let key_of = |named: &ContactRef| match named {
            ContactRef::Id(id) => keys::contact(workspace, *id),
            ContactRef::Email(email) => keys::contact_email(workspace, email),
            ContactRef::Cellphone(cellphone) => keys::contact_cellphone(workspace, cellphone),
        };
        let keys: BTreeSet<(String, &'static str)> = named.iter().map(key_of).collect();
        let keys = keys.into_iter().map(|(pk, sk)| key(pk, sk)).collect();
        let rows = self.batch_items(Table::Contacts, keys).await?;
        let mut found = vec![];
        for named in named {
            let (pk, _) = key_of(named);
            let Some(row) = rows.iter().find(|row| text(row, PK) == pk) else { continue };
            let contact = match named {
                ContactRef::Id(id) => *id,
                ContactRef::Email(_) | ContactRef::Cellphone(_) => holder_of(row)?,
            };
            found.push((named.clone(), contact));
        }
        Ok(found)
    }

    /// Makes a contact, findable at once. One trip, one more when the workspace's shards are not in memory.
    ///
    /// An error if there is a contact of that id already that another request made.
    pub async fn create_contact(&self, contact: &Contact, request_id: &str) -> Result<Created, StoreError> {
        let shards = self.shards(contact.workspace_id).await?.write;
        let plan = Plan::create(contact, shards, request_id)?;
        let refusals = match self.transact(plan.writes).await? {
            Transacted::Done => return Ok(Created::Done),
            Transacted::Refused(refusals) => refusals,
        };
        let refused = refusals.first().map(|refusal| (plan.roles[refusal.at], &refusal.found));
        match refused {
            Some((Role::Entity, Some(row))) if is_by(row, request_id) => return Ok(Created::Done),
            Some((Role::Claim(field), Some(row))) => {
                return Ok(Created::Taken { field, contact: holder_of(row)? });
            }
            _ => {}
        }
        Err(StoreError::Failed(format!("there is a contact {} already", contact.id).into()))
    }

    /// Stores `new`, the next version of the contact read as `old`. One trip, and one write unit a kilobyte
    /// where neither identity nor what it is found by changed.
    pub async fn replace_contact(
        &self,
        old: &Contact,
        new: &Contact,
        request_id: &str,
    ) -> Result<Replaced, StoreError> {
        let mut plan = Plan::replace(old, new, request_id)?;
        if plan.writes.len() == 1 {
            let wrote = self.write(plan.writes.remove(0)).await?;
            return Ok(match wrote {
                Wrote::Refused(row) if !row.as_ref().is_some_and(|row| is_by(row, request_id)) => {
                    Replaced::Stale
                }
                Wrote::Done(_) | Wrote::Refused(_) => Replaced::Done,
            });
        }
        let refusals = match self.transact(plan.writes).await? {
            Transacted::Done => return Ok(Replaced::Done),
            Transacted::Refused(refusals) => refusals,
        };
        // The contact itself comes first among the writes, and what it says outweighs the rest: after our own
        // earlier attempt, or somebody's newer version, the other rows are as they should be.
        for refusal in &refusals {
            return match (plan.roles[refusal.at], &refusal.found) {
                (Role::Entity, Some(row)) if is_by(row, request_id) => Ok(Replaced::Done),
                (Role::Entity, _) => Ok(Replaced::Stale),
                (Role::Claim(field), Some(row)) => Ok(Replaced::Taken { field, contact: holder_of(row)? }),
                _ => continue,
            };
        }
        let reason = "it does not hold the identity that its contact shows".to_owned();
        Err(StoreError::Unreadable { key: keys::contact(old.workspace_id, old.id).0, reason })
    }

    /// Over how many shards the workspace's lists are spread; one where there is no such workspace. One trip
    /// when it is not in memory.
    pub(crate) async fn shards(&self, workspace: WorkspaceId) -> Result<Shards, StoreError> {
        if let Some(shards) = self.remembered_shards(workspace) {
            return Ok(shards);
        }
        let found = self.workspace(workspace).await?;
        let shards = found.as_ref().map_or(Shards { read: 1, write: 1 }, Shards::of);
        self.memories.shards.keep(workspace, shards, self.now());
        Ok(shards)
    }

    /// The same, from memory alone.
    pub(crate) fn remembered_shards(&self, workspace: WorkspaceId) -> Option<Shards> {
        self.memories.shards.get(&workspace, self.now())
    }

    async fn holder(&self, (pk, sk): (String, &'static str)) -> Result<Option<ContactId>, StoreError> {
        let get = self.db.get_item().table_name(self.tables.name(Table::Contacts));
        let answer = get.set_key(Some(key(pk, sk))).consistent_read(true).send().await?;
        answer.item.as_ref().map(holder_of).transpose()
    }
}

/// The contact named by an identity row.
fn holder_of(row: &Item) -> Result<ContactId, StoreError> {
    // Its key holds the identity itself, which is personal data.
    const KEY: &str = "of an identity";
    check_schema(row, KEY)?;
    ContactId::parse(text(row, "contactId"))
        .map_err(|unfit| StoreError::Unreadable { key: KEY.to_owned(), reason: unfit.to_string() })
}
