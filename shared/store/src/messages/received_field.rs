//! The content of a customer's message in its row.

use std::collections::BTreeMap;

use domain::media::{Attached, FileMissing, SentAs};
use domain::message::received::{
    Card, ChoiceKind, Degrees, Extras, Forwarded, Location, Order, OrderItem, ProviderError, Raw, Received,
    ReceivedContent, ReceivedText, Referral, ReferralField, ReferredProduct, Said,
};
use domain::{ChannelId, ContactId, MessageId, Timestamp};
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
    #[serde(with = "fields::Shaped::<ExtrasField>", default, skip_serializing_if = "has_nothing")]
    extras: Box<Extras>,
}

fn has_nothing(extras: &Extras) -> bool {
    *extras == Extras::default()
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtrasField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    referral: Option<ReferralMap>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    referred_product: Option<ReferredProduct>,
    #[serde(with = "fields::text")]
    forwarded: Forwarded,
    #[serde(with = "fields::list", default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ProviderError>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    raw: Option<Raw>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct ReferralMap(#[serde(with = "fields::map")] BTreeMap<ReferralField, ReceivedText>);

impl From<&Box<Extras>> for ExtrasField {
    fn from(extras: &Box<Extras>) -> Self {
        let Extras { referral, referred_product, forwarded, errors, raw } = Extras::clone(extras);
        let referral = referral.map(|Referral(fields)| ReferralMap(fields));
        Self { referral, referred_product, forwarded, errors, raw }
    }
}

impl From<ExtrasField> for Box<Extras> {
    fn from(field: ExtrasField) -> Self {
        let ExtrasField { referral, referred_product, forwarded, errors, raw } = field;
        let referral = referral.map(|ReferralMap(fields)| Referral(fields));
        Self::new(Extras { referral, referred_product, forwarded, errors, raw })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ReferredProduct", rename_all = "camelCase")]
struct ReferredProductField {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    catalog_id: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    product_id: Option<ReceivedText>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ProviderError")]
struct ProviderErrorField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    title: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    details: Option<ReceivedText>,
}

/// JSON is stored as text, so that a row does not depend on what is in it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawField {
    json: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

impl From<&Raw> for RawField {
    fn from(raw: &Raw) -> Self {
        Self { json: raw.as_str().to_owned(), is_cut: raw.is_cut() }
    }
}

impl fields::Stored for Raw {
    fn write<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RawField::from(self).serialize(to)
    }

    fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        RawField::deserialize(from).map(|RawField { json, is_cut }| Self::restored(json, is_cut))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OrderItem", rename_all = "camelCase")]
struct OrderItemField {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    product_id: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    quantity: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    price: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    currency: Option<ReceivedText>,
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
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        url: Option<ReceivedText>,
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
        kind: ChoiceKind,
        #[serde(with = "fields::text")]
        id: ReceivedText,
        #[serde(with = "fields::text")]
        title: ReceivedText,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        description: Option<ReceivedText>,
    },
    FlowReply {
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        name: Option<ReceivedText>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        text: Option<ReceivedText>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        flow_token: Option<ReceivedText>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        response: Option<Raw>,
    },
    CallPermissionReply {
        #[serde(with = "fields::text")]
        response: ReceivedText,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permanent: Option<bool>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        source: Option<ReceivedText>,
    },
    Order {
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        catalog_id: Option<ReceivedText>,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        text: Option<ReceivedText>,
        #[serde(with = "fields::list")]
        items: Vec<OrderItem>,
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        voice: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        animated: Option<bool>,
    },
    Reaction {
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        to: Option<MessageId>,
        provider_message_id: String,
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

stored! {
    Card = CardField,
    OrderItem = OrderItemField,
    ProviderError = ProviderErrorField,
    ReferredProduct = ReferredProductField,
}

impl From<&ReceivedContent> for WhatField {
    fn from(what: &ReceivedContent) -> Self {
        match what.clone() {
            ReceivedContent::Said(said) => Self::from(said),
            ReceivedContent::File { sent_as, file, caption, voice, animated } => {
                let missing = file.as_ref().err().copied();
                Self::File { sent_as, file: file.ok(), missing, caption, voice, animated }
            }
            ReceivedContent::Reaction { to, provider_message_id, emoji } => {
                Self::Reaction { to, provider_message_id, emoji }
            }
        }
    }
}

impl From<Said> for WhatField {
    fn from(said: Said) -> Self {
        match said {
            Said::Text(text) => Self::Text { text },
            Said::Location(Location { latitude, longitude, name, address, url }) => {
                let [latitude, longitude] = [latitude, longitude].map(Degrees::stored);
                Self::Location { latitude, longitude, name, address, url }
            }
            Said::Contacts(cards) => Self::Contacts { cards },
            Said::ButtonReply { text, payload } => Self::ButtonReply { text, payload },
            Said::InteractiveReply { kind, id, title, description } => {
                Self::InteractiveReply { kind, id, title, description }
            }
            Said::FlowReply { name, text, flow_token, response } => {
                Self::FlowReply { name, text, flow_token, response }
            }
            Said::CallPermissionReply { response, permanent, expires_at, source } => {
                Self::CallPermissionReply { response, permanent, expires_at, source }
            }
            Said::Order(Order { catalog_id, text, items }) => Self::Order { catalog_id, text, items },
            Said::Unsupported(kind) => Self::Unsupported { kind },
        }
    }
}

impl From<WhatField> for ReceivedContent {
    fn from(field: WhatField) -> Self {
        Self::Said(match field {
            WhatField::Text { text } => Said::Text(text),
            WhatField::Location { latitude, longitude, name, address, url } => {
                let [latitude, longitude] = [latitude, longitude].map(Degrees::restored);
                Said::Location(Location { latitude, longitude, name, address, url })
            }
            WhatField::Contacts { cards } => Said::Contacts(cards),
            WhatField::ButtonReply { text, payload } => Said::ButtonReply { text, payload },
            WhatField::InteractiveReply { kind, id, title, description } => {
                Said::InteractiveReply { kind, id, title, description }
            }
            WhatField::FlowReply { name, text, flow_token, response } => {
                Said::FlowReply { name, text, flow_token, response }
            }
            WhatField::CallPermissionReply { response, permanent, expires_at, source } => {
                Said::CallPermissionReply { response, permanent, expires_at, source }
            }
            WhatField::Order { catalog_id, text, items } => Said::Order(Order { catalog_id, text, items }),
            WhatField::Unsupported { kind } => Said::Unsupported(kind),
            WhatField::File { sent_as, file, missing, caption, voice, animated } => {
                let file = file.ok_or(missing.unwrap_or(FileMissing::Unavailable));
                return Self::File { sent_as, file, caption, voice, animated };
            }
            WhatField::Reaction { to, provider_message_id, emoji } => {
                return Self::Reaction { to, provider_message_id, emoji };
            }
        })
    }
}
