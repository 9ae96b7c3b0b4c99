//! The rows that find a message by the provider's id of it.
//!
//! The provider names a message by its own id: in a customer's reply, and in a status. The senders write the row
//! of a part beside the record of the accepted call, so it costs no round trip.

use std::time::Duration;

use domain::sending::End;
use domain::{ConversationId, Message, MessageId, PartId, Timestamp, WorkspaceId, error_chain};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, expiring, key, row};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The greatest length of a provider's id that rows hold, in bytes. It is also that of an id in the answer to a
    /// send.
    pub const MAX_PROVIDER_ID: usize = 512;

    /// The conversation and the message that the provider knows under this id, and the part if the service sent
    /// the message (strongly consistent read). One round trip, or none for an id that is too long.
    pub async fn provider_message(
        &self,
        workspace: WorkspaceId,
        id: &str,
    ) -> Result<Option<(ConversationId, MessageId, Option<usize>)>, StoreError> {
        if id.len() > Self::MAX_PROVIDER_ID {
            return Ok(None);
        }
        let row: Option<ProviderIdRow> =
            self.get_row(Table::Messages, keys::provider_message(workspace, id)).await?;
        Ok(row.map(|row| (row.conversation_id, row.message_id, row.part)))
    }

    /// Stores the provider's id of a part that the provider accepted; of any other end, it stores nothing. The
    /// row is kept as long as the message. If it cannot be written, this is logged: a status finds its part
    /// without it. One round trip, or none.
    pub async fn keep_provider_id(&self, of: &Message, part: usize, end: &End) {
        let Some(id) = end.accepted_as() else { return };
        // An erasure finds the row by the id in the part.
        let fits = |had: &Option<String>| had.as_ref().is_none_or(|had| had == id);
        if !of.parts.get(part).is_some_and(|part| fits(&part.provider_message_id)) {
            return;
        }
        if let Err(error) = self.put_provider_id(of, part, id).await {
            let (workspace, cause) = (of.workspace_id, error_chain(&error));
            tracing::warn!(workspace = %workspace, messageId = %of.id, part, cause, "provider's id not stored");
        }
    }

    /// Deletes the row of a part's id if the message was erased while the call was made: an erasure finds the
    /// row by the message. One round trip, or two.
    pub async fn drop_provider_id_if_erased(&self, of: &Message, end: &End) -> Result<(), StoreError> {
        let Some(id) = end.accepted_as() else { return Ok(()) };
        match self.message(of.workspace_id, of.conversation, of.id).await? {
            Some(_) => Ok(()),
            None => self.drop_provider_id(of.workspace_id, id).await,
        }
    }

    pub(crate) async fn put_provider_id(
        &self,
        of: &Message,
        part: usize,
        id: &str,
    ) -> Result<(), StoreError> {
        let part = PartId { conversation: of.conversation, message: of.id, part };
        let kept = self.retention.messages;
        let item = provider_id_item(of.workspace_id, id, &part, of.created_at, kept)?;
        self.write(Write::put(Table::Messages, item)).await?;
        Ok(())
    }

    pub(crate) async fn drop_provider_id(&self, workspace: WorkspaceId, id: &str) -> Result<(), StoreError> {
        self.write(Write::delete(Table::Messages, key(keys::provider_message(workspace, id)))).await?;
        Ok(())
    }
}

fn provider_id_item(
    workspace: WorkspaceId,
    id: &str,
    part: &PartId,
    created_at: Timestamp,
    kept: Option<Duration>,
) -> Result<Item, StoreError> {
    let key = keys::provider_message(workspace, id);
    let PartId { conversation, message, part } = *part;
    let body = ProviderIdRow {
        conversation_id: conversation,
        message_id: message,
        part: Some(part),
        placeholder: false,
    };
    Ok(expiring(row(key, "providerMessage", &body)?, created_at, kept))
}

/// `W#P#<provider's id>` / `P`. It expires with the message.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderIdRow {
    #[serde(with = "fields::text")]
    pub(crate) conversation_id: ConversationId,
    #[serde(with = "fields::text")]
    pub(crate) message_id: MessageId,
    /// The position of the part. A customer's message has no parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<usize>,
    /// Whether the message stands for one whose content may come later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) placeholder: bool,
}

stored! { ProviderIdRow }
