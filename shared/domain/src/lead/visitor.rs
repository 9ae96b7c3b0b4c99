//! The data that a landing page sends about its visitor: name, page and campaign.

use std::collections::BTreeMap;
use std::fmt;

use url::Url;

use crate::invisible::is_blank;
use crate::text::{PersonName, Unfit, printable, within};

/// A visitor's name: 1 to 100 characters after trimming. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct LeadName(String);

impl LeadName {
    /// The greatest number of characters in a name.
    pub const MAX: usize = PersonName::MAX;

    /// Parses a name. Only printable text of it is kept ([`printable`]): a visitor who pastes a name is not refused.
    /// Returns `None` for a blank text, which is an optional form field that was left empty.
    pub fn read(text: &str) -> Result<Option<Self>, Unfit> {
        let text = printable(text);
        let trimmed = text.trim();
        within(trimmed, 0, Self::MAX)?;
        Ok((!is_blank(trimmed)).then(|| Self(trimmed.to_owned())))
    }

    /// Parses a name that must not be blank.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::read(text)?.ok_or(Unfit::TooShort { min: 1 })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first word as first name and the rest, if there is any, as last name.
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

/// A page's URL: `http` or `https`, up to 2,048 characters. Its debug output is redacted, because the query
/// may contain personal data.
#[derive(Clone, PartialEq, Eq)]
pub struct LandingUri(String);

impl LandingUri {
    /// The greatest number of characters in a URL.
    pub const MAX: usize = 2_048;

    /// Parses a URL and keeps it as sent.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        // The URL parser also accepts incorrect URLs such as `https:example.com` and `http:///spring`.
        let whole = text.split_once("://").is_some_and(|(scheme, rest)| {
            ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && !rest.starts_with('/')
        });
        let page = whole && Url::parse(text).is_ok_and(|url| url.has_host());
        let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
        if page && plain { Ok(Self(text.to_owned())) } else { Err(Unfit::Value { reason: "not a web page" }) }
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LandingUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[LandingUri]")
    }
}

/// The campaign parameters of a visit: up to 20 keys of 1 to 256 characters, with values of up to 256. The
/// debug output is redacted, because pages can put any text into them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Utm(BTreeMap<String, String>);

impl Utm {
    /// The greatest number of keys.
    pub const MAX: usize = 20;
    /// The greatest number of characters in a key or a value.
    pub const MAX_TEXT: usize = 256;

    /// Checks the parameters. Returns an error if a limit is exceeded.
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

    /// The keys and values, sorted by key.
    pub fn values(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl fmt::Debug for Utm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[Utm]")
    }
}
