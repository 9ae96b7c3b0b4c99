use proptest::prelude::*;

use super::*;

fn public(text: &str) -> bool {
    is_public(text.parse().unwrap())
}

#[test]
fn every_range_is_refused_from_its_first_to_its_last_address() {
    for range in REFUSED_V4 {
        let last = range.first.to_bits() | u32::MAX.checked_shr(range.prefix).unwrap_or(0);
        for address in [range.first, Ipv4Addr::from_bits(last)] {
            assert!(!is_public(address.into()), "{address}: {}", range.name);
        }
    }
    for range in REFUSED_V6 {
        let last = range.first.to_bits() | (u128::MAX >> range.prefix);
        for address in [range.first, Ipv6Addr::from_bits(last)] {
            assert!(!is_public(address.into()), "{address}: {}", range.name);
        }
    }
}

#[test]
fn addresses_beside_the_ranges_are_public() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "168.63.129.15",
        "168.63.129.17",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "2003::1",
        "3ffd::1",
    ] {
        assert!(public(address), "{address}");
    }
}

#[test]
fn every_class_of_special_address_is_refused() {
    for address in [
        // Metadata services: AWS (v4, v6), Alibaba, Oracle, Azure, Google (v6).
        "169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd20:ce::254",
        // AWS Lambda's own runtime and credential addresses.
        "169.254.100.1",
        "169.254.170.2",
        "0.0.0.0",
        "127.0.0.1",
        "127.255.255.254",
        "255.255.255.255",
        "224.0.0.1",
        "239.255.255.255",
        // IPv4 within IPv6: mapped, compatible, NAT64 (both prefixes), 6to4, Teredo.
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::8.8.8.8",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2002:808:808::1",
        "2001::1",
        "2001:0:53aa:64c::1",
        "::",
        "::1",
        "100::1",
        "100:0:0:1::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fdff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    ] {
        assert!(!public(address), "{address}");
    }
}

/// The addresses outside the public internet, from independent sources: IANA's two special-purpose registries
/// line by line, and for IPv6 the blocks that are not global unicast. The text is copied from the registries,
/// and the code that reads it is separate from the table under test.
const REGISTRIES: &[&str] = &[
    // iana-ipv4-special-registry.
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    // IPv4 multicast, and one provider's own address.
    "224.0.0.0/4",
    "168.63.129.16/32",
    // iana-ipv6-special-registry.
    "::1/128",
    "::/128",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    // ipv6-address-space: reserved, unique local, link and site local, multicast.
    "::/8",
    "100::/8",
    "200::/7",
    "400::/6",
    "800::/5",
    "1000::/4",
    "4000::/3",
    "6000::/3",
    "8000::/3",
    "a000::/3",
    "c000::/3",
    "e000::/4",
    "f000::/5",
    "f800::/6",
    "fe00::/9",
    "fec0::/10",
    "ff00::/8",
    // ipv6-unicast-address-assignments: returned.
    "3ffe::/16",
];

/// The first and last address of a line as numbers, and whether they are IPv4.
fn bounds(line: &str) -> (bool, u128, u128) {
    let (first, length) = line.split_once('/').unwrap();
    let (is_v4, first, bits) = match first.parse().unwrap() {
        IpAddr::V4(first) => (true, u128::from(first.to_bits()), 32),
        IpAddr::V6(first) => (false, first.to_bits(), 128),
    };
    let size = bits - length.parse::<u32>().unwrap();
    let last = first | 1_u128.checked_shl(size).map_or(u128::MAX, |count| count - 1);
    (is_v4, first, last)
}

fn is_registered(address: IpAddr) -> bool {
    let (v4, number) = match address {
        IpAddr::V4(address) => (true, u128::from(address.to_bits())),
        IpAddr::V6(address) => (false, address.to_bits()),
    };
    REGISTRIES
        .iter()
        .map(|line| bounds(line))
        .any(|(is_v4, first, last)| v4 == is_v4 && (first..=last).contains(&number))
}

fn address_of(is_v4: bool, number: u128) -> IpAddr {
    if is_v4 { Ipv4Addr::from_bits(number as u32).into() } else { Ipv6Addr::from_bits(number).into() }
}

#[test]
fn at_the_bounds_of_each_registry_line_the_verdict_matches_the_registry() {
    for line in REGISTRIES {
        let (is_v4, first, last) = bounds(line);
        for number in [first.wrapping_sub(1), first, first.midpoint(last), last, last.wrapping_add(1)] {
            let address = address_of(is_v4, number);
            assert_eq!(is_public(address), !is_registered(address), "{address}, at {line}");
        }
        assert!(!is_public(address_of(is_v4, first)), "{line}");
    }
}

/// Any address, with a greater share from within and around the registered ranges.
fn anywhere() -> impl Strategy<Value = IpAddr> {
    let beside = (0..REGISTRIES.len(), any::<u128>(), -3_i128..=3).prop_map(|(line, far, near)| {
        let (is_v4, first, last) = bounds(REGISTRIES[line]);
        let within = first + far % (last - first).max(1);
        let number = [within, first.wrapping_add_signed(near), last.wrapping_add_signed(near)];
        address_of(is_v4, number[(far % 3) as usize])
    });
    let global = any::<u128>().prop_map(|bits| address_of(false, bits >> 3 | 1 << 125));
    prop_oneof![
        beside,
        any::<u32>().prop_map(|bits| address_of(true, bits.into())),
        global,
        any::<u128>().prop_map(|bits| address_of(false, bits))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]
    #[test]
    fn an_address_is_public_exactly_if_no_registry_lists_it(address in anywhere()) {
        prop_assert_eq!(is_public(address), !is_registered(address), "{}", address);
    }
}

proptest! {
    #[test]
    fn an_address_that_the_standard_library_calls_special_is_never_public(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let special = address.is_private() || address.is_loopback() || address.is_link_local()
            || address.is_multicast() || address.is_broadcast() || address.is_documentation()
            || address.is_unspecified();
        prop_assert!(!(special && is_public(address.into())), "{}", address);
    }

    #[test]
    fn an_ipv6_form_of_an_ipv4_address_is_never_public(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let [a, b] = [(bits >> 16) as u16, bits as u16];
        for spelling in [
            address.to_ipv6_mapped(),
            address.to_ipv6_compatible(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
            Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, 0x53aa, 0x64c, 0, 0, !a, !b),
        ] {
            prop_assert!(!is_public(spelling.into()), "{}", spelling);
        }
    }

    #[test]
    fn ipv6_outside_global_unicast_is_never_public(bits: u128) {
        let address = Ipv6Addr::from_bits(bits);
        let special = address.is_loopback() || address.is_multicast() || address.is_unique_local()
            || address.is_unicast_link_local() || address.is_unspecified() || bits >> 125 != 1;
        prop_assert!(!(special && is_public(address.into())), "{}", address);
    }
}
