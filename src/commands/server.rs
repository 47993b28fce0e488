//! The options of commands that call a running server.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use card_payments::config::parse_listen_address;
use card_payments::outbound::api_client::ApiClient;
use card_payments::params::rules;
use card_payments::sensitive::secret::Secret;
use clap::Args;
use http::Method;

/// The default address of a server.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// The server to call, and the key to call it with.
#[derive(Args)]
pub struct ServerOptions {
    /// The running server's address. By default that of CARD_PAYMENTS_LISTEN, or http://127.0.0.1:8080.
    #[arg(long, env = "CARD_PAYMENTS_SERVER", value_parser = address)]
    server: Option<String>,
    /// The account's secret key. Prefer the variable, because `ps` shows flags. By default that of the first account, which a test
    /// server shows to its own machine.
    #[arg(long, env = "CARD_PAYMENTS_KEY", hide_env_values = true, allow_hyphen_values = true)]
    key: Option<Secret>,
}

impl ServerOptions {
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
    let listen: SocketAddr = match std::env::var("CARD_PAYMENTS_LISTEN") {
        Ok(listen) => parse_listen_address(&listen).map_err(|why| format!("CARD_PAYMENTS_LISTEN: {why}"))?,
        Err(_) => LISTEN,
    };
    if listen.port() == 0 {
        return Err("CARD_PAYMENTS_LISTEN names no port: name the server by --server".into());
    }
    Ok(format!("http://{}", near(listen)))
}

/// Returns the address at which this machine reaches a server that listens on this one.
pub fn near(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Parses the address of a server.
pub fn address(text: &str) -> Result<String, &'static str> {
    match rules::http_url(text) {
        Ok(()) if !text.is_empty() => Ok(text.to_owned()),
        Ok(()) | Err(_) => Err("not an http or https address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_here() {
        for (listens, asked) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("10.0.0.7:80", "10.0.0.7:80"),
            ("127.0.0.1:1", "127.0.0.1:1"),
        ] {
            assert_eq!(near(listens.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
