//! Messages: what is said in a conversation, the parts it is sent in, and how far each has come.

use std::fmt;

use uuid::Uuid;

use crate::conversation::{Conversation, ConversationStatus};
use crate::ids::{ContactId, ConversationId, MediaId, MessageId, WorkspaceId};
use crate::line::ChannelId;
use crate::media::{FileName, FileType};
use crate::onboarding::Requested;
use crate::refused::Refused;
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
    pub name: FileName,
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
    /// What it was made of is cut into other parts by this release.
    pub const NO_CONTENT: &'static str = "NO_CONTENT";
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{ContactRef, External};
    use crate::ids::TemplateId;
    use crate::line::BrandId;

    fn id<T>(make: fn(Uuid) -> T, n: u128) -> T {
        make(Uuid::from_u128(n))
    }

    fn body(text: &str) -> Option<MessageBody> {
        Some(MessageBody::parse(text).unwrap())
    }

    fn file(file_type: FileType, content_type: &str) -> Attached {
        Attached {
            media: id(MediaId::from_uuid, 1),
            file_type,
            content_type: content_type.to_owned(),
            name: FileName::parse("file").unwrap(),
            size: 1_000,
        }
    }

    fn image() -> Attached {
        file(FileType::Image, "image/png")
    }

    fn audio() -> Attached {
        file(FileType::Audio, "audio/ogg")
    }

    fn written(body: Option<MessageBody>, media: &[Attached]) -> Content {
        Content::Written { body, media: media.to_vec(), broadcast: true }
    }

    fn external(contact: u128, channel: &str) -> External {
        External {
            contact: id(ContactId::from_uuid, contact),
            shown: ContactRef::Id(id(ContactId::from_uuid, contact)),
            channel: ChannelId::parse(channel).unwrap(),
            brand: BrandId::parse("brand").unwrap(),
            joined_at: Timestamp::from_millis(0),
            last_seen_at: None,
        }
    }

    fn conversation(status: ConversationStatus) -> Conversation {
        Conversation {
            id: id(ConversationId::from_uuid, 3),
            workspace_id: id(WorkspaceId::from_uuid, 2),
            name: None,
            status,
            externals: vec![external(11, "line-a"), external(12, "line-b")],
            internals: vec![],
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            list_shard: 0,
            version: 1,
        }
    }

    fn draft() -> Draft {
        Draft {
            conversation: id(ConversationId::from_uuid, 3),
            body: body("hello"),
            media: vec![],
            broadcast: true,
            reply_to: None,
        }
    }

    #[test]
    fn a_text_is_trimmed_and_has_1_to_4096_characters() {
        assert_eq!(MessageBody::parse(" \n hi there\t ").unwrap().as_str(), "hi there");
        let longest = format!("  {}  ", "é".repeat(4_096));
        assert_eq!(MessageBody::parse(&longest).unwrap().as_str().chars().count(), 4_096);
        assert_eq!(MessageBody::parse(&"é".repeat(4_097)), Err(Unfit::TooLong { max: 4_096 }));
        for blank in ["", "   ", "\n\t"] {
            assert_eq!(MessageBody::parse(blank), Err(Unfit::TooShort { min: 1 }), "{blank:?}");
        }
        assert_eq!(format!("{:?}", MessageBody::parse("my PIN is 1234").unwrap()), "[MessageBody]");
    }

    #[test]
    fn a_text_is_the_first_files_caption_where_it_fits_and_goes_before_the_files_otherwise() {
        let sticker = file(FileType::Sticker, "image/webp");
        let document = file(FileType::Document, "application/pdf");
        type Row<'a> = (&'a str, Option<MessageBody>, Vec<Attached>, &'a [&'a str]);
        let rows: &[Row<'_>] = &[
            ("text alone", body("hello"), vec![], &["text"]),
            ("a file alone", None, vec![image()], &["IMAGE"]),
            ("a file that takes captions", body("hello"), vec![image()], &["IMAGE captioned"]),
            ("a document does", body("hello"), vec![document], &["DOCUMENT captioned"]),
            ("a text at the limit", body(&"é".repeat(1_024)), vec![image()], &["IMAGE captioned"]),
            ("a text over it", body(&"é".repeat(1_025)), vec![image()], &["text", "IMAGE"]),
            ("a sound takes none", body("hello"), vec![audio()], &["text", "AUDIO"]),
            ("nor does a sticker", body("hello"), vec![sticker], &["text", "STICKER"]),
            ("the first file decides", body("hello"), vec![audio(), image()], &["text", "AUDIO", "IMAGE"]),
            ("only it is captioned", body("hello"), vec![image(), image()], &["IMAGE captioned", "IMAGE"]),
            ("files keep their order", None, vec![image(), audio(), image()], &["IMAGE", "AUDIO", "IMAGE"]),
        ];
        for (what, body, media, expected) in rows {
            let content = written(body.clone(), media);
            let shown = |piece: &Piece<'_>| match piece {
                Piece::Text(text) => {
                    assert_eq!(Some(*text), body.as_ref(), "{what}");
                    "text".to_owned()
                }
                Piece::Media(file, None) => file.file_type.as_str().to_owned(),
                Piece::Media(file, caption) => {
                    assert_eq!(*caption, body.as_ref(), "{what}");
                    format!("{} captioned", file.file_type.as_str())
                }
                Piece::Template(_) => "template".to_owned(),
            };
            assert_eq!(content.pieces().iter().map(shown).collect::<Vec<_>>(), *expected, "{what}");
        }
    }

    #[test]
    fn a_template_is_one_piece() {
        let template = id(TemplateId::from_uuid, 5);
        let requested = Requested { template, parameters: Default::default() };
        let content = Content::Template(requested.clone());
        assert_eq!(content.pieces(), [Piece::Template(&requested)]);
    }

    #[test]
    fn each_recipient_gets_every_piece_in_order_and_nothing_is_begun() {
        let content = written(body("hello"), &[audio(), image()]);
        let to = |contact, channel| Recipient {
            contact: id(ContactId::from_uuid, contact),
            channel: ChannelId::parse(channel).unwrap(),
        };
        let parts = content.parts_for(&[to(12, "line-b"), to(11, "line-a")]);
        let order: Vec<(ContactId, usize)> = parts.iter().map(|part| (part.recipient, part.index)).collect();
        let contact = |n| id(ContactId::from_uuid, n);
        assert_eq!(
            order,
            [
                (contact(12), 0),
                (contact(12), 1),
                (contact(12), 2),
                (contact(11), 0),
                (contact(11), 1),
                (contact(11), 2)
            ]
        );
        for part in parts {
            assert_eq!(
                (part.status, part.provider_message_id, part.error),
                (MessageStatus::Queued, None, None)
            );
        }
        assert_eq!(content.parts_for(&[]), []);
    }

    #[test]
    fn a_draft_goes_into_a_conversation_that_is_there_and_not_blocked_and_replies_to_a_message_of_it() {
        use ConversationStatus::{Active, Blocked, Ghost, NotAssignedToHuman, Released};
        let named = id(MessageId::from_uuid, 9);
        let (plain, reply) = (draft(), Draft { reply_to: Some(named), ..draft() });
        let replied = plain.message(named, &conversation(Active), 1, vec![], Timestamp::from_millis(0));
        let unknown_reply = Err(Refused::UnknownReply { message: named });
        let rows = [
            (&plain, None, None, Err(Refused::UnknownConversation)),
            (&reply, None, None, Err(Refused::UnknownConversation)),
            (&plain, Some(Blocked), None, Err(Refused::ConversationBlocked)),
            (&reply, Some(Blocked), None, Err(Refused::ConversationBlocked)),
            (&reply, Some(Active), None, unknown_reply),
            (&reply, Some(Active), Some(&replied), Ok(Active)),
            (&plain, Some(Active), None, Ok(Active)),
            (&plain, Some(Ghost), None, Ok(Ghost)),
            (&plain, Some(Released), None, Ok(Released)),
            (&plain, Some(NotAssignedToHuman), None, Ok(NotAssignedToHuman)),
        ];
        for (at, (draft, status, replied, expected)) in rows.into_iter().enumerate() {
            let found = draft.target(status.map(conversation), replied);
            assert_eq!(found.map(|conversation| conversation.status), expected, "row {at}");
        }
    }

    #[test]
    fn a_message_goes_to_all_who_take_part_and_an_internal_note_to_nobody() {
        let now = Timestamp::from_millis(5);
        let conversation = conversation(ConversationStatus::Active);
        let reply = Draft { reply_to: Some(id(MessageId::from_uuid, 8)), ..draft() };
        let message = reply.message(id(MessageId::from_uuid, 9), &conversation, 4, vec![image()], now);
        let lines: Vec<&str> = message.recipients.iter().map(|to| to.channel.as_str()).collect();
        assert_eq!(lines, ["line-a", "line-b"]);
        assert_eq!(message.parts, message.content.parts_for(&message.recipients));
        assert_eq!(message.parts.len(), 2);
        assert_eq!(
            message,
            Message {
                id: id(MessageId::from_uuid, 9),
                workspace_id: id(WorkspaceId::from_uuid, 2),
                conversation: id(ConversationId::from_uuid, 3),
                seq: 4,
                sent_by: SentBy::Api,
                content: written(body("hello"), &[image()]),
                reply_to: Some(id(MessageId::from_uuid, 8)),
                recipients: message.recipients.clone(),
                parts: message.parts.clone(),
                progress: Progress::default(),
                created_at: now,
                updated_at: now,
                version: 1,
            }
        );

        let note = Draft { broadcast: false, ..draft() };
        let note = note.message(id(MessageId::from_uuid, 9), &conversation, 4, vec![], now);
        assert_eq!((&note.recipients[..], &note.parts[..]), (&[][..], &[][..]));
        assert!(!note.is_broadcast());
        assert_eq!(note.status(), MessageStatus::Queued);
    }
}
