//! The content of a customer's message in its row.

use std::collections::BTreeMap;

use domain::media::{Attached, FileMissing, SentAs};
use domain::message::MessageType;
use domain::message::received::{
    Card, ChoiceKind, Degrees, Edit, Extras, Forwarded, Location, Order, OrderItem, ProviderError, Raw,
    Received, ReceivedContent, ReceivedText, Referral, ReferralField, ReferredProduct, Said,
};
use domain::{ChannelId, ContactId, MessageId, Timestamp};
use serde::{Deserialize, Serialize};

use super::attached_field::AttachedField;
use crate::dynamodb::fields::{self, stored};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Received", rename_all = "camelCase")]
pub(crate) struct ReceivedField {
    #[serde(rename = "contactId", with = "fields::text")]
    contact: ContactId,
    #[serde(rename = "channelId", with = "fields::text")]
    channel: ChannelId,
    provider_message_id: String,
    #[serde(with = "WhatField")]
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
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    edit: Option<Edit>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Edit")]
struct EditField {
    #[serde(with = "fields::text")]
    at: Timestamp,
    id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct ReferralMap(#[serde(with = "fields::map")] BTreeMap<ReferralField, ReceivedText>);

impl From<&Box<Extras>> for ExtrasField {
    fn from(extras: &Box<Extras>) -> Self {
        let Extras { referral, referred_product, forwarded, errors, raw, edit, revoked_at } =
            Extras::clone(extras);
        let referral = referral.map(|Referral(fields)| ReferralMap(fields));
        Self { referral, referred_product, forwarded, errors, raw, edit, revoked_at }
    }
}

impl From<ExtrasField> for Box<Extras> {
    fn from(field: ExtrasField) -> Self {
        let ExtrasField { referral, referred_product, forwarded, errors, raw, edit, revoked_at } = field;
        let referral = referral.map(|ReferralMap(fields)| Referral(fields));
        Self::new(Extras { referral, referred_product, forwarded, errors, raw, edit, revoked_at })
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
#[serde(remote = "ReceivedContent", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WhatField {
    Said(#[serde(with = "SaidField")] Said),
    File {
        #[serde(with = "fields::text")]
        sent_as: SentAs,
        #[serde(with = "FileField")]
        file: Result<Attached, FileMissing>,
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
    Revoked(#[serde(with = "fields::text")] MessageType),
}

/// The file, or the reason why it is missing.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Result::<Attached, FileMissing>")]
enum FileField {
    #[serde(rename = "stored")]
    Ok(#[serde(with = "AttachedField")] Attached),
    #[serde(rename = "missing")]
    Err(#[serde(with = "fields::text")] FileMissing),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Said", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum SaidField {
    Text(#[serde(with = "fields::text")] ReceivedText),
    Location(#[serde(with = "LocationField")] Location),
    Contacts(#[serde(with = "fields::list")] Vec<Card>),
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
    Order(#[serde(with = "OrderField")] Order),
    Unsupported(#[serde(with = "fields::text")] ReceivedText),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Location")]
struct LocationField {
    #[serde(with = "DegreesField")]
    latitude: Degrees,
    #[serde(with = "DegreesField")]
    longitude: Degrees,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    name: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    address: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    url: Option<ReceivedText>,
}

/// Ten-millionths of a degree.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Degrees")]
struct DegreesField(#[serde(getter = "ten_millionths")] i32);

fn ten_millionths(degrees: &Degrees) -> i32 {
    degrees.stored()
}

impl From<DegreesField> for Degrees {
    fn from(DegreesField(stored): DegreesField) -> Self {
        Self::restored(stored)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Order", rename_all = "camelCase")]
struct OrderField {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    catalog_id: Option<ReceivedText>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    text: Option<ReceivedText>,
    #[serde(with = "fields::list")]
    items: Vec<OrderItem>,
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
    Edit = EditField,
    OrderItem = OrderItemField,
    ProviderError = ProviderErrorField,
    ReferredProduct = ReferredProductField,
}
