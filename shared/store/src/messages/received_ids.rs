//! The rows of the provider's ids of customers' messages. Each is also the guard against a repeat of its message.

use std::time::Duration;

use domain::message::received::Received;
use domain::{Message, Timestamp, WorkspaceId};

use crate::dynamodb::item::{EXPIRES_AT, Item, expiring, key, n, row};
use crate::dynamodb::write::Write;
use crate::messages::provider_ids::ProviderIdRow;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// Keeps the provider's id of an erased message only as long as the provider may repeat the message. Without it, a
    /// repeat would be a new message. One round trip.
    pub(crate) async fn shorten_received_id(
        &self,
        workspace: WorkspaceId,
        id: &str,
    ) -> Result<(), StoreError> {
        let (pk, sk) = keys::provider_message(workspace, id);
        let ends = n(self.now().plus(Received::KNOWN_FOR).as_seconds());
        let lasts = format!("(attribute_not_exists({EXPIRES_AT}) OR {EXPIRES_AT} > :ends)");
        let write = Write::update(Table::Messages, key((pk, sk)), format!("SET {EXPIRES_AT} = :ends"))
            .when(format!("attribute_exists(pk) AND {lasts}"))
            .bind(":ends", ends);
        self.write(write).await.map(drop)
    }
}

/// The row of a customer's message. It is kept as long as the message, and longer than the provider repeats it.
pub(crate) fn received_id_item(
    message: &Message,
    id: &str,
    kept: Option<Duration>,
    now: Timestamp,
) -> Result<Item, StoreError> {
    let key = keys::provider_message(message.workspace_id, id);
    let body = ProviderIdRow { conversation_id: message.conversation, message_id: message.id, part: None };
    let kept = kept.map(|kept| kept.max(Received::KNOWN_FOR));
    Ok(expiring(row(key, "providerMessage", &body)?, now, kept))
}
