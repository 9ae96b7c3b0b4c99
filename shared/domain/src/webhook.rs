//! Customers' webhook endpoints: where, whether, which events, under which secrets.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::{Host, Url};

use crate::address::is_public;
use crate::event::EventType;
use crate::ids::{EndpointId, EventId, WorkspaceId};
use crate::lane::Slot;
use crate::pace::Caps;
use crate::secret::Secret;
use crate::text::Unfit;
use crate::time::Timestamp;

/// A customer's webhook endpoint. Its secrets stand apart ([`EndpointSecrets`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// The endpoint's id.
    pub id: EndpointId,
    /// The workspace whose events it gets.
    pub workspace_id: WorkspaceId,
    /// Where deliveries go.
    pub url: EndpointUrl,
    /// Whether it gets any.
    pub state: EndpointState,
    /// Which events it gets.
    pub filter: EventFilter,
    /// What the operator allows it at most.
    pub caps: Caps,
    /// How many partitions its deliveries are spread over. It only grows.
    pub slots: u8,
    /// Deliveries of events before this moment are not attempted any more: it was disabled too long for them.
    pub forgets_before: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

impl WebhookEndpoint {
    /// The greatest number of endpoints of a workspace.
    pub const MAX_PER_WORKSPACE: usize = 10;
    /// The greatest number of slots of an endpoint. One bears about 400 deliveries a second.
    pub const MAX_SLOTS: u8 = 16;

    /// Whether an event of that type is to be delivered here.
    pub fn wants(&self, event_type: EventType) -> bool {
        self.is_enabled() && self.filter.takes(event_type)
    }

    /// Whether deliveries are attempted.
    pub fn is_enabled(&self) -> bool {
        self.state == EndpointState::Enabled
    }

    /// The endpoint once disabled; `None` when it is already, whose first reason stays.
    pub fn disabled(&self, reason: DisabledReason, now: Timestamp) -> Option<Self> {
        let state = EndpointState::Disabled { since: now, reason };
        self.is_enabled().then(|| Self { state, version: self.version + 1, ..self.clone() })
    }

    /// The endpoint once enabled; `None` when it is already. What was parked for longer than [`PARKED_FOR`] is left.
    pub fn enabled(&self, now: Timestamp) -> Option<Self> {
        let EndpointState::Disabled { since, .. } = self.state else { return None };
        let is_too_long = now.since(since) > PARKED_FOR;
        let forgets_before = if is_too_long { Some(now) } else { self.forgets_before };
        let version = self.version + 1;
        Some(Self { state: EndpointState::Enabled, forgets_before, version, ..self.clone() })
    }

    /// The slot that an event's delivery stands in.
    pub fn slot_of(&self, event: EventId) -> Slot {
        let number = event.as_uuid().as_u128() % u128::from(self.slots.max(1));
        self.slot(u8::try_from(number).unwrap_or_default())
    }

    /// All its slots.
    pub fn all_slots(&self) -> impl Iterator<Item = Slot> {
        (0..self.slots.max(1)).map(|number| self.slot(number))
    }

    fn slot(&self, number: u8) -> Slot {
        Slot { workspace: self.workspace_id, endpoint: self.id, number }
    }

    /// Whether a delivery of an event of that moment is still to be attempted.
    pub fn remembers(&self, created_at: Timestamp) -> bool {
        self.forgets_before.is_none_or(|before| before <= created_at)
    }
}

/// How long deliveries wait for a disabled endpoint to be enabled.
pub const PARKED_FOR: Duration = Duration::from_secs(14 * 86_400);

/// Whether an endpoint gets deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointState {
    /// It does.
    Enabled,
    /// It does not: events that come now pass it by, deliveries under way are parked.
    Disabled {
        /// Since when.
        since: Timestamp,
        /// Who or what disabled it.
        reason: DisabledReason,
    },
}

impl EndpointState {
    /// `ENABLED` or `DISABLED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "ENABLED",
            Self::Disabled { .. } => "DISABLED",
        }
    }
}

/// Why an endpoint is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledReason {
    /// The operator did it.
    Operator,
    /// It answered 410.
    Gone,
    /// It did nothing but fail for five days.
    Failing,
}

