//! The rows of the provider's ids of customers' messages. Each is also the guard against a repeat of its message.

use std::time::Duration;

use domain::message::received::Received;
use domain::message::{Content, SentBy};
use domain::{Media, Message, Timestamp, WorkspaceId};

use crate::dynamodb::item::{EXPIRES_AT, Item, expiring, key, n, row};
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::{Transaction, Write};
use crate::media::first_reference;
use crate::messages::provider_ids::ProviderIdRow;
use crate::messages::row::message_item;
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

    /// Gives a placeholder its content, with the content's file and its size in bytes. Returns `false` if something changed since it
    /// was read. One round trip.
    pub async fn fill_placeholder(
        &self,
        seen: &Message,
        next: &Message,
        file: Option<(&Media, u64)>,
    ) -> Result<bool, StoreError> {
        let Content::Received(received) = &next.content else { return Ok(false) };
        let (kept, now, request) = (self.retention.messages, self.now(), self.ids.next().to_string());
        let put = replace_write(Table::Messages, message_item(next, kept, &request)?, seen.version);
        let guard = key(keys::provider_message(next.workspace_id, &received.provider_message_id));
        let guard = Write::update(Table::Messages, guard, "REMOVE placeholder").when("attribute_exists(pk)");
        let mut writes = Transaction::new().with((), put).with((), guard);
        if let Some((media, size)) = file.filter(|(media, _)| !media.is_referenced()) {
            writes.add((), first_reference(media, size, next, kept, now));
        }
        Ok(self.transact(writes).await?.is_ok())
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
    let is_of_customer = message.sent_by == SentBy::Customer;
    let placeholder = is_of_customer
        && matches!(&message.content, Content::Received(received) if received.is_placeholder());
    let body = ProviderIdRow {
        conversation_id: message.conversation,
        message_id: message.id,
        part: message.parts.first().map(|part| part.index),
        placeholder,
    };
    let kept = kept.map(|kept| kept.max(Received::KNOWN_FOR));
    Ok(expiring(row(key, "providerMessage", &body)?, now, kept))
}
