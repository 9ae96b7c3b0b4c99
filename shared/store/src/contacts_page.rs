//! Pages of contacts: all of them or one owner's, newest first, and those a search finds.
//!
//! A page is a list of hits (an id and the position behind it) that is then filled in one batch read. It may
//! be short of the size asked for and still have a next one: where rows vanished or changed since they were
//! indexed, where a search had to look at too many rows, where the contacts are large.

use std::collections::{HashMap, HashSet, VecDeque};

use domain::search::SearchQuery;
use domain::{Contact, ContactId, Email, WorkspaceId};
use futures::future::{try_join, try_join_all};

use crate::contacts_row::{ContactRow, LIST_PK, LIST_SK, OWNER_PK, contact_id_of_key};
use crate::item::{key, read, s, text};
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

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins; `None` on the last. A text of this store's own making, to be sealed before
    /// anybody outside sees it.
    pub next: Option<String>,
}

/// DynamoDB reads at most so many rows by their keys at once.
const BATCH: usize = 100;
/// How often a page that would be empty is looked for further on.
const LOOKS: usize = 4;
/// A page ends early behind so many stored bytes of contacts: Lambda answers with 6 MB at most, and what a CLOSED
/// attribute stores as an id it shows as a text of up to 400 bytes.
const PAGE_BYTES: usize = 512 * 1024;
/// What positions in lists begin with; those of a search begin with its phases' letters.
const LIST: char = 'L';

/// A contact that is on the page if it still exists, and the position behind it.
pub(crate) struct Hit {
    pub(crate) contact: ContactId,
    pub(crate) position: String,
}

/// What an index or a search found for one page.
pub(crate) struct Hits {
    /// At most as many as the page takes.
    pub(crate) hits: Vec<Hit>,
    /// Where there may be more.
    pub(crate) next: Option<String>,
}

