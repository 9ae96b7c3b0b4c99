//! Pages of conversations, newest first: all conversations, those of a contact or of a user, each also by
//! status.
//!
//! Lists contain full copies, so a page needs no second read. A hundred conversations of maximum size are 4
//! MB of JSON; Lambda's limit is 6 MB.

use domain::{ContactId, ContactRef, Conversation, ConversationStatus, UserId, UserRef, WorkspaceId};
use futures::future::try_join;

use crate::conversations::row::{INTERNAL_IDS, STATUS_PK, conversation};
use crate::dynamodb::item::{PK, SK, s};
use crate::dynamodb::paging::{List, MAX_PAGE_SIZE, Page, PageRequest, position};
use crate::{Store, StoreError, Table, keys};

/// The index that contains each list once for each status.
const BY_STATUS: &str = "byStatus";

/// Which conversations to list.
#[derive(Clone, Debug)]
pub struct ConversationQuery {
    /// Only conversations with this status.
    pub status: Option<ConversationStatus>,
    /// Only conversations of this contact. A reference without a contact has none.
    pub external: Option<ContactRef>,
    /// Only conversations of this user, who may be disabled. A reference without a user has none.
    pub internal: Option<UserRef>,
    /// The maximum number of conversations, 1 to 100.
    pub page_size: usize,
    /// Only conversations after this position: [`Page::next`] of the previous page, with the same status and
    /// people.
    pub after: Option<String>,
}

impl ConversationQuery {
    /// The position after this conversation in each list that contains it.
    pub fn behind(conversation: &Conversation) -> String {
        position(&keys::newest_first(conversation.created_at, conversation.id))
    }
}

/// The person by whom a query filters.
enum PersonFilter<T> {
    Any,
    Unknown,
    Known(T),
}

impl<T> PersonFilter<T> {
    fn found(id: Option<T>) -> Self {
        id.map_or(Self::Unknown, Self::Known)
    }

    fn known(self) -> Option<T> {
        match self {
            Self::Known(id) => Some(id),
            Self::Any | Self::Unknown => None,
        }
    }
}

impl Store {
    /// One page of conversations. One round trip; one before it if a person is named otherwise than by id. A
    /// list that is spread over shards sometimes takes a second round. For a contact together with a user,
    /// the contact's list is filtered in up to four rounds; then a page may be short or empty and still have
    /// a next page. If the list of a contact's id ends without a conversation, one round trip more, and two if the contact
    /// became part of another one, whose conversations these are.
    ///
    /// A page contains everything that was written before the call; pages of one status within a second.
    pub async fn conversations_page(
        &self,
        workspace: WorkspaceId,
        wanted: ConversationQuery,
    ) -> Result<Page<Conversation>, StoreError> {
        let external = self.find_contact(workspace, wanted.external.as_ref());
        let internal = self.find_user(workspace, wanted.internal.as_ref());
        let (external, internal) = match try_join(external, internal).await? {
            (PersonFilter::Unknown, _) | (_, PersonFilter::Unknown) => {
                return Ok(Page { items: vec![], next: None });
            }
            (external, internal) => (external.known(), internal.known()),
        };
        let page = self.page_of(workspace, &wanted, (external, internal)).await?;
        // Only an id can name a contact that became part of another one: its conversations went to that one.
        let (Some(ContactRef::Id(id)), true) =
            (&wanted.external, page.items.is_empty() && page.next.is_none())
        else {
            return Ok(page);
        };
        match self.merged_into(workspace, *id).await? {
            Some(survivor) => self.page_of(workspace, &wanted, (Some(survivor), internal)).await,
            None => Ok(page),
        }
    }

    /// The page of a contact and a user, as far as they are given. The contact's list is filtered by the user, because a contact
    /// has fewer conversations than an agent.
    async fn page_of(
        &self,
        workspace: WorkspaceId,
        wanted: &ConversationQuery,
        people: (Option<ContactId>, Option<UserId>),
    ) -> Result<Page<Conversation>, StoreError> {
        let (one, with) = match people {
            (Some(contact), with) => (Some(keys::conversations_of_contact(workspace, contact)), with),
            (None, Some(user)) => (Some(keys::conversations_of_user(workspace, user)), None),
            (None, None) => (None, None),
        };
        let list = list(wanted.status, with);
        let partition = |list: String| match wanted.status {
            Some(status) => keys::with_status(&list, status),
            None => list,
        };
        let page_size = wanted.page_size.clamp(1, MAX_PAGE_SIZE);
        let page = PageRequest { page_size, after: wanted.after.as_deref() };
        let found = match one {
            Some(one) => self.hits(&list, partition(one), page).await?,
            None => {
                let shard = |shard| partition(keys::conversations(workspace, shard));
                self.sharded_hits(&list, workspace, shard, page).await?
            }
        };
        Ok(Page { items: found.hits.into_iter().map(|hit| hit.row).collect(), next: found.next })
    }

    async fn find_contact(
        &self,
        workspace: WorkspaceId,
        named: Option<&ContactRef>,
    ) -> Result<PersonFilter<ContactId>, StoreError> {
        let Some(named) = named else { return Ok(PersonFilter::Any) };
        let found = match named {
            ContactRef::Id(id) => Some(*id),
            ContactRef::Email(email) => self.contact_holding_email(workspace, email).await?,
            ContactRef::Cellphone(cellphone) => self.contact_holding_cellphone(workspace, cellphone).await?,
        };
        Ok(PersonFilter::found(found))
    }

    async fn find_user(
        &self,
        workspace: WorkspaceId,
        named: Option<&UserRef>,
    ) -> Result<PersonFilter<UserId>, StoreError> {
        let Some(named) = named else { return Ok(PersonFilter::Any) };
        let found = match named {
            UserRef::Id(id) => Some(*id),
            UserRef::Email(_) => self.user_by_ref(workspace, named).await?.map(|user| user.id),
        };
        Ok(PersonFilter::found(found))
    }
}

/// Lists of one status are in an index, which is eventually consistent. All others are in the table itself.
fn list(status: Option<ConversationStatus>, with: Option<UserId>) -> List<Conversation> {
    let (index, pk) = match status {
        Some(_) => (Some(BY_STATUS), STATUS_PK),
        None => (None, PK),
    };
    let filter = with.map(|user| (format!("contains({INTERNAL_IDS}, :only)"), s(user.to_string())));
    List { table: Table::Conversations, index, keys: (pk, SK), filter, attributes: None, read: conversation }
}