impl DisabledReason {
    const ALL: &'static [(&'static str, Self)] =
        &[("OPERATOR", Self::Operator), ("GONE", Self::Gone), ("FAILING", Self::Failing)];

    /// Reads a row's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, reason)| *reason)
            .ok_or(Unfit::NotOneOf { expected: &["OPERATOR", "GONE", "FAILING"] })
    }

    /// The word for rows and lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "OPERATOR",
            Self::Gone => "GONE",
            Self::Failing => "FAILING",
        }
    }
}

/// Which events an endpoint gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// All types, future ones too.
    All,
    /// These, at least one.
    Only(BTreeSet<EventType>),
}

impl EventFilter {
    /// Reads dotted names; none, or `*` among them, means all.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Unfit> {
        let names: Vec<&str> = names.into_iter().collect();
        if names.is_empty() || names.contains(&"*") {
            return Ok(Self::All);
        }
        names.into_iter().map(EventType::parse).collect::<Result<_, _>>().map(Self::Only)
    }

    /// The dotted names; `*` for all.
    pub fn names(&self) -> Vec<&'static str> {
        match self {
            Self::All => vec!["*"],
            Self::Only(types) => types.iter().map(|event_type| event_type.as_str()).collect(),
        }
    }

    /// Whether an event of that type passes. A trial delivery, which the operator asks for, always does.
    pub fn takes(&self, event_type: EventType) -> bool {
        match self {
            Self::All => true,
            Self::Only(types) => event_type == EventType::WebhookTest || types.contains(&event_type),
        }
    }
}

/// Where deliveries go: an HTTPS URL on port 443 or 8443 of a public host, normalised as the URL standard has it
/// (which writes `0x7f.1` as `127.0.0.1`).
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointUrl(Url);

impl EndpointUrl {
    /// The greatest number of bytes of a URL once normalised, which may write one letter as three times three.
    pub const MAX: usize = 2_048;
    const PORTS: [u16; 2] = [443, 8443];
    /// Names that no public resolver answers for (RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`).
    const PRIVATE_SUFFIXES: [&'static str; 7] =
        ["localhost", "local", "internal", "home.arpa", "test", "invalid", "onion"];

    /// Reads the URL of a new endpoint. What a host's name resolves to is not known here: each delivery looks.
    pub fn parse(text: &str, trusted: &TrustedReceivers) -> Result<Self, UrlRefused> {
        let url = Self::restore(text)?;
        url.reach(trusted)?;
        Ok(url)
    }

    /// Reads a URL out of a row. Whether it may be called is asked before each delivery ([`EndpointUrl::reach`]):
    /// a deployment's trusted receivers may have changed since it was written.
    pub fn restore(text: &str) -> Result<Self, UrlRefused> {
        // The URL standard drops tabs, newlines and outer spaces; a customer who typed them made a mistake.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(UrlRefused::NotAUrl);
        }
        let url = Url::parse(text).map_err(|_| UrlRefused::NotAUrl)?;
        if url.scheme() != "https" {
            return Err(UrlRefused::NotHttps);
        }
        if !url.username().is_empty() || url.password().is_some() || text_has_userinfo(text) {
            return Err(UrlRefused::UserInfo);
        }
        if url.fragment().is_some() {
            return Err(UrlRefused::Fragment);
        }
        if url.as_str().len() > Self::MAX {
            return Err(UrlRefused::TooLong { max: Self::MAX });
        }
        Ok(Self(url))
    }

    /// Whether the URL may be called, and how: by the rules for public receivers or as one that is trusted.
    pub fn reach(&self, trusted: &TrustedReceivers) -> Result<Reach, UrlRefused> {
        if trusted.holds(&self.0) {
            return Ok(Reach::Trusted);
        }
        if !Self::PORTS.contains(&self.0.port_or_known_default().unwrap_or(0)) {
            return Err(UrlRefused::Port);
        }
        match self.0.host() {
            Some(Host::Ipv4(address)) if is_public(address.into()) => Ok(Reach::Public),
            Some(Host::Ipv6(address)) if is_public(address.into()) => Ok(Reach::Public),
            Some(Host::Domain(name)) if is_public_name(name) => Ok(Reach::Public),
            _ => Err(UrlRefused::Address),
        }
    }

