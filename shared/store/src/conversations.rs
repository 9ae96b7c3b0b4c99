//! Conversations: one home row each, with a full copy in each list that contains it, all written together.

pub(crate) mod named;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod seen;

use std::time::Duration;

use domain::conversation::{ConversationChange, Opening};
use domain::{Conversation, ConversationId, WorkspaceId};

use crate::conversations::plan::{Role, change_writes, opening_writes};
use crate::conversations::row::conversation;
use crate::dynamodb::write::Refusal;
use crate::idempotency::stored_answer;
use crate::{IdempotencyKey, Store, StoreError, StoredAnswer, Table, keys};

/// The result of creating a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// The conversation is stored.
    Done,
    /// The idempotency key has an answer already; nothing was written.
    Answered(StoredAnswer),
    /// A number or address without a contact now belongs to a contact: look up the participants again and
    /// repeat.
    IdentityTaken,
}

/// The result of changing a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The change is stored.
    Done,
    /// The conversation was changed since it was read, or a participant became a contact: read again and
    /// merge again.
    Stale,
    /// The change adds more new contacts than fit into its transaction. The value is the number that
    /// certainly fits.
    TooManyNewContacts(usize),
}

impl Store {
    /// The conversation with this id (strongly consistent read). One round trip.
    pub async fn conversation(
        &self,
        workspace: WorkspaceId,
        id: ConversationId,
    ) -> Result<Option<Conversation>, StoreError> {
        let item = self.get_item(Table::Conversations, keys::conversation(workspace, id)).await?;
        item.map(conversation).transpose()
    }

    /// Stores a conversation with its new contacts, its lane, its onboarding plan and, under an idempotency
    /// key, the answer: all or nothing. If no visitor has come to the lane by then, the sweeper queues it
    /// after `first_due`. One round trip; one more if the workspace's shards are not in memory.
    pub async fn open_conversation(
        &self,
        opening: &Opening,
        first_due: Duration,
        once: Option<(&IdempotencyKey, &str)>,
        request_id: &str,
    ) -> Result<Opened, StoreError> {
        let workspace = opening.conversation.workspace_id;
        let shards = self.shards(workspace).await?.write;
        let writes = opening_writes(opening, shards, first_due, self.retention.messages, once, request_id)?;
        let Err(refusals) = self.transact(writes).await? else { return Ok(Opened::Done) };
        // The write of the home row comes first, and its refusal decides: only an earlier attempt of this
        // request can have written it.
        for refusal in refusals {
            match (refusal.role, &refusal.found) {
                (Role::Home, _) if refusal.is_of(request_id) => return Ok(Opened::Done),
                (Role::Home, _) => {
                    let id = opening.conversation.id;
                    return Err(StoreError::Failed(format!("there is a conversation {id} already").into()));
                }
                (Role::Answer, Some(row)) => return Ok(Opened::Answered(stored_answer(row.clone())?)),
                _ => {}
            }
        }
        Ok(Opened::IdentityTaken)
    }

    /// Stores the next version of the conversation that was read as `old`, with its new contacts: all or
    /// nothing. One round trip; one more if there are new contacts and the workspace's shards are not in
    /// memory.
    pub async fn change_conversation(
        &self,
        old: &Conversation,
        change: &ConversationChange,
        request_id: &str,
    ) -> Result<Changed, StoreError> {
        let shards =
            if change.new_contacts.is_empty() { 1 } else { self.shards(old.workspace_id).await?.write };
        let writes = match change_writes(old, change, shards, request_id)? {
            Ok(writes) => writes,
            Err(room) => return Ok(Changed::TooManyNewContacts(room)),
        };
        let Err(refusals) = self.transact(writes).await? else { return Ok(Changed::Done) };
        let is_own = |refusal: &Refusal<Role>| refusal.role == Role::Home && refusal.is_of(request_id);
        Ok(if refusals.iter().any(is_own) { Changed::Done } else { Changed::Stale })
    }
}
