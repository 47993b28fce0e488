//! What commands share that ask a running server instead of its database.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use card_payments::config::parse_listen_address;
use card_payments::outbound::api_client::ApiClient;
use card_payments::params::rules;
use card_payments::sensitive::secret::Secret;
use clap::Args;
use http::Method;

/// Where a server listens that nobody has told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Which server is asked, and by whom.
#[derive(Args)]
pub struct ServerOptions {
    /// The running server's address; by default where CARD_PAYMENTS_LISTEN says, or http://127.0.0.1:8080.
    #[arg(long, env = "CARD_PAYMENTS_SERVER", value_parser = address)]
    server: Option<String>,
    /// The account's secret key, better named by the variable, because `ps` shows flags; by default the first account's, which a
    /// test server shows on its own machine.
    #[arg(long, env = "CARD_PAYMENTS_KEY", hide_env_values = true, allow_hyphen_values = true)]
    key: Option<Secret>,
}

impl ServerOptions {
    /// The server. Nothing is asked of it yet but, where none is named, its key.
    pub async fn open(self) -> Result<ApiClient, Box<dyn Error>> {
        let address = self.server.map_or_else(listening, Ok)?;
        Ok(ApiClient::at(&address, self.key).await?)
    }
}

/// Where real cards are charged, nothing is tried: `nothing` says what.
pub async fn refuse_live(server: &ApiClient, nothing: &str) -> Result<(), Box<dyn Error>> {
    let shown = server.answer_to(Method::GET, "/1/sandbox/clock", None, &[]).await?;
    if shown.status == 404 {
        return Err(format!("{} has no sandbox: {nothing} where cards are real", server.address()).into());
    }
    shown.record()?;
    Ok(())
}

/// Where the server listens whose variables these are.
fn listening() -> Result<String, String> {
    let listen: SocketAddr = match std::env::var("CARD_PAYMENTS_LISTEN") {
        Ok(listen) => parse_listen_address(&listen).map_err(|why| format!("CARD_PAYMENTS_LISTEN: {why}"))?,
        Err(_) => LISTEN,
    };
    if listen.port() == 0 {
        return Err("CARD_PAYMENTS_LISTEN names no port: name the server by --server".into());
    }
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        named @ (IpAddr::V4(_) | IpAddr::V6(_)) => named,
    };
    Ok(format!("http://{}", SocketAddr::new(ip, listen.port())))
}

/// An address that can be called.
pub fn address(text: &str) -> Result<String, &'static str> {
    match rules::http_url(text) {
        Ok(()) if !text.is_empty() => Ok(text.to_owned()),
        Ok(()) | Err(_) => Err("not an http or https address"),
    }
}
