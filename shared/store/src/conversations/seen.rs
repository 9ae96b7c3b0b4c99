//! When customers were last seen: a row for each customer in the partition of the conversation.
//!
//! A customer reads and writes far more often than the conversation changes, and the conversation has a copy in
//! each list. So this is no change of the conversation: its version stays, and there is no event.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use domain::{ContactId, Conversation, ConversationId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::conversations::row::conversation;
use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{PK, SK, expiring, key, n, read, row, text};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// The least time between two writes for a customer.
const AT_MOST_EVERY: Duration = Duration::from_secs(60);

/// When the customers of a conversation were last seen.
pub type LastSeen = HashMap<ContactId, Timestamp>;

impl Store {
    /// Stores when a customer was seen in a conversation, unless the row has a later time or one of the last
    /// minute. One round trip.
    pub async fn saw(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        contact: ContactId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.saw_after(workspace, conversation, contact, at, AT_MOST_EVERY).await
    }

    /// The same, unless the row has a time that is not so much earlier. A merge writes every later time: the minutes of two
    /// contacts would add up. One round trip.
    pub(crate) async fn saw_after(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        contact: ContactId,
        at: Timestamp,
        least: Duration,
    ) -> Result<(), StoreError> {
        let key = keys::seen(workspace, conversation, contact);
        let item = row(key, "seen", &SeenRow { last_seen_at: at.as_millis() })?;
        let write = Write::put(Table::Conversations, expiring(item, at, self.retention.conversations))
            .when("attribute_not_exists(lastSeenAt) OR lastSeenAt <= :before")
            .bind(":before", n(at.minus(least).as_millis()));
        self.write(write).await?;
        Ok(())
    }

    /// A conversation, and when its customers were last seen (strongly consistent read). One round trip.
    pub async fn conversation_and_seen(
        &self,
        workspace: WorkspaceId,
        id: ConversationId,
    ) -> Result<Option<(Conversation, LastSeen)>, StoreError> {
        let (pk, home) = keys::conversation(workspace, id);
        let rows = self.query_all(Query::of(Table::Conversations, pk)).await?;
        let (mut found, mut seen) = (None, LastSeen::new());
        for item in rows {
            match keys::read_seen(text(&item, SK)) {
                Some(contact) => {
                    seen.insert(contact, read::<SeenRow>(item)?.at());
                }
                None if text(&item, SK) == home => found = Some(conversation(item)?),
                None => {}
            }
        }
        Ok(found.map(|conversation| (conversation, seen)))
    }

    /// When the customers of these conversations were last seen, for each conversation in order. The read
    /// is eventually consistent, because the rows are written at most once a minute. One round trip, or none without
    /// conversations.
    pub async fn last_seen(&self, of: &[Conversation]) -> Result<Vec<LastSeen>, StoreError> {
        let keys_of = |conversation: &Conversation| {
            let (workspace, id) = (conversation.workspace_id, conversation.id);
            let contacts = conversation.externals.iter().map(|external| external.contact);
            contacts.map(|contact| keys::seen(workspace, id, contact)).collect::<Vec<_>>()
        };
        let places: Vec<Place> =
            of.iter().flat_map(keys_of).map(|key| Place::of(Table::Conversations, key)).collect();
        let mut found = HashMap::<String, LastSeen>::new();
        for item in self.rows_at_eventually(&places).await?.into_items() {
            let Some(contact) = keys::read_seen(text(&item, SK)) else { continue };
            let pk = text(&item, PK).to_owned();
            found.entry(pk).or_default().insert(contact, read::<SeenRow>(item)?.at());
        }
        let pk_of =
            |conversation: &Conversation| keys::conversation(conversation.workspace_id, conversation.id).0;
        Ok(of.iter().map(|conversation| found.remove(&pk_of(conversation)).unwrap_or_default()).collect())
    }

    /// Deletes when these contacts were last seen in a conversation; `None` for all of its customers. One round
    /// trip, and one for each row.
    pub async fn erase_seen(
        &self,
        workspace: WorkspaceId,
        id: ConversationId,
        only: Option<&BTreeSet<ContactId>>,
    ) -> Result<(), StoreError> {
        let (pk, _) = keys::conversation(workspace, id);
        for item in self.query_all(Query::of(Table::Conversations, pk).with_expired()).await? {
            let Some(contact) = keys::read_seen(text(&item, SK)) else { continue };
            if only.is_none_or(|only| only.contains(&contact)) {
                self.forget_seen(workspace, id, contact).await?;
            }
        }
        Ok(())
    }

    /// Takes back [`Store::saw`] with this time. A row with another time stays: it is that of another message, whose conversation
    /// exists. One round trip.
    pub(crate) async fn unsaw(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        contact: ContactId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let row = key(keys::seen(workspace, conversation, contact));
        let delete = Write::delete(Table::Conversations, row).when("lastSeenAt = :at");
        self.write(delete.bind(":at", n(at.as_millis()))).await?;
        Ok(())
    }

    /// Deletes the row of a customer in a conversation. One round trip.
    pub(crate) async fn forget_seen(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        contact: ContactId,
    ) -> Result<(), StoreError> {
        self.write(Write::delete(Table::Conversations, key(keys::seen(workspace, conversation, contact))))
            .await?;
        Ok(())
    }
}

/// `W#C#<conversation id>` / `S#<contact id>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeenRow {
    /// Milliseconds since 1970.
    last_seen_at: i64,
}

stored! { SeenRow }

impl SeenRow {
    fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.last_seen_at)
    }
}
