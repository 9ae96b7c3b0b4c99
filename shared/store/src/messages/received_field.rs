//! The content of a customer's message in its row.

use domain::media::{Attached, FileMissing, SentAs};
use domain::message::received::{Card, Degrees, Location, Received, ReceivedContent, ReceivedText, Said};
use domain::{ChannelId, ContactId, MessageId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Received", rename_all = "camelCase")]
pub(crate) struct ReceivedField {
    #[serde(rename = "contactId", with = "fields::text")]
    contact: ContactId,
    #[serde(rename = "channelId", with = "fields::text")]
    channel: ChannelId,
    provider_message_id: String,
    #[serde(with = "fields::Shaped::<WhatField>")]
    what: ReceivedContent,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WhatField {
    Text {
        #[serde(with = "fields::text")]
        text: ReceivedText,
    },
    /// The angles are ten-millionths of a degree.
    Location {
        latitude: i32,
        longitude: i32,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        name: Option<ReceivedText>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        address: Option<ReceivedText>,
    },
    Contacts {
        #[serde(with = "fields::list")]
        cards: Vec<Card>,
    },
    ButtonReply {
        #[serde(with = "fields::text")]
        text: ReceivedText,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        payload: Option<ReceivedText>,
    },
    InteractiveReply {
        #[serde(with = "fields::text")]
        id: ReceivedText,
        #[serde(with = "fields::text")]
        title: ReceivedText,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        description: Option<ReceivedText>,
    },
    Unsupported {
        #[serde(with = "fields::text")]
        kind: ReceivedText,
    },
    /// With the file, or the reason why it is missing.
    File {
        #[serde(with = "fields::text")]
        sent_as: SentAs,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        file: Option<Attached>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        missing: Option<FileMissing>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        caption: Option<ReceivedText>,
    },
    Reaction {
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        to: Option<MessageId>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        emoji: Option<ReceivedText>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Card")]
struct CardField {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    name: Option<ReceivedText>,
    #[serde(with = "fields::list")]
    phones: Vec<ReceivedText>,
    #[serde(with = "fields::list")]
    emails: Vec<ReceivedText>,
}

stored! { Card = CardField }

impl From<&ReceivedContent> for WhatField {
    fn from(what: &ReceivedContent) -> Self {
        match what.clone() {
            ReceivedContent::Said(said) => Self::from(said),
            ReceivedContent::File { sent_as, file, caption } => {
                let missing = file.as_ref().err().copied();
                Self::File { sent_as, file: file.ok(), missing, caption }
            }
            ReceivedContent::Reaction { to, emoji } => Self::Reaction { to, emoji },
        }
    }
}

impl From<Said> for WhatField {
    fn from(said: Said) -> Self {
        match said {
            Said::Text(text) => Self::Text { text },
            Said::Location(Location { latitude, longitude, name, address }) => {
                let [latitude, longitude] = [latitude, longitude].map(Degrees::stored);
                Self::Location { latitude, longitude, name, address }
            }
            Said::Contacts(cards) => Self::Contacts { cards },
            Said::ButtonReply { text, payload } => Self::ButtonReply { text, payload },
            Said::InteractiveReply { id, title, description } => {
                Self::InteractiveReply { id, title, description }
            }
            Said::Unsupported(kind) => Self::Unsupported { kind },
        }
    }
}

impl From<WhatField> for ReceivedContent {
    fn from(field: WhatField) -> Self {
        Self::Said(match field {
            WhatField::Text { text } => Said::Text(text),
            WhatField::Location { latitude, longitude, name, address } => {
                let [latitude, longitude] = [latitude, longitude].map(Degrees::restored);
                Said::Location(Location { latitude, longitude, name, address })
            }
            WhatField::Contacts { cards } => Said::Contacts(cards),
            WhatField::ButtonReply { text, payload } => Said::ButtonReply { text, payload },
            WhatField::InteractiveReply { id, title, description } => {
                Said::InteractiveReply { id, title, description }
            }
            WhatField::Unsupported { kind } => Said::Unsupported(kind),
            WhatField::File { sent_as, file, missing, caption } => {
                let file = file.ok_or(missing.unwrap_or(FileMissing::Unavailable));
                return Self::File { sent_as, file, caption };
            }
            WhatField::Reaction { to, emoji } => return Self::Reaction { to, emoji },
        })
    }
}
