//! Lead capture as a workspace has it set up: whose pages may send leads, and what is sent to those who leave one.

use std::fmt;
use std::time::Duration;

use subtle::ConstantTimeEq;

use crate::encoding::{is_base62, random_base62};
use crate::ids::{BrandId, BusinessAccountId, TemplateId, WorkspaceId};
use crate::lead::captcha::Threshold;
use crate::lead::origin::{SentOrigin, WebOrigin};
use crate::patch::Patch;
use crate::secret::Secret;
use crate::settings::line::Lines;
use crate::settings::template::Template;
use crate::text::Unfit;
use crate::time::Timestamp;

/// A workspace's set-up. Its captcha secret is kept apart, among the secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Whether leads are taken at all.
    pub enabled: bool,
    /// What pages send to say that they are the workspace's.
    pub key: CaptureKey,
    /// The pages that may send leads, at most [`Capture::MAX_ORIGINS`], each once.
    pub origins: Vec<WebOrigin>,
    /// The brand of leads that name none.
    pub brand: Option<BrandId>,
    /// The template that is sent to a lead first.
    pub template: Option<TemplateId>,
    /// The least captcha score that is let in.
    pub threshold: Threshold,
    /// How many leads are taken.
    pub caps: LeadCaps,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

/// How many leads are taken on a day (of UTC); no limit where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeadCaps {
    /// Of the workspace.
    pub daily: Option<u32>,
    /// Of one phone number, whatever its brands.
    pub per_phone: Option<u32>,
}

impl Capture {
    /// The greatest number of origins.
    pub const MAX_ORIGINS: usize = 20;

