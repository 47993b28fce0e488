//! What payments have in common that a rule counts together.

use std::fmt;
use std::net::IpAddr;

use entity::{AccountToken, CustomerToken};

use crate::sensitive::secret::Secret;
use crate::vault::{Purpose, Vault};

/// A network of cardholders: neighbours are counted together, because an attacker changes addresses within a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// The first 24 bits of an IPv4 address.
    V4([u8; 3]),
    /// The first 48 bits of an IPv6 address.
    V6([u16; 3]),
}

impl Network {
    /// Returns the network of an address that a payment names; `None` if it names none of the Internet's: merchants
    /// without an address of their cardholder send one of these.
    pub fn of(address: &str) -> Option<Self> {
        match address.trim().parse::<IpAddr>().ok()?.to_canonical() {
            IpAddr::V4(address) => {
                let names_none = address.is_loopback()
                    || address.is_private()
                    || address.is_link_local()
                    || address.is_unspecified()
                    || address.is_broadcast();
                let [a, b, c, _] = address.octets();
                (!names_none).then_some(Self::V4([a, b, c]))
            }
            IpAddr::V6(address) => {
                let names_none = address.is_loopback()
                    || address.is_unspecified()
                    || address.is_unique_local()
                    || address.is_unicast_link_local();
                let [a, b, c, ..] = address.segments();
                (!names_none).then_some(Self::V6([a, b, c]))
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4([a, b, c]) => write!(f, "{a}.{b}.{c}.0/24"),
            Self::V6([a, b, c]) => write!(f, "{a:x}:{b:x}:{c:x}::/48"),
        }
    }
}

/// A part of the keyed hash of a card number: enough to tell an account's cards from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardHash(u64);

impl CardHash {
    /// Hashes a number for one account.
    pub fn of(vault: &Vault, account: AccountToken, number: &Secret) -> Self {
        let owner = account.id();
        let parts = [b"card testing", owner.as_bytes().as_slice(), number.expose().as_bytes()];
        let hash = vault.keyed_hash(Purpose::Fingerprint, &parts);
        Self(hash.iter().take(8).fold(0, |part, byte| part << 8 | u64::from(*byte)))
    }

    #[cfg(test)]
    pub const fn new(hash: u64) -> Self {
        Self(hash)
    }
}

/// What a rule counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A network.
    Network(Network),
    /// A card.
    Card(CardHash),
    /// A customer.
    Customer(CustomerToken),
    /// The whole account.
    Account,
}

/// The text by which an attack names its subject.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::Card(CardHash(hash)) => write!(f, "card #{hash:016x}"),
            Self::Customer(customer) => customer.fmt(f),
            Self::Account => f.write_str("the account"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_network_and_addresses_of_nobody_are_none() {
        let network = |address: &str| Network::of(address).map(|network| network.to_string());
        for (address, expected) in [
            ("203.0.113.7", Some("203.0.113.0/24")),
            ("::ffff:203.0.113.9", Some("203.0.113.0/24")),
            ("2001:db8:7::1", Some("2001:db8:7::/48")),
            ("127.0.0.1", None),
            ("10.1.2.3", None),
            ("192.168.0.1", None),
            ("0.0.0.0", None),
            ("::1", None),
            ("fe80::1", None),
            ("fd00::1", None),
            ("", None),
            ("localhost", None),
        ] {
            assert_eq!(network(address).as_deref(), expected, "{address}");
        }
    }
}
