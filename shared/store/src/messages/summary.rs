//! Counts a conversation's messages for its summary.

use domain::message::summary::Tally;
use domain::{ConversationId, Timestamp, WorkspaceId};

use crate::dynamodb::item::read;
use crate::lanes::row::LaneRow;
use crate::messages::row::Counted;
use crate::{Store, StoreError, Table, keys};

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
        let (mut tally, mut from) = (Tally::default(), None);
        loop {
            let page = self
                .query_messages(workspace, conversation)
                .projection_expression(Counted::ATTRIBUTES)
                .set_exclusive_start_key(from)
                .send()
                .await?;
            for item in page.items.unwrap_or_default() {
                let message: Counted = read(item)?;
                if message.created_at <= until {
                    tally.count(message.direction(), message.created_at);
                }
            }
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(tally);
            }
        }
    }
}
