//! Where the values of a template's slots come from.

use std::collections::BTreeMap;

use crate::invisible::is_blank;
use crate::settings::template::form::{Slot, SlotKind};
use crate::text::{Unfit, within};
use crate::words::words;

/// The source of a slot's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The caller gives the value.
    Caller,
    /// The caller may give a value. Otherwise it is this one.
    CallerOr(ParameterValue),
    /// The value comes from the contact who receives the message.
    Contact {
        /// The field.
        field: ContactField,
        /// The value for a contact whose field is empty. If it is absent, the template cannot be sent to such
        /// a contact.
        fallback: Option<ParameterValue>,
    },
    /// The value is always this one.
    Fixed(ParameterValue),
}

/// The sources of slots by their names. A slot that is not named has the source [`Source::Caller`].
pub type Sources = BTreeMap<String, Source>;

impl Source {
    /// The word for values of a caller.
    pub const CALLER: &str = "CALLER";
    /// What stands before the field of a contact.
    pub const CONTACT: &str = "CONTACT.";
    /// The word for values that are always the same.
    pub const FIXED: &str = "FIXED";

    /// Whether the caller may give a value.
    pub fn is_callers(&self) -> bool {
        matches!(self, Self::Caller | Self::CallerOr(_))
    }

    /// The source without its text: `CALLER`, `CONTACT.` and the field, or `FIXED`; and the text, which is the fallback or the
    /// fixed value.
    pub fn in_words(&self) -> (String, Option<&str>) {
        match self {
            Self::Caller => (Self::CALLER.to_owned(), None),
            Self::CallerOr(default) => (Self::CALLER.to_owned(), Some(default.as_str())),
            Self::Fixed(value) => (Self::FIXED.to_owned(), Some(value.as_str())),
            Self::Contact { field, fallback } => (
                format!("{}{}", Self::CONTACT, field.as_str()),
                fallback.as_ref().map(ParameterValue::as_str),
            ),
        }
    }

    /// Checks that the slot can take its value from here.
    pub fn check(&self, slot: &Slot) -> Result<(), Unfit> {
        match self {
            Self::Caller => Ok(()),
            Self::Contact { .. } if slot.kind != SlotKind::Text => {
                Err(Unfit::Value { reason: "should be CALLER or FIXED, because the place takes no text" })
            }
            Self::CallerOr(_) if slot.kind.file().is_some() => {
                Err(Unfit::Value { reason: "should be CALLER or FIXED, because the place takes a file" })
            }
            Self::Fixed(link) if slot.kind.file().is_some() && !link.as_str().starts_with("https://") => {
                Err(Unfit::Value { reason: "should be an https URL, because the place takes a file" })
            }
            Self::CallerOr(value) | Self::Fixed(value) | Self::Contact { fallback: Some(value), .. } => {
                within(value.as_str(), 1, slot.kind.max_length())?;
                if is_blank(value.as_str()) {
                    return Err(Unfit::Value { reason: "a template's parameter cannot be blank" });
                }
                Ok(())
            }
            Self::Contact { fallback: None, .. } => Ok(()),
        }
    }
}

/// The contact fields that a slot can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactField {
    /// `firstName`
    FirstName,
    /// `lastName`
    LastName,
    /// `email`
    Email,
    /// `cellphone`
    Cellphone,
}

words!(
    /// The names of the API fields.
    ContactField {
        FirstName: "firstName",
        LastName: "lastName",
        Email: "email",
        Cellphone: "cellphone",
    }
);

/// The values of a contact's fields.
#[derive(Clone, Copy)]
pub struct ContactValues<'a> {
    /// `firstName`
    pub first_name: Option<&'a str>,
    /// `lastName`
    pub last_name: Option<&'a str>,
    /// `email`
    pub email: Option<&'a str>,
    /// `cellphone`
    pub cellphone: Option<&'a str>,
}

impl<'a> ContactValues<'a> {
    /// The value of a field, if the contact has one.
    pub fn value(&self, field: ContactField) -> Option<&'a str> {
        match field {
            ContactField::FirstName => self.first_name,
            ContactField::LastName => self.last_name,
            ContactField::Email => self.email,
            ContactField::Cellphone => self.cellphone,
        }
    }
}

/// A value as it was given, up to [`ParameterValue::MAX`] characters. Whether it fits its slot is known with the template.
/// Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ParameterValue(String);

impl ParameterValue {
    /// The greatest number of characters in a value: that of all values together.
    pub const MAX: usize = 16_384;

    /// Parses a value.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 0, Self::MAX)?;
        Ok(Self(text.to_owned()))
    }

    /// The value as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[ParameterValue]")
    }
}

/// The caller's values, by the names of the template's slots.
pub type Parameters = BTreeMap<String, ParameterValue>;
