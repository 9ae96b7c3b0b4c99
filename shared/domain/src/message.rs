//! Messages: their content, the parts in which the service sends them, and the status of each part.

pub mod arrival;
mod correction;
mod message_type;
mod part_id;
mod pricing;
pub mod received;
mod report;
mod sending;
pub mod summary;
mod window;

pub use correction::{Corrected, Correction, CorrectionKind};
pub use message_type::MessageType;
pub use part_id::PartId;
pub use pricing::{Priced, PricedBy, Pricing, PricingWord};
pub use report::{Report, ReportKind, Reported};
pub use sending::{LeadPermit, Letter, MessageKnown, NotReady, Turn, Words};
pub use window::ServiceWindow;

use std::fmt;

use crate::conversation::{Conversation, ConversationStatus, Recipient};
use crate::ids::{ContactId, ConversationId, LeadId, MediaId, MessageId, TemplateId, WorkspaceId};
use crate::invisible::is_blank;
use crate::media::Attached;
use crate::message::received::Received;
use crate::refused::Refused;
use crate::sending::{PartError, Progress};
use crate::settings::template::TemplateContent;
use crate::text::{Unfit, within};
use crate::time::Timestamp;
use crate::words::words;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The message's id.
    pub id: MessageId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// The position in the conversation, from 1. Messages are sent in this order.
    pub seq: u64,
    /// The author of the message.
    pub sent_by: SentBy,
    /// The lead whose message this is; only if lead capture is the author.
    pub lead: Option<LeadId>,
    /// The content.
    pub content: Content,
    /// The message that this one answers.
    pub reply_to: Option<MessageId>,
    /// The recipients, in order; empty for an internal note and for a customer's message.
    pub recipients: Vec<Recipient>,
    /// The parts: for each recipient, one for each piece, in the order of [`Content::pieces`].
    pub parts: Vec<Part>,
    /// The sending progress of the current part, which is the first one that is not final.
    pub progress: Progress,
    /// When the message was created.
    pub created_at: Timestamp,
    /// When the message last changed.
    pub updated_at: Timestamp,
    /// Increases by one with each change of a part.
    pub version: u64,
}

/// A message in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The conversation that receives the message.
    pub conversation: ConversationId,
    /// The text. If it is absent, there are files.
    pub body: Option<MessageBody>,
    /// The files, up to [`Message::MAX_MEDIA`], without duplicates, in sending order.
    pub media: Vec<MediaId>,
    /// Whether the message goes to the customers. Otherwise it is an internal note.
    pub broadcast: bool,
    /// The message that this one answers.
    pub reply_to: Option<MessageId>,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentBy {
    /// A caller of the API.
    Api,
    /// The onboarding templates of the workspace or the request.
    Onboarding,
    /// Lead capture.
    Lead,
    /// The customer.
    Customer,
    /// Somebody of the business, with the provider's app.
    BusinessApp,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, files, or both.
    Written {
        /// The text.
        body: Option<MessageBody>,
        /// The files, up to [`Message::MAX_MEDIA`], without duplicates.
        media: Vec<Attached>,
        /// Whether the message goes to the customers. Otherwise it is an internal note.
        broadcast: bool,
    },
    /// A template. The sender fills its variables.
    Template(TemplateContent),
    /// A customer's message, or one to a customer from the Business app.
    Received(Received),
}

/// One call of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The recipient.
    pub recipient: ContactId,
    /// The number of the content's piece, from 0.
    pub index: usize,
    /// The present status.
    pub status: MessageStatus,
    /// The provider's id of the accepted message.
    pub provider_message_id: Option<String>,
    /// Why the part is FAILED or UNKNOWN.
    pub error: Option<PartError>,
    /// The text of a template as this recipient gets it, once a call was begun.
    pub text: Option<String>,
    /// Whether the provider accepted the part and holds it, until it knows the quality of the template.
    pub is_held: bool,
    /// What the provider charges for the part, and which of its statuses said so.
    pub pricing: Option<Priced>,
    /// When the part reached the customer, as the provider reports it.
    pub delivered_at: Option<Timestamp>,
    /// When the customer read the part, as the provider reports it.
    pub read_at: Option<Timestamp>,
}

