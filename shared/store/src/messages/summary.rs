//! Counts a conversation's messages for its summary.

use domain::message::summary::Tally;
use domain::{ConversationId, Timestamp, WorkspaceId};

use crate::dynamodb::item::read;
use crate::dynamodb::read::Attributes;
use crate::lanes::row::LaneRow;
use crate::messages::query_messages;
use crate::messages::row::Counted;
use crate::{Store, StoreError, Table, keys};

/// What counts a message.
static COUNTED: Attributes =
    Attributes { expression: "pk, sk, sv, sentBy, content.written.broadcast, createdAt", names: &[] };

impl Store {
    /// The counts of a conversation's messages up to a moment (strongly consistent read). One round trip if
    /// the lane counts them. If it has not counted all, or counts later ones, one more for each megabyte of
    /// messages.
    pub async fn tally(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        until: Timestamp,
    ) -> Result<Tally, StoreError> {
        let lane: Option<LaneRow> =
            self.get_row(Table::Messages, keys::conversation_lane(workspace, conversation)).await?;
        match lane.and_then(|lane| lane.counted(until)) {
            Some(tally) => Ok(tally),
            None => self.tally_of_messages(workspace, conversation, until).await,
        }
    }

    async fn tally_of_messages(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        until: Timestamp,
    ) -> Result<Tally, StoreError> {
        let query = query_messages(workspace, conversation).only(Some(&COUNTED));
        let mut tally = Tally::default();
        for item in self.query_all(query).await? {
            let message: Counted = read(item)?;
            if message.created_at <= until {
                tally.count(message.direction(), message.created_at);
            }
        }
        Ok(tally)
    }
}
