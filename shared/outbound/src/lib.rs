//! How this service calls others over HTTPS: by roots that it carries with it, and doing nothing by itself. What is
//! repeated, followed or let through is decided where the call is made.

use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use rustls::{ClientConfig, RootCertStore};

/// TLS by the roots that browsers trust, and `extra` ones. Takes milliseconds: made once, at start.
pub fn tls(extra: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let mut roots = extra;
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// A client that takes no proxy from the environment, follows no redirect, repeats nothing and says of itself only
/// which of ours it is (`Webhooks`).
pub fn client(tls: ClientConfig, name: &str) -> ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(user_agent(name))
}

/// What a client says of itself: which of ours it is (`Webhooks`).
pub fn user_agent(name: &str) -> String {
    format!("{}-{name}/1", domain::PLATFORM)
}

/// The place of these segments below a base that a deployment names (`https://host`, also with a path of its own);
/// `None` if that is not an `http` or `https` URL, or has a query.
pub fn place(base: &str, segments: &[&str]) -> Option<Url> {
    let mut url: Url = base.parse().ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.query().is_some() {
        return None;
    }
    url.path_segments_mut().ok()?.pop_if_empty().extend(segments);
    Some(url)
}

/// A client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base is not the URL of a host.
    #[error("{setting} is not an http or https URL")]
    Url {
        /// The environment variable that holds it.
        setting: &'static str,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made")]
    Client(#[source] reqwest::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_stands_below_the_base_that_a_deployment_names() {
        for (base, expected) in [
            ("https://host.example", "https://host.example/a/b%2Fc"),
            ("https://host.example/", "https://host.example/a/b%2Fc"),
            ("http://127.0.0.1:9/base", "http://127.0.0.1:9/base/a/b%2Fc"),
            ("http://127.0.0.1:9/base/", "http://127.0.0.1:9/base/a/b%2Fc"),
        ] {
            assert_eq!(place(base, &["a", "b/c"]).unwrap().as_str(), expected);
        }
        for base in ["", "host.example", "ftp://host.example", "mailto:a@host.example", "https://h/?x=1"] {
            assert_eq!(place(base, &["a"]), None, "{base}");
        }
    }
}
