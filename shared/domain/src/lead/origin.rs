//! Web origins of the pages that capture leads.

use url::{Host, Url};

use crate::text::Unfit;

/// The `Origin` header of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentOrigin {
    /// No header: a server sent the request.
    Absent,
    /// One header, as sent.
    One(String),
    /// Several headers, or a header that is not text. No browser sends that.
    Unclear,
}

/// The origin of a web page as browsers send it: scheme, host and, unless it is the scheme's default, port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebOrigin {
    text: String,
    host: String,
}

impl WebOrigin {
    const MAX: usize = 300;

    /// Parses an origin in the exact form that browsers send, because the service compares origins byte for
    /// byte. The scheme is `https://`, or `http://` on loopback hosts. The host is in lower case (punycode if
    /// international). There is no path and no slash at the end.
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
            _ => return unfit("an origin is https://, or http:// on localhost or a loopback address"),
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

    /// Parses an origin as the owner of a page writes it: `https://Shop.example.com/`, `shop.example.com`, or an
    /// international name. A path is refused: it would allow more pages than the owner means.
    pub fn written(text: &str) -> Result<Self, Unfit> {
        let text = text.trim();
        let url =
            if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("https://{text}")) };
        let Ok(url) = url else { return Self::parse(text) };
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !is_bare || !url.username().is_empty() || url.password().is_some() {
            let reason = "an origin has a scheme, a host and a port only: https://www.example.com";
            return Err(Unfit::Value { reason });
        }
        Self::parse(&url.origin().ascii_serialization())
    }

    /// The origin as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The origin's host.
    pub fn host(&self) -> &str {
        &self.host
    }
}
