//! The policy that decides which addresses may be called.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use base::address_zone::{AddressZone, plain};
use base::client_network::parse_network;
use ipnet::IpNet;
use url::{Host, Url};

/// The policy that decides which addresses may be called.
#[derive(Debug, Clone)]
pub struct AddressPolicy {
    /// Whether loopback, private and reserved networks may be called, too.
    inside: bool,
    allow: Vec<Allowed>,
}

/// One entry of CARD_PAYMENTS_WEBHOOK_ALLOW.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// A network in CIDR form, or one address.
    Network(IpNet),
    /// A host by its name, as [`Url`] spells it, at any address.
    Host(String),
}

impl AddressPolicy {
    /// Permits all but link-local and metadata addresses: a developer's receiver may be on any machine, and many tests use
    /// documentation addresses.
    pub fn test() -> Self {
        Self { inside: true, allow: Vec::new() }
    }

    /// Permits public addresses, and those that the operator names.
    pub fn live(allow: Vec<Allowed>) -> Self {
        Self { inside: false, allow }
    }

    /// Returns whether a URL may be called. Names always may: each call judges their addresses.
    pub fn permits_literal(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Domain(_)) => true,
            Some(Host::Ipv4(address)) => self.permits_address(address.into(), None),
            Some(Host::Ipv6(address)) => self.permits_address(address.into(), None),
            None => false,
        }
    }

    /// Returns whether a host may be called at one of its addresses.
    pub fn permits(&self, host: &str, address: SocketAddr) -> bool {
        // A scope names a link of this machine.
        let scoped = matches!(address, SocketAddr::V6(address) if address.scope_id() != 0);
        !scoped && self.permits_address(address.ip(), Some(host))
    }

    fn permits_address(&self, address: IpAddr, host: Option<&str>) -> bool {
        let address = plain(address);
        match AddressZone::from_address(address) {
            AddressZone::Public => true,
            AddressZone::Loopback
            | AddressZone::Private
            | AddressZone::Reserved
            | AddressZone::Documentation => self.inside || self.allows(address, host),
            AddressZone::Forbidden => false,
        }
    }

    fn allows(&self, address: IpAddr, host: Option<&str>) -> bool {
        self.allow.iter().any(|allowed| match allowed {
            Allowed::Network(network) => network.contains(&address),
            Allowed::Host(name) => host.is_some_and(|host| without_root(host) == name),
        })
    }
}

/// A fully qualified name may end in a dot.
fn without_root(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

impl FromStr for Allowed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Network(plain(address).into()));
        }
        if let Some(network) = parse_network(text) {
            return Ok(Self::Network(network));
        }
        let wrong = "must be a network such as 10.1.0.0/16, an address or a host name";
        match Host::parse(text) {
            Ok(Host::Domain(name)) if named(&name) => Ok(Self::Host(without_root(&name).to_owned())),
            Ok(Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_)) | Err(_) => Err(wrong),
        }
    }
}

/// Returns whether the text can be a host name: no wildcard, no port, no path.
fn named(name: &str) -> bool {
    let letters =
        |label: &str| label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    without_root(name).split('.').all(|label| !label.is_empty() && letters(label))
}
