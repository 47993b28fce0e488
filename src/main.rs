//! The command line: `card-payments [serve]`, and what operators run beside it.

mod commands;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use card_payments::app::{App, Parts};
use card_payments::config::{DatabaseOptions, Environment, Secrets, ServeOptions};
use card_payments::http::{self, Index};
use card_payments::services::accounts::Keys;
use card_payments::workers;
use clap::{Parser, Subcommand};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// A card payments API server.
#[derive(Parser)]
#[command(version, about, args_conflicts_with_subcommands = false)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeOptions,
    #[command(flatten)]
    database: DatabaseOptions,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API (the default).
    Serve,
    /// Print the OpenAPI document.
    Openapi {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Bring the database's schema up to date.
    Migrate {
        /// And distribute its tables over the workers of a Citus cluster, with every server stopped.
        #[arg(long)]
        distribute: bool,
    },
    /// Money that arrived from outside.
    #[command(subcommand)]
    Deposit(commands::deposit::Deposit),
    /// Disputes, as the network makes and decides them.
    #[command(subcommand)]
    Dispute(commands::dispute::Dispute),
    /// The books.
    #[command(subcommand)]
    Ledger(commands::ledger::Ledger),
}

fn main() -> ExitCode {
    let Cli { command, serve, database } = Cli::parse();
    let command = command.unwrap_or(Command::Serve);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(run(command, serve, database)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&*error),
    }
}

/// One clear line for the operator.
fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

async fn run(
    command: Command,
    options: ServeOptions,
    database: DatabaseOptions,
) -> Result<(), Box<dyn std::error::Error>> {
    match command {
        Command::Serve => serve(options, database).await,
        Command::Openapi { json } => {
            let document = http::openapi();
            if json {
                println!("{document:#}");
            } else {
                print!("{}", http::document::yaml(&document));
            }
            Ok(())
        }
        Command::Migrate { distribute: false } => commands::open(&database).await.map(drop),
        Command::Migrate { distribute: true } => commands::distribute(&database).await,
        Command::Deposit(command) => commands::deposit::run(command, &database).await,
        Command::Dispute(command) => commands::dispute::run(command, &database).await,
        Command::Ledger(command) => commands::ledger::run(command, &database).await,
    }
}

async fn serve(options: ServeOptions, database: DatabaseOptions) -> Result<(), Box<dyn std::error::Error>> {
    log(&options.log)?;
    let secrets = Secrets::from_environment()?;
    // The ports before the data directory: a server that cannot listen changes nothing.
    let listener = bind(options.listen).await?;
    let admin = match options.admin_listen {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let parts = Parts::configured(&options, &database, &secrets)?;
    let address = listener.local_addr()?;
    let base_url = options.base_url.unwrap_or_else(|| format!("http://{address}"));
    let index = Index {
        base_url: base_url.trim_end_matches('/').to_owned(),
        environment: options.environment,
        trusted_proxies: options.trusted_proxies,
        metrics: admin.is_none() && options.environment == Environment::Test,
    };
    let location = database.url().parse()?;
    let app = App::open(&location, parts, secrets, index.clone()).await?;
    let working = workers::start(&app.ctx);
    if let Some(admin) = admin {
        let router = app.admin();
        tokio::spawn(async move { axum::serve(admin, router).await });
    }
    // Whoever reads that it listens may stop it at once.
    let stopped = stopped()?;
    banner(&index, app.keys.as_ref());
    println!("Listening on http://{address}");
    let service = app.router.clone().into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(stopped).await?;
    // Payments that a hung-up caller left under way, and deliveries.
    app.ctx.tasks.close();
    if tokio::time::timeout(SHUTDOWN, app.ctx.tasks.wait()).await.is_ok() {
        working.stop().await;
    } else {
        tracing::warn!("payments are still under way; they are settled at the next start");
    }
    Ok(())
}

/// The longest a payment under way can take: a call that starts at the last moment and is answered at the last
/// moment, and its reversal.
const SHUTDOWN: Duration = Duration::from_secs(50);

async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// Text on a terminal, JSON otherwise; always stderr.
fn log(filter: &str) -> Result<(), Box<dyn std::error::Error>> {
    // That a start found its schema as it should be is no news; a filter that names the target hears of it.
    let filter = format!("sea_orm_migration=warn,{filter}");
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("CARD_PAYMENTS_LOG: {error}"))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        log.init();
    } else {
        log.json().init();
    }
    Ok(())
}

fn banner(index: &Index, keys: Option<&Keys>) {
    println!("card-payments {} ({})", env!("CARGO_PKG_VERSION"), index.environment.name());
    println!("  API      {}/1", index.base_url);
    println!("  Swagger  {}/docs/", index.base_url);
    if let Some(Keys { secret, publishable }) = keys {
        let (secret, publishable) = (secret.expose(), publishable.expose());
        println!("  Keys     {secret} (secret), {publishable} (publishable)");
        println!(
            "  Try      curl {}/1/charges -u {secret}: -d email=roland@example.com -d description=Test -d amount=400 \
             -d ip_address=203.192.1.172 -d 'card[number]=4200000000000000' -d 'card[expiry_month]=5' \
             -d 'card[expiry_year]=2030' -d 'card[cvc]=123' -d 'card[name]=Roland Robot' \
             -d 'card[address_line1]=42 Sevenoaks St' -d 'card[address_city]=Lathlain' -d 'card[address_country]=AU'",
            index.base_url
        );
    }
}

/// Listen to signals from now on; what is returned waits for SIGTERM or SIGINT.
fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    })
}
