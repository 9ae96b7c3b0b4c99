//! What a landing page says of its visitor: name, page and campaign.

use std::collections::BTreeMap;
use std::fmt;

use url::Url;

use crate::text::{PersonName, Unfit, within};

/// A visitor's name: 1 to 100 characters after trimming. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct LeadName(String);

impl LeadName {
    /// The greatest number of characters.
    pub const MAX: usize = PersonName::MAX;

    /// Reads a name; `None` for one that is blank, as an optional field of a form that was left empty.
    pub fn read(text: &str) -> Result<Option<Self>, Unfit> {
        let trimmed = text.trim();
        within(trimmed, 0, Self::MAX)?;
        Ok((!trimmed.is_empty()).then(|| Self(trimmed.to_owned())))
    }

    /// Reads a name that is there.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::read(text)?.ok_or(Unfit::TooShort { min: 1 })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first word as the first name and the rest, if there is one, as the last.
    pub fn first_and_last(&self) -> (Option<PersonName>, Option<PersonName>) {
        let (first, rest) = self.0.split_once(char::is_whitespace).unwrap_or((&self.0, ""));
        (PersonName::parse(first).ok(), PersonName::parse(rest.trim()).ok())
    }
}

impl fmt::Debug for LeadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[LeadName]")
    }
}

/// A page's address: `http` or `https`, up to 2,048 characters. Prints redacted, as its query may tell of the visitor.
#[derive(Clone, PartialEq, Eq)]
pub struct LandingUri(String);

impl LandingUri {
    /// The greatest number of characters.
    pub const MAX: usize = 2_048;

    /// Reads an address, and keeps it as it was sent.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        // The parser forgives what is no address of a page as pages have it: `https:example.com`, `http:///spring`.
        let whole = text.split_once("://").is_some_and(|(scheme, rest)| {
            ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && !rest.starts_with('/')
        });
        let page = whole && Url::parse(text).is_ok_and(|url| url.has_host());
        let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
        if page && plain { Ok(Self(text.to_owned())) } else { Err(Unfit::Value { reason: "not a web page" }) }
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LandingUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[LandingUri]")
    }
}

/// What campaign brought a visitor: up to 20 keys of 1 to 256 characters, values of up to 256. Prints redacted, as
/// pages put into it what they like.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Utm(BTreeMap<String, String>);

impl Utm {
    /// The greatest number of keys.
    pub const MAX: usize = 20;
    /// The greatest number of characters of a key and of a value.
    pub const MAX_TEXT: usize = 256;

    /// Checks and takes them.
    pub fn of(values: BTreeMap<String, String>) -> Result<Self, Unfit> {
        if values.len() > Self::MAX {
            return Err(Unfit::TooLong { max: Self::MAX });
        }
        for (key, value) in &values {
            within(key, 1, Self::MAX_TEXT)?;
            within(value, 0, Self::MAX_TEXT)?;
        }
        Ok(Self(values))
    }

    /// Keys and values, by key.
    pub fn values(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl fmt::Debug for Utm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[Utm]")
    }
}
