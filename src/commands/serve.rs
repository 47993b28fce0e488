//! `card-payments serve`.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::http_address::reachable;
use base::list::List;
use base::platform::{self, Signal, on_signals};
use card_payments::api::ServerInfo;
use card_payments::app::{App, Parts};
use card_payments::config::{
    self, ConfigError, DatabaseOptions, Environment, FixtureOptions, Secrets, ServeOptions, unknown_variables,
};
use card_payments::limits::ADMIN_CONNECTIONS;
use card_payments::recorder::Recorder;
use card_payments::services::Ctx;
use card_payments::workers::{self, WorkerHandles};
use clap::Args;
use outbound::trace_export::{self, ExporterHandle};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tools::request_line::TerminalFormat;
use tools::terminal::{LineLog, LossyStderr, print_result};
use tracing_subscriber::fmt::MakeWriter;
use web::connections::Connections;
use web::server::{self, ServerPhase};

use super::account_file::AccountFiles;
use super::banner::Banner;
use super::fixtures;
use super::known_api::known_api;

/// Serve the API (the default).
///
/// Prints its address, in test the keys of the first account and a payment to try, and when it is ready "Listening on
/// http://HOST:PORT". It logs to stderr and ends on SIGTERM or SIGINT once what is in flight is done.
///
/// Every option is also a variable. Secrets are only variables, or files that the same variable with _FILE behind it names; they are
/// listed below. Traces are exported as the OTEL_... variables of OpenTelemetry say.
#[derive(Args)]
#[command(after_help = "Secrets:\n  \
    CARD_PAYMENTS_VAULT_KEY            encrypts stored cards. In its place ..._COMMAND is\n                                     \
    a program that prints it, ..._SHARES are files of its shares\n  \
    CARD_PAYMENTS_SECRET_KEY           the first account's secret key (test only)\n  \
    CARD_PAYMENTS_PUBLISHABLE_KEY      its publishable key (test only)\n  \
    CARD_PAYMENTS_ACQUIRER_SECRET      is shared with a remote acquirer\n  \
    CARD_PAYMENTS_OPERATOR_KEY         opens the dashboard (live only)\n  \
    CARD_PAYMENTS_OIDC_CLIENT_SECRET   this server's at the provider of its people\n  \
    CARD_PAYMENTS_WALLET_A_IDENTITY, CARD_PAYMENTS_WALLET_G_KEY   of mobile wallets\n\n\
    Example:\n  card-payments serve --listen 127.0.0.1:8080\n\n\
    With --json {listening, version, environment, api, swagger, dashboard, secret_key, publishable_key}; the keys in test only.")]
pub struct Serve {
    /// How to serve.
    #[command(flatten)]
    pub options: ServeOptions,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
    /// The fixtures.
    #[command(flatten)]
    pub fixtures: FixtureOptions,
    /// One JSON object when it is ready, in place of the text.
    #[arg(long)]
    json: bool,
}

/// Runs the command until a signal ends it.
pub async fn run(command: Serve) -> Result<(), Box<dyn Error>> {
    let is_terminal = io::stderr().is_terminal();
    log(&command.options.log, Mutex::new(LossyStderr::new(!is_terminal)), is_terminal)?;
    let (stop, json) = (on_signals(Signal::STOP)?, command.json);
    // The server runs on if nobody reads the banner.
    Box::pin(serve(command, None, stop, |banner| drop(print_result(banner, banner, json)))).await
}

