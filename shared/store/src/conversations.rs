//! Conversations: one home row each, with a full copy in every list in which it stands, written together.

pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod row;

use std::time::Duration;

use domain::conversation::{Change, Opening};
use domain::{Conversation, ConversationId, WorkspaceId};

use crate::access::idempotency::answered_in;
use crate::conversations::plan::{change_writes, opening_writes};
use crate::conversations::row::conversation;
use crate::dynamodb::write::{Transacted, is_by};
use crate::{Answered, Once, Store, StoreError, Table, keys};

/// What became of a new conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It exists.
    Done,
    /// Its idempotency key has answered already; nothing was written.
    Answered(Answered),
    /// A number or address that was nobody's has become a contact's meanwhile: look again who is named, and repeat.
    Met,
}

/// What became of a changed conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is stored.
    Done,
    /// Somebody changed it meanwhile, or became a contact who was none: read again and merge anew.
    Stale,
    /// It brings more new contacts than one transaction can make with all else it changes: at most so many.
    TooManyStrangers(usize),
}

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

    /// Makes a conversation with the contacts that come with it, its lane, its onboarding plan and, under an
    /// idempotency key, the answer: all or nothing. What is to be sent is looked after from `first_due` on, should
    /// nobody come to it before. One trip; one more when the workspace's shards are not in memory.
    pub async fn open_conversation(
        &self,
        opening: &Opening,
        first_due: Duration,
        once: Option<(&Once, &str)>,
        request_id: &str,
    ) -> Result<Opened, StoreError> {
        let workspace = opening.conversation.workspace_id;
        let shards = self.shards(workspace).await?.write;
        let plan = opening_writes(opening, shards, first_due, once, request_id)?;
        let refusals = match self.transact(plan.writes).await? {
            Transacted::Done => return Ok(Opened::Done),
            Transacted::Refused(refusals) => refusals,
        };
        // The home comes first among the writes, and outweighs the rest: it is there by our own earlier attempt alone.
        for refusal in refusals {
            match refusal.found {
                Some(home) if refusal.at == 0 && is_by(&home, request_id) => return Ok(Opened::Done),
                Some(row) if Some(refusal.at) == plan.once => return Ok(Opened::Answered(answered_in(row)?)),
                _ if refusal.at == 0 => {
                    let id = opening.conversation.id;
                    return Err(StoreError::Failed(format!("there is a conversation {id} already").into()));
                }
                _ => {}
            }
        }
        Ok(Opened::Met)
    }

    /// Stores the next version of the conversation read as `old`, with the contacts that come with it: all or nothing.
    /// One trip; one more when it makes contacts and the workspace's shards are not in memory.
    pub async fn change_conversation(
        &self,
        old: &Conversation,
        change: &Change,
        request_id: &str,
    ) -> Result<Changed, StoreError> {
        let shards = if change.strangers.is_empty() { 1 } else { self.shards(old.workspace_id).await?.write };
        let writes = match change_writes(old, change, shards, request_id)? {
            Ok(writes) => writes,
            Err(room) => return Ok(Changed::TooManyStrangers(room)),
        };
        let refusals = match self.transact(writes).await? {
            Transacted::Done => return Ok(Changed::Done),
            Transacted::Refused(refusals) => refusals,
        };
        let home = refusals.iter().find(|refusal| refusal.at == 0).and_then(|refusal| refusal.found.as_ref());
        Ok(if home.is_some_and(|home| is_by(home, request_id)) { Changed::Done } else { Changed::Stale })
    }
}
