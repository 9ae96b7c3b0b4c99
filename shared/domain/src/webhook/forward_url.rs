//! The URL of a developer's own server, to which the console forwards events.

use url::{Host, Url};

use crate::text::Unfit;

/// An `https` URL, or an `http` URL of this machine: without TLS, the signed body must not leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardUrl(Url);

impl ForwardUrl {
    /// Parses a URL. It does not resolve the host name; `localhost` is this machine.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let url = Url::parse(text).map_err(|_| Unfit::Value { reason: "should be a URL" })?;
        let is_permitted = match url.scheme() {
            "https" => true,
            "http" => is_this_machine(&url),
            _ => false,
        };
        if !is_permitted {
            let reason = "should be an https URL, or an http URL of this machine: http://localhost:3000/hook";
            return Err(Unfit::Value { reason });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Unfit::Value { reason: "should have no user name and no password" });
        }
        Ok(Self(url))
    }

    /// The normalised URL.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_is_permitted_to_every_host_and_http_only_to_this_machine() {
        for permitted in [
            "http://localhost:3000/hook",
            "http://LOCALHOST/",
            "http://127.0.0.1:8080/a?b=c",
            "http://127.9.9.9/",
            "http://[::1]:3000/",
            // The URL standard reads this as 127.0.0.1.
            "http://0x7f.1/",
            "https://localhost:3000/hook",
            "https://dev.example.com/hook",
            "https://10.0.0.7:9443/",
        ] {
            assert!(ForwardUrl::parse(permitted).is_ok(), "{permitted}");
        }
        for refused in [
            "",
            "localhost:3000",
            "/hook",
            "ftp://localhost/",
            "http://dev.example.com/hook",
            "http://10.0.0.7/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://user@localhost/",
            "https://user:password@dev.example.com/",
        ] {
            assert!(ForwardUrl::parse(refused).is_err(), "{refused}");
        }
        let url = ForwardUrl::parse("http://LOCALHOST:80/hook?a=b").unwrap();
        assert_eq!(url.as_str(), "http://localhost/hook?a=b");
    }
}
