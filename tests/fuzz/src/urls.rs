//! URLs: an accepted webhook URL never names a private host, and a stored URL is accepted again as it is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use domain::webhook::address::is_public;
use domain::{EndpointUrl, TrustedReceivers, WebOrigin};
use url::{Host, Url};

/// The input is a URL or an origin. Its first bytes are also addresses.
pub fn run(input: &[u8]) {
    if let Some(bytes) = input.first_chunk::<4>() {
        let address = Ipv4Addr::from(*bytes);
        assert!(!is_public(address.into()) || !is_private_v4(address), "{address}");
    }
    if let Some(bytes) = input.first_chunk::<16>() {
        let address = Ipv6Addr::from(*bytes);
        assert!(!is_public(address.into()) || !is_private_v6(address), "{address}");
    }
    let Ok(text) = std::str::from_utf8(input) else { return };
    endpoint(text);
    if let Ok(origin) = WebOrigin::parse(text) {
        assert_eq!(origin.as_str(), text);
        let url = Url::parse(text).unwrap();
        assert_eq!((url.path(), url.query(), url.host_str()), ("/", None, Some(origin.host())));
        assert!(text.is_ascii() && !text.contains([' ', '*', '@']), "{text}");
        assert!(text.starts_with("https://") || host_is_this_machine(&url), "{text}");
    }
}

fn endpoint(text: &str) {
    let none = TrustedReceivers::none();
    let Ok(accepted) = EndpointUrl::parse(text, &none) else { return };
    let again = EndpointUrl::parse(accepted.as_str(), &none);
    assert_eq!(again.as_ref().map(EndpointUrl::as_str), Ok(accepted.as_str()), "{text}");
    let url = Url::parse(accepted.as_str()).unwrap();
    assert_eq!(url.scheme(), "https");
    assert!([443, 8443].contains(&url.port_or_known_default().unwrap()), "{text}");
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
    assert!(
        !text.chars().any(|c| c.is_control() || c.is_whitespace()) && url.as_str().len() <= EndpointUrl::MAX
    );
    match url.host().unwrap() {
        Host::Ipv4(address) => assert!(!is_private_v4(address), "{text}"),
        Host::Ipv6(address) => assert!(!is_private_v6(address), "{text}"),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let last = name.rsplit('.').next().unwrap();
            // What other parsers would take for an address.
            assert!(name.parse::<IpAddr>().is_err(), "{text}");
            assert!(!last.bytes().all(|byte| byte.is_ascii_digit()), "{text}");
            assert!(!["internal", "local", "localhost"].contains(&last), "{text}");
            assert!(name.contains('.') && name.is_ascii() && !name.contains(['%', '@', ':', '/']), "{text}");
        }
    }
}

/// The private addresses as the standard library names them, beside the service's own table.
fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || address.is_unspecified()
        || first == 0
        || (first == 100 && (64..128).contains(&second))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.to_ipv4_mapped().is_some()
        // Prefixes that hold an IPv4 address: 6to4, Teredo, NAT64.
        || matches!(address.segments(), [0x2002, ..] | [0x2001, 0, ..] | [0x64, 0xff9b, ..])
}

fn host_is_this_machine(url: &Url) -> bool {
    match url.host().unwrap() {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}
