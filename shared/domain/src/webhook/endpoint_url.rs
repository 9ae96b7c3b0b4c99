//! An endpoint's URL: which are taken, and where they lead.

use std::collections::BTreeSet;
use std::fmt;

use url::{Host, Url};

use crate::webhook::address::is_public;

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

#[cfg(test)]
mod tests;
