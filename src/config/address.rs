//! Addresses to listen on.

use std::net::{Ipv4Addr, SocketAddr};

/// Parses an address to listen on. A port without a host, and `localhost`, mean 127.0.0.1; to accept connections from
/// other machines, use 0.0.0.0.
pub fn parse_listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    if !port.is_empty() && port.bytes().all(|letter| letter.is_ascii_digit()) {
        let port = port.parse().map_err(|_| "a port is at most 65535")?;
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse()
        .map_err(|_| "not an address to listen on: write it as 127.0.0.1:8080, localhost:8080, :8080 or 8080")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_a_port_alone() {
        for (text, address) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(parse_listen_address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for none in [
            "",
            ":",
            "localhost",
            "localhost:",
            "+80",
            "65536",
            "127.0.0.1",
            "example.com:80",
            "localhost:localhost:1",
        ] {
            assert!(parse_listen_address(none).is_err(), "{none}");
        }
    }
}
