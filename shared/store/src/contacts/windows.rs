//! When a customer last wrote to a line, and into which conversation.
//!
//! The row also makes one conversation of two messages at the same time: a message opens a conversation only if the row
//! still names the conversation that its reader saw.

use domain::{ChannelId, ContactId, ConversationId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{SK, key, read, row, s, text};
use crate::dynamodb::read::Query;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// `W#C#<contact>` / `W#<line>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WindowRow {
    /// When the customer wrote the newest message on the line.
    #[serde(with = "fields::text")]
    pub(crate) last_inbound_at: Timestamp,
    /// The conversation into which the service stored a message last. Without such a message, the BLOCKED one that did not
    /// take the customer's message.
    #[serde(with = "fields::text")]
    pub(crate) conversation_id: ConversationId,
}

stored! { WindowRow }

impl Store {
    /// When the customer last wrote to the line, also into a BLOCKED conversation; `None` if the service knows no message
    /// of the customer on it (strongly consistent read). One round trip.
    pub async fn last_inbound(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        line: &ChannelId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let row: Option<WindowRow> =
            self.get_row(Table::Contacts, keys::window(workspace, contact, line)).await?;
        Ok(row.map(|row| row.last_inbound_at))
    }

    /// When a contact last wrote to each line (strongly consistent read). One round trip.
    pub async fn windows(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
    ) -> Result<Vec<(ChannelId, Timestamp)>, StoreError> {
        let (pk, _) = keys::contact(workspace, contact);
        let mut windows = vec![];
        for item in self.query_all(Query::of(Table::Contacts, pk)).await? {
            let Some(line) = keys::read_window(text(&item, SK)) else { continue };
            windows.push((line, read::<WindowRow>(item)?.last_inbound_at));
        }
        Ok(windows)
    }

    /// Deletes the rows of a contact that say when the customer wrote. One round trip, and one for each row.
    pub async fn erase_windows(&self, workspace: WorkspaceId, contact: ContactId) -> Result<(), StoreError> {
        for (line, _) in self.windows(workspace, contact).await? {
            self.write(Write::delete(Table::Contacts, key(keys::window(workspace, contact, &line)))).await?;
        }
        Ok(())
    }
}

/// The write of the row for a message that the customer wrote at `at`, under the condition that the row is as it was
/// `seen`.
pub(crate) fn window_write(
    (workspace, contact, line): (WorkspaceId, ContactId, &ChannelId),
    seen: Option<&WindowRow>,
    conversation_id: ConversationId,
    at: Timestamp,
) -> Result<Write, StoreError> {
    let last_inbound_at = seen.map_or(at, |seen| seen.last_inbound_at.max(at));
    let window = WindowRow { last_inbound_at, conversation_id };
    let put = Write::put(Table::Contacts, row(keys::window(workspace, contact, line), "window", &window)?);
    Ok(match seen {
        None => put.when_absent(),
        Some(seen) => seen.when_seen(put),
    })
}

impl WindowRow {
    /// The write under the condition that the row is as it was read.
    pub(crate) fn when_seen(&self, write: Write) -> Write {
        write
            .when("conversationId = :conversation AND lastInboundAt = :at")
            .bind(":conversation", s(self.conversation_id.to_string()))
            .bind(":at", s(self.last_inbound_at.to_string()))
    }
}
