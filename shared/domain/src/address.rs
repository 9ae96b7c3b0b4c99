//! Which addresses a webhook may be sent to: public ones, and nothing else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses that are not the public internet's, and its name in IANA's registries.
struct Range<A> {
    first: A,
    prefix: u32,
    /// What the range is for; kept for whoever reads the table and for the tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "the names explain the table"))]
    name: &'static str,
}

const fn v4(octets: [u8; 4], prefix: u32, name: &'static str) -> Range<Ipv4Addr> {
    Range { first: Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]), prefix, name }
}

const fn v6(segments: [u16; 8], prefix: u32, name: &'static str) -> Range<Ipv6Addr> {
    let [a, b, c, d, e, f, g, h] = segments;
    Range { first: Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix, name }
}

/// IANA IPv4 Special-Purpose Address Registry, whole: also the few entries that are globally reachable, since no
/// customer's receiver stands there. Then multicast, the reserved rest, and one public address that inside its
/// cloud is a control service.
const REFUSED_V4: &[Range<Ipv4Addr>] = &[
    v4([0, 0, 0, 0], 8, "this network"),
    v4([10, 0, 0, 0], 8, "private use"),
    v4([100, 64, 0, 0], 10, "shared address space of carriers"),
    v4([127, 0, 0, 0], 8, "loopback"),
    v4([169, 254, 0, 0], 16, "link local, metadata services among them"),
    v4([172, 16, 0, 0], 12, "private use"),
    v4([192, 0, 0, 0], 24, "IETF protocol assignments"),
    v4([192, 0, 2, 0], 24, "documentation 1"),
    v4([192, 31, 196, 0], 24, "AS112-v4"),
    v4([192, 52, 193, 0], 24, "automatic multicast tunnelling"),
    v4([192, 88, 99, 0], 24, "6to4 relays, deprecated"),
    v4([192, 168, 0, 0], 16, "private use"),
    v4([192, 175, 48, 0], 24, "AS112 direct delegation"),
    v4([198, 18, 0, 0], 15, "benchmarking"),
    v4([198, 51, 100, 0], 24, "documentation 2"),
    v4([203, 0, 113, 0], 24, "documentation 3"),
    v4([224, 0, 0, 0], 4, "multicast"),
    v4([240, 0, 0, 0], 4, "reserved, limited broadcast among it"),
    v4([168, 63, 129, 16], 32, "Azure's platform service"),
];

/// The only part of IPv6 from which global unicast addresses are given out (RFC 4291, IANA). Everything outside
/// it is refused without a row of its own: unspecified, loopback, IPv4-mapped and -compatible, both NAT64
/// prefixes, discard, segment routing, unique local, link local, site local, multicast.
const GLOBAL_V6: Range<Ipv6Addr> = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, "global unicast");

/// What is special within [`GLOBAL_V6`]: the entries of IANA's IPv6 Special-Purpose Address Registry.
const REFUSED_V6: &[Range<Ipv6Addr>] = &[
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "IETF protocol assignments: Teredo, benchmarking, ORCHID, DRIP"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4, which holds an IPv4 address"),
    v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, "AS112 direct delegation"),
    v6([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, "6bone, returned"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
];

/// Whether an address belongs to the public internet. Anything special by IANA's registries is not, and neither
/// is an IPv6 address that stands for an IPv4 one: whatever it stands for can be written plainly.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !REFUSED_V4.iter().any(|range| range.holds_v4(address)),
        IpAddr::V6(address) => {
            GLOBAL_V6.holds_v6(address) && !REFUSED_V6.iter().any(|range| range.holds_v6(address))
        }
    }
}

impl Range<Ipv4Addr> {
    fn holds_v4(&self, address: Ipv4Addr) -> bool {
        let differing = self.first.to_bits() ^ address.to_bits();
        differing.leading_zeros() >= self.prefix
    }
}

impl Range<Ipv6Addr> {
    fn holds_v6(&self, address: Ipv6Addr) -> bool {
        let differing = self.first.to_bits() ^ address.to_bits();
        differing.leading_zeros() >= self.prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn no_address_that_the_standard_library_calls_special_is_public(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let special = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_documentation()
                || address.is_unspecified();
            prop_assert!(!(special && is_public(address.into())), "{}", address);
        }

        #[test]
        fn no_ipv6_spelling_of_an_ipv4_address_is_public(bits: u32) {
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
}
