//! Messages: what is said in a conversation, the parts it is sent in, and how far each has come.

use std::fmt;

use uuid::Uuid;

use crate::ids::{ContactId, ConversationId, MediaId, MessageId, WorkspaceId};
use crate::line::ChannelId;
use crate::media::FileType;
use crate::onboarding::Requested;
use crate::text::{Unfit, within};
use crate::time::Timestamp;

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

/// A file of a message, as it was when the message was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The file.
    pub media: MediaId,
    /// What it was uploaded as.
    pub file_type: FileType,
    /// Its MIME type.
    pub content_type: String,
    /// Its original name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A customer to whom a message goes, and by which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The contact; the number is looked up when the message is sent.
    pub contact: ContactId,
    /// The line.
    pub channel: ChannelId,
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

/// Why a part is FAILED or UNKNOWN: the provider's code or a word of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartError(String);

impl PartError {
    /// The contact has no phone number.
    pub const NO_ADDRESS: &'static str = "NO_ADDRESS";
    /// The contact has no value for a variable of the template.
    pub const MISSING_VALUE: &'static str = "MISSING_VALUE";
    /// The template is no more.
    pub const NO_TEMPLATE: &'static str = "NO_TEMPLATE";
    /// The line is no more.
    pub const NO_LINE: &'static str = "NO_LINE";
    /// The conversation was blocked before it could be sent.
    pub const BLOCKED: &'static str = "BLOCKED";
    /// Tried for as long as sends are tried.
    pub const GIVEN_UP: &'static str = "GIVEN_UP";
    /// The provider was asked and did not answer.
    pub const NO_ANSWER: &'static str = "NO_ANSWER";
    /// The sender died between asking and recording the answer.
    pub const INTERRUPTED: &'static str = "INTERRUPTED";

    /// One of the words above, or the provider's code.
    pub fn of(code: impl Into<String>) -> Self {
        Self(code.into())
    }

    /// The word or code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How the part at hand stands. All of it begins anew with each part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Calls that were surely not taken.
    pub failures: u32,
    /// Calls the provider put off.
    pub throttled: u32,
    /// When the first call was made.
    pub since: Option<Timestamp>,
    /// Not to be called before.
    pub next_at: Option<Timestamp>,
    /// A call is being made, under this lease. If that lease is over, nobody knows what became of it.
    pub calling: Option<Uuid>,
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

    /// The parts in which it goes to these recipients, all QUEUED; none if it is an internal note.
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

impl SentBy {
    /// The words.
    pub const NAMES: &'static [&'static str] = &["API", "ONBOARDING", "LEAD", "CUSTOMER"];
    const ALL: [Self; 4] = [Self::Api, Self::Onboarding, Self::Lead, Self::Customer];

    /// Reads a word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL.into_iter().find(|by| by.as_str() == text).ok_or(Unfit::NotOneOf { expected: Self::NAMES })
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl MessageStatus {
    /// The words, in the order of the ranks.
    pub const NAMES: &'static [&'static str] =
        &["QUEUED", "SENDING", "UNKNOWN", "FAILED", "SENT", "DELIVERED", "READ"];
    const ALL: [Self; 7] =
        [Self::Queued, Self::Sending, Self::Unknown, Self::Failed, Self::Sent, Self::Delivered, Self::Read];

    /// Reads a word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(Unfit::NotOneOf { expected: Self::NAMES })
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether the sender has nothing more to do with the part.
    pub fn is_final(self) -> bool {
        self > Self::Sending
    }
}
