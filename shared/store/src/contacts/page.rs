//! Pages of contacts: all contacts or those of one owner, newest first, and the results of a search.
//!
//! A page is a list of hits (an id and the position after it), which is filled by one batch read. A page may
//! have fewer contacts than requested and still have a next page: if rows were deleted or changed after they
//! were indexed, if a search read too many rows, or if the contacts are large.

use std::collections::HashMap;
use std::sync::Arc;

use domain::contact::search::SearchQuery;
use domain::{Contact, ContactId, Definitions, Email, ExternalId, WorkspaceId};

use crate::contacts::row::{LIST_PK, LIST_SK, OWNER_PK, contact, contact_id_of_key, contact_place};
use crate::contacts::search::position_of;
use crate::dynamodb::item::Item;
use crate::dynamodb::paging::{Hits, List, MAX_PAGE_SIZE, Page, PageRequest, position};
use crate::dynamodb::read::{Attributes, Place};
use crate::dynamodb::retry::RetryTime;
use crate::settings::remembered::WithSetting;
use crate::{Store, StoreError, Table, keys};

/// Which contacts to list.
#[derive(Clone, Debug)]
pub struct ContactQuery {
    /// Only contacts of the internal user with this address. An address without a user has no contacts.
    pub owner: Option<Email>,
    /// Only the contact with this id in the tenant's own system. A page has all of it, whatever `after` says.
    pub external_id: Option<ExternalId>,
    /// Only contacts that match. They are sorted by the matched text, not newest first.
    pub search: Option<SearchQuery>,
    /// The maximum number of contacts, 1 to 100.
    pub page_size: usize,
    /// Only contacts after this position: [`Page::next`] of the previous page, with the same owner and
    /// search.
    pub after: Option<String>,
}

impl ContactQuery {
    /// The position after this contact in a list, newest first.
    pub fn behind(contact: &Contact) -> String {
        position(&keys::newest_first(contact.created_at, contact.id))
    }

    /// The position after this contact in the results of a search; `None` if the search does not find it.
    pub fn behind_found(search: &SearchQuery, contact: &Contact) -> Option<String> {
        position_of(search, contact)
    }
}

/// What a page reads together with its contacts.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    Definitions,
}

/// How many pages are read at most to avoid an empty one.
const MAX_READS: usize = 4;
/// A page ends early after this many stored bytes of contacts. Lambda's responses have at most 6 MB, and the
/// value of a CLOSED attribute, which is stored as an id, is shown as a text of up to 400 bytes.
const PAGE_BYTES: usize = 512 * 1024;

impl Store {
    /// One page of contacts. Two round trips; three to five for a search by several words if few contacts
    /// match all of them. A search finds a contact as soon as the write that stored it was answered; lists
    /// contain it within a second.
    pub async fn contacts_page(
        &self,
        workspace: WorkspaceId,
        wanted: ContactQuery,
    ) -> Result<Page<Contact>, StoreError> {
        Ok(self.filled_page(workspace, wanted, Beside::Nothing).await?.0)
    }

    /// The same, and the definitions that the page needs: none for an empty page. The call that reads the contacts also
    /// shows whether the remembered definitions are the current ones.
    pub async fn contacts_page_and_definitions(
        &self,
        workspace: WorkspaceId,
        wanted: ContactQuery,
    ) -> Result<(Page<Contact>, Arc<Definitions>), StoreError> {
        self.filled_page(workspace, wanted, Beside::Definitions).await
    }

    async fn filled_page(
        &self,
        workspace: WorkspaceId,
        wanted: ContactQuery,
        beside: Beside,
    ) -> Result<(Page<Contact>, Arc<Definitions>), StoreError> {
        if let Some(external_id) = &wanted.external_id {
            return self.page_of_external_id(workspace, external_id, &wanted, beside).await;
        }
        let mut page = self.read_page(workspace, &wanted, wanted.after.as_deref(), beside).await?;
        // Few results of a search may have this owner, and empty pages would look like the end of the list.
        let reads = if wanted.owner.is_some() { MAX_READS } else { 1 };
        for _ in 1..reads {
            let Some(after) = page.0.next.as_deref().filter(|_| page.0.items.is_empty()) else { break };
            page = self.read_page(workspace, &wanted, Some(after), beside).await?;
        }
        Ok(page)
    }

    /// The contact with this id, if it is wanted. It may give up the id, or become part of another one, between the two
    /// reads: then both are made again.
    async fn page_of_external_id(
        &self,
        workspace: WorkspaceId,
        external_id: &ExternalId,
        wanted: &ContactQuery,
        beside: Beside,
    ) -> Result<(Page<Contact>, Arc<Definitions>), StoreError> {
        let mut retries = RetryTime::new(self);
        while let Some(holder) = self.contact_holding_external_id(workspace, external_id).await? {
            let (mut items, definitions) = self.contacts_beside(workspace, &[holder], beside).await?;
            if items.iter().any(|contact| contact.external_id.as_ref() == Some(external_id)) {
                items.retain(|contact| is_wanted(contact, wanted));
                return Ok((Page { items, next: None }, definitions));
            }
            retries.wait().await?;
        }
        Ok((Page { items: vec![], next: None }, Arc::default()))
    }

