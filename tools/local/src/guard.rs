//! Refuses what web pages ask of the stack's own servers. `tools/local/guard.py` says why, and has the same rule for the
//! emulator.

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

/// Whether the server speaks TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Why the server on this port refuses a request with these headers: it must name this server, and no page of another
/// origin may have sent it. Programs that are no browsers send neither `Origin` nor `Sec-Fetch-Site`.
pub(crate) fn refusal(headers: &HeaderMap, scheme: Scheme, port: u16) -> Option<&'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) {
        (Some(host), None) => host.to_ascii_lowercase(),
        _ => return Some("Host is not this server"),
    };
    if !is_own(&host, scheme.default_port(), port) {
        return Some("Host is not this server");
    }
    let origin = format!("{}://{host}", scheme.name());
    if headers.get_all(ORIGIN).iter().any(|given| !given.as_bytes().eq_ignore_ascii_case(origin.as_bytes())) {
        return Some("Origin is not this server");
    }
    if headers.get_all("sec-fetch-site").iter().any(|site| site != "none" && site != "same-origin") {
        return Some("Sec-Fetch-Site is not this server");
    }
    None
}

fn is_own(host: &str, default_port: u16, port: u16) -> bool {
    // The colons of `[::1]` separate no port.
    let (name, given) = match host.rsplit_once(':') {
        Some((name, given)) if !given.ends_with(']') => (name, given.parse().ok()),
        _ => (host, Some(default_port)),
    };
    // Browsers let every name under `localhost` point to this machine, and nobody can register one.
    let is_local = matches!(name, "localhost" | "127.0.0.1" | "[::1]") || name.ends_with(".localhost");
    is_local && given == Some(port)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const HOST_REFUSED: Option<&str> = Some("Host is not this server");
    const ORIGIN_REFUSED: Option<&str> = Some("Origin is not this server");
    const SITE_REFUSED: Option<&str> = Some("Sec-Fetch-Site is not this server");

    fn refused(headers: &[(&str, &str)], scheme: Scheme, port: u16) -> Option<&'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        refusal(&map, scheme, port)
    }

    #[test]
    fn a_host_is_a_name_of_this_machine_with_the_own_port() {
        for (host, expected) in [
            ("127.0.0.1:8788", None),
            ("localhost:8788", None),
            ("LocalHost:8788", None),
            ("[::1]:8788", None),
            ("media.localhost:8788", None),
            ("127.0.0.1", HOST_REFUSED),
            ("127.0.0.1:8789", HOST_REFUSED),
            ("127.0.0.1:", HOST_REFUSED),
            ("127.0.0.1:8788:8788", HOST_REFUSED),
            ("127.0.0.2:8788", HOST_REFUSED),
            ("0.0.0.0:8788", HOST_REFUSED),
            ("[::1]", HOST_REFUSED),
            ("[::2]:8788", HOST_REFUSED),
            ("rebound.example.com:8788", HOST_REFUSED),
            ("localhost.example.com:8788", HOST_REFUSED),
            ("notlocalhost:8788", HOST_REFUSED),
            ("127.0.0.1.example.com:8788", HOST_REFUSED),
            ("", HOST_REFUSED),
        ] {
            assert_eq!(refused(&[("host", host)], Scheme::Http, 8788), expected, "{host}");
        }
        assert_eq!(refused(&[], Scheme::Http, 8788), HOST_REFUSED);
        let twice = [("host", "127.0.0.1:8788"), ("host", "127.0.0.1:8788")];
        assert_eq!(refused(&twice, Scheme::Http, 8788), HOST_REFUSED);
        assert_eq!(refused(&[("host", "[::1]")], Scheme::Http, 80), None);
        assert_eq!(refused(&[("host", "localhost")], Scheme::Https, 443), None);
        assert_eq!(refused(&[("host", "localhost")], Scheme::Https, 80), HOST_REFUSED);
    }

    #[test]
    fn a_page_must_be_of_the_same_origin() {
        for (name, value, expected) in [
            ("origin", "http://127.0.0.1:8788", None),
            ("origin", "https://127.0.0.1:8788", ORIGIN_REFUSED),
            ("origin", "http://localhost:8788", ORIGIN_REFUSED),
            ("origin", "http://127.0.0.1:8789", ORIGIN_REFUSED),
            ("origin", "http://127.0.0.1", ORIGIN_REFUSED),
            ("origin", "https://www.example.com", ORIGIN_REFUSED),
            ("origin", "null", ORIGIN_REFUSED),
            ("origin", "", ORIGIN_REFUSED),
            ("sec-fetch-site", "none", None),
            ("sec-fetch-site", "same-origin", None),
            ("sec-fetch-site", "same-site", SITE_REFUSED),
            ("sec-fetch-site", "cross-site", SITE_REFUSED),
            ("sec-fetch-site", "", SITE_REFUSED),
        ] {
            let headers = [("host", "127.0.0.1:8788"), (name, value)];
            assert_eq!(refused(&headers, Scheme::Http, 8788), expected, "{name}: {value}");
        }
        let twice = [
            ("host", "127.0.0.1:8788"),
            ("origin", "http://127.0.0.1:8788"),
            ("origin", "https://www.example.com"),
        ];
        assert_eq!(refused(&twice, Scheme::Http, 8788), ORIGIN_REFUSED);
        let tls = [("host", "localhost:8788"), ("origin", "https://localhost:8788")];
        assert_eq!(refused(&tls, Scheme::Https, 8788), None);
    }
}
