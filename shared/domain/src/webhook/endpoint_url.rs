//! An endpoint's URL: which URLs are valid, and how the service may call them.

use std::collections::BTreeSet;
use std::fmt;

use url::{Host, Url};

use crate::text::Unfit;
use crate::webhook::address::is_public;

/// An endpoint's URL: an HTTPS URL on port 443 or 8443 of a public host, in the normalised form of the URL
/// standard (which changes `0x7f.1` to `127.0.0.1`).
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointUrl(Url);

impl EndpointUrl {
    /// The greatest number of bytes in a normalised URL. Normalisation can write one letter as nine
    /// characters.
    pub const MAX: usize = 2_048;
    const PORTS: [u16; 2] = [443, 8443];
    /// Names for which no public resolver has an answer (RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`).
    const PRIVATE_SUFFIXES: [&'static str; 7] =
        ["localhost", "local", "internal", "home.arpa", "test", "invalid", "onion"];

    /// Parses the URL of a new endpoint. It does not resolve the host name; each delivery checks the
    /// addresses.
    pub fn parse(text: &str, trusted: &TrustedReceivers) -> Result<Self, UrlRefused> {
        let url = Self::restore(text)?;
        url.reach(trusted)?;
        Ok(url)
    }

    /// Parses a URL from a row. Each delivery checks whether it may be called ([`EndpointUrl::reach`]),
    /// because the deployment's trusted receivers may have changed since the row was written.
    pub fn restore(text: &str) -> Result<Self, UrlRefused> {
        // The URL standard ignores tabs, newlines and outer spaces. Such a URL is more likely a tenant's
        // mistake.
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

    /// Whether the URL may be called, and how: under the rules for public receivers or as a trusted receiver.
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

    /// The normalised URL.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The URL for an HTTP client.
    pub fn as_url(&self) -> &Url {
        &self.0
    }
}

/// Whether the text contains userinfo. The parsed URL does not show an empty one (`https://@host`).
fn text_has_userinfo(text: &str) -> bool {
    let behind_scheme = text.split_once(':').map_or(text, |(_, rest)| rest).trim_start_matches(['/', '\\']);
    behind_scheme.split(['/', '\\', '?', '#']).next().unwrap_or_default().contains('@')
}

/// Whether public DNS can resolve the name: it contains a dot, has no empty label and is not under a name for private
/// use. An empty label (`localhost..`) would hide such a name.
fn is_public_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let under = |suffix: &str| {
        name.strip_suffix(suffix).is_some_and(|front| front.is_empty() || front.ends_with('.'))
    };
    let is_whole = name.contains('.') && name.split('.').all(|label| !label.is_empty());
    is_whole && !EndpointUrl::PRIVATE_SUFFIXES.into_iter().any(under)
}

// The path or the query may contain a tenant's token, so logs contain only the host.
impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}/[redacted]", self.0.host_str().unwrap_or_default())
    }
}

/// How a URL may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only at public addresses. Each address is checked after the name was resolved.
    Public,
    /// At any address, because the deployment lists this receiver as trusted.
    Trusted,
}

/// Exact origins of receivers that the deployment allows although their port or address is not public. Empty
/// by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedReceivers(BTreeSet<String>);

impl TrustedReceivers {
    /// No trusted receivers: the default.
    pub fn none() -> Self {
        Self::default()
    }

    /// Parses comma-separated origins, such as `https://127.0.0.1:9443`.
    pub fn parse(list: &str) -> Result<Self, UrlRefused> {
        let origins = list.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        origins.map(Self::read_origin).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there are no trusted receivers.
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

/// Why a URL is not valid for an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// The text is not a URL.
    #[error("this is not a URL")]
    NotAUrl,
    /// The scheme is not `https`.
    #[error("a webhook endpoint must use https")]
    NotHttps,
    /// The URL contains a user name or a password.
    #[error("a webhook endpoint's URL must not contain a user name or a password")]
    UserInfo,
    /// The URL contains a fragment, which clients never send.
    #[error("a webhook endpoint's URL must not contain a fragment (#)")]
    Fragment,
    /// The port is not 443 or 8443.
    #[error("a webhook endpoint must use port 443 or 8443")]
    Port,
    /// The host is not an address or name of the public internet.
    #[error("a webhook endpoint must have a public address")]
    Address,
    /// The URL is too long.
    #[error("a webhook endpoint's URL must have at most {max} bytes")]
    TooLong {
        /// The greatest number of bytes.
        max: usize,
    },
    /// The trusted receiver is not an origin: it has a path or a query.
    #[error("a trusted receiver must be an origin: only scheme, host and port")]
    NotAnOrigin,
}

/// The same as the failure of a field.
impl From<UrlRefused> for Unfit {
    fn from(refused: UrlRefused) -> Self {
        let reason = match refused {
            UrlRefused::TooLong { max } => return Self::TooLong { max },
            UrlRefused::NotAUrl => "this is not a URL",
            UrlRefused::NotHttps => "the URL must use https",
            UrlRefused::UserInfo => "the URL must not contain a user name or a password",
            UrlRefused::Fragment => "the URL must not contain a fragment (#)",
            UrlRefused::Port => "the URL must use port 443 or 8443",
            UrlRefused::Address => "the URL must have a public address",
            UrlRefused::NotAnOrigin => "a trusted receiver must be an origin",
        };
        Self::Value { reason }
    }
}

#[cfg(test)]
mod tests;
