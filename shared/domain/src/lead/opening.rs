//! The items that a lead creates: contact, conversation and message.

use crate::contact::Contact;
use crate::conversation::{ContactRef, Conversation, ConversationStatus, External};
use crate::lead::Lead;
use crate::lead::visitor::LeadName;
use crate::message::{Content, Message, MessageStatus, SentBy};
use crate::sending::Progress;
use crate::settings::line::Line;
use crate::settings::template::TemplateContent;
use crate::settings::workspace::list_shard;
use crate::time::Timestamp;

/// The items that a lead creates. The transaction that begins the sending writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadOpening {
    /// The contact with the number, as it is stored afterwards.
    pub contact: Contact,
    /// The new conversation.
    pub conversation: Conversation,
    /// The new message.
    pub message: Message,
}

impl Lead {
    /// The items of this lead, with the message in status SENDING. `found` is the contact that has the
    /// number, if there is one; the function only adds a missing name to it. `shards` is the number of shards
    /// of the conversation lists.
    pub fn opening(
        &self,
        found: Option<&Contact>,
        line: &Line,
        template: TemplateContent,
        shards: u8,
        now: Timestamp,
    ) -> LeadOpening {
        let contact = self.contact_of(found, now);
        let external = External {
            contact: contact.id,
            shown: ContactRef::Cellphone(self.cellphone.clone()),
            channel: line.channel.clone(),
            brand: self.brand.clone(),
            joined_at: now,
            last_seen_at: None,
        };
        let conversation = Conversation {
            status: ConversationStatus::NotAssignedToHuman,
            externals: vec![external],
            list_shard: list_shard(self.conversation.as_uuid(), shards),
            ..Conversation::blank(self.conversation, self.workspace_id, now)
        };
        let recipients = conversation.recipients();
        let content = Content::Template(template);
        let mut parts = content.parts_for(&recipients);
        for part in &mut parts {
            part.status = MessageStatus::Sending;
        }
        let message = Message {
            id: self.message,
            workspace_id: self.workspace_id,
            conversation: self.conversation,
            seq: 1,
            sent_by: SentBy::Lead,
            content,
            reply_to: None,
            recipients,
            parts,
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        };
        LeadOpening { contact, conversation, message }
    }

    /// The contact that the lead makes if nobody has its number.
    pub fn new_contact(&self, now: Timestamp) -> Contact {
        let (first_name, last_name) = self.name.as_ref().map(LeadName::first_and_last).unwrap_or_default();
        let cellphone = Some(self.cellphone.clone());
        let blank = Contact::blank(self.contact, self.workspace_id, now);
        Contact { cellphone, first_name, last_name, ..blank }
    }

    /// The contact with the number: the found contact, with the visitor's name if it has none, or a new
    /// contact.
    fn contact_of(&self, found: Option<&Contact>, now: Timestamp) -> Contact {
        let Some(found) = found else { return self.new_contact(now) };
        let name = self.name.as_ref().map(LeadName::first_and_last).unwrap_or_default();
        found.named(name, now).unwrap_or_else(|| found.clone())
    }
}
