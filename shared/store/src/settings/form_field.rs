//! The form of a template in its row.

use domain::settings::template::{
    Button, ButtonKind, Card, FileKind, Form, Header, Offer, ParameterFormat, Text,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Form", rename_all = "camelCase")]
pub(crate) struct FormField {
    #[serde(with = "fields::text")]
    format: ParameterFormat,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    header: Option<Header>,
    #[serde(with = "TextField")]
    body: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    footer: Option<String>,
    #[serde(with = "fields::list", default, skip_serializing_if = "Vec::is_empty")]
    buttons: Vec<Button>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    offer: Option<Offer>,
    #[serde(with = "fields::list", default, skip_serializing_if = "Vec::is_empty")]
    cards: Vec<Card>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unsupported: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Text")]
struct TextField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    names: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Header", rename_all = "camelCase")]
enum HeaderField {
    Text(#[serde(with = "TextField")] Text),
    File(#[serde(with = "fields::text")] FileKind),
    Location,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Button")]
struct ButtonField {
    text: String,
    #[serde(with = "ButtonKindField")]
    kind: ButtonKind,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ButtonKind", rename_all = "camelCase")]
enum ButtonKindField {
    QuickReply,
    Url(String),
    PhoneNumber(String),
    VoiceCall,
    CopyCode,
    Flow,
    Otp,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Offer")]
struct OfferField {
    text: String,
    expires: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Card")]
struct CardField {
    #[serde(with = "fields::text")]
    header: FileKind,
    #[serde(with = "TextField")]
    body: Text,
    #[serde(with = "fields::list")]
    buttons: Vec<Button>,
}

stored! { Header = HeaderField, Button = ButtonField, Offer = OfferField, Card = CardField }
