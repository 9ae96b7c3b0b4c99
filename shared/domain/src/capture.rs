//! Lead capture as a workspace has it set up: whose pages may send leads, and what is sent to those who leave one.

use std::fmt;
use std::time::Duration;

use subtle::ConstantTimeEq;
use url::{Host, Url};

use crate::captcha::Threshold;
use crate::encoding::{is_base62, random_base62};
use crate::ids::{TemplateId, WorkspaceId};
use crate::line::{BrandId, BusinessAccountId, Lines};
use crate::patch::Patch;
use crate::secret::Secret;
use crate::template::Template;
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
    pub caps: Caps,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

/// How many leads are taken on a day (of UTC); no limit where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
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
            caps: Caps::default(),
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
            caps: Caps {
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

/// What a request says of the page it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentOrigin {
    /// Nothing: it comes from a server.
    Absent,
    /// One `Origin` header, as it was sent.
    One(String),
    /// Several, or one that is no text. No browser sends that.
    Unclear,
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

/// The origin of a web page as browsers spell it: scheme, host and, unless it is the scheme's own, port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebOrigin {
    text: String,
    host: String,
}

impl WebOrigin {
    const MAX: usize = 300;

    /// Reads an origin in exactly the spelling that browsers send, as it is compared byte for byte: `https://`, or
    /// `http://` on the machine itself; a host in lower case (punycode where it is international); no path, no slash.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let unfit = |reason| Err(Unfit::Value { reason });
        let Some(url) = Url::parse(text).ok().filter(|_| text.len() <= Self::MAX) else {
            return unfit("an origin looks like https://www.example.com or https://example.com:8443");
        };
        let loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => return unfit("an origin has a host"),
        };
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            _ => return unfit("an origin is https://, or http:// on localhost"),
        }
        if url.origin().ascii_serialization() != text {
            return unfit(
                "an origin is spelled as browsers send it: lower case, no path, no default port, no slash",
            );
        }
        if url.host_str().is_some_and(|host| host.ends_with('.') || host.contains('*')) {
            return unfit("an origin names one host, without a dot at its end");
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        Ok(Self { text: text.to_owned(), host })
    }

    /// The origin.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its host.
    pub fn host(&self) -> &str {
        &self.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Brand, ChannelId, Line, Provider};
    use crate::template::{Source, TemplateScope, Variable};
    use proptest::prelude::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::from_u128(1))
    }

    fn key() -> CaptureKey {
        CaptureKey::from_entropy([10, 11, 12, 13, 14, 15])
    }

    fn capture() -> Capture {
        let origins = ["https://www.example.com", "https://shop.example.com:8443"];
        Capture {
            enabled: true,
            origins: origins.map(|origin| WebOrigin::parse(origin).unwrap()).to_vec(),
            ..Capture::new(workspace(), key(), NOW)
        }
    }

    fn one(origin: &str) -> SentOrigin {
        SentOrigin::One(origin.to_owned())
    }

    #[test]
    fn every_objection_is_found_and_the_first_of_several_is_told() {
        let (capture, key) = (capture(), key());
        let disabled = Capture { enabled: false, ..capture.clone() };
        let good = one("https://www.example.com");
        let foreign = one("https://evil.example");
        let rows = [
            (Some(&capture), key.as_str(), &good, None),
            (Some(&capture), key.as_str(), &SentOrigin::Absent, None),
            (None, key.as_str(), &good, Some(Objection::UnknownWorkspace)),
            (None, "lck_000000000000000000000000", &SentOrigin::Absent, Some(Objection::UnknownWorkspace)),
            (Some(&disabled), key.as_str(), &good, Some(Objection::Disabled)),
            (Some(&disabled), "x", &foreign, Some(Objection::Disabled)),
            (Some(&capture), "", &good, Some(Objection::Key)),
            (Some(&capture), &key.as_str()[1..], &good, Some(Objection::Key)),
            (Some(&capture), &key.as_str().to_lowercase(), &foreign, Some(Objection::Key)),
            (Some(&capture), key.as_str(), &foreign, Some(Objection::Origin)),
            (Some(&capture), key.as_str(), &SentOrigin::Unclear, Some(Objection::Origin)),
        ];
        for (capture, key, origin, expected) in rows {
            assert_eq!(Capture::admits(capture, key, origin).err(), expected, "{key} {origin:?}");
        }
    }

    #[test]
    fn an_origin_is_allowed_only_as_it_is_written_down() {
        let capture = capture();
        assert!(capture.allows(&one("https://www.example.com")));
        assert!(capture.allows(&one("https://shop.example.com:8443")));
        for foreign in [
            "",
            "null",
            "*",
            "https://www.example.com/",
            "https://www.example.com:443",
            "https://www.example.com.",
            "https://WWW.example.com",
            "HTTPS://www.example.com",
            "http://www.example.com",
            "https://www.example.com.evil.example",
            "https://evil-www.example.com",
            "https://example.com",
            "https://shop.example.com",
            "https://shop.example.com:8444",
            " https://www.example.com",
            "https://www.example.com,https://evil.example",
            "https://www.example.com https://evil.example",
        ] {
            assert!(!capture.allows(&one(foreign)), "{foreign}");
        }
        assert!(!capture.allows(&SentOrigin::Absent), "an answer to a server names no origin");
    }

    #[test]
    fn origins_are_taken_in_the_spelling_of_browsers_alone() {
        for good in [
            "https://example.com",
            "https://www.example.com:8443",
            "https://xn--bcher-kva.example",
            "http://localhost:3000",
            "http://127.0.0.1:8795",
            "http://[::1]:8795",
            "https://192.0.2.7",
        ] {
            assert_eq!(WebOrigin::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "example.com",
            "//example.com",
            "https://",
            "https://Example.com",
            "https://example.com/",
            "https://example.com/path",
            "https://example.com?x",
            "https://example.com#x",
            "https://example.com:443",
            "https://example.com.",
            "https://user@example.com",
            "https://*.example.com",
            "https://bücher.example",
            "http://example.com",
            "http://127.0.0.1.example.com",
            "file:///x",
            "null",
            "*",
            "chrome-extension://abc",
        ] {
            assert!(WebOrigin::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(WebOrigin::parse("https://a.example:8443").unwrap().host(), "a.example");
    }

    #[test]
    fn the_brand_is_the_leads_own_or_the_set_ups_and_must_be_there() {
        let brand = |id: &str| BrandId::parse(id).unwrap();
        let there = Brand::new(brand("aster"), workspace(), "Aster", NOW).unwrap();
        let lines = Lines { brands: vec![there], ..Lines::default() };
        let with = |brand| Capture { brand, ..capture() };
        let rows = [
            (Some(brand("aster")), Some(brand("gone")), Some(brand("aster"))),
            (None, Some(brand("aster")), Some(brand("aster"))),
            (Some(brand("other")), Some(brand("aster")), None),
            (None, Some(brand("gone")), None),
            (None, None, None),
        ];
        for (named, default, expected) in rows {
            assert_eq!(with(default).brand_of(named.as_ref(), &lines), expected);
        }
    }

    #[test]
    fn a_capture_key_reads_back_and_nothing_else_is_one() {
        let key = key();
        assert_eq!(CaptureKey::parse(key.as_str()), Ok(key.clone()));
        for bad in
            ["", "lck_", &key.as_str()[..27], &format!("{}x", key.as_str()), "lck_00000000000000000000000!"]
        {
            assert!(CaptureKey::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(format!("{key:?}"), "[CaptureKey]");
    }

    #[test]
    fn a_change_changes_what_it_says_and_a_repeated_one_nothing() {
        let origin = |text: &str| WebOrigin::parse(text).unwrap();
        let later = NOW.plus(Duration::from_secs(1));
        let capture = capture();
        assert_eq!(capture.changed(&CaptureChange::default(), later), Ok(None));
        let change = CaptureChange {
            enabled: Some(false),
            add_origins: vec![origin("https://a.example"), origin("https://www.example.com")],
            remove_origins: vec![origin("https://shop.example.com:8443"), origin("https://gone.example")],
            brand: Patch::Set(BrandId::parse("aster").unwrap()),
            template: Some(TemplateId::from_uuid(Uuid::from_u128(7))),
            threshold: Threshold::from_hundredths(70),
            daily_cap: Patch::Set(10),
            phone_cap: Patch::Set(2),
        };
        let next = capture.changed(&change, later).unwrap().unwrap();
        let expected = Capture {
            enabled: false,
            origins: vec![origin("https://www.example.com"), origin("https://a.example")],
            brand: BrandId::parse("aster").ok(),
            template: Some(TemplateId::from_uuid(Uuid::from_u128(7))),
            threshold: Threshold::from_hundredths(70).unwrap(),
            caps: Caps { daily: Some(10), per_phone: Some(2) },
            updated_at: later,
            version: 2,
            ..capture.clone()
        };
        assert_eq!(next, expected);
        assert_eq!(next.changed(&change, later), Ok(None));
        let cleared = CaptureChange {
            brand: Patch::Clear,
            daily_cap: Patch::Clear,
            phone_cap: Patch::Clear,
            ..CaptureChange::default()
        };
        let next = next.changed(&cleared, NOW).unwrap().unwrap();
        assert_eq!((next.brand, next.caps, next.version), (None, Caps::default(), 3));
        assert_eq!(next.updated_at, later.plus(Duration::from_millis(1)), "time never goes back");
    }

    #[test]
    fn a_set_up_has_no_more_than_twenty_origins() {
        let origins = |count: usize| {
            (0..count).map(|n| WebOrigin::parse(&format!("https://w{n}.example")).unwrap()).collect()
        };
        let add = |count| CaptureChange { add_origins: origins(count), ..CaptureChange::default() };
        let capture = Capture::new(workspace(), key(), NOW);
        let full = capture.with(&add(20)).unwrap();
        assert_eq!(capture.with(&add(21)), Err(TooManyOrigins));
        assert_eq!(full.changed(&add(20), NOW), Ok(None), "each is there once");
        assert_eq!(full.changed(&add(21), NOW), Err(TooManyOrigins));
        let swapped = CaptureChange {
            remove_origins: origins(1),
            add_origins: vec![WebOrigin::parse("https://new.example").unwrap()],
            ..CaptureChange::default()
        };
        assert_eq!(full.with(&swapped).unwrap().origins.len(), 20);
    }

    #[test]
    fn another_key_is_another_version_and_nothing_else() {
        let (capture, other) = (capture(), CaptureKey::from_entropy([9; 6]));
        let next = capture.rekeyed(other.clone(), NOW);
        let updated_at = NOW.plus(Duration::from_millis(1));
        assert_eq!(next, Capture { key: other, updated_at, version: 2, ..capture });
    }

    #[test]
    fn a_captcha_secret_is_of_visible_characters() {
        for good in ["s", &"x".repeat(512)] {
            assert_eq!(Capture::secret(good).unwrap(), Secret::new(good));
        }
        for bad in ["", "two words", "line\n", "caf\u{e9}", &"x".repeat(513)] {
            assert!(Capture::secret(bad).is_err(), "{bad}");
        }
    }

    /// A template that is approved for the accounts, with variables that only a caller fills.
    fn template(approved: &[&str], asked: &[&str]) -> Template {
        let variable = |name: &&str| Variable::new(name, Source::Caller).unwrap();
        Template {
            id: TemplateId::from_uuid(Uuid::from_u128(7)),
            scope: TemplateScope::Platform,
            provider: Provider::WhatsApp,
            name: "hello".to_owned(),
            language: "en".to_owned(),
            variables: asked.iter().map(variable).collect(),
            approved_by: approved.iter().map(|id| BusinessAccountId::parse(id).unwrap()).collect(),
            created_at: NOW,
            version: 1,
        }
    }

    /// `alpha` writes from an account of its own; `beta`, without a line, from the default one's, which is `alpha`'s.
    fn lines() -> Lines {
        let brand = |id: &str, line: Option<&str>| Brand {
            line: line.map(|line| ChannelId::parse(line).unwrap()),
            ..Brand::new(BrandId::parse(id).unwrap(), workspace(), "A brand", NOW).unwrap()
        };
        let line = |id: &str, brand: &str, account: &str| {
            let (id, brand) = (ChannelId::parse(id).unwrap(), BrandId::parse(brand).unwrap());
            Line::new(workspace(), id, brand, BusinessAccountId::parse(account).unwrap(), NOW).unwrap()
        };
        Lines {
            lines: vec![line("1", "alpha", "A"), line("2", "gamma", "C")],
            brands: vec![brand("alpha", Some("1")), brand("beta", None), brand("gamma", Some("2"))],
            default: ChannelId::parse("1").ok(),
        }
    }

    #[test]
    fn all_that_keeps_a_set_up_from_being_enabled_is_named() {
        let (lines, nobody) = (lines(), Lines::default());
        let no_default = Lines { default: None, ..lines.clone() };
        let brand = |id: &str| BrandId::parse(id).unwrap();
        let id = template(&[], &[]).id;
        let complete =
            |named: Option<&str>| Capture { brand: named.map(brand), template: Some(id), ..capture() };
        let (good, unapproved) = (template(&["A"], &[]), template(&["B"], &[]));
        let asking = template(&["A"], &["code"]);
        let rows = [
            (complete(Some("alpha")), true, &lines, Some(&good), vec![]),
            (complete(Some("beta")), true, &lines, Some(&good), vec![]),
            (complete(None), true, &lines, Some(&good), vec![]),
            (complete(Some("alpha")), false, &lines, Some(&good), vec![Lack::Secret]),
            (
                Capture { origins: vec![], ..complete(Some("alpha")) },
                true,
                &lines,
                Some(&good),
                vec![Lack::Origins],
            ),
            (Capture { template: None, ..complete(Some("alpha")) }, true, &lines, None, vec![Lack::Template]),
            (complete(Some("alpha")), true, &lines, None, vec![Lack::UnknownTemplate(id)]),
            (complete(Some("alpha")), true, &lines, Some(&asking), vec![Lack::CallerValues(id)]),
            (complete(Some("delta")), true, &lines, Some(&good), vec![Lack::UnknownBrand(brand("delta"))]),
            (complete(Some("beta")), true, &no_default, Some(&good), vec![Lack::Line(brand("beta"))]),
            (
                complete(Some("gamma")),
                true,
                &lines,
                Some(&good),
                vec![Lack::Approval {
                    template: id,
                    brand: brand("gamma"),
                    account: BusinessAccountId::parse("C").unwrap(),
                }],
            ),
            (complete(None), true, &lines, Some(&unapproved), vec![Lack::Brand]),
            (complete(None), true, &nobody, Some(&good), vec![Lack::Brand]),
            (
                Capture::new(workspace(), key(), NOW),
                false,
                &nobody,
                None,
                vec![Lack::Secret, Lack::Origins, Lack::Template, Lack::Brand],
            ),
        ];
        for (capture, has_secret, lines, template, expected) in rows {
            let known = CaptureKnown { has_secret, lines, template };
            assert_eq!(capture.lacks(&known), expected);
        }
    }

    #[test]
    fn brands_whose_leads_could_not_be_written_to_are_told() {
        let (lines, good) = (lines(), template(&["A"], &[]));
        let no_default = Lines { default: None, ..lines.clone() };
        let told = |lines: &Lines, template: Option<&Template>| {
            let known = CaptureKnown { has_secret: false, lines, template };
            let brands = capture().unreachable(&known);
            brands.into_iter().map(|brand| brand.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(told(&lines, Some(&good)), ["gamma"]);
        assert_eq!(told(&no_default, Some(&good)), ["beta", "gamma"]);
        assert_eq!(told(&lines, Some(&template(&["A", "C"], &[]))), [""; 0]);
        assert_eq!(told(&lines, None), [""; 0]);
    }

    proptest! {
        #[test]
        fn keys_of_any_entropy_have_the_form(entropy: [u64; 6]) {
            prop_assert!(CaptureKey::parse(CaptureKey::from_entropy(entropy).as_str()).is_ok());
        }

        #[test]
        fn an_origin_that_is_taken_is_what_its_url_serializes_to(text in "https?://[a-zA-Z0-9.:/@*-]{0,20}") {
            if let Ok(origin) = WebOrigin::parse(&text) {
                prop_assert_eq!(Url::parse(&text).unwrap().origin().ascii_serialization(), origin.as_str());
            }
        }
    }
}
