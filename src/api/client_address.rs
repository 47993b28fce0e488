//! The client's address: the one reader of X-Forwarded-For (`docs/decisions.md`, 62).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use ipnet::IpNet;

use super::state::AppState;

/// Returns the address of the client, `None` if it is unknown.
pub fn client_address(request: &Request, app: &AppState) -> Option<IpAddr> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    // A request without a socket comes from this process.
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    client_behind(peer, request.headers(), &app.info.trusted_proxies)
}

/// Returns the client behind the peer of a connection, `None` if it is unknown. X-Forwarded-For counts only from trusted proxies; where
/// one of them has written what cannot be read, the proxy's own address would stand for everybody behind it.
pub fn client_behind(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> Option<IpAddr> {
    let is_trusted = |address: &IpAddr| trusted_proxies.iter().any(|network| network.contains(address));
    let forwarded = headers.get_all("x-forwarded-for").iter();
    let hops: Vec<_> = forwarded.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).collect();
    // From the nearest hop outwards: the first one that is not a trusted proxy is the client. What is written before it may be the
    // client's own word.
    let mut client = peer.to_canonical();
    for hop in hops.into_iter().rev() {
        if !is_trusted(&client) {
            break;
        }
        client = parse_hop(hop)?.to_canonical();
    }
    Some(client)
}

/// Parses a hop: an address, to which some proxies add the port, or brackets.
fn parse_hop(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let in_brackets = || hop.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::from);
    let with_port = || hop.parse().ok().map(|address: SocketAddr| address.ip());
    hop.parse().ok().or_else(with_port).or_else(in_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_is_an_address_and_may_have_a_port() {
        for (hop, address) in [
            ("203.0.113.9", "203.0.113.9"),
            (" 203.0.113.9:51234\t", "203.0.113.9"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
        ] {
            assert_eq!(parse_hop(hop.as_bytes()), Some(address.parse().unwrap()), "{hop}");
        }
        for hop in [
            "",
            " ",
            "unknown",
            "unix:",
            "203.0.113.9:x",
            "203.0.113.9:99999",
            "[203.0.113.9]",
            "é",
            "localhost:80",
        ] {
            assert_eq!(parse_hop(hop.as_bytes()), None, "{hop}");
        }
        assert_eq!(parse_hop(b"203.0.113.9\xff"), None);
    }
}
