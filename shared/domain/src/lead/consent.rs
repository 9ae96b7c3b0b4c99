//! The permission to write to a visitor.

use std::fmt;

use crate::encoding::sha256_hex;
use crate::ids::LeadId;
use crate::lead::captcha::Score;
use crate::lead::visitor::LandingUri;
use crate::time::Timestamp;
use crate::words::words;

/// The immutable record of a permission, as far as the service can know it: the tenant's claim, and what was seen. What
/// was seen of the visitor prints nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Consent {
    /// What the tenant claims.
    pub status: ConsentStatus,
    /// When the visitor gave it, as the tenant claims.
    pub captured_at: Option<Timestamp>,
    /// When the lead came.
    pub received_at: Timestamp,
    /// The page.
    pub landing_uri: LandingUri,
    /// The visitor's address, by [`Consent::hash_of`].
    pub address_hash: String,
    /// The visitor's browser, its first [`Consent::MAX_USER_AGENT`] characters.
    pub user_agent: Option<String>,
    /// How human the visitor seemed.
    pub score: Score,
}

impl Consent {
    /// So much of the browser's name is kept.
    pub const MAX_USER_AGENT: usize = 512;

    /// A visitor's address as it is kept: SHA-256 of lead and address in lower-case hex. It shows whether an address
    /// that somebody claims was the one, and equal addresses do not look equal. It hides nothing from whoever reads the
    /// table and tries all addresses.
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

/// What a tenant says of a visitor's permission to be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentStatus {
    /// It was given.
    Granted,
    /// It was not: such a lead is not accepted.
    NotProvided,
}

words!(
    /// The words of the API.
    ConsentStatus {
        Granted: "GRANTED",
        NotProvided: "NOT_PROVIDED",
    }
);
