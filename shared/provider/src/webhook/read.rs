//! What a piece of a webhook says, in the service's own terms.
//!
//! The provider adds fields and kinds at any time. An unknown kind of message is [`Said::Unsupported`]. Each leaf of a message is
//! mapped, in the list of ignored leaves, or kept raw. An item without an id or a sender is left out, because nothing can be
//! done about it.

mod leaves;
mod message;

use domain::media::SentAs;
use domain::message::received::{Extras, ReceivedText, Said};
use domain::{ChannelId, PhoneKey, Reached, Timestamp};
use serde_json::Value;

use crate::webhook::pieces::{ENTRY_TIME, MAX_ID, Piece};

/// The subject of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Messages of customers, and what became of messages to them, on a line.
    Line(ChannelId, Vec<Item>),
    /// The provider approved, rejected, paused or removed a template.
    Template(TemplateEvent),
    /// A change that the service only counts: of the account, the quality of a line, and so on.
    Other,
    /// A change of a kind that the service does not need, such as the history of a line. Nobody must look at it.
    Ignored,
}

/// One item of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// What became of a message that the service sent.
    Status(Status),
    /// A message of a customer.
    Message(Incoming),
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
    /// It was not delivered, with the provider's error code.
    Failed(Option<i64>),
}

/// A message of a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The provider's id of the message.
    pub id: String,
    /// The sender.
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

/// A change of a template's status or category.
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
}

/// Reads a piece.
pub fn read(piece: &Piece) -> Subject {
    let value = &piece.value;
    match piece.field.as_str() {
        "messages" | "user_preferences" => {
            let line = text(&value["metadata"]["phone_number_id"]).and_then(|id| ChannelId::parse(&id).ok());
            line.map_or(Subject::Other, |line| Subject::Line(line, items(value)))
        }
        "message_template_status_update" | "template_category_update" => {
            template(piece).map_or(Subject::Other, Subject::Template)
        }
        field if IGNORED_FIELDS.contains(&field) => Subject::Ignored,
        _ => Subject::Other,
    }
}

/// The kinds of changes that the service does not need: talk from before the line was connected, the address book of a phone,
/// calls, and what a set-up without subscription does not get.
const IGNORED_FIELDS: [&str; 13] = [
    "history",
    "smb_app_state_sync",
    "calls",
    "flows",
    "payment_configuration_update",
    "messaging_handovers",
    "automatic_events",
    "business_username_updates",
    "tracking_events",
    "group_lifecycle_update",
    "group_participants_update",
    "group_settings_update",
    "group_status_update",
];

/// The time of an item that names none. It is after every receipt, and so counts as the receipt.
const LATEST: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// The change with only those of its items that `wanted` accepts.
pub fn only(value: &Value, wanted: impl Fn(&Item) -> bool) -> Value {
    let contacts = list(&value["contacts"]);
    let mut rest = value.clone();
    for (name, read) in LISTS {
        if let Some(items) = rest.get_mut(name).and_then(Value::as_array_mut) {
            items.retain(|item| read(item, contacts).is_some_and(|item| wanted(&item)));
        }
    }
    rest
}

/// Reads an item of a list with the contacts that stand beside the list.
type ReadItem = fn(&Value, &[Value]) -> Option<Item>;

/// The lists of items in a change, in the order in which their items are processed.
const LISTS: [(&str, ReadItem); 3] = [
    ("statuses", status),
    ("messages", message::item),
    ("user_preferences", |item, contacts| preference(item, contacts).map(Item::Preference)),
];

fn items(value: &Value) -> Vec<Item> {
    let contacts = list(&value["contacts"]);
    LISTS
        .iter()
        .flat_map(|(name, read)| list(&value[*name]).iter().filter_map(|item| read(item, contacts)))
        .collect()
}

