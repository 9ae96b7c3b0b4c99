//! Identifiers. Each kind of UUID has its own type, so a contact's id cannot be used as a user's.

use std::fmt;

use uuid::Uuid;

use crate::text::{Unfit, within};

macro_rules! names_of_others {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The greatest number of characters in an id.
            pub const MAX: usize = 128;

            /// Parses an id that another system assigned: 1 to 128 characters, not blank, without control
            /// characters.
            pub fn parse(text: &str) -> Result<Self, Unfit> {
                within(text, 1, Self::MAX)?;
                if text.trim().is_empty() || text.chars().any(char::is_control) {
                    return Err(Unfit::Value { reason: "an id cannot be blank or contain control characters" });
                }
                Ok(Self(text.to_owned()))
            }

            /// The id as given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names_of_others! {
    /// A line's id at the provider: WhatsApp's phone number id. `providerChannelId` in the API.
    ChannelId;
    /// A brand of a workspace. `brandId` in the API.
    BrandId;
    /// The account at the provider that owns a line. The provider approves templates for an account.
    BusinessAccountId;
}

/// A source of UUIDs. Production uses random version 4 UUIDs from the operating system; tests use a counter.
pub trait Ids: Send + Sync {
    /// A new UUID that was never returned before.
    fn next(&self) -> Uuid;
}

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Parses the hyphenated form of RFC 9562, any version, in lower or upper case.
            pub fn parse(text: &str) -> Result<Self, Unfit> {
                parse_uuid(text).map(Self)
            }

            /// Wraps a UUID that is known to identify an item of this kind.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// A new id.
            pub fn generate(ids: &dyn Ids) -> Self {
                Self(ids.next())
            }

            /// The UUID, from which other ids can be derived.
            pub const fn as_uuid(&self) -> &Uuid {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }
    )*};
}

uuid_ids! {
    /// A tenant's workspace. It is the first part of the partition keys of the tenant's rows.
    WorkspaceId;
    /// A contact of a workspace.
    ContactId;
    /// An internal user (human agent).
    UserId;
    /// A team of internal users.
    TeamId;
    /// A custom attribute definition.
    AttributeId;
    /// One allowed value of a CLOSED attribute.
    ClosedValueId;
    /// An API key's public id (never the key itself).
    KeyId;
    /// A tenant's webhook endpoint.
    EndpointId;
    /// An event. The id is derived from the change that caused the event.
    EventId;
    /// A job that an operator started for the deliveries of an endpoint.
    JobId;
    /// A conversation of a workspace.
    ConversationId;
    /// A message of a conversation.
    MessageId;
    /// A file that was prepared for upload.
    MediaId;
    /// A message template of a workspace or of the platform.
    TemplateId;
    /// An erasure of a person.
    ErasureId;
    /// A job about a person: an erasure, a preview or a merge. It is a lane.
    PersonJobId;
    /// An entry of a workspace's audit log.
    AuditEntryId;
    /// A captured lead: the `requestId` in the response to the visitor's browser.
    LeadId;
}

impl From<ErasureId> for PersonJobId {
    fn from(erasure: ErasureId) -> Self {
        Self(erasure.0)
    }
}

fn parse_uuid(text: &str) -> Result<Uuid, Unfit> {
    // `Uuid` also parses braced, URN and unhyphenated forms; the API accepts only the canonical one.
    match Uuid::try_parse(text) {
        Ok(uuid) if text.len() == 36 => Ok(uuid),
        _ => Err(Unfit::NotAUuid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_parses_in_either_case_and_prints_in_lower_case() {
        let id = ContactId::parse("8C2D4E6F-1A3B-4C5D-8E7F-9A0B1C2D3E4F").unwrap();
        assert_eq!(id.to_string(), "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f");
    }

    #[test]
    fn an_id_of_any_version_parses() {
        for text in ["00000000-0000-0000-0000-000000000000", "018f0000-0000-7000-8000-000000000000"] {
            assert!(ContactId::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "",
            "8c2d4e6f1a3b4c5d8e7f9a0b1c2d3e4f",
            "{8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f}",
            "urn:uuid:8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f",
            "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4g",
            " 8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f",
        ] {
            assert_eq!(ContactId::parse(text), Err(Unfit::NotAUuid), "{text}");
        }
    }
}
