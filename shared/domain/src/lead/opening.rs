//! The items that a lead creates: contact, conversation and message.

use crate::contact::Contact;
use crate::conversation::{ContactRef, Conversation, ConversationStatus, External};
use crate::ids::{BrandId, ConversationId};
use crate::lead::Lead;
use crate::lead::visitor::LeadName;
use crate::message::{Content, Message, SentBy};
use crate::sending::Progress;
use crate::settings::line::Line;
use crate::settings::template::TemplateContent;
use crate::settings::workspace::list_shard;
use crate::time::Timestamp;

impl Lead {
    /// The contact with the number: the found contact, with the visitor's name if it has none, or a new
    /// contact.
    pub fn contact_of(&self, found: Option<&Contact>, now: Timestamp) -> Contact {
        let Some(found) = found else { return self.new_contact(now) };
        let name = self.name.as_ref().map(LeadName::first_and_last).unwrap_or_default();
        found.named(name, now).unwrap_or_else(|| found.clone())
    }

    /// The contact that the lead makes if nobody has its number.
    pub fn new_contact(&self, now: Timestamp) -> Contact {
        let (first_name, last_name) = self.name.as_ref().map(LeadName::first_and_last).unwrap_or_default();
        let cellphone = Some(self.cellphone.clone());
        let blank = Contact::blank(self.contact, self.workspace_id, now);
        Contact { cellphone, first_name, last_name, ..blank }
    }

    /// A new conversation of the lead, under this id, with its contact, from this line and under this brand. `shards` is the
    /// number of shards of the conversation lists.
    pub fn new_conversation(
        &self,
        id: ConversationId,
        contact: &Contact,
        (line, brand): (&Line, BrandId),
        shards: u8,
        now: Timestamp,
    ) -> Conversation {
        let external = External {
            contact: contact.id,
            shown: ContactRef::Cellphone(self.cellphone.clone()),
            channel: line.channel.clone(),
            brand,
            joined_at: now,
            last_seen_at: None,
        };
        Conversation {
            status: ConversationStatus::NotAssignedToHuman,
            externals: vec![external],
            list_shard: list_shard(id.as_uuid(), shards),
            ..Conversation::blank(id, self.workspace_id, now)
        }
    }

    /// The lead's message in a conversation, under this number, to this contact. `None` if the contact is not in the
    /// conversation.
    pub fn message_in(
        &self,
        conversation: &Conversation,
        contact: &Contact,
        template: TemplateContent,
        seq: u64,
        now: Timestamp,
    ) -> Option<Message> {
        let mut recipients = conversation.recipients();
        recipients.retain(|recipient| recipient.contact == contact.id);
        let content = Content::Template(template);
        (!recipients.is_empty()).then(|| Message {
            id: self.message,
            workspace_id: self.workspace_id,
            conversation: conversation.id,
            seq,
            sent_by: SentBy::Lead,
            lead: Some(self.id),
            parts: content.parts_for(&recipients),
            content,
            reply_to: None,
            recipients,
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        })
    }
}
