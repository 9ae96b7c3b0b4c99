//! A workspace's lead capture settings: the pages that may send leads, and the template that a lead receives.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::access::api_key::RateLimit;
use crate::encoding::{is_base62, random_base62};
use crate::ids::{BrandId, BusinessAccountId, TemplateId, WorkspaceId};
use crate::lead::captcha::Threshold;
use crate::lead::origin::{SentOrigin, WebOrigin};
use crate::patch::Patch;
use crate::secret::Secret;
use crate::settings::line::Lines;
use crate::settings::template::{Sendable, Template};
use crate::settings::workspace::WorkspaceState;
use crate::text::Unfit;
use crate::time::Timestamp;
use crate::words::words;

/// The lead capture settings of a workspace. The captcha secret is stored separately, with the other secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Whether leads are accepted.
    pub enabled: bool,
    /// The key that the workspace's pages send.
    pub key: CaptureKey,
    /// The origins of the pages that may send leads, at most [`Capture::MAX_ORIGINS`], without duplicates.
    pub origins: Vec<WebOrigin>,
    /// The brand of leads that have none.
    pub brand: Option<BrandId>,
    /// The template of the first message.
    pub template: Option<TemplateId>,
    /// The least captcha score of an accepted lead.
    pub threshold: Threshold,
    /// The greatest numbers of accepted leads.
    pub caps: LeadCaps,
    /// The requests per second that the pages may send on average, 1 to [`Capture::MAX_RATE`].
    pub rate: u32,
    /// Whether a captcha secret is stored.
    pub has_secret: bool,
    /// When the settings were created.
    pub created_at: Timestamp,
    /// When the settings last changed.
    pub updated_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

/// The greatest number of accepted leads per UTC day. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeadCaps {
    /// The limit of the workspace.
    pub daily: Option<u32>,
    /// The limit of one phone number, for all brands together.
    pub per_phone: Option<u32>,
}

impl Capture {
    /// The greatest number of origins.
    pub const MAX_ORIGINS: usize = 20;
    /// The requests per second of a workspace for which operators set nothing else.
    pub const RATE: u32 = 10;
    /// The greatest number of requests per second.
    pub const MAX_RATE: u32 = RateLimit::MAX_PER_SECOND;
    /// The path of the newest script for pages, below the URL of the lead capture API.
    pub const SCRIPT: &str = "/api/v1/leadscout/scripts/lead-capture-2.js";
    /// A page may be advertised at once to many people, so a full bucket holds the requests of ten seconds.
    const BURST_SECONDS: u32 = 10;

    /// New settings that accept no leads yet.
    pub fn new(workspace_id: WorkspaceId, key: CaptureKey, now: Timestamp) -> Self {
        Self {
            workspace_id,
            enabled: false,
            key,
            origins: vec![],
            brand: None,
            template: None,
            threshold: Threshold::default(),
            caps: LeadCaps::default(),
            rate: Self::RATE,
            has_secret: false,
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// The quota of requests of a workspace with these settings.
    pub fn quota(capture: Option<&Self>) -> RateLimit {
        let per_second = capture.map_or(Self::RATE, |capture| capture.rate);
        RateLimit { per_second, burst: per_second.saturating_mul(Self::BURST_SECONDS) }
    }

    /// Whether a page with this origin may read responses, independent of `enabled`.
    pub fn allows(&self, origin: &SentOrigin) -> bool {
        match origin {
            SentOrigin::One(origin) => self.origins.iter().any(|allowed| allowed.as_str() == origin),
            SentOrigin::Absent | SentOrigin::Unclear => false,
        }
    }

    /// The settings under which the lead is accepted, or the reason why it is rejected. `capture` contains
    /// the settings of the workspace in the request, if there are any, and `state` is the workspace's. The
    /// function always evaluates all conditions, so its duration does not reveal the result. A request without
    /// an `Origin` header comes from a server, not from a page, and is admitted.
    pub fn admits<'a>(
        capture: Option<&'a Self>,
        state: WorkspaceState,
        key: &str,
        origin: &SentOrigin,
    ) -> Result<&'a Self, Objection> {
        let enabled = capture.is_some_and(|capture| capture.enabled);
        let stored = capture.map_or(CaptureKey::PLACEHOLDER, |capture| capture.key.as_str());
        let keyed: bool = stored.as_bytes().ct_eq(key.as_bytes()).into();
        let from_server = *origin == SentOrigin::Absent;
        let origin = capture.is_some_and(|capture| capture.allows(origin)) | from_server;
        let objections = [
            (!state.is_disabled(), Objection::WorkspaceDisabled),
            (enabled, Objection::Disabled),
            (keyed, Objection::Key),
            (origin, Objection::Origin),
        ];
        let objection = objections.into_iter().find(|(fine, _)| !*fine).map(|(_, objection)| objection);
        match (capture, objection) {
            (None, _) => Err(Objection::UnknownWorkspace),
            (Some(_), Some(objection)) => Err(objection),
            (Some(capture), None) => Ok(capture),
        }
    }

