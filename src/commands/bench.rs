//! `card-payments bench`: the benchmark is the tools'; this is the acquirer that it serves, by the protocol of remote acquirers.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use acquirer::http::{Secrets, router};
use acquirer::simulator::Simulator;
use acquirer::{
    Acquirer, Approval, AuthoriseCall, CallKey, CardInfo, Failure, FollowUpCall, NoAnswer, RefundAnswer,
    Settled,
};
use base::card_number::CardNumber;
use base::clock::SystemClock;
use base::platform::{self, Signal, on_signals};
use base::random::random;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use card_payments::config::{self, Environment};
use entity::{Currency, Rate};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tools::bench::acquirer::{BenchAcquirer, CallAnswer};
use tools::bench::{Bench, BenchRun, Surroundings};
use tools::own_server::code_of;
use tools::terminal;
use web::connections::Connections;
use web::server::{self, ServerPhase};

use super::serve::{bind, log};

/// As many connections as the system under test may want: the acquirer is not to be what is measured.
const CONNECTIONS: usize = 8 * 1024;

pub async fn run(command: Bench) -> Result<ExitCode, Box<dyn Error>> {
    let mut signals = on_signals(&[Signal::Interrupt, Signal::Terminate, Signal::HangUp, Signal::Quit])?;
    let run = BenchRun::new(command)?;
    log("warn", io::stderr, io::stderr().is_terminal())?;
    let secret = if run.brings_servers() {
        URL_SAFE_NO_PAD.encode(random::<32>()).into()
    } else {
        config::Secrets::from_environment()?.acquirer.unwrap_or_default()
    };
    // The sender stays: the acquirer serves until the process ends.
    let (_phase, phases) = watch::channel(ServerPhase::Serving);
    let (mut acquirer, mut address) = (None, String::new());
    if let Some(listen) = run.acquirer_address() {
        // The acquirer's, and the payers'.
        let connections = server::raise_file_limit(2 * CONNECTIONS) / 2;
        let secrets =
            Secrets::parse(&secret).map_err(|wrong| format!("CARD_PAYMENTS_ACQUIRER_SECRET {wrong}"))?;
        let listener = bind(listen)?;
        address = format!("http://{}", listener.local_addr()?);
        let books = Arc::new(run.acquirer());
        let served = Served { books: Arc::clone(&books), cards: Simulator::served(Environment::Test) };
        let routes = router(Arc::new(served), secrets, Environment::Test, Arc::new(SystemClock));
        tokio::spawn(
            async move { server::serve(listener, routes, &Connections::new(connections), phases).await },
        );
        acquirer = Some(books);
    }
    let mut named = tempfile::Builder::new();
    platform::set_mode(&mut named, 0o700);
    let folder = run.folder().map(|parent| {
        let folder = named.prefix("card-payments-bench-").tempdir_in(parent);
        folder.map_err(|error| format!("{}: {error}", parent.display()))
    });
    let mut folder = folder.transpose()?;
    let path = folder.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default();
    let surroundings = Surroundings { folder: path, acquirer: address, secret };
    let ended = tokio::select! {
        ended = Box::pin(run.measure(acquirer, surroundings)) => ended?,
        Some(signal) = signals.recv() => return Ok(code_of(signal)),
    };
    if let Some(folder) = folder.as_mut().filter(|_| ended != ExitCode::SUCCESS) {
        folder.disable_cleanup(true);
        terminal::print_notice(format_args!(
            "Logs and database files are kept in {}",
            folder.path().display()
        ));
    }
    Ok(ended)
}

/// The benchmark's acquirer behind the protocol. Questions about cards and rates are answered at once: servers remember the answers.
struct Served {
    books: Arc<BenchAcquirer>,
    cards: Simulator,
}

impl Acquirer for Served {
    fn name(&self) -> &'static str {
        "bench"
    }

    fn card<'a>(&'a self, number: &'a CardNumber) -> BoxFuture<'a, Result<Option<CardInfo>, NoAnswer>> {
        self.cards.card(number)
    }

    fn rate(&self, currency: Currency) -> BoxFuture<'_, Result<Option<Rate>, NoAnswer>> {
        self.cards.rate(currency)
    }

    fn authorise(&self, call: AuthoriseCall) -> BoxFuture<'_, Result<Approval, Failure>> {
        async move {
            match self.books.authorise(call.key.as_str(), call.reference.as_deref()).await {
                CallAnswer::Done => Ok(Approval { reference: call.key.to_string() }),
                CallAnswer::Failed => Err(Failure::GatewayError),
                CallAnswer::Unanswered => Err(Failure::NoAnswer),
                CallAnswer::Closed => Err(Failure::Closed),
            }
        }
        .boxed()
    }

    // The benchmark captures at once and refunds nothing, so the simulator finds no reference of its own, and does nothing.
    fn capture(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        self.cards.capture(call)
    }

    fn void(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        self.cards.void(call)
    }

    fn refund(&self, call: FollowUpCall) -> BoxFuture<'_, Result<RefundAnswer, Failure>> {
        self.cards.refund(call)
    }

    fn reverse(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        let key = key.to_string();
        async move { settled(self.books.reverse(&key).await, key) }.boxed()
    }

    fn settle(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        let key = key.to_string();
        async move { settled(self.books.settle(&key).await, key) }.boxed()
    }
}

fn settled(was_done: Option<bool>, key: String) -> Result<Settled, NoAnswer> {
    match was_done {
        Some(true) => Ok(Settled::Done { reference: key }),
        Some(false) => Ok(Settled::NotDone),
        None => Err(NoAnswer),
    }
}
