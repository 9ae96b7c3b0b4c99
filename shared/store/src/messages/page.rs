//! Pages of the messages of a conversation, newest first.
//!
//! The index `list` has one small row for each message. A batch read fills the page. A hundred messages of maximum size
//! are 5 MB of JSON; Lambda's limit is 6 MB.

use std::cmp::Reverse;

use domain::message::summary::Direction;
use domain::{ConversationId, Message, MessageId, WorkspaceId};

use crate::dynamodb::item::{Item, PK, SK, s, text, unreadable};
use crate::dynamodb::paging::{List, MAX_PAGE_SIZE, Page, PageRequest};
use crate::dynamodb::read::Place;
use crate::messages::row::{DIRECTION, LIST_SK, message};
use crate::{Store, StoreError, Table, keys};

/// Which messages to list.
#[derive(Clone, Debug)]
pub struct MessageQuery {
    /// Only messages of this conversation.
    pub conversation: ConversationId,
    /// Only messages of this direction.
    pub direction: Option<Direction>,
    /// The maximum number of messages, 1 to 100.
    pub page_size: usize,
    /// Only messages after this position: [`Page::next`] of the previous page, with the same conversation and
    /// direction.
    pub after: Option<String>,
}

impl Store {
    /// One page of the messages of a conversation. Two round trips. For a direction that few of the messages have, the
    /// list is filtered in up to four rounds, which are three round trips more; then a page may be short or empty and
    /// still have a next page.
    ///
    /// A list contains a message within a second. Each message is shown as it is (strongly consistent read).
    pub async fn messages_page(
        &self,
        workspace: WorkspaceId,
        wanted: MessageQuery,
    ) -> Result<Page<Message>, StoreError> {
        let filter =
            wanted.direction.map(|direction| (format!("{DIRECTION} = :only"), s(direction.as_str())));
        let list = List {
            table: Table::Messages,
            index: Some("list"),
            keys: (PK, LIST_SK),
            filter,
            attributes: None,
            read: message_id,
        };
        let page_size = wanted.page_size.clamp(1, MAX_PAGE_SIZE);
        let page = PageRequest { page_size, after: wanted.after.as_deref() };
        let found = self.hits(&list, keys::messages(workspace, wanted.conversation), page).await?;

        let place = |id| Place::of(Table::Messages, keys::message(workspace, wanted.conversation, id));
        let places: Vec<Place> = found.hits.iter().map(|hit| place(hit.row)).collect();
        let rows = self.rows_at(&places).await?.into_items();
        let mut items = rows.map(message).collect::<Result<Vec<_>, _>>()?;
        items.sort_by_key(|message| Reverse((message.created_at, message.seq)));
        Ok(Page { items, next: found.next })
    }
}

/// The message of a row of the index.
fn message_id(item: Item) -> Result<MessageId, StoreError> {
    let id = text(&item, SK).strip_prefix(keys::MESSAGES).and_then(|id| MessageId::parse(id).ok());
    id.ok_or_else(|| unreadable(&item, "it is no message"))
}