    /// The URL, normalised.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The URL, for an HTTP client.
    pub fn as_url(&self) -> &Url {
        &self.0
    }
}

/// An empty userinfo (`https://@host`) leaves no trace in the parsed URL.
fn text_has_userinfo(text: &str) -> bool {
    let behind_scheme = text.split_once(':').map_or(text, |(_, rest)| rest).trim_start_matches(['/', '\\']);
    behind_scheme.split(['/', '\\', '?', '#']).next().unwrap_or_default().contains('@')
}

/// A name that public DNS can answer for: dotted, and not under a name kept for private use.
fn is_public_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let under = |suffix: &str| {
        name.strip_suffix(suffix).is_some_and(|front| front.is_empty() || front.ends_with('.'))
    };
    name.contains('.') && !EndpointUrl::PRIVATE_SUFFIXES.into_iter().any(under)
}

// A customer may have put a token into the path or the query: logs show the host alone.
impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}/[redacted]", self.0.host_str().unwrap_or_default())
    }
}

/// How a URL may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only at public addresses, each checked after its name was resolved.
    Public,
    /// Wherever its name leads: the deployment lists this receiver.
    Trusted,
}

/// Receivers that the deployment allows although their port or address is not public: exact origins. Empty
/// unless the deployment says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedReceivers(BTreeSet<String>);

impl TrustedReceivers {
    /// Nobody: what a deployment has that says nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads comma-separated origins, such as `https://127.0.0.1:9443`.
    pub fn parse(list: &str) -> Result<Self, UrlRefused> {
        let origins = list.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        origins.map(Self::read_origin).collect::<Result<_, _>>().map(Self)
    }

    /// Whether nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn read_origin(text: &str) -> Result<String, UrlRefused> {
        let EndpointUrl(url) = EndpointUrl::restore(text)?;
        if url.path() != "/" || url.query().is_some() {
            return Err(UrlRefused::NotAnOrigin);
        }
        Ok(url.origin().ascii_serialization())
    }

    fn holds(&self, url: &Url) -> bool {
        self.0.contains(&url.origin().ascii_serialization())
    }
}

/// Why a URL cannot be an endpoint's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// It cannot be read.
    #[error("this is not a URL")]
    NotAUrl,
    /// Another scheme.
    #[error("a webhook endpoint must use https")]
    NotHttps,
    /// User name or password.
    #[error("a webhook endpoint's URL must not contain a user name or a password")]
    UserInfo,
    /// A fragment, which would never be sent.
    #[error("a webhook endpoint's URL must not contain a fragment (#)")]
    Fragment,
    /// Another port.
    #[error("a webhook endpoint must use port 443 or 8443")]
    Port,
    /// An address or a name that is not the public internet's.
    #[error("a webhook endpoint must have a public address")]
    Address,
    /// Too long.
    #[error("a webhook endpoint's URL must have at most {max} bytes")]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// A trusted receiver with a path.
    #[error("a trusted receiver must be an origin: only scheme, host and port")]
    NotAnOrigin,
}

/// The secrets of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSecrets {
    /// The customer's own API key, sent along with each delivery.
    pub api_key: ReceiverKey,
    /// Under which deliveries are signed.
    pub signing: SigningSecrets,
}

/// The signing secrets of an endpoint in their rotation: the next one signs beside the active one until it is
/// activated, the previous one beside its successor until its overlap ends. At most these three sign at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecrets {
    /// Makes the legacy signature and the first of the Standard Webhooks ones.
    pub active: SigningSecret,
    /// Given out and not yet activated.
    pub next: Option<SigningSecret>,
    /// Replaced, and until when it still signs.
    pub previous: Option<(SigningSecret, Timestamp)>,
}

impl SigningSecrets {
    /// The secrets of an endpoint that was never rotated.
    pub fn only(active: SigningSecret) -> Self {
        Self { active, next: None, previous: None }
    }

    /// How long a replaced secret signs beside its successor.
    pub const OVERLAP: Duration = Duration::from_secs(24 * 3_600);

    /// Every secret that signs at this moment, the active one first.
    pub fn in_force(&self, now: Timestamp) -> impl Iterator<Item = &SigningSecret> {
        let previous = self.overlapping(now).map(|(secret, _)| secret);
        std::iter::once(&self.active).chain(&self.next).chain(previous)
    }