    async fn read_page(
        &self,
        workspace: WorkspaceId,
        wanted: &ContactQuery,
        after: Option<&str>,
        beside: Beside,
    ) -> Result<(Page<Contact>, Arc<Definitions>), StoreError> {
        let page_size = wanted.page_size.clamp(1, MAX_PAGE_SIZE);
        let found = match (&wanted.search, &wanted.owner) {
            (Some(search), _) => self.search_hits(workspace, search, page_size, after).await?,
            (None, Some(owner)) => {
                let partition = keys::contacts_of_owner(workspace, owner);
                self.hits(&index("owner", OWNER_PK), partition, PageRequest { page_size, after }).await?
            }
            (None, None) => {
                let shard = |shard| keys::contact_list(workspace, shard);
                let list = index("list", LIST_PK);
                self.sharded_hits(&list, workspace, shard, PageRequest { page_size, after }).await?
            }
        };
        let ids: Vec<ContactId> = found.hits.iter().map(|hit| hit.row).collect();
        let (contacts, definitions) = self.contacts_beside(workspace, &ids, beside).await?;
        Ok((page(found, contacts, wanted), definitions))
    }

    async fn contacts_beside(
        &self,
        workspace: WorkspaceId,
        ids: &[ContactId],
        beside: Beside,
    ) -> Result<(Vec<Contact>, Arc<Definitions>), StoreError> {
        match beside {
            Beside::Definitions if !ids.is_empty() => self.contacts_with_definitions(workspace, ids).await,
            Beside::Definitions | Beside::Nothing => {
                Ok((self.contacts_by_id(workspace, ids).await?, Arc::default()))
            }
        }
    }

    /// The contacts with these ids, at most 100, in the order of the ids, without duplicates (strongly
    /// consistent read). Ids without a contact are left out. One round trip for each 16 MB.
    pub async fn contacts_by_id(
        &self,
        workspace: WorkspaceId,
        ids: &[ContactId],
    ) -> Result<Vec<Contact>, StoreError> {
        // An id may occur twice, because rows can change between the reads of a search.
        let places: Vec<Place> =
            ids.iter().map(|id| Place::of(Table::Contacts, keys::contact(workspace, *id))).collect();
        in_order(self.rows_at(&places).await?.into_items(), ids)
    }

    async fn contacts_with_definitions(
        &self,
        workspace: WorkspaceId,
        ids: &[ContactId],
    ) -> Result<(Vec<Contact>, Arc<Definitions>), StoreError> {
        let places: Vec<Place> = ids.iter().map(|id| contact_place(workspace, *id)).collect();
        let places: Vec<&Place> = places.iter().collect();
        let WithSetting { setting, rows, .. } = self.rows_with_definitions(workspace, &places).await?;
        Ok((in_order(rows.into_items(), ids)?, setting?))
    }
}

/// The contacts in these rows in the order of the ids, each once.
fn in_order(rows: impl IntoIterator<Item = Item>, ids: &[ContactId]) -> Result<Vec<Contact>, StoreError> {
    // The first place of an id that occurs twice is the last one that is inserted.
    let places: HashMap<ContactId, usize> = ids.iter().enumerate().rev().map(|(at, id)| (*id, at)).collect();
    let mut contacts: Vec<Option<Contact>> = ids.iter().map(|_| None).collect();
    for row in rows {
        let Some(contact) = contact(row)? else { continue };
        if let Some(at) = places.get(&contact.id) {
            contacts[*at] = Some(contact);
        }
    }
    Ok(contacts.into_iter().flatten().collect())
}

/// What a list needs of a row.
static KEYS: Attributes = Attributes { expression: "pk, listSk", names: &[] };

/// One of the two indexes. Both contain only keys.
fn index(name: &'static str, pk: &'static str) -> List<ContactId> {
    let read = |item| contact_id_of_key(&item);
    let attributes = Some(&KEYS);
    List { table: Table::Contacts, index: Some(name), keys: (pk, LIST_SK), filter: None, attributes, read }
}

/// The contacts, which are in the order of their hits, without those that do not match the query any more.
fn page(found: Hits<ContactId>, contacts: Vec<Contact>, wanted: &ContactQuery) -> Page<Contact> {
    let mut contacts = contacts.into_iter().peekable();
    let (mut items, mut bytes, mut behind) = (vec![], 0, None);
    for hit in found.hits {
        let contact = contacts.next_if(|contact| contact.id == hit.row);
        if let Some(contact) = contact.filter(|contact| is_wanted(contact, wanted)) {
            bytes += contact.bytes();
            if bytes > PAGE_BYTES && !items.is_empty() {
                return Page { items, next: behind };
            }
            items.push(contact);
        }
        behind = Some(hit.position);
    }
    Page { items, next: found.next }
}

/// Whether a contact still has the owner and the text of the query.
fn is_wanted(contact: &Contact, wanted: &ContactQuery) -> bool {
    wanted.owner.as_ref().is_none_or(|owner| is_owned_by(contact, owner))
        && wanted.search.as_ref().is_none_or(|search| search.finds(contact))
}

fn is_owned_by(contact: &Contact, owner: &Email) -> bool {
    contact.owner.as_ref().is_some_and(|held| held.email.same_as(owner))
}
