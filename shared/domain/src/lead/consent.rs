//! The consent record of a lead.

use std::fmt;

use crate::encoding::sha256_hex;
use crate::ids::LeadId;
use crate::lead::captcha::Score;
use crate::lead::visitor::LandingUri;
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