/// Serves until `stop` yields; a second time skips the wait for balancers. Calls `ready` once the fixtures are created.
/// The recording holds all requests.
pub async fn serve(
    Serve { options, database, fixtures, .. }: Serve,
    recorder: Option<Arc<Recorder>>,
    mut stop: mpsc::Receiver<Signal>,
    ready: impl FnOnce(&Banner<'_>),
) -> Result<(), Box<dyn Error>> {
    for unknown in unknown_variables() {
        tracing::warn!("{unknown}; {}", unknown.remedy());
    }
    let secrets = Secrets::from_environment()?;
    let traces = trace_export::Settings::from_environment(database.environment.name())?;
    let files = AccountFiles::of_server(&fixtures, &options, database.environment)?;
    let fixtures = fixtures::of_server(&fixtures, database.environment, &known_api())?;
    // The ports before the data directory: a server that cannot listen changes nothing.
    let listener = bind(options.listen)?;
    let admin = options.admin_listen.map(bind).transpose()?;
    let configuring = Parts::configured(&options, &database, &secrets);
    let Some(mut parts) = unless_stopped(&mut stop, configuring).await.transpose()? else { return Ok(()) };
    parts.recorder = recorder;
    let address = listener.local_addr()?;
    let index = ServerInfo {
        base_url: options.base_url.clone().unwrap_or_else(|| format!("http://{}", reachable(address))),
        named: options.base_url,
        environment: database.environment,
        trusted_proxies: List::all(&options.trusted_proxies),
        fill_in_key: options.fill_in_key,
        metrics: admin.is_none() && database.environment == Environment::Test,
        load: options.load,
    };
    let location = database.location()?;
    let exporting = traces.map(trace_export::install);
    let opening = Box::pin(App::open(&location, parts, secrets, index.clone()));
    let Some(app) = unless_stopped(&mut stop, opening).await.transpose()? else { return Ok(()) };
    // Before the workers, which would do what is due in an account that is about to be replaced.
    let importing = Box::pin(files.import(&app.ctx));
    let Some(()) = unless_stopped(&mut stop, importing).await.transpose()? else { return Ok(()) };
    let working = workers::start(&app.ctx);
    if let Some(admin) = admin {
        let router = app.admin();
        // Runs until the process ends, so that monitoring sees how it ends.
        let (serving, phase) = watch::channel(ServerPhase::Serving);
        tokio::spawn(async move {
            server::serve(admin, router, &Connections::new(ADMIN_CONNECTIONS), phase).await;
            drop(serving);
        });
    }
    let creating = async {
        if let (Some(fixtures), Some(keys)) = (fixtures, &app.keys) {
            app.phase.send_replace(ServerPhase::Starting);
            fixtures.create(address, &keys.secret).await?;
            app.phase.send_replace(ServerPhase::Serving);
        }
        ready(&Banner::new(address, &index, &app));
        notify_service_manager(platform::READY);
        tokio::task::spawn_blocking(outbound::read_platform);
        Ok(())
    };
    let leave = async {
        let started: Result<_, Box<dyn Error>> = unless_stopped(&mut stop, creating).await.transpose();
        if let Ok(Some(())) = started {
            stop.recv().await;
            tracing::info!("stopping");
            notify_service_manager(platform::STOPPING);
            app.phase.send_replace(ServerPhase::Draining);
            let _ = timeout(Duration::from_secs(options.drain_seconds), stop.recv()).await;
        }
        app.phase.send_replace(ServerPhase::Closing);
        started.map(|started| started.is_some())
    };
    let ((), left) = tokio::join!(
        server::serve(listener, app.router.clone(), app.admission().connections(), app.phase.subscribe()),
        leave
    );
    shut_down(&app.ctx, working, exporting).await;
    // A server that was never ready keeps no account.
    if left? {
        files.export(&app.ctx).await?;
    }
    Ok(())
}

/// Ends the work of a server that answers no more, and writes what is in memory only.
async fn shut_down(ctx: &Ctx, working: WorkerHandles, exporting: Option<ExporterHandle>) {
    // Payments whose client has hung up, and deliveries.
    ctx.tasks.close();
    if timeout(SHUTDOWN, ctx.tasks.wait()).await.is_ok() {
        working.stop().await;
    } else {
        tracing::warn!("payments are still in flight; they are recovered at the next start");
    }
    let writing = async {
        workers::write_counts(ctx).await;
        if let Err(error) = ctx.memory.request_log.write(&ctx.store, None).await {
            tracing::warn!(%error, "some requests are missing in the log of requests");
        }
    };
    if timeout(LAST_WRITES, writing).await.is_err() {
        tracing::warn!("the last uses of keys, seals and logged requests were not written");
    }
    if let Some(exporting) = exporting {
        exporting.stop().await;
    }
}

/// The longest time that a payment in flight can take: a call that starts at the last moment and is answered at the
/// last moment, and its reversal.
const SHUTDOWN: Duration = Duration::from_secs(50);

/// The longest time for what is written at last: with a minute of requests, that above, and the export of traces a stop takes at most 120
/// seconds after the drain.
const LAST_WRITES: Duration = Duration::from_secs(5);

fn notify_service_manager(state: &str) {
    if let Err(error) = platform::notify_service_manager(state) {
        tracing::warn!(%error, state, "the service manager was not told");
    }
}

/// Listens on an address; the error names it.
pub fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    server::bind(address).map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// Sets up logging: text on a terminal, with a short line a request, and JSON otherwise.
pub fn log<W>(filter: &str, writer: W, is_terminal: bool) -> Result<(), ConfigError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = config::log_filter(filter)?;
    // A closed pipe must not stop the server, so errors of the log itself are ignored.
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(LineLog(writer))
        .log_internal_errors(false);
    if is_terminal {
        log.event_format(TerminalFormat::default()).init();
    } else {
        log.json().init();
    }
    Ok(())
}

/// Runs the work, unless `stop` yields first.
async fn unless_stopped<T>(stop: &mut mpsc::Receiver<Signal>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        _ = stop.recv() => {
            tracing::info!("stopping before the start was done");
            None
        }
    }
}
