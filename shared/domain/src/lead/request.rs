//! The request of a landing page, and the lead that it becomes.

use crate::ids::{BrandId, ContactId, ConversationId, Ids, LeadId, MessageId, WorkspaceId};
use crate::lead::captcha::Score;
use crate::lead::consent::{Consent, ConsentClaim, ConsentStatus};
use crate::lead::visitor::{LandingUri, LeadName, Utm};
use crate::lead::{Lead, LeadState};
use crate::secret::Secret;
use crate::text::{Cellphone, printable};
use crate::time::Timestamp;

/// The request of a landing page.
#[derive(Clone, Debug)]
pub struct LeadRequest {
    /// The workspace that receives the lead.
    pub workspace_id: WorkspaceId,
    /// The capture key in the request: 1 to [`LeadRequest::MAX_KEY`] characters. A capture key is not secret,
    /// but the page may send another, secret key by mistake.
    pub capture_key: Secret,
    /// The visitor's phone number.
    pub cellphone: Cellphone,
    /// The visitor's name.
    pub name: Option<LeadName>,
    /// The brand, if the page gives one.
    pub brand: Option<BrandId>,
    /// The landing page.
    pub landing_uri: LandingUri,
    /// The campaign parameters of the landing page.
    pub utm: Utm,
    /// The visitor's consent, as the tenant claims it.
    pub consent: ConsentClaim,
    /// The captcha token: 1 to [`LeadRequest::MAX_TOKEN`] characters.
    pub captcha: Secret,
}

impl LeadRequest {
    /// The greatest size of a body in bytes.
    pub const MAX_BODY: usize = 16 * 1024;
    /// The greatest number of characters in a captcha token.
    pub const MAX_TOKEN: usize = 8_192;
    /// The greatest number of characters in a capture key.
    pub const MAX_KEY: usize = 128;
}

/// The data about a visitor that is not in the request body.
#[derive(Clone)]
pub struct VisitorSeen<'a> {
    /// The brand of the lead.
    pub brand: BrandId,
    /// The visitor's captcha score.
    pub score: Score,
    /// The visitor's IP address as the gateway saw it.
    pub address: &'a str,
    /// The `User-Agent` of the visitor's browser.
    pub user_agent: Option<&'a str>,
}

impl LeadRequest {
    /// The accepted lead. Contact, conversation and message get their ids here, so that each is created only
    /// once, by any sender and after any number of retries.
    pub fn accepted(self, seen: VisitorSeen<'_>, ids: &dyn Ids, now: Timestamp) -> Lead {
        let id = LeadId::generate(ids);
        let kept = |agent: &str| printable(agent).chars().take(Consent::MAX_USER_AGENT).collect();
        Lead {
            id,
            workspace_id: self.workspace_id,
            cellphone: self.cellphone,
            name: self.name,
            brand: seen.brand,
            landing_uri: self.landing_uri.clone(),
            utm: self.utm,
            consent: Consent {
                status: ConsentStatus::Granted,
                captured_at: self.consent.captured_at,
                text: self.consent.text,
                received_at: now,
                landing_uri: self.landing_uri,
                address_hash: Consent::hash_of(id, seen.address),
                user_agent: seen.user_agent.map(kept),
                score: seen.score,
            },
            contact: ContactId::generate(ids),
            conversation: ConversationId::generate(ids),
            message: MessageId::generate(ids),
            opened: false,
            state: LeadState::Queued,
            error: None,
            message_version: None,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }
}
