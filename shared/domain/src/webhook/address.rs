//! The addresses to which webhooks may be sent: only public ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses outside the public internet, with its name in IANA's registries.
struct Range<A> {
    first: A,
    prefix: u32,
    /// The purpose of the range, for readers of the table and for tests.
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

/// The complete IANA IPv4 Special-Purpose Address Registry. The few globally reachable entries are included,
/// because no tenant runs a receiver there. The table also contains multicast, the reserved rest, and one
/// public address that is a control service inside its cloud.
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

/// The only part of IPv6 from which global unicast addresses are assigned (RFC 4291, IANA). The check refuses
/// everything outside it without rows of its own: unspecified, loopback, IPv4-mapped and -compatible, both
/// NAT64 prefixes, discard, segment routing, unique local, link local, site local, multicast.
const GLOBAL_V6: Range<Ipv6Addr> = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, "global unicast");

/// The special ranges within [`GLOBAL_V6`]: the entries of IANA's IPv6 Special-Purpose Address Registry.
const REFUSED_V6: &[Range<Ipv6Addr>] = &[
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "IETF protocol assignments: Teredo, benchmarking, ORCHID, DRIP"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation"),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4, which holds an IPv4 address"),
    v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, "AS112 direct delegation"),
    v6([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, "6bone, returned"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation"),
];

/// Whether an address belongs to the public internet. Addresses that are special in IANA's registries do not.
/// IPv6 addresses that contain an IPv4 address do not either, because a tenant can write the IPv4 address
/// directly.
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
mod tests;
