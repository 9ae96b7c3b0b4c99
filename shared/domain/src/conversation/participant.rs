//! The participants of a conversation, and the identifiers that callers use for them.

use crate::contact::Contact;
use crate::ids::{BrandId, ChannelId, ContactId, UserId};
use crate::settings::user::UserRef;
use crate::text::{Cellphone, Email};
use crate::time::Timestamp;

/// A customer in a conversation. The contact identifies the customer; `shown` is only displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The contact.
    pub contact: ContactId,
    /// The identifier that the caller used.
    pub shown: ContactRef,
    /// The line that reaches the customer.
    pub channel: ChannelId,
    /// The brand that writes to the customer.
    pub brand: BrandId,
    /// When the customer joined.
    pub joined_at: Timestamp,
    /// When the customer was last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// An agent in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Internal {
    /// The user.
    pub user: UserId,
    /// The identifier that the caller used. The e-mail address if the team's turn assigned the agent.
    pub shown: UserRef,
    /// When the agent joined.
    pub joined_at: Timestamp,
    /// When the agent was last seen.
    pub last_seen_at: Option<Timestamp>,
}

/// The identifier that a caller uses for a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContactRef {
    /// The contact's id.
    Id(ContactId),
    /// The e-mail address.
    Email(Email),
    /// The phone number.
    Cellphone(Cellphone),
}

impl ContactRef {
    /// The id, address or number in its canonical form.
    pub fn identifier(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Email(email) => email.canonical(),
            Self::Cellphone(cellphone) => cellphone.as_str().to_owned(),
        }
    }

    /// The value of the API field for the type of the identifier.
    pub fn identifier_type(&self) -> &'static str {
        match self {
            Self::Id(_) => "ID",
            Self::Email(_) => "EMAIL",
            Self::Cellphone(_) => "PHONE",
        }
    }

    /// Whether two identifiers are the same id, spellings of one address, or written forms of one number.
    pub fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Id(one), Self::Id(other)) => one == other,
            (Self::Email(one), Self::Email(other)) => one.same_as(other),
            (Self::Cellphone(one), Self::Cellphone(other)) => one.key() == other.key(),
            _ => false,
        }
    }

    pub(super) fn is_identity_of(&self, contact: &Contact) -> bool {
        match self {
            Self::Id(id) => contact.id == *id,
            Self::Email(email) => contact.email.as_ref().is_some_and(|known| known.same_as(email)),
            Self::Cellphone(cellphone) => {
                contact.cellphone.as_ref().is_some_and(|known| known.key() == cellphone.key())
            }
        }
    }
}
