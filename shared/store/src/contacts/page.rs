//! Pages of contacts: all of them or one owner's, newest first, and those a search finds.
//!
//! A page is a list of hits (an id and the position behind it) that is then filled in one batch read. It may
//! be short of the size asked for and still have a next one: where rows vanished or changed since they were
//! indexed, where a search had to look at too many rows, where the contacts are large.

use std::collections::{HashMap, HashSet};

use domain::search::SearchQuery;
use domain::{Contact, ContactId, Email, WorkspaceId};

use crate::contacts::row::{ContactRow, LIST_PK, LIST_SK, OWNER_PK, contact_id_of_key};
use crate::dynamodb::item::{key, read};
use crate::dynamodb::paging::{Hits, LARGEST_PAGE, List, Page, Wanted};
use crate::{Store, StoreError, Table, keys};

/// Which contacts are wanted.
#[derive(Clone, Debug)]
pub struct ContactQuery {
    /// Only those of the internal user with this address. An owner that is nobody has none.
    pub owner: Option<Email>,
    /// Only those that match. They come in the order of what matched, not newest first.
    pub search: Option<SearchQuery>,
    /// How many at most, 1 to 100.
    pub page_size: usize,
    /// Those behind this position: [`Page::next`] of the page before, of the same owner and search.
    pub after: Option<String>,
}

/// How often a page that would be empty is looked for further on.
const LOOKS: usize = 4;
/// A page ends early behind so many stored bytes of contacts: Lambda answers with 6 MB at most, and what a CLOSED
/// attribute stores as an id it shows as a text of up to 400 bytes.
const PAGE_BYTES: usize = 512 * 1024;

impl Store {
    /// One page of contacts. Two trips; three to five for a search by several words of which few contacts hold
    /// all. A contact is found by search as soon as the write that made it answered; lists follow within a
    /// second.
    pub async fn contacts_page(
        &self,
        workspace: WorkspaceId,
        wanted: ContactQuery,
    ) -> Result<Page<Contact>, StoreError> {
        let mut page = self.look(workspace, &wanted, wanted.after.as_deref()).await?;
        // Of what a search finds an owner may have little: empty pages would look like the end of the list.
        let looks = if wanted.owner.is_some() { LOOKS } else { 1 };
        for _ in 1..looks {
            let Some(after) = page.next.as_deref().filter(|_| page.items.is_empty()) else { break };
            page = self.look(workspace, &wanted, Some(after)).await?;
        }
        Ok(page)
    }

    async fn look(
        &self,
        workspace: WorkspaceId,
        wanted: &ContactQuery,
        after: Option<&str>,
    ) -> Result<Page<Contact>, StoreError> {
        let page_size = wanted.page_size.clamp(1, LARGEST_PAGE);
        let found = match (&wanted.search, &wanted.owner) {
            (Some(search), _) => self.search_hits(workspace, search, page_size, after).await?,
            (None, Some(owner)) => {
                let partition = keys::contacts_of_owner(workspace, owner);
                self.hits(&index("owner", OWNER_PK), partition, Wanted { page_size, after }).await?
            }
            (None, None) => {
                let shard = |shard| keys::contact_list(workspace, shard);
                let list = index("list", LIST_PK);
                self.sharded_hits(&list, workspace, shard, Wanted { page_size, after }).await?
            }
        };
        let ids: Vec<ContactId> = found.hits.iter().map(|hit| hit.row).collect();
        let contacts = self.contacts_by_id(workspace, &ids).await?;
        Ok(page(found, contacts, wanted))
    }

    /// The contacts of these ids, at most 100, in the same order and each once, read strongly; those that do not
    /// exist are left out. One trip for each 16 MB.
    pub async fn contacts_by_id(
        &self,
        workspace: WorkspaceId,
        ids: &[ContactId],
    ) -> Result<Vec<Contact>, StoreError> {
        // An id may come twice: what a search reads piece by piece can change in between.
        let mut seen = HashSet::new();
        let wanted = ids.iter().filter(|id| seen.insert(**id)).map(|id| {
            let (pk, sk) = keys::contact(workspace, *id);
            key(pk, sk)
        });
        let mut found = HashMap::new();
        for item in self.batch_items(Table::Contacts, wanted.collect()).await? {
            let contact = Contact::try_from(read::<ContactRow>(item)?)?;
            found.insert(contact.id, contact);
        }
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }
}

/// One of the two indexes, which hold keys alone.
fn index(name: &'static str, pk: &'static str) -> List<ContactId> {
    let read = |item| contact_id_of_key(&item);
    List { table: Table::Contacts, index: Some(name), keys: (pk, LIST_SK), filter: None, read }
}

/// The contacts found, in the order of their hits, without those that are not, or no longer, what is wanted.
fn page(found: Hits<ContactId>, contacts: Vec<Contact>, wanted: &ContactQuery) -> Page<Contact> {
    let mut contacts: HashMap<ContactId, Contact> =
        contacts.into_iter().map(|contact| (contact.id, contact)).collect();
    let (mut items, mut bytes, mut behind) = (vec![], 0, None);
    for hit in found.hits {
        let is_wanted = |contact: &Contact| {
            wanted.owner.as_ref().is_none_or(|owner| is_owned_by(contact, owner))
                && wanted.search.as_ref().is_none_or(|search| search.finds(contact))
        };
        if let Some(contact) = contacts.remove(&hit.row).filter(is_wanted) {
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

fn is_owned_by(contact: &Contact, owner: &Email) -> bool {
    contact.owner.as_ref().is_some_and(|held| held.email.same_as(owner))
}
