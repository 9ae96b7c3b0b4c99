//! What a piece says, as types.

use domain::media::SentAs;
use domain::message::received::{Extras, ReceivedText, Said};
use domain::message::{Correction, Pricing};
use domain::raw::Raw;
use domain::settings::reported::{AccountFact, LineFact, Restriction};
use domain::{ChannelId, Reached, Timestamp};

/// The subject of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Messages of customers, and what became of messages to them, on a line.
    Line(ChannelId, Vec<Item>),
    /// Something about a template changed, or the provider refused to send it.
    Template(TemplateEvent),
    /// What the provider says about the account or one of its lines.
    Account(AccountEvent),
    /// A change that the service only counts, because it does not know its kind or its form.
    Other,
    /// A change of a kind that the service does not need, such as the history of a line. Nobody must look at it.
    Ignored,
}

/// News of a business account or of one of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountEvent {
    /// The account.
    pub account: String,
    /// When it happened, if the provider says so.
    pub at: Option<Timestamp>,
    /// What they are about, and what is true now.
    pub about: About,
    /// The provider's name of what happened, and all that it says of it. `None` for news that the facts say whole.
    pub notice: Option<(String, Raw)>,
    /// Whether the operator must look at it: the account may not send as before.
    pub is_alarming: bool,
}

/// The subject of news, and what is true now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The account.
    Account(Vec<(AccountFact, String)>, Option<Vec<Restriction>>),
    /// A line.
    Line(LineName, Vec<(LineFact, String)>),
}

/// How the provider names a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineName {
    /// By its id.
    Id(ChannelId),
    /// By the digits of its phone number.
    Digits(String),
}

/// One item of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// What became of a message that the service sent.
    Status(Status),
    /// A message of a customer.
    Message(Incoming),
    /// A message that somebody of the business sent from the Business app. `from` is the customer who got it.
    Echo(Incoming),
    /// A customer or the Business app changed or deleted a message.
    Correction {
        /// The provider's id of the message.
        of: String,
        /// The change.
        correction: Correction,
    },
    /// A customer wants no marketing messages, or wants them again.
    Preference(Preference),
    /// Something that is no message of a customer to the business, by the provider's word: it is only counted.
    Notice(String),
}

/// A customer as the provider names one. At least one of the two ids is present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Customer {
    /// The phone number without `+`. A customer with a username may hide it.
    pub wa_id: Option<String>,
    /// The id of the customer for this business.
    pub user_id: Option<String>,
    /// The name that the customer chose.
    pub name: Option<String>,
}

impl Customer {
    /// The ids that are of the documented form.
    pub fn reached(&self) -> Reached {
        Reached::named(self.wa_id.as_deref(), self.user_id.as_deref())
    }
}

/// What became of a message that the service sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The provider's id of the message.
    pub id: String,
    /// The part that the sender named in its call, in the form that it used.
    pub part: Option<String>,
    /// The recipient.
    pub recipient: Customer,
    /// What happened.
    pub kind: StatusKind,
    /// What the provider charges for the message, if the status says so.
    pub pricing: Option<Pricing>,
    /// When it happened.
    pub at: Timestamp,
}

/// What happened to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusKind {
    /// The provider sent it.
    Sent,
    /// It reached the customer.
    Delivered,
    /// The customer read it, or played it.
    Read,
    /// It was not delivered.
    Failed {
        /// The provider's error code.
        code: Option<i64>,
        /// What the provider says about it, in its words.
        detail: Option<String>,
    },
}

/// A message of a customer, or to one from the Business app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The provider's id of the message.
    pub id: String,
    /// The customer.
    pub from: Customer,
    /// When the customer sent it.
    pub at: Timestamp,
    /// The provider's id of the message that this one answers.
    pub answers: Option<String>,
    /// The content.
    pub content: Content,
    /// What the provider says beside the content.
    pub extras: Box<Extras>,
}

/// The content of a customer's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Something without a file.
    Said(Said),
    /// A file.
    Media(MediaFile),
    /// A reaction to a message; without an emoji, its removal.
    Reaction {
        /// The provider's id of the message.
        to: String,
        /// The emoji.
        emoji: Option<ReceivedText>,
    },
    /// The customer has a new number, a new user id, or both.
    Moved {
        /// The ids from now on.
        to: Customer,
        /// The user id before.
        previous_user_id: Option<String>,
    },
}

/// A file in a customer's message. The provider keeps it for some days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaFile {
    /// How the customer sent the file.
    pub sent_as: SentAs,
    /// The provider's id of the file.
    pub id: String,
    /// The MIME type.
    pub mime_type: String,
    /// The SHA-256 of the bytes: hexadecimal or base64, as the provider gives it.
    pub sha256: Option<String>,
    /// The text below the file.
    pub caption: Option<ReceivedText>,
    /// The name of a document.
    pub filename: Option<String>,
    /// Whether a sound was recorded in the chat.
    pub voice: Option<bool>,
    /// Whether a sticker moves.
    pub animated: Option<bool>,
}

/// A customer's choice about marketing messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference {
    /// The customer.
    pub from: Customer,
    /// Whether the customer wants no more of them.
    pub stops: bool,
    /// Whether it is about messages that advertise, the only category that the provider documents.
    pub is_marketing: bool,
    /// When the customer chose.
    pub at: Timestamp,
}

/// News about a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateEvent {
    /// The business account.
    pub account: String,
    /// The template's name.
    pub name: String,
    /// The template's language, such as `es_ES`.
    pub language: String,
    /// What changed.
    pub news: TemplateNews,
    /// When it happened, if the webhook says so.
    pub at: Option<Timestamp>,
}

/// What changed about a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateNews {
    /// Its status.
    Status {
        /// What happened, such as `APPROVED`.
        event: String,
        /// Why, if the provider says so.
        reason: Option<String>,
    },
    /// Its category, such as `MARKETING`.
    Category(String),
    /// How people rate it.
    Quality,
    /// Its components.
    Components,
    /// Nothing is known to have changed, but the provider refused to send it.
    Refused,
}
