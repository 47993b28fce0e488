//! The command line: `card-payments [serve]`, and the operator commands.

mod commands;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Duration;

use card_payments::app::{App, Parts};
use card_payments::config::{
    self, ConfigError, DatabaseOptions, Environment, Secrets, ServeOptions, unknown_variables,
};
use card_payments::http::server::{self, ShutdownPhase};
use card_payments::http::{self, Connections, ServerInfo};
use card_payments::limits::ADMIN_CONNECTIONS;
use card_payments::services::request_log;
use card_payments::{trace, workers};
use clap::{Args, CommandFactory, Parser, Subcommand};
use rustix::fs::Mode;
use rustix::process::umask;
use serde_json::json;
use tikv_jemallocator::Jemalloc;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use self::commands::banner::Banner;
use self::commands::terminal::{self, BAD};

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// A card payments API server, and its operator commands.
///
/// Commands print text for people; with --json one JSON object per record and line. Exit code 0 means success; 1 a refusal,
/// with one line on stderr that begins with "error: " and nothing changed; 2 wrong usage. Commands work next to a running
/// server, on SQLite and PostgreSQL, and bring the schema of an empty or older database up to date first; only backup and
/// check leave it, and listen, trigger and seed call the server instead.
#[derive(Parser)]
#[command(name = NAME, version = VERSION.as_str(), after_help = "Without a command it serves: card-payments --listen 127.0.0.1:8080 is \
    card-payments serve --listen 127.0.0.1:8080.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const NAME: &str = "card-payments";

/// The release, and its commit if the build sets it (`deploy/release.sh`).
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let release = env!("CARGO_PKG_VERSION");
    option_env!("RELEASE_COMMIT").map_or_else(|| release.into(), |commit| format!("{release} ({commit})"))
});

#[derive(Subcommand)]
enum Command {
    Serve(Box<Serve>),
    Openapi(Openapi),
    Migrate(commands::migrate::Migrate),
    /// Manage accounts: merchants, their keys, switches and settings.
    Account(On<commands::account::Account>),
    /// Decide about merchants.
    Merchant(On<commands::merchant::Merchant>),
    /// Record deposits: money from outside.
    Deposit(On<commands::deposit::Deposit>),
    /// Open and decide disputes, as the card network does.
    Dispute(On<commands::dispute::Dispute>),
    /// Verify and print the books.
    Ledger(On<commands::ledger::Ledger>),
    /// Rotate the keys that encrypt stored data.
    Vault(On<commands::vault::Vault>),
    /// Ping webhook endpoints and rotate their keys.
    Webhook(On<commands::webhook::Webhook>),
    Backup(commands::backup::Backup),
    Check(commands::check::Check),
    Audit(commands::audit::Audit),
    Listen(commands::listen::Listen),
    Trigger(commands::trigger::Trigger),
    Seed(commands::seed::Seed),
    Health(commands::health::Health),
    Acquirer(commands::acquirer::Acquirer),
    Completions(Completions),
}

/// Serve the API (the default).
///
/// Prints its address, in test the keys of the first account and a payment to try, and when it is ready "Listening on
/// http://HOST:PORT". It logs to stderr. On SIGTERM or SIGINT it finishes requests and payments in flight, then exits.
///
/// Secrets are environment variables, or files named by the same variable with _FILE appended: CARD_PAYMENTS_VAULT_KEY,
/// CARD_PAYMENTS_SECRET_KEY and CARD_PAYMENTS_PUBLISHABLE_KEY (test only), CARD_PAYMENTS_WALLET_A_IDENTITY,
/// CARD_PAYMENTS_WALLET_G_KEY, CARD_PAYMENTS_ACQUIRER_SECRET, CARD_PAYMENTS_OPERATOR_KEY (live only). The
/// OTEL_... variables of OpenTelemetry configure the export of traces.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments serve --listen 127.0.0.1:8080\n\n\
    With --json {listening, version, environment, api, swagger, dashboard, secret_key, publishable_key}; the keys in test only.")]
struct Serve {
    #[command(flatten)]
    options: ServeOptions,
    #[command(flatten)]
    database: DatabaseOptions,
    /// Print one JSON object when it is ready, instead of the text.
    #[arg(long)]
    json: bool,
}

