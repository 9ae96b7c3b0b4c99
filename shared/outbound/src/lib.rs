//! Code that all HTTPS clients of the service share: TLS with bundled root certificates, and an HTTP client
//! without proxies, redirects or retries. Each caller decides what it retries, follows or permits.

pub mod resolver;

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use rustls::{ClientConfig, RootCertStore};

use crate::resolver::{Names, PublicOnly};

/// TLS with the root certificates that browsers trust, plus `extra`. The call takes milliseconds; make it
/// once, at start.
pub fn tls(extra: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let mut roots = extra;
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// An HTTP client that uses no proxy from the environment, follows no redirect, retries nothing and sends no
/// `Referer`. Its `User-Agent` only names the client (`name`, such as `Webhooks`).
pub fn client(tls: ClientConfig, name: &str) -> ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(user_agent(name))
}

/// A client that connects only to public addresses. It checks all addresses of a name and connects to one of those
/// that it checked, so a second answer of the name's server cannot lead it elsewhere. It also connects to a host that
/// is written as an IP address, without a check: its caller must refuse such URLs.
pub fn only_public(client: ClientBuilder, names: Names) -> ClientBuilder {
    client.dns_resolver(Arc::new(PublicOnly(names)))
}

/// The `User-Agent` header of the client `name` (such as `Webhooks`): `<platform>-<name>/1`.
pub fn user_agent(name: &str) -> String {
    format!("{}-{name}/1", domain::PLATFORM)
}

/// The URL of these path segments below the base of a deployment (`https://host`, with or without a path).
/// Returns `None` if the base is not an `http` or `https` URL, or has a query.
pub fn url_below(base: &str, segments: &[&str]) -> Option<Url> {
    let mut url: Url = base.parse().ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.query().is_some() {
        return None;
    }
    url.path_segments_mut().ok()?.pop_if_empty().extend(segments);
    Some(url)
}

/// An HTTPS client cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base URL is not an `http` or `https` URL.
    #[error("{setting} is not an http or https URL")]
    Url {
        /// The environment variable that holds the URL.
        setting: &'static str,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be made")]
    Client(#[source] reqwest::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_segments_are_added_below_the_base_url() {
        for (base, expected) in [
            ("https://host.example", "https://host.example/a/b%2Fc"),
            ("https://host.example/", "https://host.example/a/b%2Fc"),
            ("http://127.0.0.1:9/base", "http://127.0.0.1:9/base/a/b%2Fc"),
            ("http://127.0.0.1:9/base/", "http://127.0.0.1:9/base/a/b%2Fc"),
        ] {
            assert_eq!(url_below(base, &["a", "b/c"]).unwrap().as_str(), expected);
        }
        for base in ["", "host.example", "ftp://host.example", "mailto:a@host.example", "https://h/?x=1"] {
            assert_eq!(url_below(base, &["a"]), None, "{base}");
        }
    }
}
