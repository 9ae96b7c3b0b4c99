//! Domain types as attributes of rows: `#[serde(with = "fields::text")]` and its forms for optional values, lists and
//! maps.
//!
//! The domain knows nothing of serde. So a type of the domain that is a whole row, or a part with attributes of its own,
//! has a declaration in the store (`#[serde(remote = "...")]`), from which it is written and read. [`stored`] connects
//! the two.
//!
//! If a text does not parse, reading the row fails with [`crate::StoreError::Unreadable`], which names the
//! row's keys.

use std::fmt::Display;
use std::marker::PhantomData;

use domain::choices::{Choice, ChoiceSource};
use domain::contact::OpenContent;
use domain::contact::conflict::ConflictReason;
use domain::lead::captcha::Threshold;
use domain::lead::{ConsentStatus, ConsentText, LandingUri, LeadName};
use domain::media::FileMissing;
use domain::media::{FileName, MediaState, SentAs};
use domain::message::received::{ChoiceKind, Forwarded, ReceivedText, ReferralField};
use domain::message::{MessageType, PricedBy, PricingWord, SentBy};
use domain::sending::PartError;
use domain::settings::line::Provider;
use domain::settings::onboarding::Override;
use domain::settings::reported::{AccountFact, LineFact};
use domain::settings::template::{
    ContactField, FileKind, ParameterFormat, ParameterValue, SaidBy, TemplateCategory, TemplateStatus,
};
use domain::webhook::{DisabledReason, ReceiverKey, SigningSecret};
use domain::{
    AttributeCategory, AttributeId, AttributeType, AuditAction, AuditEntryId, BrandId, BusinessAccountId,
    CaptureKey, Cellphone, ChannelId, ClosedValueId, ContactId, ConversationId, ConversationName,
    ConversationStatus, DeliveryState, Email, EndpointId, EndpointUrl, ErasureId, ErasureState, EventId,
    EventType, ExternalId, FileType, JobId, JobState, KeyId, Language, LeadId, LeadState, MediaDigest,
    MediaId, MergeState, MessageBody, MessageId, MessageStatus, PersonJobId, PersonName, PhoneKey,
    ProviderAppId, ProviderUserId, Role, Secret, SelfService, Slot, TeamId, TemplateId, Timestamp, Unfit,
    UserId, UserStatus, WaId, WebOrigin, WorkspaceId,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// A value that a row holds, or is.
pub(crate) trait Stored: Sized {
    /// Writes the value.
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;
    /// Reads a value that [`Stored::write`] wrote.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

/// Connects types with the declarations by which they are stored. A type of the store is its own declaration.
macro_rules! stored {
    ($($of:ty = $declaration:ty),+ $(,)?) => {$(
        impl $crate::dynamodb::fields::Stored for $of {
            fn write<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$declaration>::serialize(self, to)
            }
            fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <$declaration>::deserialize(from)
            }
        }
    )+};
    ($($row:ty),+ $(,)?) => { $crate::dynamodb::fields::stored! { $($row = $row),+ } };
}
pub(crate) use stored;

/// A domain type that a row stores as text.
pub(crate) trait Field: Sized {
    /// Parses a text that [`Field::to_text`] wrote.
    fn from_text(text: &str) -> Result<Self, Unfit>;
    /// The text that the row stores.
    fn to_text(&self) -> String;
}

/// What a row has in its key only: `#[serde(skip, default = "OfKey::placeholder")]`. The reader of the row sets it.
pub(crate) trait OfKey {
    /// A value in its place.
    fn placeholder() -> Self;
}

impl<F: Field> Stored for F {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_text())
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_text(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// How the texts of types are parsed, which method makes them, and the types.
macro_rules! fields {
    ($($parse:expr, $show:ident => $($name:ident)+;)+) => {$($(
        impl Field for $name {
            fn from_text(text: &str) -> Result<Self, Unfit> {
                let parse: fn(&str) -> Result<Self, Unfit> = $parse;
                parse(text)
            }
            fn to_text(&self) -> String {
                String::from(self.$show())
            }
        }
    )+)+};
}

macro_rules! ids {
    ($($name:ident)+) => {
        fields! { Self::parse, to_string => $($name)+; }
        $(
            impl OfKey for $name {
                fn placeholder() -> Self {
                    Self::from_uuid(Uuid::nil())
                }
            }
        )+
    };
}

ids! {
    AttributeId AuditEntryId ClosedValueId ContactId ConversationId EndpointId ErasureId EventId JobId KeyId LeadId
    MediaId MessageId PersonJobId TeamId TemplateId UserId WorkspaceId
}
fields! {
    Self::parse, as_str =>
        AccountFact AttributeCategory AttributeType AuditAction BrandId BusinessAccountId CaptureKey Cellphone ChannelId Choice
        ChoiceKind ChoiceSource ConflictReason ConsentStatus ConsentText ContactField ConversationName ConversationStatus DeliveryState
        DisabledReason Email ErasureState EventType ExternalId FileKind FileMissing FileName FileType Forwarded
        JobState LandingUri Language LeadName LineFact LeadState MediaDigest MediaState MergeState MessageBody MessageStatus MessageType
        OpenContent Override ParameterFormat ParameterValue PersonName PricedBy Provider ProviderAppId ProviderUserId
        ReferralField Role SaidBy SelfService SentAs SentBy TemplateCategory TemplateStatus UserStatus WaId WebOrigin;
    Self::parse, expose => ReceiverKey SigningSecret;
    Self::parse, to_string => Threshold;
    |text| Ok(Self::of(text)), as_str => PartError PhoneKey;
    // It was cut to its own limit before.
    |text| Ok(Self::cut(text, Self::MAX)), as_str => ReceivedText;
    |text| Self::cut(text).ok_or(Unfit::Value { reason: "a blank word" }), as_str => PricingWord;
    |text| Ok(Self::new(text)), expose => Secret;
    |text| Ok(text.to_owned()), clone => String;
    |text| Self::try_parse(text).map_err(|_| Unfit::NotAUuid), to_string => Uuid;
    |text| Self::parse(text).ok_or(Unfit::Value { reason: "not a moment in RFC 3339" }), to_string => Timestamp;
    |text| Self::restore(text).map_err(|_| Unfit::Value { reason: "not the URL of an endpoint" }), as_str => EndpointUrl;
}

impl OfKey for Slot {
    fn placeholder() -> Self {
        Self { workspace: OfKey::placeholder(), endpoint: OfKey::placeholder(), number: 0 }
    }
}

/// A stored value as serde writes it, and as it reads it.
pub(crate) struct Outer<'a, T>(pub(crate) &'a T);
struct Inner<T>(T);