/// Print the OpenAPI document. Needs no database.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments openapi > openapi.yaml")]
struct Openapi {
    /// Print JSON instead of YAML.
    #[arg(long)]
    json: bool,
    /// Print a collection of requests for Postman and compatible programs.
    #[arg(long, conflicts_with = "json")]
    postman: bool,
}

/// Print a script that completes commands and options in a shell. Needs no database.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments completions bash > /etc/bash_completion.d/card-payments")]
struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
    /// Print one JSON object: {shell, script}.
    #[arg(long)]
    json: bool,
}

/// A command on a database.
#[derive(Args)]
struct On<C: Subcommand> {
    #[command(subcommand)]
    command: C,
    #[command(flatten)]
    database: DatabaseOptions,
}

fn main() -> ExitCode {
    // Files that the program creates are its user's only: the database, its log, uploads, copies.
    umask(Mode::RWXG | Mode::RWXO);
    let Cli { command } = Cli::parse_from(arguments());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(run(command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if terminal::is_reader_gone(&*error) => ExitCode::SUCCESS,
        Err(error) => failed(&*error),
    }
}

/// Returns the arguments. Options may stand before their command; without a command, `serve` is meant.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let of_all = ["-h", "--help", "-V", "--version"];
    let of_command = |first: &OsString| {
        first.as_encoded_bytes().starts_with(b"-") && !of_all.iter().any(|option| first == option)
    };
    if arguments.get(1).is_none_or(of_command) {
        let commands = Cli::command();
        // A word after an option without a value is that value.
        let takes_value = |option: &OsString| {
            let option = option.as_encoded_bytes();
            option.starts_with(b"--") && !option.contains(&b'=')
        };
        let command = (2..arguments.len()).find(|&at| {
            commands.find_subcommand(&arguments[at]).is_some() && !takes_value(&arguments[at - 1])
        });
        let command = command.map_or_else(|| "serve".into(), |at| arguments.remove(at));
        arguments.insert(1, command);
    }
    arguments
}

/// Prints one line for the operator.
fn failed(error: &dyn std::error::Error) -> ExitCode {
    terminal::print_notice(format_args!("{BAD}error:{BAD:#} {error}"));
    ExitCode::FAILURE
}

async fn run(command: Command) -> Result<(), Box<dyn std::error::Error>> {
    match command {
        Command::Serve(command) => Box::pin(serve(*command)).await,
        Command::Openapi(Openapi { json, postman }) => {
            let document = http::openapi();
            let text = if postman {
                format!("{:#}\n", http::openapi::postman::collection(&document))
            } else if json {
                format!("{document:#}\n")
            } else {
                http::openapi::yaml(&document)
            };
            Ok(terminal::stdout().write_all(text.as_bytes())?)
        }
        Command::Migrate(command) => commands::migrate::run(command).await,
        Command::Account(On { command, database }) => commands::account::run(command, &database).await,
        Command::Merchant(On { command, database }) => commands::merchant::run(command, &database).await,
        Command::Deposit(On { command, database }) => commands::deposit::run(command, &database).await,
        Command::Dispute(On { command, database }) => commands::dispute::run(command, &database).await,
        Command::Ledger(On { command, database }) => commands::ledger::run(command, &database).await,
        Command::Vault(On { command, database }) => commands::vault::run(command, &database).await,
        Command::Webhook(On { command, database }) => commands::webhook::run(command, &database).await,
        Command::Backup(command) => commands::backup::run(command),
        Command::Check(command) => commands::check::run(command).await,
        Command::Audit(command) => commands::audit::run(command).await,
        Command::Listen(command) => commands::listen::run(command).await,
        Command::Trigger(command) => commands::trigger::run(command).await,
        Command::Seed(command) => commands::seed::run(command).await,
        Command::Health(command) => commands::health::run(&command),
        Command::Acquirer(command) => commands::acquirer::run(command).await,
        Command::Completions(Completions { shell, json }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
            if json {
                let script = String::from_utf8_lossy(&script);
                return commands::tell(&json!({ "shell": shell.to_string(), "script": script }), &"", true);
            }
            Ok(terminal::stdout().write_all(&script)?)
        }
    }
}

