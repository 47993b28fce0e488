//! The options of commands that call a running server.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use base::http_address::{is_http_url, parse_base_url, parse_listen_address, reachable};
use base::secret::Secret;
use base::variables::set_variable;
use clap::Args;
use http::{Method, Uri};

use crate::api_client::ApiClient;

/// The default address of a server.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// The server to call, and the key to call it with.
#[derive(Args)]
pub struct ServerOptions {
    /// The running server's address, or that of its API. By default that of CARD_PAYMENTS_LISTEN, or http://127.0.0.1:8080.
    #[arg(long, env = "CARD_PAYMENTS_SERVER", value_parser = server_address)]
    server: Option<String>,
    /// The account's secret key. Prefer the variable, because `ps` shows flags. By default that of the first account, which a test
    /// server shows to its own machine.
    #[arg(long, env = "CARD_PAYMENTS_KEY", hide_env_values = true, allow_hyphen_values = true)]
    key: Option<Secret>,
}

impl ServerOptions {
    pub fn is_named(&self) -> bool {
        self.server.is_some()
    }

    /// Returns the server's client. Requests the key from the server if none is given.
    pub async fn open(self) -> Result<ApiClient, Box<dyn Error>> {
        let address = self.server.map_or_else(listening, Ok)?;
        Ok(ApiClient::at(&address, self.key).await?)
    }
}

/// Refuses a live server; `nothing` says what is not done there.
pub async fn refuse_live(server: &ApiClient, nothing: &str) -> Result<(), Box<dyn Error>> {
    let shown = server.answer_to(Method::GET, "/1/sandbox/clock", None, &[]).await?;
    if shown.status == 404 {
        return Err(format!("{} has no sandbox: {nothing} where cards are real", server.address()).into());
    }
    shown.record()?;
    Ok(())
}

/// Returns the address of the server that has these environment variables.
fn listening() -> Result<String, String> {
    let listen: SocketAddr = match set_variable("CARD_PAYMENTS_LISTEN") {
        Some(listen) => parse_listen_address(&listen.to_string_lossy())
            .map_err(|why| format!("CARD_PAYMENTS_LISTEN: {why}"))?,
        None => LISTEN,
    };
    if listen.port() == 0 {
        return Err("CARD_PAYMENTS_LISTEN names no port: name the server by --server".into());
    }
    Ok(format!("http://{}", reachable(listen)))
}

/// Parses the address of a server. That of its API, which a start prints, is the same server's.
fn server_address(text: &str) -> Result<String, &'static str> {
    let address = parse_base_url(&with_scheme(text)).map_err(|_| NO_ADDRESS)?;
    Ok(address.strip_suffix("/1").unwrap_or(&address).to_owned())
}

pub fn receiver_address(text: &str) -> Result<String, &'static str> {
    let address = with_scheme(text);
    if is_http_url(&address) { Ok(address) } else { Err(NO_ADDRESS) }
}

const NO_ADDRESS: &str =
    "not an http or https address: write it as http://127.0.0.1:8080, or as 127.0.0.1:8080";

/// Returns an address with its scheme. One that names its port and no scheme means http.
fn with_scheme(text: &str) -> String {
    let plain = format!("http://{text}");
    let has_port = plain.parse::<Uri>().is_ok_and(|address| address.port().is_some());
    if has_port && !text.contains("://") { plain } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_port_needs_no_scheme_and_that_of_the_api_is_the_servers() {
        for (text, server) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("localhost:8080/", "http://localhost:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("http://127.0.0.1:8080/1", "http://127.0.0.1:8080"),
            ("http://127.0.0.1:8080/1/", "http://127.0.0.1:8080"),
            ("https://example.com/payments/1", "https://example.com/payments"),
            ("https://example.com/11", "https://example.com/11"),
        ] {
            assert_eq!(server_address(text).as_deref(), Ok(server), "{text}");
        }
        for (text, receiver) in [
            ("localhost:4242/hooks?a=1", "http://localhost:4242/hooks?a=1"),
            ("http://localhost/hooks/1", "http://localhost/hooks/1"),
        ] {
            assert_eq!(receiver_address(text).as_deref(), Ok(receiver), "{text}");
        }
        for wrong in
            ["", " ", "nowhere", "ftp://localhost:80/", "localhost:x", "mailto:a", ":8080", "http://"]
        {
            assert!(server_address(wrong).is_err() && receiver_address(wrong).is_err(), "{wrong}");
        }
        assert!(server_address("http://localhost?a=1").is_err());
    }
}
