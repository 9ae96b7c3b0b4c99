//! Lead capture as a workspace has it set up: whose pages may send leads, and what is sent to those who leave one.

use std::fmt;

use subtle::ConstantTimeEq;
use url::{Host, Url};

use crate::captcha::Threshold;
use crate::ids::{TemplateId, WorkspaceId};
use crate::line::{BrandId, Lines};
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

impl Caps {
    /// Whether anything is limited.
    pub fn is_none(self) -> bool {
        self.daily.is_none() && self.per_phone.is_none()
    }
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
        let keyed = match capture {
            Some(capture) => capture.key.is(key),
            None => CaptureKey::NOBODYS.is(key) & false,
        };
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
    const ALPHABET: &'static [u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const PATTERN: &'static str = "^lck_[0-9A-Za-z]{24}$";
    /// What a key is compared with where there is none.
    const NOBODYS: NobodysKey = NobodysKey("lck_000000000000000000000000");

    /// Makes a key from random numbers, one for each four characters: 2^64 is so much more than 62^4 that the bias of
    /// the remainder is below 2^-40.
    pub fn from_entropy(entropy: [u64; 6]) -> Self {
        let mut key = Self::PREFIX.to_owned();
        for mut number in entropy {
            for _ in 0..4 {
                key.push(char::from(Self::ALPHABET[(number % 62) as usize]));
                number /= 62;
            }
        }
        Self(key)
    }

    /// Reads a key.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let body = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        let fits = body.len() == Self::LENGTH && body.bytes().all(|byte| Self::ALPHABET.contains(&byte));
        if fits { Ok(Self(text.to_owned())) } else { Err(Unfit::Shape { pattern: Self::PATTERN }) }
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is it; takes the same time whatever differs.
    fn is(&self, text: &str) -> bool {
        same(&self.0, text)
    }
}

struct NobodysKey(&'static str);

impl NobodysKey {
    fn is(&self, text: &str) -> bool {
        same(self.0, text)
    }
}

fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
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
    use crate::line::Brand;
    use proptest::prelude::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::from_u128(1))
    }

    fn key() -> CaptureKey {
        CaptureKey::from_entropy([1, 2, 3, 4, 5, 6])
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
