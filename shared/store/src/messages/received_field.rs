//! The content of a customer's message in its row.

use domain::media::FileMissing;
use domain::media::SentAs;
use domain::message::received::{Card, Degrees, Location, Received, ReceivedContent, ReceivedText, Said};
use domain::{ChannelId, ContactId, MessageId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::messages::attached_field::AttachedField;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReceivedField {
    #[serde(with = "fields::text")]
    contact_id: ContactId,
    #[serde(with = "fields::text")]
    channel_id: ChannelId,
    provider_message_id: String,
    what: WhatField,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WhatField {
    Text {
        text: String,
    },
    /// The angles are ten-millionths of a degree.
    Location {
        latitude: i32,
        longitude: i32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
    },
    Contacts {
        cards: Vec<CardField>,
    },
    ButtonReply {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<String>,
    },
    InteractiveReply {
        id: String,
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    Unsupported {
        kind: String,
    },
    /// With the file, or the reason why it is missing.
    File {
        #[serde(with = "fields::text")]
        sent_as: SentAs,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<AttachedField>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        missing: Option<FileMissing>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
    },
    Reaction {
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        to: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        emoji: Option<String>,
    },
}

#[derive(Serialize, Deserialize)]
struct CardField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    phones: Vec<String>,
    emails: Vec<String>,
}

impl From<&Received> for ReceivedField {
    fn from(received: &Received) -> Self {
        Self {
            contact_id: received.contact,
            channel_id: received.channel.clone(),
            provider_message_id: received.provider_message_id.clone(),
            what: WhatField::from(&received.what),
        }
    }
}

impl From<ReceivedField> for Received {
    fn from(field: ReceivedField) -> Self {
        Self {
            contact: field.contact_id,
            channel: field.channel_id,
            provider_message_id: field.provider_message_id,
            what: field.what.into(),
        }
    }
}

impl From<&ReceivedContent> for WhatField {
    fn from(what: &ReceivedContent) -> Self {
        match what {
            ReceivedContent::Said(said) => Self::from(said),
            ReceivedContent::File { sent_as, file, caption } => Self::File {
                sent_as: *sent_as,
                file: file.as_ref().ok().map(AttachedField::from),
                missing: file.as_ref().err().copied(),
                caption: caption.as_ref().map(plain),
            },
            ReceivedContent::Reaction { to, emoji } => {
                Self::Reaction { to: *to, emoji: emoji.as_ref().map(plain) }
            }
        }
    }
}

impl From<&Said> for WhatField {
    fn from(said: &Said) -> Self {
        match said {
            Said::Text(text) => Self::Text { text: plain(text) },
            Said::Location(place) => Self::Location {
                latitude: place.latitude.stored(),
                longitude: place.longitude.stored(),
                name: place.name.as_ref().map(plain),
                address: place.address.as_ref().map(plain),
            },
            Said::Contacts(cards) => Self::Contacts { cards: cards.iter().map(CardField::from).collect() },
            Said::ButtonReply { text, payload } => {
                Self::ButtonReply { text: plain(text), payload: payload.as_ref().map(plain) }
            }
            Said::InteractiveReply { id, title, description } => Self::InteractiveReply {
                id: plain(id),
                title: plain(title),
                description: description.as_ref().map(plain),
            },
            Said::Unsupported(kind) => Self::Unsupported { kind: plain(kind) },
        }
    }
}

impl From<WhatField> for ReceivedContent {
    fn from(field: WhatField) -> Self {
        Self::Said(match field {
            WhatField::Text { text } => Said::Text(received(text)),
            WhatField::Location { latitude, longitude, name, address } => Said::Location(Location {
                latitude: Degrees::restored(latitude),
                longitude: Degrees::restored(longitude),
                name: name.map(received),
                address: address.map(received),
            }),
            WhatField::Contacts { cards } => Said::Contacts(cards.into_iter().map(Card::from).collect()),
            WhatField::ButtonReply { text, payload } => {
                Said::ButtonReply { text: received(text), payload: payload.map(received) }
            }
            WhatField::InteractiveReply { id, title, description } => Said::InteractiveReply {
                id: received(id),
                title: received(title),
                description: description.map(received),
            },
            WhatField::Unsupported { kind } => Said::Unsupported(received(kind)),
            WhatField::File { sent_as, file, missing, caption } => {
                let missing = missing.unwrap_or(FileMissing::Unavailable);
                let file = file.map(domain::media::Attached::from).ok_or(missing);
                return Self::File { sent_as, file, caption: caption.map(received) };
            }
            WhatField::Reaction { to, emoji } => return Self::Reaction { to, emoji: emoji.map(received) },
        })
    }
}

impl From<&Card> for CardField {
    fn from(card: &Card) -> Self {
        let Card { name, phones, emails } = card;
        let all = |texts: &[ReceivedText]| texts.iter().map(plain).collect();
        Self { name: name.as_ref().map(plain), phones: all(phones), emails: all(emails) }
    }
}

impl From<CardField> for Card {
    fn from(field: CardField) -> Self {
        let all = |texts: Vec<String>| texts.into_iter().map(received).collect();
        Self { name: field.name.map(received), phones: all(field.phones), emails: all(field.emails) }
    }
}

fn plain(text: &ReceivedText) -> String {
    text.as_str().to_owned()
}

/// A text that was cut to its own limit before.
#[expect(clippy::needless_pass_by_value, reason = "it is a step of `map`")]
fn received(text: String) -> ReceivedText {
    ReceivedText::cut(&text, ReceivedText::MAX)
}