    /// The brand of a lead: the requested one, otherwise the settings' default. `None` if there is neither,
    /// or if the workspace has no such brand.
    pub fn brand_of(&self, named: Option<&BrandId>, lines: &Lines) -> Option<BrandId> {
        let brand = named.or(self.brand.as_ref())?;
        lines.brand(brand).map(|brand| brand.id.clone())
    }

    /// The hosts on which a captcha may be solved: the hosts of the origins.
    pub fn hosts(&self) -> Vec<&str> {
        self.origins.iter().map(WebOrigin::host).collect()
    }

    /// Parses the secret for the captcha provider: 1 to 512 visible ASCII characters.
    pub fn secret(text: &str) -> Result<Secret, Unfit> {
        let fits = (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        let form = "1 to 512 visible ASCII characters, without spaces";
        if fits { Ok(Secret::new(text)) } else { Err(Unfit::Shape { pattern: "^[!-~]{1,512}$", form }) }
    }

    /// The settings with this change.
    pub fn with(&self, change: &CaptureChange) -> Result<Self, TooManyOrigins> {
        let origins = change.origins.applied_to(&self.origins);
        if origins.len() > Self::MAX_ORIGINS {
            return Err(TooManyOrigins);
        }
        Ok(Self {
            enabled: change.enabled.unwrap_or(self.enabled),
            origins,
            brand: change.brand.applied_to(&self.brand),
            template: change.template.applied_to(&self.template),
            threshold: change.threshold.unwrap_or(self.threshold),
            caps: LeadCaps {
                daily: change.daily_cap.applied_to(&self.caps.daily),
                per_phone: change.phone_cap.applied_to(&self.caps.per_phone),
            },
            rate: change.rate.unwrap_or(self.rate),
            has_secret: self.has_secret || change.secret.is_some(),
            ..self.clone()
        })
    }

    /// The next version with this change. `None` if the change has no effect. A secret always has one: nobody compares it with
    /// the stored one.
    pub fn changed(&self, change: &CaptureChange, now: Timestamp) -> Result<Option<Self>, TooManyOrigins> {
        let next = self.with(change)?;
        Ok((next != *self || change.secret.is_some()).then(|| next.succeeding(now)))
    }

    /// The names of the fields in which the next settings differ, as requests name them. Whether the captcha secret was replaced
    /// cannot be seen from the settings.
    pub fn differences(&self, next: &Self) -> Vec<&'static str> {
        let fields = [
            ("enabled", self.enabled != next.enabled),
            ("captureKey", self.key != next.key),
            ("origins", self.origins != next.origins),
            ("brandId", self.brand != next.brand),
            ("leadTemplateId", self.template != next.template),
            ("threshold", self.threshold != next.threshold),
            ("dailyCap", self.caps.daily != next.caps.daily),
            ("phoneCap", self.caps.per_phone != next.caps.per_phone),
            ("rate", self.rate != next.rate),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// The next version with a new key. The service rejects pages that still send the old key.
    pub fn rekeyed(&self, key: CaptureKey, now: Timestamp) -> Self {
        Self { key, ..self.clone() }.succeeding(now)
    }

    fn succeeding(self, now: Timestamp) -> Self {
        let updated_at = self.updated_at.next_change(now);
        Self { updated_at, version: self.version + 1, ..self }
    }

    /// All reasons why the settings cannot be enabled. If there is no default brand, at least one brand of
    /// the workspace must be usable.
    pub fn lacks(&self, known: &CaptureKnown<'_>) -> Vec<Lack> {
        let mut lacks = vec![];
        if !self.has_secret {
            lacks.push(Lack::Secret);
        }
        if self.origins.is_empty() {
            lacks.push(Lack::Origins);
        }
        match (self.template, known.template) {
            (None, _) => lacks.push(Lack::Template),
            (Some(id), None) => lacks.push(Lack::UnknownTemplate(id)),
            (Some(id), Some(template)) if !template.caller_parameters().is_empty() => {
                lacks.push(Lack::CallerValues(id));
            }
            (Some(_), Some(_)) => {}
        }
        match &self.brand {
            Some(brand) => lacks.extend(known.obstacle_for(brand)),
            None => {
                let mut brands = known.lines.brands.iter();
                if brands.all(|brand| known.obstacle_for(&brand.id).is_some()) {
                    lacks.push(Lack::Brand);
                }
            }
        }
        lacks
    }

    /// Why these settings cannot take the place of `before`: all that enabled settings lack if the change asks for them, otherwise
    /// what enabled settings did not lack before. A template that the provider paused stops no change of a limit. A new template is
    /// judged as a whole. Disabled settings may lack anything.
    pub fn newly_lacks(&self, before: &Self, change: &CaptureChange, known: &CaptureKnown<'_>) -> Vec<Lack> {
        if !self.enabled {
            return vec![];
        }
        let mut lacks = self.lacks(known);
        if change.enabled != Some(true) {
            let template = known.template.filter(|template| Some(template.id) == before.template);
            let lacked = before.lacks(&CaptureKnown { template, ..*known });
            lacks.retain(|lack| !lacked.contains(lack));
        }
        lacks
    }

    /// The brands of the workspace whose leads cannot receive the template. Empty if there is no template.
    pub fn unreachable<'a>(&self, known: &CaptureKnown<'a>) -> Vec<&'a BrandId> {
        let ids = known.lines.brands.iter().map(|brand| &brand.id);
        let unreachable = |brand: &&BrandId| known.obstacle_for(brand).is_some();
        known.template.map(|_| ids.filter(unreachable).collect()).unwrap_or_default()
    }
}

