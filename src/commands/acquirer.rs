//! `card-payments acquirer`: the simulator for servers elsewhere.

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use card_payments::acquirer::http::{Secrets, document, router};
use card_payments::acquirer::simulator::Simulator;
use card_payments::config::{self, Environment, parse_listen_address};
use card_payments::http::Connections;
use card_payments::http::server::{self, ShutdownPhase};
use card_payments::limits::ACQUIRER_CONNECTIONS;
use card_payments::runtime::clock::SystemClock;
use clap::Args;
use serde_json::json;
use tokio::sync::watch;

use super::{tell, terminal};
use crate::{Signals, bind, log};

/// Serve the built-in acquirer to servers elsewhere, by the protocol of docs/acquirer.md.
///
/// No money moves. Prints "Listening on http://HOST:PORT" when it is ready, logs to stderr and ends on SIGTERM or SIGINT once
/// what is in flight is answered. It remembers calls for a day, half a million of them at most (the oldest go first), and forgets
/// them when it ends. The secret that it shares with its servers is an environment variable, or a file:
/// CARD_PAYMENTS_ACQUIRER_SECRET, CARD_PAYMENTS_ACQUIRER_SECRET_FILE. Needs no database.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments acquirer --listen 127.0.0.1:8090")]
pub struct Acquirer {
    /// Address to listen on; a port alone is one of 127.0.0.1, and port 0 any free one.
    #[arg(long, env = "CARD_PAYMENTS_LISTEN", default_value = "127.0.0.1:8090", value_parser = parse_listen_address)]
    listen: SocketAddr,
    /// test takes the test cards, live every possible one.
    #[arg(long, env = "CARD_PAYMENTS_ENVIRONMENT", value_enum, default_value = "test")]
    environment: Environment,
    /// What is logged: a tracing filter.
    #[arg(long, env = "CARD_PAYMENTS_LOG", default_value = "info")]
    log: String,
    /// Print the OpenAPI document of the protocol, and serve nothing.
    #[arg(long)]
    openapi: bool,
    /// One JSON object, {listening}, when it is ready; the document as JSON instead of YAML.
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub async fn run(options: Acquirer) -> Result<(), Box<dyn Error>> {
    let Acquirer { listen, environment, log: filter, openapi, json } = options;
    if openapi {
        let document = if json { format!("{:#}\n", document::document()) } else { document::yaml() };
        return Ok(terminal::stdout().write_all(document.as_bytes())?);
    }
    log(&filter)?;
    let secret = config::Secrets::from_environment()?.acquirer;
    let secret = secret.ok_or("CARD_PAYMENTS_ACQUIRER_SECRET is required")?;
    let secrets =
        Secrets::parse(&secret).map_err(|wrong| format!("CARD_PAYMENTS_ACQUIRER_SECRET {wrong}"))?;
    if environment == Environment::Live {
        tracing::warn!("this acquirer is a simulator: no money moves");
    }
    let listener = bind(listen)?;
    let address = listener.local_addr()?;
    let routes =
        router(Arc::new(Simulator::served(environment)), secrets, environment, Arc::new(SystemClock));
    // Whoever reads that it listens may stop it at once.
    let mut signals = Signals::listen()?;
    let address = format!("http://{address}");
    // It serves on, though nobody reads where.
    drop(tell(&json!({ "listening": address }), &format!("Listening on {address}"), json));
    server::raise_file_limit(ACQUIRER_CONNECTIONS);
    let seats = Connections::new(ACQUIRER_CONNECTIONS);
    let (phase, phases) = watch::channel(ShutdownPhase::Serving);
    let leave = async {
        signals.next().await;
        tracing::info!("stopping");
        phase.send_replace(ShutdownPhase::Closing);
    };
    tokio::join!(server::serve(listener, routes, &seats, phases), leave);
    Ok(())
}
