//! What a message is, as the API names it.

use crate::media::SentAs;
use crate::message::received::{ReceivedContent, Said};
use crate::message::{Content, Message};
use crate::words::words;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// Text without files.
    Text,
    /// Files to customers, with or without a text.
    Media,
    /// A template.
    Template,
    /// A customer's image.
    Image,
    /// A customer's recording or sound.
    Audio,
    /// A customer's video.
    Video,
    /// A customer's file of another kind.
    Document,
    /// A customer's sticker.
    Sticker,
    /// A customer's place.
    Location,
    /// Cards of people that a customer sent.
    Contacts,
    /// The reply to a button of a template.
    ButtonReply,
    /// The reply to a button or a list of an interactive message.
    InteractiveReply,
    /// A reaction to a message, or its removal.
    Reaction,
    /// A message that the provider does not pass on, or of a kind that this release does not know.
    Unsupported,
}

words!(
    /// The names of the types.
    MessageType {
        Text: "TEXT",
        Media: "MEDIA",
        Template: "TEMPLATE",
        Image: "IMAGE",
        Audio: "AUDIO",
        Video: "VIDEO",
        Document: "DOCUMENT",
        Sticker: "STICKER",
        Location: "LOCATION",
        Contacts: "CONTACTS",
        ButtonReply: "BUTTON_REPLY",
        InteractiveReply: "INTERACTIVE_REPLY",
        Reaction: "REACTION",
        Unsupported: "UNSUPPORTED",
    }
);

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
            Self::Said(Said::Unsupported(_)) => MessageType::Unsupported,
            Self::File { sent_as, .. } => match sent_as {
                SentAs::Image => MessageType::Image,
                SentAs::Video => MessageType::Video,
                SentAs::Audio => MessageType::Audio,
                SentAs::Document => MessageType::Document,
                SentAs::Sticker => MessageType::Sticker,
            },
            Self::Reaction { .. } => MessageType::Reaction,
        }
    }
}