async fn serve(command: Serve) -> Result<(), Box<dyn std::error::Error>> {
    let Serve { options, database, json } = command;
    log(&options.log)?;
    for unknown in unknown_variables() {
        tracing::warn!("{unknown}; {}", unknown.mend());
    }
    let secrets = Secrets::from_environment()?;
    let traces = trace::Settings::from_environment(database.environment.name())?;
    // Before anything slow: the first process of a container gets only signals that it handles, and an operator who
    // reads the banner may stop the server at once.
    let mut signals = Signals::listen()?;
    // The ports before the data directory: a server that cannot listen changes nothing.
    let listener = bind(options.listen)?;
    let admin = options.admin_listen.map(bind).transpose()?;
    let configuring = Parts::configured(&options, &database, &secrets);
    let Some(parts) = signals.unless_told(configuring).await.transpose()? else { return Ok(()) };
    let address = listener.local_addr()?;
    let named = options.base_url.map(|named| named.trim_end_matches('/').to_owned());
    let info = ServerInfo {
        base_url: named.clone().unwrap_or_else(|| format!("http://{address}")),
        named,
        environment: database.environment,
        trusted_proxies: options.trusted_proxies,
        fill_in_key: options.fill_in_key,
        metrics: admin.is_none() && database.environment == Environment::Test,
        load: options.load,
    };
    let location = database.url().parse()?;
    let exporting = traces.map(trace::install);
    let opening = Box::pin(App::open(&location, parts, secrets, info.clone()));
    let Some(app) = signals.unless_told(opening).await.transpose()? else { return Ok(()) };
    let working = workers::start(&app.ctx);
    if let Some(admin) = admin {
        let router = app.admin();
        // Runs until the process ends, so that monitoring sees how it ends.
        let (serving, phase) = watch::channel(ShutdownPhase::Serving);
        tokio::spawn(async move {
            server::serve(admin, router, &Connections::new(ADMIN_CONNECTIONS), phase).await;
            drop(serving);
        });
    }
    let banner = Banner::new(address, &info, &app);
    // The server runs on if nobody reads the banner.
    drop(commands::tell(&banner, &banner, json));
    server::raise_file_limit(app.admission().connections().taken().1);
    let leave = async {
        signals.next().await;
        tracing::info!("stopping");
        app.phase.send_replace(ShutdownPhase::Draining);
        // A second signal skips the wait.
        let _ = tokio::time::timeout(Duration::from_secs(options.drain_seconds), signals.next()).await;
        app.phase.send_replace(ShutdownPhase::Closing);
    };
    tokio::join!(
        server::serve(listener, app.router.clone(), app.admission().connections(), app.phase.subscribe()),
        leave
    );
    // Payments of disconnected clients, and deliveries.
    app.ctx.tasks.close();
    if tokio::time::timeout(SHUTDOWN, app.ctx.tasks.wait()).await.is_ok() {
        working.stop().await;
    } else {
        tracing::warn!("payments are still in flight; the next start recovers them");
    }
    workers::write_counts(&app.ctx).await;
    if let Err(error) = request_log::write_down(&app.ctx, None).await {
        tracing::warn!(%error, "the log of requests lacks some requests");
    }
    if let Some(exporting) = exporting {
        exporting.stop().await;
    }
    Ok(())
}

/// The longest time of a payment in flight: a call that starts and is answered at the last moment, and its reversal.
const SHUTDOWN: Duration = Duration::from_secs(50);

fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    server::bind(address).map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// Sets up logging: text on a terminal, JSON otherwise; always on stderr.
fn log(filter: &str) -> Result<(), ConfigError> {
    let filter = config::log_filter(filter)?;
    // A closed pipe must not stop the server, so errors of the log itself are ignored.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let log = log.log_internal_errors(false);
    if std::io::stderr().is_terminal() {
        log.init();
    } else {
        log.json().init();
    }
    Ok(())
}

/// SIGTERM and SIGINT, handled from its creation on.
struct Signals(Signal, Signal);

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
    }

    /// Runs the work, unless a signal arrives first.
    async fn unless_told<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.next() => {
                tracing::info!("stopped during the start");
                None
            }
        }
    }

    /// Waits for the next signal of either kind.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}
