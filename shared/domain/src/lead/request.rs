//! What a landing page sends, and the lead that is made of it.

use crate::ids::{BrandId, ContactId, ConversationId, Ids, LeadId, MessageId, WorkspaceId};
use crate::lead::captcha::Score;
use crate::lead::consent::{Consent, ConsentStatus};
use crate::lead::visitor::{LandingUri, LeadName, Utm};
use crate::lead::{Lead, LeadState};
use crate::secret::Secret;
use crate::sending::Progress;
use crate::text::Cellphone;
use crate::time::Timestamp;

/// What a landing page sends.
#[derive(Clone, Debug)]
pub struct LeadRequest {
    /// The workspace it is meant for.
    pub workspace_id: WorkspaceId,
    /// What the page says is the workspace's capture key: 1 to [`LeadRequest::MAX_KEY`] characters. That one is no
    /// secret, but by mistake it may be another key.
    pub capture_key: Secret,
    /// The visitor's number.
    pub cellphone: Cellphone,
    /// The visitor's name.
    pub name: Option<LeadName>,
    /// The brand.
    pub brand: Option<BrandId>,
    /// The page.
    pub landing_uri: LandingUri,
    /// What campaign brought the visitor there.
    pub utm: Utm,
    /// When the visitor gave permission, as the tenant claims.
    pub consented_at: Option<Timestamp>,
    /// The captcha token: 1 to [`LeadRequest::MAX_TOKEN`] characters.
    pub captcha: Secret,
}

impl LeadRequest {
    /// The greatest size of a body in bytes.
    pub const MAX_BODY: usize = 16 * 1024;
    /// The greatest number of characters of a captcha token.
    pub const MAX_TOKEN: usize = 8_192;
    /// The greatest number of characters of a capture key.
    pub const MAX_KEY: usize = 128;
}

/// What is known when a lead is accepted besides what was sent.
#[derive(Clone)]
pub struct VisitorSeen<'a> {
    /// The brand that it is of.
    pub brand: BrandId,
    /// How human the visitor seemed.
    pub score: Score,
    /// The visitor's address, as the gateway saw it.
    pub address: &'a str,
    /// What the visitor's browser calls itself.
    pub user_agent: Option<&'a str>,
}

impl LeadRequest {
    /// The lead that is accepted. Contact, conversation and message get their ids now, so that whoever sends it, and
    /// however often it is tried, makes each of them once.
    pub fn accepted(self, seen: VisitorSeen<'_>, ids: &dyn Ids, now: Timestamp) -> Lead {
        let id = LeadId::generate(ids);
        let kept = |agent: &str| agent.chars().take(Consent::MAX_USER_AGENT).collect();
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
                captured_at: self.consented_at,
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
            progress: Progress::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }
}
