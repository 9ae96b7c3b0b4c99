//! The row of a message, and the entry in its conversation's lane while the message is to be sent.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::media::Attached;
use domain::message::received::Received;
use domain::message::summary::Direction;
use domain::message::{Content, Priced, PricedBy, Pricing, PricingWord, SentBy};
use domain::sending::{PartError, Progress};
use domain::settings::template::{Parameters, Shown, TemplateContent};
use domain::{
    ChannelId, ContactId, ConversationId, LeadId, Message, MessageBody, MessageId, MessageStatus, Part,
    Recipient, TemplateCategory, TemplateId, Timestamp, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, expiring, read, row, s};
use crate::dynamodb::write::LAST_REQUEST;
use crate::lanes::progress_field::{ErrorFields, ProgressField};
use crate::messages::received_field::ReceivedField;
use crate::{StoreError, keys};

/// The attributes for the index `list`: the place in the conversation, and the direction to filter by. They never change.
pub(crate) const LIST_SK: &str = "listSk";
pub(crate) const DIRECTION: &str = "direction";

/// A message's row as `request_id` writes it. `kept` is how long messages are kept.
pub(crate) fn message_item(
    message: &Message,
    kept: Option<Duration>,
    request_id: &str,
) -> Result<Item, StoreError> {
    let key = keys::message(message.workspace_id, message.conversation, message.id);
    let mut item = row(key, "message", message)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    item.insert(LIST_SK.to_owned(), s(keys::place(message.created_at, message.seq)));
    item.insert(DIRECTION.to_owned(), s(message.direction().as_str()));
    Ok(expiring(item, message.created_at, kept))
}

/// Reads the message from its row.
pub(crate) fn message(item: Item) -> Result<Message, StoreError> {
    read(item)
}

/// The entry of a message that is to be sent, under the message's number. It is kept as long as the message.
pub(crate) fn entry_item(
    message: &Message,
    kept: Option<Duration>,
    request_id: &str,
) -> Result<Item, StoreError> {
    let pk = keys::messages(message.workspace_id, message.conversation);
    let key = (pk, keys::open_entry(message.seq));
    let mut item = row(key, "entry", &EntryRow { message_id: message.id })?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(expiring(item, message.created_at, kept))
}

/// `W#C#<conversation id>` / `Q#<seq>`. Deleted with the record of the message's last part.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryRow {
    /// The message to send.
    #[serde(with = "fields::text")]
    pub(crate) message_id: MessageId,
}

/// The attributes of a message's row that a summary needs. The others are not read.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counted {
    #[serde(with = "fields::text")]
    sent_by: SentBy,
    #[serde(default)]
    content: CountedContent,
    #[serde(with = "fields::text")]
    pub(crate) created_at: Timestamp,
}

#[derive(Default, Serialize, Deserialize)]
struct CountedContent {
    written: Option<CountedText>,
}

#[derive(Serialize, Deserialize)]
struct CountedText {
    broadcast: bool,
}

impl Counted {
    /// The projection of the row. A template has no `content.written`: it always goes to customers. Neither has a
    /// customer's message, whose author is enough.
    pub(crate) fn direction(&self) -> Direction {
        Direction::of(self.sent_by, self.content.written.as_ref().is_none_or(|text| text.broadcast))
    }
}

/// `W#C#<conversation id>` / `M#<id>`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Message", rename_all = "camelCase")]
struct MessageRow {
    #[serde(with = "fields::text")]
    id: MessageId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(rename = "conversationId", with = "fields::text")]
    conversation: ConversationId,
    seq: u64,
    #[serde(with = "fields::text")]
    sent_by: SentBy,
    #[serde(rename = "leadId", with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    lead: Option<LeadId>,
    #[serde(with = "ContentField")]
    content: Content,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    reply_to: Option<MessageId>,
    #[serde(with = "fields::list")]
    recipients: Vec<Recipient>,
    #[serde(with = "fields::list")]
    parts: Vec<Part>,
    #[serde(with = "ProgressField")]
    progress: Progress,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Content", rename_all = "camelCase")]
