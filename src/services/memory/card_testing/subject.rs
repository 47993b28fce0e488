//! The subjects of rules: payments with the same subject are counted together.

use std::fmt;

use base::address_zone::{AddressZone, plain};
use base::client_network::ClientNetwork;
use base::secret::Secret;
use entity::{AccountToken, CustomerToken};
use vault::{Purpose, Vault};

/// Returns the network of an address that a payment names: neighbours are counted together, because an attacker changes addresses
/// within a site. `None` if no cardholder has the address: merchants without one of their cardholder send that of a machine of
/// their own. Addresses of examples count, because merchants' tests name them.
pub fn cardholders_network(address: &str) -> Option<ClientNetwork> {
    let address = plain(address.trim().parse().ok()?);
    match AddressZone::from_address(address) {
        AddressZone::Public | AddressZone::Documentation => Some(ClientNetwork::of_site(address)),
        AddressZone::Loopback | AddressZone::Private | AddressZone::Reserved | AddressZone::Forbidden => None,
    }
}

/// A part of the keyed hash of a card number: enough to distinguish an account's cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardHash(u64);

impl CardHash {
    pub fn hashing(vault: &Vault, account: AccountToken, number: &Secret) -> Self {
        let owner = account.id();
        let parts = [b"card testing", owner.as_bytes().as_slice(), number.expose().as_bytes()];
        let hash = vault.keyed_hash(Purpose::Fingerprint, &parts);
        Self(hash.iter().take(8).fold(0, |part, byte| part << 8 | u64::from(*byte)))
    }

    #[cfg(test)]
    /// Creates one of a hash.
    pub const fn new(hash: u64) -> Self {
        Self(hash)
    }
}

/// The subject of a rule, which counts payments with the same subject together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    Network(ClientNetwork),
    Card(CardHash),
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
        let network = |address: &str| cardholders_network(address).map(|network| network.to_string());
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
            ("100.64.0.1", None),
            ("198.18.0.1", None),
            ("240.0.0.1", None),
            ("64:ff9b::1", None),
            ("64:ff9b::100.64.0.1", None),
            ("64:ff9b::203.0.113.7", Some("203.0.113.0/24")),
            ("64:ff9b:1::203.0.113.7", None),
            ("2606:4700::1111", Some("2606:4700::/48")),
            ("", None),
            ("localhost", None),
        ] {
            assert_eq!(network(address).as_deref(), expected, "{address}");
        }
    }
}
