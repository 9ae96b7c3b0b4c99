//! Messages of customers: what the provider passes on, within limits that keep a row and an event small enough.

mod extras;
mod said;

pub use crate::raw::Raw;
pub use extras::{Edit, Extras, Forwarded, ProviderError, Referral, ReferralField, ReferredProduct};
pub use said::{Card, ChoiceKind, Degrees, Location, Order, OrderItem, ReceivedText, Said};

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use crate::ids::{ChannelId, ContactId, ConversationId, MessageId, WorkspaceId};
use crate::media::FileMissing;
use crate::media::{Attached, SentAs};
use crate::message::MessageType;
use crate::time::{Timestamp, days};

/// The namespace of the ids of customers' messages.
const MESSAGES: Uuid = Uuid::from_u128(0x3e1f_9b60_47ad_4c52_8d7b_60c9_a1e5_27f4);
/// The namespace of the ids of contacts that a message makes.
const CONTACTS: Uuid = Uuid::from_u128(0xd2c8_4a17_0f95_4b3e_9a60_7e14_5bb3_c986);
/// The namespace of the ids of conversations that a message opens.
const CONVERSATIONS: Uuid = Uuid::from_u128(0x86f4_d0a2_5c3b_47e9_b118_2f90_e64d_7a35);

/// The content of a customer's message, with its way to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The customer.
    pub contact: ContactId,
    /// The line that received the message.
    pub channel: ChannelId,
    /// The provider's id of the message.
    pub provider_message_id: String,
    /// What the customer sent.
    pub what: ReceivedContent,
    /// What the provider says beside it.
    pub extras: Box<Extras>,
}

/// What a customer sent. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub enum ReceivedContent {
    /// Something without a file.
    Said(Said),
    /// A file.
    File {
        /// How the customer sent the file.
        sent_as: SentAs,
        /// The stored file, or why the workspace does not have it.
        file: Result<Attached, FileMissing>,
        /// The text below the file.
        caption: Option<ReceivedText>,
        /// Whether a sound was recorded in the chat.
        voice: Option<bool>,
        /// Whether a sticker moves.
        animated: Option<bool>,
    },
    /// A reaction to a message.
    Reaction {
        /// The message, if the service knows it.
        to: Option<MessageId>,
        /// The provider's id of the message.
        provider_message_id: String,
        /// The emoji. If it is absent, the customer removed the reaction.
        emoji: Option<ReceivedText>,
    },
    /// Nothing any more: the customer deleted a message of this type.
    Revoked(MessageType),
}

impl ReceivedContent {
    /// What a message with this content is.
    pub fn message_type(&self) -> MessageType {
        match self {
            Self::Said(Said::Text(_)) => MessageType::Text,
            Self::Said(Said::Location(_)) => MessageType::Location,
            Self::Said(Said::Contacts(_)) => MessageType::Contacts,
            Self::Said(Said::ButtonReply { .. }) => MessageType::ButtonReply,
            Self::Said(Said::InteractiveReply { .. }) => MessageType::InteractiveReply,
            Self::Said(Said::FlowReply { .. }) => MessageType::FlowReply,
            Self::Said(Said::Order(_)) => MessageType::Order,
            Self::Said(Said::CallPermissionReply { .. }) => MessageType::CallPermissionReply,
            Self::Said(Said::Unsupported(_)) => MessageType::Unsupported,
            Self::File { sent_as, .. } => match sent_as {
                SentAs::Image => MessageType::Image,
                SentAs::Video => MessageType::Video,
                SentAs::Audio => MessageType::Audio,
                SentAs::Document => MessageType::Document,
                SentAs::Sticker => MessageType::Sticker,
            },
            Self::Reaction { .. } => MessageType::Reaction,
            Self::Revoked(before) => *before,
        }
    }
}

impl fmt::Debug for ReceivedContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.message_type().as_str())
    }
}

impl Received {
    /// How long a message waits for its file at most, from when the service first asked for the file.
    pub const FILE_WAIT: Duration = Duration::from_mins(2);
    /// How long after a customer's message the provider accepts texts and files to the customer.
    pub const WINDOW: Duration = Duration::from_hours(24);
    /// The status that a customer's message is shown with. It has no parts whose statuses could change.
    pub const STATUS: &'static str = "RECEIVED";
    /// How long the provider's id of a message is known, at least. The provider repeats a webhook for seven days, and then
    /// its piece may be a dead letter for fourteen.
    pub const KNOWN_FOR: Duration = days(30);
    /// How old a message may be when it is received. The provider repeats a webhook for seven days.
    const OLDEST: Duration = days(8);

    /// The text of the message: its text, its caption, the text of the button, of the Flow's answer or of the order, or the
    /// title of the choice.
    pub fn text(&self) -> Option<&str> {
        let text = match &self.what {
            ReceivedContent::Said(Said::Text(text) | Said::ButtonReply { text, .. }) => Some(text),
            ReceivedContent::Said(Said::InteractiveReply { title, .. }) => Some(title),
            ReceivedContent::Said(Said::FlowReply { text, .. } | Said::Order(Order { text, .. })) => {
                text.as_ref()
            }
            ReceivedContent::File { caption, .. } => caption.as_ref(),
            ReceivedContent::Said(
                Said::Location(_)
                | Said::Contacts(_)
                | Said::CallPermissionReply { .. }
                | Said::Unsupported(_),
            )
            | ReceivedContent::Reaction { .. }
            | ReceivedContent::Revoked(_) => None,
        };
        text.map(ReceivedText::as_str)
    }

    /// Whether the message stands for one whose content may come later.
    pub fn is_placeholder(&self) -> bool {
        matches!(self.what, ReceivedContent::Said(Said::Unsupported(_))) && self.extras.is_unavailable()
    }

    /// The file of the message, if the workspace has it.
    pub fn file(&self) -> Option<&Attached> {
        match &self.what {
            ReceivedContent::File { file, .. } => file.as_ref().ok(),
            ReceivedContent::Said(_) | ReceivedContent::Reaction { .. } | ReceivedContent::Revoked(_) => None,
        }
    }

    /// The id of the message with this id of the provider. A repeat has the same id.
    pub fn message_id(workspace: WorkspaceId, provider_message_id: &str) -> MessageId {
        MessageId::from_uuid(derived(&MESSAGES, workspace, provider_message_id))
    }

    /// The id of the contact that the message with this id of the provider makes.
    pub fn contact_id(workspace: WorkspaceId, provider_message_id: &str) -> ContactId {
        ContactId::from_uuid(derived(&CONTACTS, workspace, provider_message_id))
    }

    /// The id of the conversation that the message with this id of the provider opens.
    pub fn conversation_id(workspace: WorkspaceId, provider_message_id: &str) -> ConversationId {
        ConversationId::from_uuid(derived(&CONVERSATIONS, workspace, provider_message_id))
    }

    /// When the message was created: the provider's time, which has whole seconds, and a millisecond for each message of
    /// the customer that came before it in the same second and webhook (`rank`). The provider's time is not after the
    /// receipt, and not so long ago that the provider would no longer repeat it. So it does not depend on when the message
    /// is processed.
    pub fn created_at(at: Timestamp, rank: u16, received_at: Timestamp) -> Timestamp {
        let at = at.max(received_at.minus(Self::OLDEST)).min(received_at);
        at.plus(Duration::from_millis(rank.into()))
    }
}

fn derived(namespace: &Uuid, workspace: WorkspaceId, provider_message_id: &str) -> Uuid {
    Uuid::new_v5(namespace, format!("{workspace}|{provider_message_id}").as_bytes())
}

#[cfg(test)]
mod tests;
