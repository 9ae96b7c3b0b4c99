//! Messages: what is said in a conversation, the parts it is sent in, and how far each has come.

mod sending;
pub mod summary;
mod template;

pub use sending::{Letter, MessageKnown, Turn, Words};

use std::fmt;

use crate::conversation::{Conversation, ConversationStatus, Recipient};
use crate::ids::{ContactId, ConversationId, MediaId, MessageId, WorkspaceId};
use crate::media::Attached;
use crate::refused::Refused;
use crate::sending::{PartError, Progress};
use crate::settings::template::Requested;
use crate::text::{Unfit, within};
use crate::time::Timestamp;
use crate::words::words;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Its place in the conversation, from 1: what is sent is sent in this order.
    pub seq: u64,
    /// Whose word it is.
    pub sent_by: SentBy,
    /// What it says.
    pub content: Content,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// To whom it is sent, in order; nobody if it is an internal note.
    pub recipients: Vec<Recipient>,
    /// What is sent, recipient by recipient, each in the order of [`Content::pieces`].
    pub parts: Vec<Part>,
    /// How the part at hand stands: the first that is not final.
    pub progress: Progress,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Grows by one with each change of a part's status.
    pub version: u64,
}

/// A message as a caller asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Into which conversation.
    pub conversation: ConversationId,
    /// The text. Without one there are files.
    pub body: Option<MessageBody>,
    /// The files, up to [`Message::MAX_MEDIA`], each once, in the order they are sent in.
    pub media: Vec<MediaId>,
    /// Whether it is sent to the customers; otherwise it is an internal note.
    pub broadcast: bool,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
}

/// Whose word a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentBy {
    /// A caller of the API.
    Api,
    /// The workspace's or the caller's onboarding.
    Onboarding,
    /// Lead capture, which sends its message itself.
    Lead,
    /// The customer.
    Customer,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, files, or both.
    Written {
        /// The text.
        body: Option<MessageBody>,
        /// The files, up to [`Message::MAX_MEDIA`], each once.
        media: Vec<Attached>,
        /// Whether it is sent to the customers; otherwise it is an internal note.
        broadcast: bool,
    },
    /// A template, filled when it is sent.
    Template(Requested),
}

/// One call of the provider that a message asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// To whom.
    pub recipient: ContactId,
    /// Which piece of the content, from 0.
    pub index: usize,
    /// How far it has come.
    pub status: MessageStatus,
    /// The provider's id of what it accepted.
    pub provider_message_id: Option<String>,
    /// Why it is FAILED or UNKNOWN.
    pub error: Option<PartError>,
}

/// How far a part, and by its least advanced part a message, has come. Never goes backwards: the order is that of
/// the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageStatus {
    /// Stored.
    Queued,
    /// A call was begun, or is to be tried again.
    Sending,
    /// A call was begun whose outcome nobody knows; never tried again blindly.
    Unknown,
    /// Not sent, and not to be sent any more.
    Failed,
    /// The provider accepted it.
    Sent,
    /// It reached the customer.
    Delivered,
    /// The customer read it.
    Read,
}

/// A message's text: 1 to 4,096 characters after trimming. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct MessageBody(String);

impl MessageBody {
    /// The greatest number of characters, trimmed.
    pub const MAX: usize = 4_096;

    /// Reads a text and trims it.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let trimmed = text.trim();
        within(trimmed, 1, Self::MAX)?;
        Ok(Self(trimmed.to_owned()))
    }

    /// The text, trimmed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for MessageBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[MessageBody]")
    }
}

/// One call's worth of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text alone.
    Text(&'a MessageBody),
    /// A file, with the text as its caption where it takes one.
    Media(&'a Attached, Option<&'a MessageBody>),
    /// A template.
    Template(&'a Requested),
}

impl Draft {
    /// The conversation it goes into, of what was found under the ids it names; `replied` only if it is of that
    /// conversation.
    ///
    /// Refused, in this order: a conversation that is not there (1002) or blocked (0409), a message replied to that is
    /// not there (1001).
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

    /// The message, all of it QUEUED: to all who take part in the conversation at this moment, with these files.
    pub fn message(
        &self,
        id: MessageId,
        conversation: &Conversation,
        seq: u64,
        media: Vec<Attached>,
        now: Timestamp,
    ) -> Message {
        let recipients = if self.broadcast { conversation.recipients() } else { vec![] };
        let content = Content::Written { body: self.body.clone(), media, broadcast: self.broadcast };
        Message {
            id,
            workspace_id: conversation.workspace_id,
            conversation: conversation.id,
            seq,
            sent_by: SentBy::Api,
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
    /// The greatest number of files of a message.
    pub const MAX_MEDIA: usize = 10;

    /// The least advanced part's status; QUEUED where nothing is sent.
    pub fn status(&self) -> MessageStatus {
        self.parts.iter().map(|part| part.status).min().unwrap_or(MessageStatus::Queued)
    }

    /// Whether it is sent to customers at all.
    pub fn is_broadcast(&self) -> bool {
        !matches!(self.content, Content::Written { broadcast: false, .. })
    }

    /// The first part that is not final.
    pub fn part_at_hand(&self) -> Option<usize> {
        self.parts.iter().position(|part| !part.status.is_final())
    }
}

impl Content {
    /// The greatest number of characters of a caption.
    pub const MAX_CAPTION: usize = 1_024;

    /// What is sent to each recipient, in order: a text that fits is the first file's caption, if that file takes
    /// one; otherwise it goes before the files.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let (body, media) = match self {
            Self::Template(requested) => return vec![Piece::Template(requested)],
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

    /// The parts in which it goes to these recipients, all QUEUED.
    pub fn parts_for(&self, recipients: &[Recipient]) -> Vec<Part> {
        let pieces = self.pieces().len();
        let queued = |contact, index| Part {
            recipient: contact,
            index,
            status: MessageStatus::Queued,
            provider_message_id: None,
            error: None,
        };
        recipients.iter().flat_map(|to| (0..pieces).map(move |index| queued(to.contact, index))).collect()
    }
}

words!(
    /// The words.
    SentBy {
        Api: "API",
        Onboarding: "ONBOARDING",
        Lead: "LEAD",
        Customer: "CUSTOMER",
    }
);

words!(
    /// The words, in the order of the ranks.
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
    /// Whether the sender has nothing more to do with the part.
    pub fn is_final(self) -> bool {
        self > Self::Sending
    }
}

#[cfg(test)]
mod tests;
