//! Networks of clients. One person has many addresses, so wherever an address counts as one person, its network does.

use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::address_zone::plain;

const V4_LENGTH: u8 = 24;
/// The network of one home, machine or phone, which chooses the other 64 bits as it likes.
const V6_CLIENT_LENGTH: u8 = 64;
/// The most that one customer of a network's owner gets.
const V6_SITE_LENGTH: u8 = 48;

/// The addresses that count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNetwork(IpNet);

impl ClientNetwork {
    /// Returns the network of a client: the first 24 bits of an IPv4 address, the first 64 of an IPv6 address. For limits that hold
    /// for a client whatever it does, so that phones of one carrier, which have a network of 64 bits each, do not share one.
    pub fn from_address(address: IpAddr) -> Self {
        Self::with_length(address, V6_CLIENT_LENGTH)
    }

    /// Returns the network of a site: the first 24 bits of an IPv4 address, the first 48 of an IPv6 address. For counts that honest
    /// neighbours end, because an attacker who rents a site has 65,536 networks of clients.
    pub fn of_site(address: IpAddr) -> Self {
        Self::with_length(address, V6_SITE_LENGTH)
    }

    fn with_length(address: IpAddr, v6_length: u8) -> Self {
        // All of IPv4 may come from one network that translates it.
        Self(match plain(address) {
            IpAddr::V4(address) => Ipv4Net::new_assert(address, V4_LENGTH).trunc().into(),
            IpAddr::V6(address) => Ipv6Net::new_assert(address, v6_length).trunc().into(),
        })
    }
}

/// Parses a network, as `192.0.2.0/24`, or a single address. An IPv4 network in its IPv6 form is the IPv4 network, as clients' addresses
/// are compared.
pub fn parse_network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))?;
    let network = match network.addr().to_canonical() {
        address @ IpAddr::V4(_) if network.addr().is_ipv6() => {
            IpNet::new(address, network.prefix_len().checked_sub(96)?).ok()?
        }
        IpAddr::V4(_) | IpAddr::V6(_) => network,
    };
    Some(network.trunc())
}

impl fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_one_client_are_one_network() {
        for (address, client, site) in [
            ("203.0.113.7", "203.0.113.0/24", "203.0.113.0/24"),
            ("::ffff:203.0.113.9", "203.0.113.0/24", "203.0.113.0/24"),
            ("64:ff9b::cb00:7109", "203.0.113.0/24", "203.0.113.0/24"),
            ("2001:db8:7:1::1", "2001:db8:7:1::/64", "2001:db8:7::/48"),
            ("2001:db8:7:1:ffff::", "2001:db8:7:1::/64", "2001:db8:7::/48"),
            ("::1", "::/64", "::/48"),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(ClientNetwork::from_address(address).to_string(), client, "{address}");
            assert_eq!(ClientNetwork::of_site(address).to_string(), site, "{address}");
        }
    }
}
