//! The consent record of a lead.

use std::fmt;

use crate::encoding::sha256_hex;
use crate::ids::LeadId;
use crate::invisible::is_blank;
use crate::lead::captcha::Score;
use crate::lead::visitor::LandingUri;
use crate::text::{Unfit, within};
use crate::time::Timestamp;
use crate::words::words;

/// The immutable record of a visitor's consent: the claim of the tenant and the service's observations. The
/// debug output contains no data that identifies the visitor.
#[derive(Clone, PartialEq, Eq)]
pub struct Consent {
    /// The status that the tenant claims.
    pub status: ConsentStatus,
    /// When the visitor gave consent, as the tenant claims.
    pub captured_at: Option<Timestamp>,
    /// The text that the visitor agreed to, as the tenant claims.
    pub text: Option<ConsentText>,
    /// When the service received the lead.
    pub received_at: Timestamp,
    /// The landing page.
    pub landing_uri: LandingUri,
    /// The hash of the visitor's IP address ([`Consent::hash_of`]).
    pub address_hash: String,
    /// The first [`Consent::MAX_USER_AGENT`] characters of the browser's `User-Agent`, all of them printable
    /// ([`printable`](crate::text::printable)).
    pub user_agent: Option<String>,
    /// The visitor's captcha score.
    pub score: Score,
}

impl Consent {
    /// The greatest number of stored characters of the `User-Agent`.
    pub const MAX_USER_AGENT: usize = 512;

    /// The stored form of a visitor's IP address: the SHA-256 of lead id and address in lower-case hex. The
    /// hash can confirm a claimed address, and equal addresses of different leads have different hashes. It
    /// gives no protection against somebody who reads the table and tries all addresses.
    pub fn hash_of(lead: LeadId, address: &str) -> String {
        sha256_hex(format!("{lead}|{address}").as_bytes())
    }
}

impl fmt::Debug for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, captured_at, received_at, score, .. } = self;
        f.debug_struct("Consent")
            .field("status", status)
            .field("captured_at", captured_at)
            .field("received_at", received_at)
            .field("score", score)
            .finish_non_exhaustive()
    }
}

/// What a landing page claims about a consent, beside its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsentClaim {
    /// When the visitor gave consent.
    pub captured_at: Option<Timestamp>,
    /// The text that the visitor agreed to.
    pub text: Option<ConsentText>,
}

/// The text beside the box that a visitor ticked: 1 to 2,000 characters. It is evidence, so it is kept as it was sent. Its
/// debug output is redacted, because a page can put any text into it.
#[derive(Clone, PartialEq, Eq)]
pub struct ConsentText(String);

impl ConsentText {
    /// The greatest number of characters in a text.
    pub const MAX: usize = 2_000;

    /// Parses a text. Returns `None` for a blank one: a page whose text is missing still sends its leads.
    pub fn read(text: &str) -> Result<Option<Self>, Unfit> {
        within(text, 0, Self::MAX)?;
        Ok((!is_blank(text)).then(|| Self(text.to_owned())))
    }

    /// Parses a text that must not be blank.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::read(text)?.ok_or(Unfit::TooShort { min: 1 })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ConsentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[ConsentText]")
    }
}

/// The tenant's statement about a visitor's consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentStatus {
    /// The visitor gave consent.
    Granted,
    /// The visitor gave no consent. The service does not accept such a lead.
    NotProvided,
}

words!(
    /// The values of the API field.
    ConsentStatus {
        Granted: "GRANTED",
        NotProvided: "NOT_PROVIDED",
    }
);