    /// A set-up that takes no leads yet.
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
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }

    /// Whether a page of that origin may read answers, whether or not leads are taken.
    pub fn allows(&self, origin: &SentOrigin) -> bool {
        match origin {
            SentOrigin::One(origin) => self.origins.iter().any(|allowed| allowed.as_str() == origin),
            SentOrigin::Absent | SentOrigin::Unclear => false,
        }
    }

    /// The set-up by which a lead is taken from whoever sent it, or why it is not; `capture` is the set-up of the
    /// workspace that the lead names, if there is one. All of it is looked at, whatever the outcome: how long it takes
    /// tells nothing.
    pub fn admits<'a>(
        capture: Option<&'a Self>,
        key: &str,
        origin: &SentOrigin,
    ) -> Result<&'a Self, Objection> {
        let enabled = capture.is_some_and(|capture| capture.enabled);
        let stored = capture.map_or(CaptureKey::NOBODYS, |capture| capture.key.as_str());
        let keyed: bool = stored.as_bytes().ct_eq(key.as_bytes()).into();
        let from_server = *origin == SentOrigin::Absent;
        let origin = capture.is_some_and(|capture| capture.allows(origin)) | from_server;
        let objections =
            [(enabled, Objection::Disabled), (keyed, Objection::Key), (origin, Objection::Origin)];
        let objection = objections.into_iter().find(|(fine, _)| !*fine).map(|(_, objection)| objection);
        match (capture, objection) {
            (None, _) => Err(Objection::UnknownWorkspace),
            (Some(_), Some(objection)) => Err(objection),
            (Some(capture), None) => Ok(capture),
        }
    }

    /// The brand that a lead is of: the one it names, else the set-up's own; `None` if there is none, or the workspace
    /// has no such brand.
    pub fn brand_of(&self, named: Option<&BrandId>, lines: &Lines) -> Option<BrandId> {
        let brand = named.or(self.brand.as_ref())?;
        lines.brand(brand).map(|brand| brand.id.clone())
    }

    /// The hosts on which a captcha may have been solved: those of its origins.
    pub fn hosts(&self) -> Vec<&str> {
        self.origins.iter().map(WebOrigin::host).collect()
    }

    /// Reads the secret by which the captcha's provider knows the site: 1 to 512 visible characters.
    pub fn secret(text: &str) -> Result<Secret, Unfit> {
        let fits = (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Secret::new(text)) } else { Err(Unfit::Shape { pattern: "^[!-~]{1,512}$" }) }
    }

    /// The settings with this changed: origins are taken away before others are added.
    pub fn with(&self, change: &CaptureChange) -> Result<Self, TooManyOrigins> {
        let stays = |origin: &&WebOrigin| !change.remove_origins.contains(origin);
        let mut origins: Vec<WebOrigin> = self.origins.iter().filter(stays).cloned().collect();
        for origin in &change.add_origins {
            if !origins.contains(origin) {
                origins.push(origin.clone());
            }
        }
        if origins.len() > Self::MAX_ORIGINS {
            return Err(TooManyOrigins);
        }
        Ok(Self {
            enabled: change.enabled.unwrap_or(self.enabled),
            origins,
            brand: change.brand.applied_to(&self.brand),
            template: change.template.or(self.template),
            threshold: change.threshold.unwrap_or(self.threshold),
            caps: LeadCaps {
                daily: change.daily_cap.applied_to(&self.caps.daily),
                per_phone: change.phone_cap.applied_to(&self.caps.per_phone),
            },
            ..self.clone()
        })
    }

    /// The next version, with this changed; `None` if that changes nothing.
    pub fn changed(&self, change: &CaptureChange, now: Timestamp) -> Result<Option<Self>, TooManyOrigins> {
        let next = self.with(change)?;
        Ok((next != *self).then(|| next.succeeding(now)))
    }

    /// The next version, with another key: pages that send the one before are refused.
    pub fn rekeyed(&self, key: CaptureKey, now: Timestamp) -> Self {
        Self { key, ..self.clone() }.succeeding(now)
    }

    fn succeeding(self, now: Timestamp) -> Self {
        let updated_at = now.max(self.updated_at.plus(Duration::from_millis(1)));
        Self { updated_at, version: self.version + 1, ..self }
    }

    /// All that keeps it from being enabled. Without a brand of its own it must do for at least one of the workspace's.
    pub fn lacks(&self, known: &CaptureKnown<'_>) -> Vec<Lack> {
        let mut lacks = vec![];
        if !known.has_secret {
            lacks.push(Lack::Secret);
        }
        if self.origins.is_empty() {
            lacks.push(Lack::Origins);
        }
        match (self.template, known.template) {
            (None, _) => lacks.push(Lack::Template),
            (Some(id), None) => lacks.push(Lack::UnknownTemplate(id)),
            (Some(id), Some(template)) if template.caller_parameters().next().is_some() => {
                lacks.push(Lack::CallerValues(id));
            }
            (Some(_), Some(_)) => {}
        }
        match &self.brand {
            Some(brand) => lacks.extend(known.stands_in_the_way_of(brand)),
            None => {
                let mut brands = known.lines.brands.iter();
                if brands.all(|brand| known.stands_in_the_way_of(&brand.id).is_some()) {
                    lacks.push(Lack::Brand);
                }
            }
        }
        lacks
    }

    /// The workspace's brands whose leads could not be written to; none as long as there is no template.
    pub fn unreachable<'a>(&self, known: &CaptureKnown<'a>) -> Vec<&'a BrandId> {
        let ids = known.lines.brands.iter().map(|brand| &brand.id);
        let unreachable = |brand: &&BrandId| known.stands_in_the_way_of(brand).is_some();
        known.template.map(|_| ids.filter(unreachable).collect()).unwrap_or_default()
    }
}

/// What an operator changes about a set-up; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureChange {
    /// Whether leads are taken.
    pub enabled: Option<bool>,
    /// Origins that are to be there.
    pub add_origins: Vec<WebOrigin>,
    /// Origins that are not.
    pub remove_origins: Vec<WebOrigin>,
    /// The brand of leads that name none.
    pub brand: Patch<BrandId>,
    /// The template that is sent to a lead first.
    pub template: Option<TemplateId>,
    /// The least captcha score that is let in.
    pub threshold: Option<Threshold>,
    /// How many leads a day.
    pub daily_cap: Patch<u32>,
    /// How many of one number.
    pub phone_cap: Patch<u32>,
}

