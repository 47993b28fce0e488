//! Addresses of HTTP: to listen on, by which clients know the server, and those that clients name.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

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

/// Parses the address by which clients know a server: http or https, and perhaps a path below which it is. Returns it without a slash
/// at the end.
pub fn parse_base_url(text: &str) -> Result<String, &'static str> {
    let url = Some(text).filter(|text| is_http_url(text)).and_then(|text| Url::parse(text).ok());
    let is_bare = |url: &Url| {
        let no_user = url.username().is_empty() && url.password().is_none();
        url.query().is_none() && url.fragment().is_none() && no_user
    };
    let url = url
        .filter(is_bare)
        .ok_or("must be an http or https address, as https://api.example.com, without a query")?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Returns whether a text is an http or https URL with a host.
pub fn is_http_url(text: &str) -> bool {
    // The parser repairs what a browser would: white space, a missing slash. We send the text as it is, so it must be right.
    let spelled = text.split_once("://").is_some_and(|(scheme, rest)| {
        let of_the_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        // After a third slash the parser would take the path for the host.
        of_the_web && !rest.starts_with(['/', '\\'])
    });
    let clean = !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    let hosted = Url::parse(text).is_ok_and(|url| match url.host() {
        Some(Host::Domain(name)) => is_host_name(name),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    });
    spelled && clean && hosted
}

/// Returns whether a resolver may know a name: also one of a single label, or with underscores, as in internal networks.
fn is_host_name(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    text.len() <= 253 && text.split('.').all(|label| is_label(label, "-_"))
}

/// Returns whether a text is a label of a domain name, with these marks besides letters and digits.
pub fn is_label(text: &str, marks: &str) -> bool {
    let letters = text.chars().all(|letter| letter.is_ascii_alphanumeric() || marks.contains(letter));
    (1..=63).contains(&text.len()) && letters && !text.starts_with('-') && !text.ends_with('-')
}

/// Returns the address by which this machine reaches a server that listens on `address`, which may mean all addresses.
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_here() {
        for (listens, expected) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("10.0.0.7:80", "10.0.0.7:80"),
            ("127.0.0.1:1", "127.0.0.1:1"),
        ] {
            assert_eq!(reachable(listens.parse().unwrap()), expected.parse().unwrap());
        }
    }

    #[test]
    fn a_base_url_is_an_http_address_that_paths_can_follow() {
        for (text, address) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://api.example.com/", "https://api.example.com"),
            ("HTTPS://api.example.com/payments//", "https://api.example.com/payments"),
        ] {
            assert_eq!(parse_base_url(text).as_deref(), Ok(address), "{text}");
        }
        for wrong in [
            "",
            " ",
            "api.example.com",
            "api.example.com:8080",
            "ftp://api.example.com",
            "https://",
            "https:///payments",
            " https://api.example.com",
            "https://api.example.com /",
            "https://api.example.com/?a=1",
            "https://api.example.com/#a",
            "https://a:b@api.example.com",
        ] {
            assert!(parse_base_url(wrong).is_err(), "{wrong}");
        }
    }

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
