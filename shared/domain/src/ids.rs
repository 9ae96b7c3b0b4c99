//! Identifiers. Each is a UUID of its own type, so that a contact's id cannot stand where a user's belongs.

use std::fmt;

use uuid::Uuid;

use crate::text::{Unfit, within};

macro_rules! names_of_others {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The greatest number of characters.
            pub const MAX: usize = 128;

            /// Reads a name that somebody else gave: 1 to 128 characters, not blank.
            pub fn parse(text: &str) -> Result<Self, Unfit> {
                within(text, 1, Self::MAX)?;
                if text.trim().is_empty() || text.chars().any(char::is_control) {
                    return Err(Unfit::Value { reason: "an id cannot be blank or contain control characters" });
                }
                Ok(Self(text.to_owned()))
            }

            /// The text as it was given.
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
    /// A line's id at the provider: WhatsApp's phone number id. `providerChannelId` of the API.
    ChannelId;
    /// A brand of a workspace. `brandId` of the API.
    BrandId;
    /// The account at the provider that a line belongs to and that templates are approved for.
    BusinessAccountId;
}

/// Makes UUIDs. Production draws version 4 from the operating system; tests count.
pub trait Ids: Send + Sync {
    /// A fresh UUID, never given before.
    fn next(&self) -> Uuid;
}

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Reads the hyphenated spelling of RFC 9562, any version, in lower or upper case.
            pub fn parse(text: &str) -> Result<Self, Unfit> {
                parse_uuid(text).map(Self)
            }

            /// Wraps a UUID that is known to name this kind of thing.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// A fresh id.
            pub fn generate(ids: &dyn Ids) -> Self {
                Self(ids.next())
            }

            /// The bare UUID, for deriving other ids from this one.
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
    /// A tenant's workspace: the first part of every key of its rows.
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
    /// An API key's public name (never the key itself).
    KeyId;
    /// A customer's webhook endpoint.
    EndpointId;
    /// An event, derived from the change that made it.
    EventId;
    /// What an operator asked of an endpoint's deliveries.
    JobId;
    /// A conversation of a workspace.
    ConversationId;
    /// A message of a conversation.
    MessageId;
    /// A file made ready for upload, and what became of it.
    MediaId;
    /// A message template, of a workspace or of the platform.
    TemplateId;
    /// A captured lead: the `requestId` that a visitor's browser is answered.
    LeadId;
}

fn parse_uuid(text: &str) -> Result<Uuid, Unfit> {
    // `Uuid` reads braced, URN and unhyphenated spellings too; the API takes the canonical one alone.
    match Uuid::try_parse(text) {
        Ok(uuid) if text.len() == 36 => Ok(uuid),
        _ => Err(Unfit::NotAUuid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_lower_and_upper_case_and_prints_lower() {
        let id = ContactId::parse("8C2D4E6F-1A3B-4C5D-8E7F-9A0B1C2D3E4F").unwrap();
        assert_eq!(id.to_string(), "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f");
    }

    #[test]
    fn an_id_of_any_version_is_read_as_references_may_come_from_elsewhere() {
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