/// More origins than a set-up may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lead capture has at most {} origins", Capture::MAX_ORIGINS)]
pub struct TooManyOrigins;

/// What must be known to tell whether a set-up can be enabled.
#[derive(Clone, Copy, Debug)]
pub struct CaptureKnown<'a> {
    /// Whether there is a captcha secret.
    pub has_secret: bool,
    /// The workspace's lines and brands.
    pub lines: &'a Lines,
    /// The set-up's template, if there is one of that id.
    pub template: Option<&'a Template>,
}

impl CaptureKnown<'_> {
    /// Why a lead of that brand could not be written to by the template.
    fn stands_in_the_way_of(&self, brand: &BrandId) -> Option<Lack> {
        if self.lines.brand(brand).is_none() {
            return Some(Lack::UnknownBrand(brand.clone()));
        }
        let Ok((line, _)) = self.lines.resolve(None, Some(brand)) else {
            return Some(Lack::Line(brand.clone()));
        };
        let template =
            self.template.filter(|template| !template.approved_by.contains(&line.business_account))?;
        let account = line.business_account.clone();
        Some(Lack::Approval { template: template.id, brand: brand.clone(), account })
    }
}

/// What keeps a set-up from being enabled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// No secret for the captcha's provider.
    #[error("it has no captcha secret")]
    Secret,
    /// No page from which leads could come.
    #[error("it has no origin")]
    Origins,
    /// Nothing to be sent.
    #[error("it has no template")]
    Template,
    /// The template is neither the workspace's nor the platform's.
    #[error("there is no template {0} in the workspace or the platform")]
    UnknownTemplate(TemplateId),
    /// Nobody could fill the template.
    #[error("template {0} needs values that only a caller has")]
    CallerValues(TemplateId),
    /// The brand is not there.
    #[error("the workspace has no brand {0:?}")]
    UnknownBrand(BrandId),
    /// The brand reaches nobody.
    #[error("there is no line for brand {0:?}")]
    Line(BrandId),
    /// The provider would not send the template.
    #[error("template {template} is not approved for account {account:?}, the account of brand {brand:?}")]
    Approval {
        /// The template.
        template: TemplateId,
        /// The brand.
        brand: BrandId,
        /// The account behind its line.
        account: BusinessAccountId,
    },
    /// There is no default, and no other that would do.
    #[error("no brand of the workspace has a line with an account for which the template is approved")]
    Brand,
}

/// Why a lead is not taken from whoever sent it. For logs: callers are told nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// No workspace of that id has capture set up.
    UnknownWorkspace,
    /// Capture is disabled.
    Disabled,
    /// The capture key is not the workspace's.
    Key,
    /// The page is not one of the workspace's.
    Origin,
}

impl Objection {
    /// The word for logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownWorkspace => "unknown workspace",
            Self::Disabled => "capture disabled",
            Self::Key => "capture key",
            Self::Origin => "origin",
        }
    }
}

/// A capture key: `lck_` and 24 base62 characters. It stands in the code of pages, so it is no secret; it tells leads
/// of the workspace's pages from those of others who know no more than its id.
#[derive(Clone, PartialEq, Eq)]
pub struct CaptureKey(String);

impl CaptureKey {
    const PREFIX: &'static str = "lck_";
    const LENGTH: usize = 24;
    const PATTERN: &'static str = "^lck_[0-9A-Za-z]{24}$";
    /// What a key is compared with where there is none.
    const NOBODYS: &'static str = "lck_000000000000000000000000";

    /// Makes a key from random numbers, one for each four characters.
    pub fn from_entropy(entropy: [u64; 6]) -> Self {
        Self(format!("{}{}", Self::PREFIX, random_base62(&entropy)))
    }

    /// Reads a key.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let body = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        let fits = body.len() == Self::LENGTH && is_base62(body);
        if fits { Ok(Self(text.to_owned())) } else { Err(Unfit::Shape { pattern: Self::PATTERN }) }
    }

    /// The key.
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
