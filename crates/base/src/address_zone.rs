//! The zones of IP addresses: which ones a client's URL may lead to, and which ones are a cardholder's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// The zone of an address: the machines that may be behind it. Address policies allow zones, not addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressZone {
    /// The public internet.
    Public,
    /// This machine.
    Loopback,
    /// The networks behind routers and VPNs: RFC 1918, RFC 6598, unique local IPv6.
    Private,
    /// No machine's address: unspecified, multicast, benchmarking, reserved.
    Reserved,
    /// The addresses of examples, which clients' tests use for public ones.
    Documentation,
    /// Link-local, the metadata services of clouds, and the tunnels that hide either: never called.
    Forbidden,
}

impl AddressZone {
    /// Returns the zone of an address that [`plain`] has unwrapped.
    pub fn from_address(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

/// Returns the IPv4 address inside an IPv6 address: mapped, compatible, translated, NAT64, 6to4. Routers
/// may send a packet on to it, so it is the one to judge.
pub fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let (high, low) = match v6.segments() {
        // The unspecified address and loopback look like compatible ones.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => return address,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => (high, low),
        _ => return address,
    };
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into()
}

fn of_v4(address: Ipv4Addr) -> AddressZone {
    let found = V4.iter().find(|(network, _)| network.contains(&address));
    found.map_or(AddressZone::Public, |&(_, zone)| zone)
}

fn of_v6(address: Ipv6Addr) -> AddressZone {
    let found = V6.iter().find(|(network, _)| network.contains(&address));
    found.map_or(AddressZone::Reserved, |&(_, zone)| zone)
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

/// A network by its first three segments; all prefixes below are this short.
const fn v6(a: u16, b: u16, c: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// The first network that contains an address counts; others are public. Source: the IANA registry of
/// special-purpose IPv4 addresses, and the metadata addresses that clouds document.
const V4: &[(Ipv4Net, AddressZone)] = &[
    (v4(169, 254, 0, 0, 16), AddressZone::Forbidden),
    // Metadata outside of link-local: Alibaba, Azure, Oracle.
    (v4(100, 100, 100, 200, 32), AddressZone::Forbidden),
    (v4(168, 63, 129, 16, 32), AddressZone::Forbidden),
    (v4(192, 0, 0, 192, 32), AddressZone::Forbidden),
    (v4(127, 0, 0, 0, 8), AddressZone::Loopback),
    (v4(10, 0, 0, 0, 8), AddressZone::Private),
    (v4(100, 64, 0, 0, 10), AddressZone::Private),
    (v4(172, 16, 0, 0, 12), AddressZone::Private),
    (v4(192, 168, 0, 0, 16), AddressZone::Private),
    (v4(0, 0, 0, 0, 8), AddressZone::Reserved),
    (v4(192, 0, 0, 0, 24), AddressZone::Reserved),
    (v4(192, 0, 2, 0, 24), AddressZone::Documentation),
    (v4(192, 31, 196, 0, 24), AddressZone::Reserved),
    (v4(192, 52, 193, 0, 24), AddressZone::Reserved),
    (v4(192, 88, 99, 0, 24), AddressZone::Reserved),
    (v4(192, 175, 48, 0, 24), AddressZone::Reserved),
    (v4(198, 18, 0, 0, 15), AddressZone::Reserved),
    (v4(198, 51, 100, 0, 24), AddressZone::Documentation),
    (v4(203, 0, 113, 0, 24), AddressZone::Documentation),
    (v4(224, 0, 0, 0, 3), AddressZone::Reserved),
];

/// The first network that contains an address counts; only 2000::/3 is assigned, so others are reserved.
const V6: &[(Ipv6Net, AddressZone)] = &[
    (v6(0xfe80, 0, 0, 10), AddressZone::Forbidden),
    // Metadata inside of unique local addresses: Amazon, Scaleway, Google, Oracle.
    (v6(0xfd00, 0xec2, 0, 32), AddressZone::Forbidden),
    (v6(0xfd00, 0x42, 0, 32), AddressZone::Forbidden),
    (v6(0xfd20, 0xce, 0, 32), AddressZone::Forbidden),
    (v6(0xfd00, 0xc1, 0, 32), AddressZone::Forbidden),
    // An IPv4 address is hidden inside, where only the network's owner knows; Teredo.
    (v6(0x64, 0xff9b, 1, 48), AddressZone::Forbidden),
    (v6(0x2001, 0, 0, 32), AddressZone::Forbidden),
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), AddressZone::Loopback),
    (v6(0xfc00, 0, 0, 7), AddressZone::Private),
    (v6(0x2001, 0, 0, 23), AddressZone::Reserved),
    (v6(0x2001, 0xdb8, 0, 32), AddressZone::Documentation),
    (v6(0x2620, 0x4f, 0x8000, 48), AddressZone::Reserved),
    (v6(0x3fff, 0, 0, 20), AddressZone::Documentation),
    (v6(0x2000, 0, 0, 3), AddressZone::Public),
];