impl<T: Stored> Serialize for Outer<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.write(to)
    }
}

impl<'de, T: Stored> Deserialize<'de> for Inner<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read(from).map(Self)
    }
}

/// A value that is stored in another shape: `#[serde(with = "fields::Shaped::<Shape>")]`.
pub(crate) struct Shaped<Shape>(PhantomData<Shape>);

impl<Shape> Shaped<Shape> {
    pub(crate) fn serialize<'a, T, S>(value: &'a T, to: S) -> Result<S::Ok, S::Error>
    where
        Shape: From<&'a T> + Serialize,
        S: Serializer,
    {
        Shape::from(value).serialize(to)
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        Shape: Deserialize<'de> + TryInto<T, Error: Display>,
        D: Deserializer<'de>,
    {
        Shape::deserialize(from)?.try_into().map_err(D::Error::custom)
    }
}

/// A secret that still holds until a moment.
impl<F: Field + Clone> Stored for (F, Timestamp) {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (secret, until) = self.clone();
        PreviousField { secret, until }.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        PreviousField::deserialize(from).map(|PreviousField { secret, until }| (secret, until))
    }
}

#[derive(Serialize, Deserialize)]
struct PreviousField<F: Field> {
    #[serde(with = "text")]
    secret: F,
    #[serde(with = "text")]
    until: Timestamp,
}

/// A required field.
pub(crate) mod text {
    use serde::{Deserializer, Serializer};

    use super::{Field, Stored};

    pub(crate) fn serialize<S: Serializer, F: Field>(field: &F, to: S) -> Result<S::Ok, S::Error> {
        field.write(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, F: Field>(from: D) -> Result<F, D::Error> {
        F::read(from)
    }
}

/// An optional field or part. It also needs `#[serde(default, skip_serializing_if = "Option::is_none")]`.
pub(crate) mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Inner, Outer, Stored};

    pub(crate) fn serialize<S: Serializer, T: Stored>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Outer).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Stored>(from: D) -> Result<Option<T>, D::Error> {
        Ok(Option::deserialize(from)?.map(|Inner(value)| value))
    }
}

/// A list of fields or parts: in order, or as a set.
pub(crate) mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Inner, Outer, Stored};

    pub(crate) fn serialize<'a, S, L, T>(values: &'a L, to: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
        &'a L: IntoIterator<Item = &'a T>,
        T: Stored + 'a,
    {
        to.collect_seq(values.into_iter().map(Outer))
    }

    pub(crate) fn deserialize<'de, D, L, T>(from: D) -> Result<L, D::Error>
    where
        D: Deserializer<'de>,
        L: FromIterator<T>,
        T: Stored,
    {
        Ok(Vec::deserialize(from)?.into_iter().map(|Inner(value)| value).collect())
    }
}

/// Fields or parts by name.
pub(crate) mod map {
    use std::collections::BTreeMap;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Field, Inner, Outer, Stored, Unfit};

    pub(crate) fn serialize<S: Serializer, K: Field, T: Stored>(
        values: &BTreeMap<K, T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(values.iter().map(|(name, value)| (Outer(name), Outer(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, K: Field + Ord, T: Stored>(
        from: D,
    ) -> Result<BTreeMap<K, T>, D::Error> {
        let values = BTreeMap::<String, Inner<T>>::deserialize(from)?;
        let read = |(name, Inner(value)): (String, Inner<T>)| Ok((K::from_text(&name)?, value));
        values.into_iter().map(read).collect::<Result<_, Unfit>>().map_err(D::Error::custom)
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

/// The end of a row as epoch seconds, for the table's TTL. It also needs
/// `#[serde(default, skip_serializing_if = "Option::is_none")]`.
pub(crate) mod optional_seconds {
    use domain::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(end: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
        end.map(Timestamp::as_seconds).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::deserialize(from)?.map(|seconds: i64| Timestamp::from_millis(seconds * 1_000)))
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
