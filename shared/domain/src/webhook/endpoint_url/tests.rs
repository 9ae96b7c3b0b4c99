use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

fn refused(text: &str) -> Option<UrlRefused> {
    EndpointUrl::parse(text, &TrustedReceivers::none()).err()
}

#[test]
fn a_url_of_a_public_host_on_443_or_8443_is_valid() {
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
    fn a_valid_url_restores_from_its_text(
        host in prop_oneof!["[a-zé]{1,9}\\.example\\.org", "[a-zA-Z0-9.:\\[\\]é%-]{1,20}", "\\PC{1,12}"],
        path in "[/?@:\\\\a-z%é<>|{}'\"^`.]{0,900}",
    ) {
        if let Ok(url) = EndpointUrl::parse(&format!("https://{host}/{path}"), &TrustedReceivers::none()) {
            prop_assert_eq!(EndpointUrl::restore(url.as_str()), Ok(url.clone()));
        }
    }
}

#[test]
fn a_url_has_at_most_2048_bytes_in_its_normal_form() {
    let of = |bytes: usize| format!("https://example.com/{}", "a".repeat(bytes - 20));
    let too_long = Some(UrlRefused::TooLong { max: 2_048 });
    assert_eq!([2_048, 2_049].map(|bytes| refused(&of(bytes))), [None, too_long]);
}

#[test]
fn every_invalid_url_is_refused_for_its_reason() {
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
        "localhost..",
        "a.localhost",
        "a..example.com",
        "508.0.0.%2e",
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

/// One number of an IPv4 address in a base that URLs allow, with leading zeros.
fn number(base: u8, zeros: usize, value: u32) -> String {
    let zeros = "0".repeat(zeros);
    match base {
        0 => value.to_string(),
        1 => format!("0{zeros}{value:o}"),
        2 => format!("0x{zeros}{value:x}"),
        _ => format!("0X{zeros}{value:X}"),
    }
}

/// The host with some characters in another form that URLs allow: percent-encoded, full-width, or with
/// another full stop.
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

/// A non-public IPv4 address in the parts that URLs allow. The last part fills the remaining bytes.
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

/// An IPv6 address that contains an IPv4 address or is not public itself; short or long, in lower or upper
/// case.
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
    fn no_spelling_of_a_non_public_address_is_valid((address, host) in spelled_v4()) {
        let text = format!("https://{host}/in");
        // A spelling that the URL standard does not allow is not a URL. An allowed spelling gives exactly
        // that address.
        let url = EndpointUrl::restore(&text);
        if let Ok(url) = &url {
            prop_assert_eq!(url.as_url().host(), Some(Host::Ipv4(address)), "{}", text);
        }
        prop_assert!(matches!(refused(&text), Some(UrlRefused::Address | UrlRefused::NotAUrl)), "{}", text);
    }

    #[test]
    fn no_ipv6_spelling_leads_to_a_non_public_address(
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
    assert!(TrustedReceivers::parse("").unwrap().is_empty() && !trusted.is_empty());
    assert_eq!(TrustedReceivers::parse("https://a.example/path"), Err(UrlRefused::NotAnOrigin));
    assert_eq!(TrustedReceivers::parse("http://a.example"), Err(UrlRefused::NotHttps));
}

#[test]
fn secrets_in_a_tenants_url_print_redacted() {
    let url = EndpointUrl::parse("https://example.com/in/s3cret?token=s3cret", &TrustedReceivers::none());
    assert_eq!(format!("{:?}", url.unwrap()), "https://example.com/[redacted]");
}
