//! The address of an acquirer.

use base::environment::Environment;
use url::{Host, Url};

/// The base URL of an acquirer's operations, without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Url);

/// The reason why a text is not the address of an acquirer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongAddress {
    /// The text does not have the form of an address.
    #[error("must be https://HOST, with an optional port and path")]
    Shape,
    /// Plain HTTP would send card numbers in the clear.
    #[error("must be an https address: in live only an acquirer on this machine may be called over http")]
    Clear,
}

impl Address {
    /// Parses `https://host[:port][/path]`. Plain `http://` is allowed in test, and to this machine itself.
    pub fn parse(text: &str, environment: Environment) -> Result<Self, WrongAddress> {
        let mut url = Url::parse(text).map_err(|_| WrongAddress::Shape)?;
        let plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !plain || !url.has_host() {
            return Err(WrongAddress::Shape);
        }
        match (url.scheme(), environment) {
            ("https", _) | ("http", Environment::Test) => {}
            ("http", Environment::Live) if is_loopback(&url) => {}
            ("http", Environment::Live) => return Err(WrongAddress::Clear),
            _ => return Err(WrongAddress::Shape),
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// Returns the URL of an operation.
    pub fn operation(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path().trim_end_matches('/')));
        url
    }

    /// The host, which names the acquirer until it has told its own name.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, environment: Environment) -> Result<String, WrongAddress> {
        Address::parse(text, environment).map(|address| address.operation("/void").into())
    }

    #[test]
    fn operations_are_below_the_address() {
        for (text, void) in [
            ("https://bank.example.com", "https://bank.example.com/void"),
            ("https://bank.example.com/", "https://bank.example.com/void"),
            ("https://bank.example.com:8443/cards/v7/", "https://bank.example.com:8443/cards/v7/void"),
            ("http://127.0.0.1:8090", "http://127.0.0.1:8090/void"),
            ("http://[::1]:8090/a%20b", "http://[::1]:8090/a%20b/void"),
            ("http://localhost", "http://localhost/void"),
        ] {
            for environment in [Environment::Test, Environment::Live] {
                assert_eq!(parsed(text, environment).as_deref(), Ok(void));
            }
        }
        let address = Address::parse("https://bank.example.com/a/", Environment::Live).unwrap();
        assert_eq!(
            (address.to_string().as_str(), address.host()),
            ("https://bank.example.com/a", "bank.example.com")
        );
    }

    #[test]
    fn live_card_numbers_leave_the_machine_over_tls_only() {
        for text in ["http://bank.example.com", "http://10.0.0.1:8090", "http://localhost.example.com"] {
            assert_eq!(parsed(text, Environment::Live), Err(WrongAddress::Clear), "{text}");
            assert!(parsed(text, Environment::Test).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_address_is_refused() {
        for text in [
            "https://",
            "ftp://bank.example.com",
            "bank.example.com:443",
            "https://key@bank.example.com",
            "https://:key@bank.example.com",
            "https://bank.example.com/?a=1",
            "https://bank.example.com/#a",
        ] {
            for environment in [Environment::Test, Environment::Live] {
                assert_eq!(parsed(text, environment), Err(WrongAddress::Shape), "{text}");
            }
        }
    }
}