/// A change to the settings. An absent field stays unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureChange {
    /// Whether leads are accepted.
    pub enabled: Option<bool>,
    /// The origins.
    pub origins: OriginsChange,
    /// The brand of leads that have none.
    pub brand: Patch<BrandId>,
    /// The template of the first message.
    pub template: Patch<TemplateId>,
    /// The least captcha score of an accepted lead.
    pub threshold: Option<Threshold>,
    /// The daily limit of the workspace.
    pub daily_cap: Patch<u32>,
    /// The daily limit of one phone number.
    pub phone_cap: Patch<u32>,
    /// The requests per second.
    pub rate: Option<u32>,
    /// The secret for the captcha provider.
    pub secret: Option<Secret>,
}

/// A change to the origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginsChange {
    /// Some are removed, then some are added.
    Amend {
        /// Origins to add.
        add: Vec<WebOrigin>,
        /// Origins to remove.
        remove: Vec<WebOrigin>,
    },
    /// These replace all.
    Replace(Vec<WebOrigin>),
}

impl Default for OriginsChange {
    fn default() -> Self {
        Self::Amend { add: vec![], remove: vec![] }
    }
}

impl OriginsChange {
    /// The origins after the change, without duplicates.
    fn applied_to(&self, current: &[WebOrigin]) -> Vec<WebOrigin> {
        let (mut origins, more): (Vec<WebOrigin>, _) = match self {
            Self::Amend { add, remove } => {
                let stays = |origin: &&WebOrigin| !remove.contains(origin);
                (current.iter().filter(stays).cloned().collect(), add)
            }
            Self::Replace(all) => (vec![], all),
        };
        for origin in more {
            if !origins.contains(origin) {
                origins.push(origin.clone());
            }
        }
        origins
    }
}

/// The settings would have more than [`Capture::MAX_ORIGINS`] origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lead capture has at most {} origins", Capture::MAX_ORIGINS)]
pub struct TooManyOrigins;

/// The data that decides whether the settings can be enabled.
#[derive(Clone, Copy, Debug)]
pub struct CaptureKnown<'a> {
    /// The workspace's lines and brands.
    pub lines: &'a Lines,
    /// The settings' template, if it exists.
    pub template: Option<&'a Template>,
}

