//! Pages of conversations, newest first: all of them, one contact's, one user's, each also of one status.
//!
//! A list holds full copies, so that a page needs no second read. A hundred of the largest conversations there can be
//! are shown in 4 MB, and Lambda answers with 6 at most.

use domain::{ContactId, ContactRef, Conversation, ConversationStatus, UserId, UserRef, WorkspaceId};
use futures::future::try_join;

use crate::conversations::row::{INTERNAL_IDS, STATUS_PK, conversation};
use crate::dynamodb::item::{PK, SK, s};
use crate::dynamodb::paging::{LARGEST_PAGE, List, Page, Wanted};
use crate::{Store, StoreError, Table, keys};

/// The index that has every list once more for each status.
const BY_STATUS: &str = "byStatus";

/// Which conversations are wanted.
#[derive(Clone, Debug)]
pub struct ConversationQuery {
    /// Only those that stand so.
    pub status: Option<ConversationStatus>,
    /// Only those in which this contact takes part. Nobody has none.
    pub external: Option<ContactRef>,
    /// Only those in which this user takes part, who may be disabled by now. Nobody has none.
    pub internal: Option<UserRef>,
    /// How many at most, 1 to 100.
    pub page_size: usize,
    /// Those behind this position: [`Page::next`] of the page before, of the same status and people.
    pub after: Option<String>,
}

/// Whose conversations are wanted.
enum Whose<T> {
    Anybodys,
    Nobodys,
    Of(T),
}

impl<T> Whose<T> {
    fn found(id: Option<T>) -> Self {
        id.map_or(Self::Nobodys, Self::Of)
    }
}

impl Store {
    /// One page of conversations. One trip; one before it where somebody is named otherwise than by id. A list that is
    /// spread over shards takes a second round at times. What a contact has with a user is looked for among all that
    /// the contact has, in up to four rounds, behind which a short page, even an empty one, has a next one.
    ///
    /// A page shows what was written before it was asked for; those of one status follow within a second.
    pub async fn conversations_page(
        &self,
        workspace: WorkspaceId,
        wanted: ConversationQuery,
    ) -> Result<Page<Conversation>, StoreError> {
        let external = self.whose_contact(workspace, wanted.external.as_ref());
        let internal = self.whose_user(workspace, wanted.internal.as_ref());
        // The contact's list leads: a contact has fewer conversations than an agent.
        let (one, with) = match try_join(external, internal).await? {
            (Whose::Nobodys, _) | (_, Whose::Nobodys) => return Ok(Page { items: vec![], next: None }),
            (Whose::Of(contact), Whose::Anybodys) => {
                (Some(keys::conversations_of_contact(workspace, contact)), None)
            }
            (Whose::Of(contact), Whose::Of(user)) => {
                (Some(keys::conversations_of_contact(workspace, contact)), Some(user))
            }
            (Whose::Anybodys, Whose::Of(user)) => (Some(keys::conversations_of_user(workspace, user)), None),
            (Whose::Anybodys, Whose::Anybodys) => (None, None),
        };

        let list = list(wanted.status, with);
        let partition = |list: String| match wanted.status {
            Some(status) => keys::with_status(&list, status),
            None => list,
        };
        let page_size = wanted.page_size.clamp(1, LARGEST_PAGE);
        let page = Wanted { page_size, after: wanted.after.as_deref() };
        let found = match one {
            Some(one) => self.hits(&list, partition(one), page).await?,
            None => {
                let shard = |shard| partition(keys::conversations(workspace, shard));
                self.sharded_hits(&list, workspace, shard, page).await?
            }
        };
        Ok(Page { items: found.hits.into_iter().map(|hit| hit.row).collect(), next: found.next })
    }

    async fn whose_contact(
        &self,
        workspace: WorkspaceId,
        named: Option<&ContactRef>,
    ) -> Result<Whose<ContactId>, StoreError> {
        let Some(named) = named else { return Ok(Whose::Anybodys) };
        let found = match named {
            ContactRef::Id(id) => Some(*id),
            ContactRef::Email(email) => self.contact_holding_email(workspace, email).await?,
            ContactRef::Cellphone(cellphone) => self.contact_holding_cellphone(workspace, cellphone).await?,
        };
        Ok(Whose::found(found))
    }

    async fn whose_user(
        &self,
        workspace: WorkspaceId,
        named: Option<&UserRef>,
    ) -> Result<Whose<UserId>, StoreError> {
        let Some(named) = named else { return Ok(Whose::Anybodys) };
        let found = match named {
            UserRef::Id(id) => Some(*id),
            UserRef::Email(_) => self.user_by_ref(workspace, named).await?.map(|user| user.id),
        };
        Ok(Whose::found(found))
    }
}

/// The lists of one status stand in an index, which follows the table; all others in the table itself.
fn list(status: Option<ConversationStatus>, with: Option<UserId>) -> List<Conversation> {
    let (index, pk) = match status {
        Some(_) => (Some(BY_STATUS), STATUS_PK),
        None => (None, PK),
    };
    let filter = with.map(|user| (format!("contains({INTERNAL_IDS}, :only)"), s(user.to_string())));
    List { table: Table::Conversations, index, keys: (pk, SK), filter, read: conversation }
}
