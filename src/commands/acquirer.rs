//! `card-payments acquirer`: the simulator as a server of its own.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use acquirer::http::{Secrets, document, router};
use acquirer::simulator::Simulator;
use acquirer::statement::book::{Book, write_statement};
use acquirer::statement::parse_day;
use base::clock::SystemClock;
use base::http_address::parse_listen_address;
use base::platform::{Signal, on_signals};
use card_payments::config::{self, Environment};
use card_payments::limits::ACQUIRER_CONNECTIONS;
use clap::Args;
use entity::Day;
use serde_json::json;
use tokio::sync::watch;
use tools::terminal::{self, LossyStderr, print_result};
use web::connections::Connections;
use web::server::{self, ServerPhase};

use super::serve::{bind, log};

/// Serve the built-in acquirer to other servers.
///
/// It speaks the protocol in docs/acquirer.md, and no money moves. Prints "Listening on http://HOST:PORT" when it is ready, logs
/// to stderr, and on SIGTERM or SIGINT ends after it has answered the calls in flight. It remembers calls for a day, at most half
/// a million (it drops the oldest first), and forgets them when it ends; what they have moved stays in its book, if it keeps one.
/// The secret that it shares with its servers comes from an environment variable or a file: CARD_PAYMENTS_ACQUIRER_SECRET,
/// CARD_PAYMENTS_ACQUIRER_SECRET_FILE. Needs no database.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments acquirer --listen 127.0.0.1:8090 --book acquirer.csv\n  \
    card-payments acquirer --book acquirer.csv --statement 2026-11-25 > statement.csv")]
pub struct Acquirer {
    /// The address to listen on. A port alone means 127.0.0.1; port 0 means any free port.
    #[arg(long, env = "CARD_PAYMENTS_LISTEN", default_value = "127.0.0.1:8090", value_parser = parse_listen_address)]
    listen: SocketAddr,
    /// test accepts the test cards, live every valid number.
    #[arg(long, env = "CARD_PAYMENTS_ENVIRONMENT", value_parser = config::environment_parser(), default_value = "test")]
    environment: Environment,
    /// Which entries the log has, in the syntax of tracing: warn, or info,card_payments=debug.
    #[arg(long = "log-filter", value_name = "FILTER", env = "CARD_PAYMENTS_LOG", default_value = "info")]
    log: String,
    /// The file to which it appends each movement of money, for statements.
    #[arg(long, env = "CARD_PAYMENTS_ACQUIRER_BOOK")]
    book: Option<PathBuf>,
    /// Print the statement of a day of the book, in UTC, as comma-separated values, and exit.
    #[arg(long, value_name = "DAY", requires = "book", value_parser = day, conflicts_with = "openapi")]
    statement: Option<Day>,
    /// Print the OpenAPI document of the protocol and exit.
    #[arg(long)]
    openapi: bool,
    /// Print one JSON object, {listening}, when it is ready; print the document as JSON instead of YAML.
    #[arg(long)]
    json: bool,
}

pub async fn run(options: Acquirer) -> Result<(), Box<dyn Error>> {
    let Acquirer { listen, environment, log: filter, book, statement, openapi, json } = options;
    if let (Some(book), Some(day)) = (&book, statement) {
        return write_statement(book, day, terminal::stdout()).map_err(|error| about(book, error));
    }
    if openapi {
        let document = if json { format!("{:#}\n", document::document()) } else { document::yaml() };
        return Ok(terminal::stdout().write_all(document.as_bytes())?);
    }
    let is_terminal = io::stderr().is_terminal();
    log(&filter, Mutex::new(LossyStderr::new(!is_terminal)), is_terminal)?;
    let secret = config::Secrets::from_environment()?.acquirer;
    let secret = secret.ok_or("CARD_PAYMENTS_ACQUIRER_SECRET is required")?;
    let secrets =
        Secrets::parse(&secret).map_err(|wrong| format!("CARD_PAYMENTS_ACQUIRER_SECRET {wrong}"))?;
    if environment == Environment::Live {
        tracing::warn!("this acquirer is a simulator: no money moves");
    }
    let listener = bind(listen)?;
    let address = listener.local_addr()?;
    let mut simulator = Simulator::served(environment);
    if let Some(book) = &book {
        simulator =
            simulator.with_book(Book::open(book, Arc::new(SystemClock)).map_err(|error| about(book, error))?);
    }
    let routes = router(Arc::new(simulator), secrets, environment, Arc::new(SystemClock));
    // Set up before the address is printed: a reader of that line may stop the server at once.
    let mut stop = on_signals(Signal::STOP)?;
    let address = format!("http://{address}");
    // A closed pipe does not end the server.
    drop(print_result(&json!({ "listening": address }), &format!("Listening on {address}"), json));
    let connections = Connections::new(server::raise_file_limit(ACQUIRER_CONNECTIONS));
    let (phase, phases) = watch::channel(ServerPhase::Serving);
    let leave = async {
        stop.recv().await;
        tracing::info!("stopping");
        phase.send_replace(ServerPhase::Closing);
    };
    tokio::join!(server::serve(listener, routes, &connections, phases), leave);
    Ok(())
}

/// Returns an error of the book's file, unless the reader of the output is gone.
fn about(book: &Path, error: io::Error) -> Box<dyn Error> {
    if terminal::is_reader_gone(&error) {
        error.into()
    } else {
        format!("the book {}: {error}", book.display()).into()
    }
}

/// Parses a day as `YYYY-MM-DD`.
fn day(text: &str) -> Result<Day, &'static str> {
    parse_day(text).ok_or("must be YYYY-MM-DD")
}
