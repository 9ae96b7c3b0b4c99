//! Conversations: one home row each, with a full copy in every list in which it stands, written together.

use domain::{Conversation, ConversationId, WorkspaceId};

use crate::conversations_row::conversation;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The conversation of that id, read strongly. One trip.
    pub async fn conversation(
        &self,
        workspace: WorkspaceId,
        id: ConversationId,
    ) -> Result<Option<Conversation>, StoreError> {
        let item = self.get_item(Table::Conversations, keys::conversation(workspace, id)).await?;
        item.map(conversation).transpose()
    }
}
