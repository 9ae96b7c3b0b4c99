//! Domain types as text attributes of rows: `#[serde(with = "fields::text")]` and its forms for optional
//! values, lists and maps.
//!
//! If a text does not parse, reading the row fails with [`crate::StoreError::Unreadable`], which names the
//! row's keys.

use domain::inbound::opt_out::{Choice, ChoiceSource};
use domain::lead::captcha::Threshold;
use domain::lead::{ConsentStatus, LandingUri, LeadName};
use domain::media::FileMissing;
use domain::media::{FileName, MediaState, SentAs};
use domain::message::SentBy;
use domain::settings::line::Provider;
use domain::settings::onboarding::Override;
use domain::settings::template::{ContactField, ParameterValue, Verdict};
use domain::webhook::{DisabledReason, ReceiverKey, SigningSecret};
use domain::{
    AttributeCategory, AttributeId, AttributeType, BrandId, BusinessAccountId, CaptureKey, Cellphone,
    ChannelId, ClosedValueId, ContactId, ConversationId, ConversationName, ConversationStatus, DeliveryState,
    Email, EndpointId, EndpointUrl, ErasureId, ErasureState, EventId, EventType, FileType, JobId, JobState,
    KeyId, Language, LeadId, LeadState, MediaDigest, MediaId, MessageBody, MessageId, MessageStatus,
    PersonName, ProviderAppId, ProviderUserId, TeamId, TemplateId, Timestamp, Unfit, UserId, UserStatus,
    WaId, WebOrigin, WorkspaceId,
};
use uuid::Uuid;

/// A domain type that a row stores as text.
pub(crate) trait Field: Sized {
    /// Parses a text that [`Field::to_text`] wrote.
    fn from_text(text: &str) -> Result<Self, Unfit>;
    /// The text that the row stores.
    fn to_text(&self) -> String;
}

macro_rules! displayed_fields {
    ($($name:ident)*) => {$(
        impl Field for $name {
            fn from_text(text: &str) -> Result<Self, Unfit> {
                Self::parse(text)
            }
            fn to_text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

macro_rules! worded_fields {
    ($($name:ident)*) => {$(
        impl Field for $name {
            fn from_text(text: &str) -> Result<Self, Unfit> {
                Self::parse(text)
            }
            fn to_text(&self) -> String {
                self.as_str().to_owned()
            }
        }
    )*};
}

displayed_fields! {
    AttributeId ClosedValueId ContactId ConversationId EndpointId ErasureId EventId JobId KeyId LeadId MediaId MessageId TeamId
    TemplateId UserId WorkspaceId
}
worded_fields! {
    AttributeCategory AttributeType BrandId BusinessAccountId CaptureKey Cellphone ChannelId Choice ChoiceSource ConsentStatus ContactField ConversationName
    ConversationStatus DeliveryState DisabledReason Email ErasureState EventType FileMissing FileName FileType JobState LandingUri Language LeadName LeadState MediaDigest
    MediaState MessageBody MessageStatus Override ParameterValue PersonName Provider ProviderAppId ProviderUserId SentAs SentBy UserStatus Verdict WaId WebOrigin
}

impl Field for Threshold {
    fn from_text(text: &str) -> Result<Self, Unfit> {
        Self::parse(text)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl Field for Timestamp {
    fn from_text(text: &str) -> Result<Self, Unfit> {
        Self::parse(text).ok_or(Unfit::Value { reason: "not a moment in RFC 3339" })
    }

    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl Field for Uuid {
    fn from_text(text: &str) -> Result<Self, Unfit> {
        Self::try_parse(text).map_err(|_| Unfit::NotAUuid)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl Field for EndpointUrl {
    fn from_text(text: &str) -> Result<Self, Unfit> {
        Self::restore(text).map_err(|_| Unfit::Value { reason: "not the URL of an endpoint" })
    }

    fn to_text(&self) -> String {
        self.as_str().to_owned()
    }
}

impl Field for ReceiverKey {
    fn from_text(text: &str) -> Result<Self, Unfit> {
        Self::parse(text)
    }

    fn to_text(&self) -> String {
        self.expose().to_owned()
    }
}

impl Field for SigningSecret {
    fn from_text(text: &str) -> Result<Self, Unfit> {
        Self::parse(text)
    }

    fn to_text(&self) -> String {
        self.expose().to_owned()
    }
}

/// A required field.
pub(crate) mod text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Field;

    pub(crate) fn serialize<S: Serializer, F: Field>(field: &F, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&field.to_text())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, F: Field>(from: D) -> Result<F, D::Error> {
        F::from_text(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// An optional field. It also needs `#[serde(default, skip_serializing_if = "Option::is_none")]`.
pub(crate) mod optional {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Field;

    pub(crate) fn serialize<S: Serializer, F: Field>(field: &Option<F>, to: S) -> Result<S::Ok, S::Error> {
        match field {
            Some(field) => to.serialize_some(&field.to_text()),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, F: Field>(from: D) -> Result<Option<F>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| F::from_text(&text)).transpose().map_err(D::Error::custom)
    }
}

/// A list of fields, in order.
pub(crate) mod list {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Field;

    pub(crate) fn serialize<S: Serializer, F: Field>(fields: &[F], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(fields.iter().map(Field::to_text))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, F: Field>(from: D) -> Result<Vec<F>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| F::from_text(text)).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

/// Fields by name.
pub(crate) mod map {
    use std::collections::BTreeMap;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Field, Unfit};

    pub(crate) fn serialize<S: Serializer, F: Field>(
        fields: &BTreeMap<String, F>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(fields.iter().map(|(name, field)| (name, field.to_text())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, F: Field>(
        from: D,
    ) -> Result<BTreeMap<String, F>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(from)?;
        let read = |(name, text): (String, String)| Ok((name, F::from_text(&text)?));
        texts.into_iter().map(read).collect::<Result<_, Unfit>>().map_err(D::Error::custom)
    }
}

/// A moment as a number of milliseconds since 1970, for index keys and comparisons.
pub(crate) mod millis {
    use domain::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(moment: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(moment.as_millis())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_millis)
    }
}

/// Bytes as a binary attribute.
pub(crate) mod bytes {
    use std::fmt;

    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a binary attribute")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
                Ok(bytes)
            }
        }
        from.deserialize_byte_buf(Bytes)
    }
}
