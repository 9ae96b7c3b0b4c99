//! Where a customer's message goes, or one to a customer from the Business app, and what it makes or changes there.

use crate::contact::Contact;
use crate::conversation::{ContactRef, Conversation, ConversationStatus, External, Recipient};
use crate::ids::{BrandId, ChannelId, ContactId, ConversationId, MessageId};
use crate::message::received::Received;
use crate::message::{Content, Message, MessageStatus, Part, SentBy};
use crate::sending::Progress;
use crate::settings::workspace::list_shard;
use crate::time::Timestamp;

/// Where a customer's message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Into this conversation.
    Into(Box<Conversation>),
    /// Nowhere: this conversation is BLOCKED.
    Blocked(ConversationId),
    /// Into a new conversation.
    New,
}

impl Destination {
    /// The destination of a contact's message: the conversation of the message that it answers, if the contact
    /// takes part in it and it is not RELEASED; otherwise the newest conversation of the contact on the line that
    /// is not RELEASED; otherwise a new one.
    pub fn of(contact: ContactId, answered: Option<Conversation>, newest: Option<Conversation>) -> Self {
        let answered = answered.filter(|conversation| conversation.takes_from(contact, None));
        match answered.or(newest) {
            Some(conversation) if conversation.status == ConversationStatus::Blocked => {
                Self::Blocked(conversation.id)
            }
            Some(conversation) => Self::Into(Box::new(conversation)),
            None => Self::New,
        }
    }
}

impl Conversation {
    /// Whether a message of this contact, on this line if one is given, belongs into the conversation: the contact
    /// takes part and the conversation is not RELEASED.
    pub fn takes_from(&self, contact: ContactId, line: Option<&ChannelId>) -> bool {
        let is_sender = |external: &External| {
            external.contact == contact && line.is_none_or(|line| external.channel == *line)
        };
        self.status != ConversationStatus::Released && self.externals.iter().any(is_sender)
    }
}

/// A customer's message, or one to a customer from the Business app, before it has a conversation.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The author: the customer or the Business app.
    pub by: SentBy,
    /// The content.
    pub received: Received,
    /// The message that this one answers.
    pub reply_to: Option<MessageId>,
    /// When it was written ([`Received::created_at`]).
    pub created_at: Timestamp,
}

impl Arrival {
    /// The conversation that the message opens, between the contact and this brand: NOT_ASSIGNED_TO_HUMAN, because
    /// any agent can take it. `shards` is the number of shards of the conversation lists.
    pub fn opens(&self, contact: &Contact, brand: BrandId, shards: u8, now: Timestamp) -> Conversation {
        let id = Received::conversation_id(contact.workspace_id, &self.received.provider_message_id);
        let shown = contact.cellphone.clone().map_or(ContactRef::Id(contact.id), ContactRef::Cellphone);
        let external = External {
            contact: contact.id,
            shown,
            channel: self.received.channel.clone(),
            brand,
            joined_at: now,
            last_seen_at: None,
        };
        Conversation {
            status: ConversationStatus::NotAssignedToHuman,
            externals: vec![external],
            list_shard: list_shard(id.as_uuid(), shards),
            ..Conversation::blank(id, contact.workspace_id, now)
        }
    }

    /// The message in its conversation, under this number.
    pub fn message(&self, conversation: &Conversation, seq: u64, now: Timestamp) -> Message {
        let Received { contact, channel, provider_message_id, .. } = &self.received;
        let recipients = match self.by {
            SentBy::BusinessApp => vec![Recipient { contact: *contact, channel: channel.clone() }],
            SentBy::Customer | SentBy::Api | SentBy::Onboarding | SentBy::Lead => vec![],
        };
        // The provider sent it, and reports about it as about every message.
        let sent = |to: &Recipient| Part {
            status: MessageStatus::Sent,
            provider_message_id: Some(provider_message_id.clone()),
            ..Part::queued(to.contact, 0)
        };
        Message {
            id: Received::message_id(conversation.workspace_id, &self.received.provider_message_id),
            workspace_id: conversation.workspace_id,
            conversation: conversation.id,
            seq,
            sent_by: self.by,
            lead: None,
            content: Content::Received(self.received.clone()),
            reply_to: self.reply_to,
            parts: recipients.iter().map(sent).collect(),
            recipients,
            progress: Progress::default(),
            created_at: self.created_at,
            updated_at: now,
            version: 1,
        }
    }
}

#[cfg(test)]
mod tests;