    /// The replaced secret that still signs, and until when.
    pub fn overlapping(&self, now: Timestamp) -> Option<&(SigningSecret, Timestamp)> {
        self.previous.as_ref().filter(|(_, until)| now < *until)
    }

    /// The first phase of a rotation: a next secret, which signs beside the active one from now on. One that waits to be
    /// activated is given up for it only if `replace` says so: somebody may have put it in place already.
    pub fn rotated(
        &self,
        next: SigningSecret,
        replace: bool,
        now: Timestamp,
    ) -> Result<Self, RotationRefused> {
        if self.next.is_some() && !replace {
            return Err(RotationRefused::NextWaits);
        }
        let previous = self.overlapping(now).cloned();
        Ok(Self { active: self.active.clone(), next: Some(next), previous })
    }

    /// The second phase: the next secret becomes the active one, and the one before signs beside it until its overlap
    /// ends. Two may not overlap their successors at a time: nobody's secret stops signing before its day is over.
    pub fn activated(&self, now: Timestamp) -> Result<Self, RotationRefused> {
        match (&self.next, self.overlapping(now)) {
            (None, None) => Err(RotationRefused::NoNext),
            (None, Some((_, until))) => Err(RotationRefused::Activated { until: *until }),
            (Some(_), Some((_, until))) => Err(RotationRefused::Overlapping { until: *until }),
            (Some(next), None) => {
                let previous = Some((self.active.clone(), now.plus(Self::OVERLAP)));
                Ok(Self { active: next.clone(), next: None, previous })
            }
        }
    }
}

/// Why a rotation does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationRefused {
    /// A secret was given out that is not activated yet.
    #[error("a next secret already exists: activate it, or replace it with --replace")]
    NextWaits,
    /// There is nothing to activate.
    #[error("there is no next secret: rotate first")]
    NoNext,
    /// It was activated, and no other was given out since.
    #[error("the next secret is already active, and the previous secret also signs until {until}")]
    Activated {
        /// When the overlap ends.
        until: Timestamp,
    },
    /// The secret before the active one signs still.
    #[error("the previous secret signs until {until}: activate the next secret after that")]
    Overlapping {
        /// When the overlap ends.
        until: Timestamp,
    },
}

/// A signing secret: `whsec_` and the base64 of 32 bytes. Prints redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecret(Secret);

impl SigningSecret {
    const PREFIX: &'static str = "whsec_";
    const PATTERN: &'static str = "^whsec_[A-Za-z0-9+/]{43}=$";

    /// Makes a secret of 32 random bytes.
    pub fn from_entropy(entropy: [u8; 32]) -> Self {
        Self(Secret::new(format!("{}{}", Self::PREFIX, STANDARD.encode(entropy))))
    }

    /// Reads a secret as displayed.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let secret = Self(Secret::new(text));
        match secret.decoded() {
            Some(bytes) if bytes.len() == 32 => Ok(secret),
            _ => Err(Unfit::Shape { pattern: Self::PATTERN }),
        }
    }

    /// The secret as displayed to the customer, whose UTF-8 bytes are the key of the legacy signature.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The 32 bytes behind the prefix, the key of the Standard Webhooks signature.
    pub fn key_bytes(&self) -> Vec<u8> {
        // Both constructors made sure that it decodes.
        self.decoded().unwrap_or_default()
    }

    fn decoded(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.expose().strip_prefix(Self::PREFIX)?).ok()
    }
}

/// The customer's custom API key, sent as it is in a header: 1 to 256 visible ASCII characters. Prints redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverKey(Secret);

impl ReceiverKey {
    /// The greatest number of characters.
    pub const MAX: usize = 256;
    const PATTERN: &'static str = "^[!-~]{1,256}$";