/// The status of a part. The status of a message is that of its least advanced part. The order of the variants
/// is the rank. A status never goes back, except from SENT to FAILED if the provider reports a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageStatus {
    /// The part is stored.
    Queued,
    /// A call was begun, or a retry is due.
    Sending,
    /// A call was begun and its outcome is unknown. The service never repeats it blindly.
    Unknown,
    /// The part was not sent and will not be sent.
    Failed,
    /// The provider accepted the part.
    Sent,
    /// The part reached the customer.
    Delivered,
    /// The customer read the part.
    Read,
}

/// A message's text: 1 to 4,096 characters after trimming. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageBody(String);

impl MessageBody {
    /// The greatest number of characters after trimming.
    pub const MAX: usize = 4_096;

    /// Parses and trims a text.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let trimmed = text.trim();
        within(trimmed, 1, Self::MAX)?;
        if is_blank(trimmed) {
            return Err(Unfit::Value { reason: "a message cannot be blank" });
        }
        Ok(Self(trimmed.to_owned()))
    }

    /// The trimmed text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for MessageBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[MessageBody]")
    }
}

/// The content of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text alone.
    Text(&'a MessageBody),
    /// A file, with the text as caption if it has one.
    Media(&'a Attached, Option<&'a MessageBody>),
    /// A template.
    Template(&'a TemplateContent),
}

impl Draft {
    /// The conversation of the draft. `conversation` and `replied` are what was found under the draft's ids;
    /// `replied` only if it belongs to that conversation.
    ///
    /// Errors, in this order: the conversation does not exist (1002) or is blocked (0409); the answered
    /// message does not exist (1001).
    pub fn target(
        &self,
        conversation: Option<Conversation>,
        replied: Option<&Message>,
    ) -> Result<Conversation, Refused> {
        let conversation = conversation.ok_or(Refused::UnknownConversation)?;
        if conversation.status == ConversationStatus::Blocked {
            return Err(Refused::ConversationBlocked);
        }
        match self.reply_to {
            Some(message) if replied.is_none() => Err(Refused::UnknownReply { message }),
            _ => Ok(conversation),
        }
    }

    /// The message with these files, for all present customers of the conversation. All parts are QUEUED.
    pub fn message(
        &self,
        id: MessageId,
        conversation: &Conversation,
        seq: u64,
        media: Vec<Attached>,
        now: Timestamp,
    ) -> Message {
        let content = Content::Written { body: self.body.clone(), media, broadcast: self.broadcast };
        self.with(content, id, conversation, seq, now)
    }

    /// The message that has this content in the place of a text, for all present customers of the conversation. All parts are
    /// QUEUED.
    pub fn with(
        &self,
        content: Content,
        id: MessageId,
        conversation: &Conversation,
        seq: u64,
        now: Timestamp,
    ) -> Message {
        let recipients = if self.broadcast { conversation.recipients() } else { vec![] };
        Message {
            id,
            workspace_id: conversation.workspace_id,
            conversation: conversation.id,
            seq,
            sent_by: SentBy::Api,
            lead: None,
            parts: content.parts_for(&recipients),
            content,
            reply_to: self.reply_to,
            recipients,
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }
}

impl Message {
    /// What the message is.
    pub fn message_type(&self) -> MessageType {
        match &self.content {
            Content::Written { media, .. } if media.is_empty() => MessageType::Text,
            Content::Written { .. } => MessageType::Media,
            Content::Template(_) => MessageType::Template,
            Content::Received(received) => received.what.message_type(),
        }
    }

    /// The greatest number of files in a message.
    pub const MAX_MEDIA: usize = 10;

    /// The status of the least advanced part; QUEUED if nothing is sent.
    pub fn status(&self) -> MessageStatus {
        self.parts.iter().map(|part| part.status).min().unwrap_or(MessageStatus::Queued)
    }

    /// The status as it is shown: that of the parts, or that a customer's message was received.
    pub fn shown_status(&self) -> &'static str {
        match self.sent_by {
            SentBy::Customer => Received::STATUS,
            SentBy::Api | SentBy::Onboarding | SentBy::Lead | SentBy::BusinessApp => self.status().as_str(),
        }
    }

    /// Whether the service sends the message to customers.
    pub fn is_broadcast(&self) -> bool {
        !matches!(self.content, Content::Written { broadcast: false, .. } | Content::Received(_))
    }

    /// The files of the message.
    pub fn files(&self) -> Vec<&Attached> {
        match &self.content {
            Content::Written { media, .. } => media.iter().collect(),
            Content::Template(template) => template.files.values().collect(),
            Content::Received(received) => received.file().into_iter().collect(),
        }
    }

    /// The ids of the files of the message.
    pub fn file_ids(&self) -> Vec<MediaId> {
        self.files().iter().map(|file| file.media).collect()
    }

    /// The index of the first part that is not final.
    pub fn part_at_hand(&self) -> Option<usize> {
        self.parts.iter().position(|part| !part.status.is_final())
    }
}

impl Part {
    /// A part that nobody has begun to send.
    fn queued(recipient: ContactId, index: usize) -> Self {
        Self {
            recipient,
            index,
            status: MessageStatus::Queued,
            provider_message_id: None,
            error: None,
            text: None,
            is_held: false,
            pricing: None,
            delivered_at: None,
            read_at: None,
        }
    }
}

impl Content {
    /// The greatest number of characters in a caption.
    pub const MAX_CAPTION: usize = 1_024;

    /// The template, if this is one.
    pub fn template(&self) -> Option<TemplateId> {
        match self {
            Self::Template(content) => Some(content.template),
            Self::Written { .. } | Self::Received(_) => None,
        }
    }

    /// The pieces for each recipient, in order. The text is the caption of the first file if that file takes
    /// a caption and the text is short enough. Otherwise the text comes before the files. A customer's message
    /// has none.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let (body, media) = match self {
            Self::Template(content) => return vec![Piece::Template(content)],
            Self::Received(_) => return vec![],
            Self::Written { body, media, .. } => (body.as_ref(), media),
        };
        let captioned = media.first().is_some_and(|first| first.takes_caption())
            && body.is_some_and(|body| body.as_str().chars().count() <= Self::MAX_CAPTION);
        let text = body.filter(|_| !captioned).map(Piece::Text);
        let files = media
            .iter()
            .enumerate()
            .map(|(at, file)| Piece::Media(file, body.filter(|_| captioned && at == 0)));
        text.into_iter().chain(files).collect()
    }

    /// The parts of this content for these recipients. All parts are QUEUED.
    pub fn parts_for(&self, recipients: &[Recipient]) -> Vec<Part> {
        let pieces = self.pieces().len();
        recipients
            .iter()
            .flat_map(|to| (0..pieces).map(move |index| Part::queued(to.contact, index)))
            .collect()
    }
}

words!(
    /// The names of the authors.
    SentBy {
        Api: "API",
        Onboarding: "ONBOARDING",
        Lead: "LEAD",
        Customer: "CUSTOMER",
        BusinessApp: "BUSINESS_APP",
    }
);

words!(
    /// The names of the statuses, in the order of their ranks.
    MessageStatus {
        Queued: "QUEUED",
        Sending: "SENDING",
        Unknown: "UNKNOWN",
        Failed: "FAILED",
        Sent: "SENT",
        Delivered: "DELIVERED",
        Read: "READ",
    }
);

impl MessageStatus {
    /// Whether the sender has finished the part.
    pub fn is_final(self) -> bool {
        self > Self::Sending
    }
}

#[cfg(test)]
mod tests;