enum ContentField {
    Written {
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        body: Option<MessageBody>,
        #[serde(with = "fields::list")]
        media: Vec<Attached>,
        broadcast: bool,
    },
    Template(#[serde(with = "TemplateContentField")] TemplateContent),
    Received(#[serde(with = "ReceivedField")] Received),
}

/// A template with its values, in a message and in a plan.
#[derive(Serialize, Deserialize)]
#[serde(remote = "TemplateContent")]
struct TemplateContentField {
    #[serde(rename = "templateId", with = "fields::text")]
    template: TemplateId,
    #[serde(with = "fields::map")]
    parameters: Parameters,
    #[serde(with = "fields::map", default, skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, Attached>,
    #[serde(with = "ShownField")]
    shown: Shown,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Shown")]
struct ShownField {
    name: String,
    language: String,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    category: Option<TemplateCategory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A recipient of a message, or of the messages of a plan.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Recipient")]
struct RecipientField {
    #[serde(rename = "contactId", with = "fields::text")]
    contact: ContactId,
    #[serde(rename = "channelId", with = "fields::text")]
    channel: ChannelId,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Part", rename_all = "camelCase")]
struct PartField {
    #[serde(with = "fields::text")]
    recipient: ContactId,
    index: usize,
    #[serde(with = "fields::text")]
    status: MessageStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_message_id: Option<String>,
    #[serde(flatten, with = "fields::Shaped::<ErrorFields>")]
    error: Option<PartError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(rename = "held", default, skip_serializing_if = "std::ops::Not::not")]
    is_held: bool,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    pricing: Option<Priced>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    delivered_at: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    read_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Priced")]
struct PricedField {
    #[serde(with = "fields::text")]
    by: PricedBy,
    #[serde(flatten, with = "PricingField")]
    pricing: Pricing,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Pricing")]
struct PricingField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    billable: Option<bool>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    category: Option<PricingWord>,
    #[serde(rename = "type", with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    kind: Option<PricingWord>,
}

stored! {
    Message = MessageRow,
    TemplateContent = TemplateContentField,
    Shown = ShownField,
    Recipient = RecipientField,
    Part = PartField,
    Priced = PricedField,
    EntryRow = EntryRow,
    Counted = Counted,
}

#[cfg(test)]
mod tests {
    use domain::media::FileMissing;
    use domain::media::{FileName, SentAs};
    use domain::message::MessageType;
    use domain::message::received::{
        Card, ChoiceKind, Degrees, Edit, Extras, Forwarded, Location, Order, OrderItem, ProviderError, Raw,
        ReceivedContent, ReceivedText, Referral, ReferralField, ReferredProduct, Said,
    };
    use domain::settings::template::ParameterValue;
    use domain::{FileType, MediaId};
    use uuid::Uuid;

    use super::*;
    use crate::dynamodb::item::text;

    fn id<T>(make: fn(Uuid) -> T, n: u128) -> T {
        make(Uuid::from_u128(n))
    }

    fn recipient() -> Recipient {
        let channel = ChannelId::parse("1045551234567").unwrap();
        Recipient { contact: id(ContactId::from_uuid, 7), channel }
    }

    /// A message with a value in every optional field.
    fn full(content: Content) -> Message {
        let at = Timestamp::from_millis(1_767_323_045_678);
        let parts = [MessageStatus::Sent, MessageStatus::Unknown, MessageStatus::Sending];
        let part = |(index, status): (usize, &MessageStatus)| Part {
            recipient: recipient().contact,
            index,
            status: *status,
            provider_message_id: (index == 0).then(|| "wamid.1".to_owned()),
            error: (index == 1).then(|| PartError::of(PartError::NO_ANSWER).because("Nobody answered.")),
            text: (index == 1).then(|| "Hello Ana".to_owned()),
            is_held: index == 1,
            pricing: (index < 2).then(|| Priced {
                by: PricedBy::Delivered,
                pricing: Pricing::of((index == 0).then_some(true), Some("utility"), Some("regular")).unwrap(),
            }),
            delivered_at: (index == 0).then_some(at),
            read_at: (index == 0).then_some(at.plus(Duration::from_millis(2))),
        };
        Message {
            id: id(MessageId::from_uuid, 1),
            workspace_id: id(WorkspaceId::from_uuid, 2),
            conversation: id(ConversationId::from_uuid, 3),
            seq: 4,
            sent_by: SentBy::Api,
            lead: None,
            content,
            reply_to: Some(id(MessageId::from_uuid, 5)),
            recipients: vec![recipient()],
            parts: parts.iter().enumerate().map(part).collect(),
            progress: Progress {
                failures: 2,
                throttled: 1,
                since: Some(at),
                next_at: Some(at.plus(Duration::from_millis(1))),
                calling: Some(Uuid::from_u128(6)),
                is_paused: true,
            },
            created_at: at,
            updated_at: at.plus(Duration::from_secs(1)),
            version: 9,
        }
    }

    fn written() -> Content {
        let file = Attached {
            media: id(MediaId::from_uuid, 8),
            file_type: FileType::Image,
            content_type: "image/png".to_owned(),
            name: FileName::parse("a b.png").unwrap(),
            size: 1_234,
        };
        Content::Written { body: MessageBody::parse("hello").ok(), media: vec![file], broadcast: true }
    }

    fn template() -> Content {
        let value = ParameterValue::parse("Ana").unwrap();
        let parameters = Parameters::from([("first_name".to_owned(), value)]);
        let Content::Written { media, .. } = written() else { unreachable!("it is written") };
        Content::Template(TemplateContent {
            template: id(TemplateId::from_uuid, 10),
            parameters,
            files: media.into_iter().map(|file| ("header.image".to_owned(), file)).collect(),
            shown: Shown {
                name: "welcome".to_owned(),
                language: "es".to_owned(),
                category: Some(TemplateCategory::Utility),
                text: Some("Hello {{firstName}}".to_owned()),
            },
        })
    }

    /// Every kind of content with a value in every optional field, and without.
    fn everything_received() -> Vec<ReceivedContent> {
        let text = |text: &str| ReceivedText::cut(text, 99);
        let (some, angle) = (Some(text("t")), |degrees| Degrees::of(degrees).unwrap());
        let place = |name: Option<ReceivedText>| {
            let (latitude, longitude) = (angle(-90.0), angle(179.123_456_7));
            Said::Location(Location { latitude, longitude, address: name.clone(), url: name.clone(), name })
        };
        let card = Card { name: some.clone(), phones: vec![text("1"), text("2")], emails: vec![text("e")] };
        let bare = Card { name: None, phones: vec![], emails: vec![] };
        let Content::Written { media, .. } = written() else { unreachable!("it is written") };
        let item = |text: Option<ReceivedText>| OrderItem {
            product_id: text.clone(),
            quantity: text.clone(),
            price: text.clone(),
            currency: text,
        };
        let said = [
            Said::text("¡Hola!\n"),
            place(some.clone()),
            place(None),
            Said::contacts([card, bare]),
            Said::ButtonReply { text: text("Yes"), payload: some.clone() },
            Said::ButtonReply { text: text("Yes"), payload: None },
            Said::InteractiveReply {
                kind: ChoiceKind::List,
                id: text("1"),
                title: text("Yes"),
                description: some.clone(),
            },
            Said::InteractiveReply {
                kind: ChoiceKind::Button,
                id: text("1"),
                title: text("Yes"),
                description: None,
            },
            Said::FlowReply {
                name: some.clone(),
                text: some.clone(),
                flow_token: some.clone(),
                response: Some(Raw::of("{}")),
            },
            Said::FlowReply { name: None, text: None, flow_token: None, response: None },
            Said::CallPermissionReply {
                response: text("accept"),
                permanent: Some(true),
                expires_at: Some(Timestamp::from_millis(7)),
                source: some.clone(),
            },
            Said::CallPermissionReply {
                response: text("reject"),
                permanent: None,
                expires_at: None,
                source: None,
            },
            Said::Order(Order {
                catalog_id: some.clone(),
                text: some.clone(),
                items: vec![item(some.clone()), item(None)],
            }),
            Said::Order(Order { catalog_id: None, text: None, items: vec![] }),
            Said::unsupported(""),
        ];
        let sent_as = [SentAs::Image, SentAs::Video, SentAs::Audio, SentAs::Document, SentAs::Sticker];
        let stored = sent_as.map(|sent_as| {
            let file = media.first().cloned().ok_or(FileMissing::Gone);
            ReceivedContent::File {
                sent_as,
                file,
                caption: some.clone(),
                voice: Some(true),
                animated: Some(false),
            }
        });
        let file = Err(FileMissing::Unavailable);
        let missing = ReceivedContent::File {
            sent_as: SentAs::Image,
            file,
            caption: None,
            voice: None,
            animated: None,
        };
        let reaction =
            |to, emoji| ReceivedContent::Reaction { to, provider_message_id: "w".to_owned(), emoji };
        let revoked = [MessageType::Text, MessageType::Image].map(ReceivedContent::Revoked);
        let reactions = [reaction(Some(id(MessageId::from_uuid, 1)), some), reaction(None, None)];
        let said = said.map(ReceivedContent::Said);
        said.into_iter().chain(stored).chain([missing]).chain(revoked).chain(reactions).collect()
    }

    #[test]
    fn a_message_read_from_its_row_is_unchanged() {
        let plain = Message {
            sent_by: SentBy::Onboarding,
            lead: None,
            reply_to: None,
            recipients: vec![],
            parts: vec![],
            progress: Progress::default(),
            ..full(Content::Written { body: None, media: vec![], broadcast: false })
        };
        let lead = Message { sent_by: SentBy::Lead, ..full(template()) };
        let text = || Some(ReceivedText::cut("t", 9));
        let every = Extras {
            edit: Some(Edit { at: Timestamp::from_millis(7_000), id: "wamid.e".to_owned() }),
            revoked_at: Some(Timestamp::from_millis(8_000)),
            referral: Some(Referral([(ReferralField::ClickId, ReceivedText::cut("c", 9))].into())),
            referred_product: Some(ReferredProduct { catalog_id: text(), product_id: None }),
            forwarded: Forwarded::Many,
            errors: vec![ProviderError { code: Some(131_051), title: text(), details: None }],
            raw: Some(Raw::of(&"x".repeat(Raw::MAX + 1))),
        };
        let whats = everything_received()
            .into_iter()
            .flat_map(|what| [(what.clone(), Box::default()), (what, Box::new(every.clone()))]);
        let received = whats.map(|(what, extras)| {
            let (contact, channel) = (recipient().contact, recipient().channel);
            let content =
                Received { contact, channel, provider_message_id: "wamid.7".to_owned(), what, extras };
            Message { sent_by: SentBy::Customer, content: Content::Received(content), ..plain.clone() }
        });
        for kept in [full(written()), full(template()), plain.clone(), lead].into_iter().chain(received) {
            let read = message(message_item(&kept, None, "r").unwrap()).unwrap();
            assert!(read == kept, "{kept:?}");
        }
    }

    #[test]
    fn a_later_message_sorts_first_and_among_those_of_one_moment_the_one_with_a_higher_number() {
        let place = |(at, seq)| {
            let created_at = Timestamp::from_millis(at);
            let message = Message { seq, created_at, ..full(written()) };
            text(&message_item(&message, None, "r").unwrap(), LIST_SK).to_owned()
        };
        let all = [(0, 9), (1, 2), (1, 10), (999, 1), (1_767_323_045_678, 7), (1_767_323_045_679, 1)];
        let numbers =
            [2, 9, 10, 11, 99_999, 100_000, u64::from(u32::MAX)].map(|seq| (1_767_323_045_679, seq));
        let places: Vec<String> = all.into_iter().chain(numbers).map(place).collect();
        assert!(places.is_sorted_by(|one, next| one > next), "{places:?}");
    }

    #[test]
    fn the_keys_of_a_message_are_those_of_its_conversation_and_its_own_id() {
        let item = message_item(&full(written()), None, "r").unwrap();
        assert_eq!(
            ["pk", "sk", "kind", LAST_REQUEST].map(|name| text(&item, name)),
            [
                "00000000-0000-0000-0000-000000000002#C#00000000-0000-0000-0000-000000000003",
                "M#00000000-0000-0000-0000-000000000001",
                "message",
                "r"
            ]
        );
        let entry = entry_item(&full(written()), None, "r").unwrap();
        assert_eq!(text(&entry, "pk"), text(&item, "pk"));
        assert_eq!(text(&entry, "sk"), "Q#000000000004");
        assert_eq!(read::<EntryRow>(entry).unwrap().message_id, id(MessageId::from_uuid, 1));
    }
}