impl CaptureKnown<'_> {
    /// Why a lead of this brand cannot receive the template.
    fn obstacle_for(&self, brand: &BrandId) -> Option<Lack> {
        if self.lines.brand(brand).is_none() {
            return Some(Lack::UnknownBrand(brand.clone()));
        }
        let Ok((line, _)) = self.lines.resolve(None, Some(brand)) else {
            return Some(Lack::Line(brand.clone()));
        };
        let template =
            self.template.filter(|template| template.sendable(&line.business_account) != Sendable::Now)?;
        let account = line.business_account.clone();
        Some(Lack::Approval { template: template.id, brand: brand.clone(), account })
    }
}

/// A reason why the settings cannot be enabled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// There is no secret for the captcha provider.
    #[error("it has no captcha secret")]
    Secret,
    /// There is no origin that may send leads.
    #[error("it has no origin")]
    Origins,
    /// There is no template to send.
    #[error("it has no template")]
    Template,
    /// The template exists neither in the workspace nor in the platform.
    #[error("there is no template {0} in the workspace or the platform")]
    UnknownTemplate(TemplateId),
    /// The template has variables that only a caller can fill.
    #[error("template {0} needs values that only a caller has")]
    CallerValues(TemplateId),
    /// The brand does not exist.
    #[error("the workspace has no brand {0:?}")]
    UnknownBrand(BrandId),
    /// There is no line for the brand.
    #[error("there is no line for brand {0:?}")]
    Line(BrandId),
    /// The provider has not approved the template for the brand's account.
    #[error("template {template} is not approved for account {account:?}, the account of brand {brand:?}")]
    Approval {
        /// The template.
        template: TemplateId,
        /// The brand.
        brand: BrandId,
        /// The account that owns the brand's line.
        account: BusinessAccountId,
    },
    /// There is no default brand, and no brand of the workspace is usable.
    #[error("no brand of the workspace has a line with an account for which the template is approved")]
    Brand,
}

impl Lack {
    /// What is missing, as one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Secret => "CAPTCHA_SECRET",
            Self::Origins => "ORIGINS",
            Self::Template => "TEMPLATE",
            Self::UnknownTemplate(_) => "UNKNOWN_TEMPLATE",
            Self::CallerValues(_) => "CALLER_VALUES",
            Self::UnknownBrand(_) => "UNKNOWN_BRAND",
            Self::Line(_) => "LINE",
            Self::Approval { .. } => "APPROVAL",
            Self::Brand => "BRAND",
        }
    }
}

/// Why a lead is rejected. Only logs contain the reason; the response does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The workspace has no capture settings.
    UnknownWorkspace,
    /// The workspace is disabled.
    WorkspaceDisabled,
    /// Capture is disabled.
    Disabled,
    /// The capture key is not the workspace's.
    Key,
    /// The origin is not one of the workspace's.
    Origin,
}

words!(
    /// The names for logs.
    Objection {
        UnknownWorkspace: "unknown workspace",
        WorkspaceDisabled: "workspace disabled",
        Disabled: "capture disabled",
        Key: "capture key",
        Origin: "origin",
    }
);

/// A capture key: `lck_` and 24 base62 characters. Pages contain it in their code, so it is not secret. It
/// distinguishes the workspace's pages from senders who know only the workspace's id.
#[derive(Clone, PartialEq, Eq)]
pub struct CaptureKey(String);

impl CaptureKey {
    const PREFIX: &'static str = "lck_";
    const LENGTH: usize = 24;
    const PATTERN: &'static str = "^lck_[0-9A-Za-z]{24}$";
    /// The value for the comparison if there are no settings.
    const PLACEHOLDER: &'static str = "lck_000000000000000000000000";

    /// Makes a key from random numbers. Each number gives four characters.
    pub fn from_entropy(entropy: [u64; 6]) -> Self {
        Self(format!("{}{}", Self::PREFIX, random_base62(&entropy)))
    }

    /// Parses a key.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let body = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        let fits = body.len() == Self::LENGTH && is_base62(body);
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: "lck_ and 24 ASCII letters or digits" };
        if fits { Ok(Self(text.to_owned())) } else { Err(shape) }
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CaptureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[CaptureKey]")
    }
}

#[cfg(test)]
mod tests;