    /// Reads a key.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = (1..=Self::MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(Secret::new(text))) } else { Err(Unfit::Shape { pattern: Self::PATTERN }) }
    }

    /// The key itself.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> Option<UrlRefused> {
        EndpointUrl::parse(text, &TrustedReceivers::none()).err()
    }

    #[test]
    fn a_url_of_a_public_host_on_443_or_8443_is_taken() {
        for (text, normal) in [
            ("https://hooks.example.com/in?x=1", "https://hooks.example.com/in?x=1"),
            ("https://hooks.example.com:443", "https://hooks.example.com/"),
            ("HTTPS://Hooks.Example.COM:8443/A", "https://hooks.example.com:8443/A"),
            ("https://8.8.8.8/", "https://8.8.8.8/"),
            ("https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443/"),
            ("https://bücher.example.org/@in", "https://xn--bcher-kva.example.org/@in"),
        ] {
            let url = EndpointUrl::parse(text, &TrustedReceivers::none()).unwrap();
            assert_eq!(url.as_str(), normal);
            assert_eq!(EndpointUrl::restore(normal), Ok(url));
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_reads_back(
            host in prop_oneof!["[a-zé]{1,9}\\.example\\.org", "[a-zA-Z0-9.:\\[\\]é%-]{1,20}", "\\PC{1,12}"],
            path in "[/?@:\\\\a-z%é<>|{}'\"^`.]{0,900}",
        ) {
            if let Ok(url) = EndpointUrl::parse(&format!("https://{host}/{path}"), &TrustedReceivers::none()) {
                prop_assert_eq!(EndpointUrl::restore(url.as_str()), Ok(url.clone()));
            }
        }
    }

    #[test]
    fn every_other_url_is_refused_for_its_reason() {
        use UrlRefused::*;
        let long = format!("https://example.com/{}", "a".repeat(EndpointUrl::MAX));
        let long_once_encoded = format!("https://example.com/{}", "é".repeat(EndpointUrl::MAX / 3));
        let rows: &[(UrlRefused, &[&str])] = &[
            (
                NotAUrl,
                &[
                    "",
                    "example.com",
                    "https://",
                    "https://exa mple.com",
                    " https://example.com",
                    "https://example.com/\n",
                    "https://[::1",
                    "https://256.256.256.256/",
                    "https://1.2.3.4.5/",
                    "https://exa%00mple.com",
                    "https://example.com:99999/",
                ],
            ),
            (
                NotHttps,
                &[
                    "http://example.com",
                    "ftp://example.com",
                    "file:///etc/passwd",
                    "javascript:alert(1)",
                    "wss://example.com",
                    "gopher://127.0.0.1",
                ],
            ),
            (
                UserInfo,
                &[
                    "https://user@example.com",
                    "https://user:pw@example.com",
                    "https://:pw@example.com",
                    "https://@example.com",
                    "https:\\\\@example.com",
                    "https://example.com@10.0.0.1/",
                ],
            ),
            (Fragment, &["https://example.com/#in", "https://example.com#"]),
            (
                Port,
                &[
                    "https://example.com:80",
                    "https://example.com:22/",
                    "https://example.com:9443",
                    "https://8.8.8.8:8080",
                    "https://example.com:0",
                ],
            ),
            (TooLong { max: EndpointUrl::MAX }, &[&long, &long_once_encoded]),
        ];
        for (reason, texts) in rows {
            for text in *texts {
                assert_eq!(refused(text), Some(*reason), "{text}");
            }
        }
    }

    #[test]
    fn an_address_that_is_not_public_is_refused_in_every_spelling() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "017700000001",
            "0177.0.0.1",
            "0x7F.0x0.0x0.0x1",
            "127.0.0.1.",
            "１２７.0.0.1",
            "127。0。0。1",
            "①②⑦.⓪.⓪.①",
            "%31%32%37.0.0.1",
            "0",
            "0.0.0.0",
            "10.0.0.1",
            "10.1",
            "0xa9fea9fe",
            "169.254.169.254",
            "2852039166",
            "0251.0376.0251.0376",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "198.51.100.7",
            "203.0.113.9",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:8.8.8.8]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::169.254.169.254]",
            "[2002:7f00:1::]",
            "[2001::1]",
            "[fe80::1]",
            "[fd00:ec2::254]",
            "[fc00::1]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[fec0::1]",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "printer.local",
            "db.internal",
            "intranet",
            "metadata.google.internal",
            "x.home.arpa",
            "x.test",
            "x.invalid",
            "a.onion",
        ] {
            let text = format!("https://{host}/");
            assert_eq!(refused(&text), Some(UrlRefused::Address), "{text}");
        }
    }

    /// One number of an IPv4 address, in a base that URLs know, with zeros before it.
    fn number(base: u8, zeros: usize, value: u32) -> String {
        let zeros = "0".repeat(zeros);
        match base {
            0 => value.to_string(),
            1 => format!("0{zeros}{value:o}"),
            2 => format!("0x{zeros}{value:x}"),
            _ => format!("0X{zeros}{value:X}"),
        }
    }

    /// A host's text with some of its characters written otherwise, as URLs allow: percent-encoded, wide, or with another
    /// full stop.
    fn disguised(host: &str, ways: &[u8]) -> String {
        let disguise = |(c, way): (char, &u8)| match (c, way % 8) {
            ('.', 1) => "。".to_owned(),
            ('.', 2) => "．".to_owned(),
            ('.', 3) => "｡".to_owned(),
            (c, 4) => format!("%{:02x}", u32::from(c)),
            (c, 5) if c.is_ascii_alphanumeric() => {
                char::from_u32(u32::from(c) - 0x21 + 0xff01).unwrap().to_string()
            }
            (c, _) => c.to_string(),
        };
        host.chars().zip(ways.iter().cycle()).map(disguise).collect()
    }

    /// An address of IPv4 that is not public, by the parts that URLs allow: the last of them fills what is left.
    fn spelled_v4() -> impl Strategy<Value = (Ipv4Addr, String)> {
        let networks: [(u32, u32); 8] = [
            (0x7f00_0000, 8),
            (0x0a00_0000, 8),
            (0xac10_0000, 12),
            (0xc0a8_0000, 16),
            (0xa9fe_0000, 16),
            (0x6440_0000, 10),
            (0xe000_0000, 3),
            (0, 8),
        ];
        let address = (0..networks.len(), any::<u32>()).prop_map(move |(network, bits)| {
            let (first, length) = networks[network];
            first | (bits & (u32::MAX >> length))
        });
        let ways = proptest::collection::vec(any::<u8>(), 1..24);
        let numbers = proptest::collection::vec((0_u8..4, 0_usize..6), 4);
        (address, 1_usize..=4, numbers, any::<bool>(), any::<bool>(), ways).prop_map(
            |(address, parts, numbers, dot, disguise, ways)| {
                let octets = address.to_be_bytes().map(u32::from);
                let rest = address & (u32::MAX >> (8 * (parts - 1)));
                let values = octets[..parts - 1].iter().copied().chain([rest]);
                let spelled = values.zip(&numbers).map(|(value, (base, zeros))| number(*base, *zeros, value));
                let mut host = spelled.collect::<Vec<_>>().join(".");
                host.push_str(if dot { "." } else { "" });
                let host = if disguise { disguised(&host, &ways) } else { host };
                (Ipv4Addr::from_bits(address), host)
            },
        )
    }

    /// An address of IPv6 that holds an IPv4 one, or is not public itself; short or long, small or large.
    fn spelled_v6(address: Ipv4Addr, form: u8, low: u16, long: bool) -> String {
        let [a, b] = [(address.to_bits() >> 16) as u16, address.to_bits() as u16];
        let segments = match form {
            0 => [0, 0, 0, 0, 0, 0xffff, a, b],
            1 => [0, 0, 0, 0, 0, 0, a, b],
            2 => [0x64, 0xff9b, 0, 0, 0, 0, a, b],
            3 => [0x64, 0xff9b, 1, low, 0, 0, a, b],
            4 => [0x2002, a, b, low, 0, 0, 0, 1],
            5 => [0x2001, 0, 0x53aa, 0x64c, 0, low, !a, !b],
            6 => [0xfe80 | (low & 0x3f), 0, 0, 0, 0, 0, a, b],
            7 => [0xfc00 | (low & 0x1ff), 0, 0, 0, 0, 0, a, b],
            8 => [0xff00 | (low & 0xff), 0, 0, 0, 0, 0, a, b],
            _ => [0x2001, 0xdb8, low, 0, 0, 0, a, b],
        };
        let short = std::net::Ipv6Addr::from(segments);
        match (long, form) {
            (true, 0..=2) => {
                let front: Vec<String> = segments[..6].iter().map(|part| format!("{part:04X}")).collect();
                format!("[{}:{address}]", front.join(":"))
            }
            (true, _) => format!("[{}]", segments.map(|part| format!("{part:04X}")).join(":")),
            (false, _) => format!("[{short}]"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_048))]
        #[test]
        fn no_spelling_of_an_address_that_is_not_public_is_taken((address, host) in spelled_v4()) {
            let text = format!("https://{host}/in");
            // A spelling that the URL standard does not know is no URL; one that it knows names that address.
            let url = EndpointUrl::restore(&text);
            if let Ok(url) = &url {
                prop_assert_eq!(url.as_url().host(), Some(Host::Ipv4(address)), "{}", text);
            }
            prop_assert!(matches!(refused(&text), Some(UrlRefused::Address | UrlRefused::NotAUrl)), "{}", text);
        }

        #[test]
        fn no_spelling_of_ipv6_leads_to_an_address_that_is_not_public(
            (address, _) in spelled_v4(), form in 0_u8..10, low: u16, long: bool,
        ) {
            let text = format!("https://{}:8443/", spelled_v6(address, form, low, long));
            prop_assert_eq!(refused(&text), Some(UrlRefused::Address), "{}", text);
        }
    }

    #[test]
    fn a_trusted_receiver_is_an_exact_origin_and_still_https_without_userinfo() {
        let trusted = TrustedReceivers::parse(" https://127.0.0.1:9443, https://hooks.internal ,").unwrap();
        let reach = |text| EndpointUrl::parse(text, &trusted).and_then(|url| url.reach(&trusted));
        assert_eq!(reach("https://127.0.0.1:9443/ok"), Ok(Reach::Trusted));
        assert_eq!(reach("https://0x7f.1:9443/ok"), Ok(Reach::Trusted));
        assert_eq!(reach("https://hooks.internal:443/"), Ok(Reach::Trusted));
        assert_eq!(reach("https://example.com/"), Ok(Reach::Public));
        assert_eq!(reach("https://127.0.0.1:9444/"), Err(UrlRefused::Port));
        assert_eq!(reach("https://127.0.0.1/"), Err(UrlRefused::Address));
        assert_eq!(reach("https://a.hooks.internal/"), Err(UrlRefused::Address));
        assert_eq!(reach("http://127.0.0.1:9443/"), Err(UrlRefused::NotHttps));
        assert_eq!(reach("https://u@127.0.0.1:9443/"), Err(UrlRefused::UserInfo));
        assert!(TrustedReceivers::parse("").unwrap().is_empty());
        assert_eq!(TrustedReceivers::parse("https://a.example/path"), Err(UrlRefused::NotAnOrigin));
        assert_eq!(TrustedReceivers::parse("http://a.example"), Err(UrlRefused::NotHttps));
    }

    #[test]
    fn what_a_customer_put_into_a_url_does_not_print() {
        let url = EndpointUrl::parse("https://example.com/in/s3cret?token=s3cret", &TrustedReceivers::none());
        assert_eq!(format!("{:?}", url.unwrap()), "https://example.com/[redacted]");
    }

    #[test]
    fn a_filter_takes_what_it_names_and_none_named_is_all() {
        let updates = EventFilter::parse(["contact.updated", "contact.updated"]).unwrap();
        assert_eq!(updates.names(), ["contact.updated"]);
        assert!(updates.takes(EventType::ContactUpdated));
        assert!(!updates.takes(EventType::ContactCreated));
        assert!(updates.takes(EventType::WebhookTest));
        for all in [EventFilter::parse([]).unwrap(), EventFilter::parse(["contact.created", "*"]).unwrap()] {
            assert_eq!(all.names(), ["*"]);
            assert!(all.takes(EventType::LeadFailed));
        }
        assert!(EventFilter::parse(["contact.*"]).is_err());
    }

    #[test]
    fn a_signing_secret_is_a_prefix_and_32_bytes() {
        let secret = SigningSecret::from_entropy([7; 32]);
        assert_eq!(secret.expose(), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
        assert_eq!(secret.key_bytes(), [7; 32]);
        assert_eq!(SigningSecret::parse(secret.expose()), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "SigningSecret([redacted])");
        for bad in ["", "whsec_", "whsec_BwcH", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=", "whsec_ü"] {
            assert!(SigningSecret::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_receiver_key_fits_a_header() {
        assert!(ReceiverKey::parse("k-123_~!").is_ok());
        for bad in ["", "a b", "a\r\nX-Evil: 1", "é", &"k".repeat(257)] {
            assert!(ReceiverKey::parse(bad).is_err(), "{bad:?}");
        }
    }

    fn signing(byte: u8) -> SigningSecret {
        SigningSecret::from_entropy([byte; 32])
    }

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    #[test]
    fn the_previous_secret_signs_until_its_overlap_ends() {
        let at = Timestamp::from_millis;
        let secrets = SigningSecrets {
            active: signing(1),
            next: Some(signing(2)),
            previous: Some((signing(0), at(10))),
        };
        let in_force = |now| secrets.in_force(at(now)).cloned().collect::<Vec<_>>();
        assert_eq!(in_force(9), [signing(1), signing(2), signing(0)]);
        assert_eq!(in_force(10), [signing(1), signing(2)]);
        assert_eq!(SigningSecrets::only(signing(1)).in_force(at(0)).count(), 1);
    }

    #[test]
    fn a_rotation_has_two_phases_and_each_refuses_what_would_break_a_promise() {
        let (ends, past) = (NOW.plus(Duration::from_secs(1)), NOW);
        let secrets = |next: Option<u8>, previous: Option<Timestamp>| SigningSecrets {
            active: signing(1),
            next: next.map(signing),
            previous: previous.map(|until| (signing(0), until)),
        };
        let switched = SigningSecrets {
            active: signing(2),
            next: None,
            previous: Some((signing(1), NOW.plus(SigningSecrets::OVERLAP))),
        };
        use RotationRefused::*;
        for (before, rotated, replaced, activated) in [
            (secrets(None, None), Ok(secrets(Some(9), None)), secrets(Some(9), None), Err(NoNext)),
            // A secret whose time is over is forgotten by the next change.
            (secrets(None, Some(past)), Ok(secrets(Some(9), None)), secrets(Some(9), None), Err(NoNext)),
            (
                secrets(None, Some(ends)),
                Ok(secrets(Some(9), Some(ends))),
                secrets(Some(9), Some(ends)),
                Err(Activated { until: ends }),
            ),
            (secrets(Some(2), None), Err(NextWaits), secrets(Some(9), None), Ok(switched.clone())),
            (secrets(Some(2), Some(past)), Err(NextWaits), secrets(Some(9), None), Ok(switched)),
            (
                secrets(Some(2), Some(ends)),
                Err(NextWaits),
                secrets(Some(9), Some(ends)),
                Err(Overlapping { until: ends }),
            ),
        ] {
            assert_eq!(before.rotated(signing(9), false, NOW), rotated, "{before:?}");
            assert_eq!(before.rotated(signing(9), true, NOW), Ok(replaced), "{before:?}");
            assert_eq!(before.activated(NOW), activated, "{before:?}");
        }
    }

    proptest! {
        /// Whatever is asked for in whatever order, a secret that was active signs for its whole overlap, and no more
        /// than three sign.
        #[test]
        fn no_secret_that_was_active_stops_signing_before_its_time(
            steps in proptest::collection::vec((0u8..3, 0u64..30 * 3_600), 1..40),
        ) {
            let (mut secrets, mut now) = (SigningSecrets::only(signing(0)), NOW);
            let mut replaced: Vec<(SigningSecret, Timestamp)> = vec![];
            for (number, (step, wait)) in (1..).zip(steps) {
                now = now.plus(Duration::from_secs(wait));
                let before = secrets.clone();
                let after = match step {
                    0 => before.activated(now),
                    step => before.rotated(signing(number), step == 2, now),
                };
                secrets = after.unwrap_or(secrets);
                if secrets.active != before.active {
                    prop_assert_eq!(Some(&secrets.active), before.next.as_ref(), "only what was given out");
                    replaced.push((before.active, now.plus(SigningSecrets::OVERLAP)));
                }
                let in_force: Vec<&SigningSecret> = secrets.in_force(now).collect();
                prop_assert!(in_force.len() <= 3);
                for (secret, until) in &replaced {
                    prop_assert_eq!(in_force.contains(&secret), now < *until);
                }
            }
        }
    }
}