impl Hits {
    /// One hit more than the page takes says that there is a next page.
    pub(crate) fn of(mut hits: Vec<Hit>, page_size: usize, otherwise: Option<String>) -> Self {
        let more = hits.len() > page_size;
        hits.truncate(page_size);
        let next = if more { hits.last().map(|hit| hit.position.clone()) } else { otherwise };
        Self { hits, next }
    }
}

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
        let page_size = wanted.page_size.clamp(1, BATCH);
        let found = match (&wanted.search, &wanted.owner) {
            (Some(search), _) => self.search_hits(workspace, search, page_size, after).await?,
            (None, Some(owner)) => self.owner_hits(workspace, owner, page_size, after).await?,
            (None, None) => self.list_hits(workspace, page_size, after).await?,
        };
        let ids: Vec<ContactId> = found.hits.iter().map(|hit| hit.contact).collect();
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

    async fn owner_hits(
        &self,
        workspace: WorkspaceId,
        owner: &Email,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<Hits, StoreError> {
        let mut run = Run::new("owner", OWNER_PK, keys::contacts_of_owner(workspace, owner), after)?;
        self.refill(&mut run, page_size + 1).await?;
        self.merge(vec![run], page_size).await
    }

    /// The shards are read side by side. Where their number is not in memory it is read beside the first, which
    /// for most workspaces is the only one.
    async fn list_hits(
        &self,
        workspace: WorkspaceId,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<Hits, StoreError> {
        let run = |shard| Run::new("list", LIST_PK, keys::contact_list(workspace, shard), after);
        let mut first = run(0)?;
        let shards = match self.remembered_shards(workspace) {
            Some(shards) => shards,
            None => try_join(self.refill(&mut first, page_size + 1), self.shards(workspace)).await?.1,
        };
        let others = (1..shards.read).map(run).collect::<Result<Vec<_>, _>>()?;
        self.merge(std::iter::once(first).chain(others).collect(), page_size).await
    }

    /// The first of all runs' rows in order, as many as the page takes and one.
    async fn merge(&self, mut runs: Vec<Run>, page_size: usize) -> Result<Hits, StoreError> {
        let share = share(page_size + 1, runs.len());
        let mut hits = vec![];
        while hits.len() <= page_size {
            let dry: Vec<&mut Run> = runs.iter_mut().filter(|run| run.is_dry()).collect();
            try_join_all(dry.into_iter().map(|run| self.refill(run, share))).await?;
            let first = runs
                .iter_mut()
                .filter(|run| !run.rows.is_empty())
                .min_by(|a, b| a.rows[0].1.cmp(&b.rows[0].1));
            let Some((contact, sk)) = first.and_then(|run| run.rows.pop_front()) else { break };
            hits.push(Hit { contact, position: format!("{LIST}{sk}") });
        }
        Ok(Hits::of(hits, page_size, None))
    }

    async fn refill(&self, run: &mut Run, limit: usize) -> Result<(), StoreError> {
        let range = if run.after.is_empty() { "" } else { " AND listSk > :after" };
        let mut query = self
            .db
            .query()
            .table_name(self.tables.name(Table::Contacts))
            .index_name(run.index)
            .key_condition_expression(format!("{} = :pk{range}", run.pk_name))
            .expression_attribute_values(":pk", s(&run.pk))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        if !run.after.is_empty() {
            query = query.expression_attribute_values(":after", s(&run.after));
        }
        let answer = query.send().await?;
        for item in answer.items.unwrap_or_default() {
            let sk = text(&item, LIST_SK).to_owned();
            run.after.clone_from(&sk);
            run.rows.push_back((contact_id_of_key(&item)?, sk));
        }
        run.is_over = answer.last_evaluated_key.is_none();
        Ok(())
    }
}

/// How many rows are read of each of several shards for so many in all: its part, and three times by how much
/// chance lets it vary, so that a second round is seldom needed.
fn share(rows: usize, shards: usize) -> usize {
    if shards == 1 {
        return rows;
    }
    let part = rows.div_ceil(shards);
    rows.min(part + 3 * (part.isqrt() + 1))
}

/// The contacts found, in the order of their hits, without those that are not, or no longer, what is wanted.
fn page(found: Hits, contacts: Vec<Contact>, wanted: &ContactQuery) -> Page<Contact> {
    let mut contacts: HashMap<ContactId, Contact> =
        contacts.into_iter().map(|contact| (contact.id, contact)).collect();
    let (mut items, mut bytes, mut behind) = (vec![], 0, None);
    for hit in found.hits {
        let is_wanted = |contact: &Contact| {
            wanted.owner.as_ref().is_none_or(|owner| is_owned_by(contact, owner))
                && wanted.search.as_ref().is_none_or(|search| search.finds(contact))
        };
        if let Some(contact) = contacts.remove(&hit.contact).filter(is_wanted) {
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

/// One partition of an index, read piece by piece.
struct Run {
    index: &'static str,
    pk_name: &'static str,
    pk: String,
    /// The last row read, or empty.
    after: String,
    /// Read and not yet taken.
    rows: VecDeque<(ContactId, String)>,
    /// Nothing is left to read.
    is_over: bool,
}

impl Run {
    fn new(
        index: &'static str,
        pk_name: &'static str,
        pk: String,
        after: Option<&str>,
    ) -> Result<Self, StoreError> {
        let after = match after {
            Some(position) => position.strip_prefix(LIST).ok_or_else(not_a_position)?.to_owned(),
            None => String::new(),
        };
        Ok(Self { index, pk_name, pk, after, rows: VecDeque::new(), is_over: false })
    }

    fn is_dry(&self) -> bool {
        self.rows.is_empty() && !self.is_over
    }
}

/// Positions come back sealed and bound to their query, so that a wrong one is a fault of ours.
pub(crate) fn not_a_position() -> StoreError {
    StoreError::Failed("the position is of another list".into())
}
