//! Who takes part in a conversation, and how they are named.

use crate::contact::Contact;
use crate::ids::{BrandId, ChannelId, ContactId, UserId};
use crate::settings::user::UserRef;
use crate::text::{Cellphone, Email};
use crate::time::Timestamp;

/// A customer in a conversation. Who they are is the contact; how they were named is only shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The contact.
    pub contact: ContactId,
    /// As the caller named them.
    pub shown: ContactRef,
    /// The line through which they are reached.
    pub channel: ChannelId,
    /// The brand that writes to them.
    pub brand: BrandId,
    /// Since when they take part.
    pub joined_at: Timestamp,
    /// When they were last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// An agent in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Internal {
    /// The user.
    pub user: UserId,
    /// As the caller named them; by e-mail where a team's turn assigned them.
    pub shown: UserRef,
    /// Since when they take part.
    pub joined_at: Timestamp,
    /// When they were last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// How a caller names a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactRef {
    /// By the contact's id.
    Id(ContactId),
    /// By e-mail address.
    Email(Email),
    /// By phone number.
    Cellphone(Cellphone),
}

impl ContactRef {
    /// The id, address or number in its canonical spelling.
    pub fn identifier(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Email(email) => email.canonical(),
            Self::Cellphone(cellphone) => cellphone.as_str().to_owned(),
        }
    }

    /// The API's word for what the identifier is.
    pub fn identifier_type(&self) -> &'static str {
        match self {
            Self::Id(_) => "ID",
            Self::Email(_) => "EMAIL",
            Self::Cellphone(_) => "PHONE",
        }
    }

    /// Whether two spellings are one name.
    pub fn same_as(&self, other: &Self) -> bool {
        (self.identifier_type(), self.identifier()) == (other.identifier_type(), other.identifier())
    }

    pub(super) fn is_identity_of(&self, contact: &Contact) -> bool {
        match self {
            Self::Id(id) => contact.id == *id,
            Self::Email(email) => contact.email.as_ref().is_some_and(|known| known.same_as(email)),
            Self::Cellphone(cellphone) => contact.cellphone.as_ref() == Some(cellphone),
        }
    }
}