fn status(item: &Value, contacts: &[Value]) -> Option<Item> {
    if item["recipient_type"] == "group" {
        return Some(Item::Notice("status of a group".to_owned()));
    }
    let kind = match item["status"].as_str()? {
        "sent" => StatusKind::Sent,
        "delivered" => StatusKind::Delivered,
        "read" | "played" => StatusKind::Read,
        "failed" => StatusKind::Failed(item["errors"][0]["code"].as_i64()),
        _ => return None,
    };
    Some(Item::Status(Status {
        id: id(&item["id"])?,
        part: text(&item["biz_opaque_callback_data"]),
        recipient: person(&item["recipient_id"], &item["recipient_user_id"], contacts),
        kind,
        at: moment(&item["timestamp"]).unwrap_or(LATEST),
    }))
}

fn preference(item: &Value, contacts: &[Value]) -> Option<Preference> {
    let from = person(&item["wa_id"], &item["user_id"], contacts);
    let stops = match item["value"].as_str()? {
        "stop" => true,
        "resume" => false,
        _ => return None,
    };
    let is_known = from.wa_id.is_some() || from.user_id.is_some();
    let is_marketing = item["category"] == "marketing_messages";
    is_known.then_some(Preference { from, stops, is_marketing, at: moment(&item["timestamp"])? })
}

fn template(piece: &Piece) -> Option<TemplateEvent> {
    let value = &piece.value;
    let news = match text(&value["new_category"]) {
        Some(category) => TemplateNews::Category(category),
        None => TemplateNews::Status {
            event: text(&value["event"])?,
            reason: text(&value["reason"]).filter(|reason| reason != "NONE"),
        },
    };
    Some(TemplateEvent {
        account: piece.account.clone(),
        name: text(&value["message_template_name"])?,
        language: text(&value["message_template_language"])?,
        news,
        at: entry_moment(&value[ENTRY_TIME]),
    })
}

/// The person that an item names, completed by the contact that the webhook holds beside it.
fn person(wa_id: &Value, user_id: &Value, contacts: &[Value]) -> Customer {
    let number = text(wa_id).map(|number| number.trim_start_matches('+').to_owned());
    // A customer who hides the number is named by the user id, in either field.
    let (wa_id, user_id) = match (number, text(user_id)) {
        (Some(id), None) if !id.bytes().all(|byte| byte.is_ascii_digit()) => (None, Some(id)),
        (number, user_id) => (number, user_id),
    };
    let same = |id: &Option<String>, other: &Value| id.is_some() && *id == text(other);
    let key = |number: &Option<String>| number.as_deref().map(PhoneKey::of);
    let same_number = |other: &Value| wa_id.is_some() && key(&wa_id) == key(&text(other));
    let named =
        contacts.iter().find(|contact| same_number(&contact["wa_id"]) || same(&user_id, &contact["user_id"]));
    let sole = contacts.first().filter(|_| contacts.len() == 1 && wa_id.is_none() && user_id.is_none());
    let contact = named.or(sole).unwrap_or(&Value::Null);
    Customer {
        wa_id: wa_id.or_else(|| text(&contact["wa_id"])),
        user_id: user_id.or_else(|| text(&contact["user_id"])),
        name: text(&contact["profile"]["name"]),
    }
}

/// A text or number that is not empty, as text.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// The provider's id of a message. It becomes a part of a key, so a longer one is none.
fn id(value: &Value) -> Option<String> {
    text(value).filter(|id| id.len() <= MAX_ID)
}

/// A Unix time in seconds.
fn moment(value: &Value) -> Option<Timestamp> {
    let seconds: i64 = text(value)?.parse().ok()?;
    let millis = seconds.checked_mul(1_000).filter(|millis| (0..=253_402_300_799_000).contains(millis))?;
    Some(Timestamp::from_millis(millis))
}

/// The time of an entry. Some versions of the provider write milliseconds.
fn entry_moment(value: &Value) -> Option<Timestamp> {
    let time: i64 = text(value)?.parse().ok()?;
    moment(&Value::from(if time > 100_000_000_000 { time / 1_000 } else { time }))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
