//! What outlives a server: its folder on the simulated disk, the operator's keys, and where it and its acquirer are.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use acquirer::Acquirer;
use acquirer::http::{Address, HttpAcquirer, Secrets as AcquirerSecrets, router};
use acquirer::simulator::{Numbers, Simulator};
use acquirer::statement::book::Book;
use base::clock::{Clock, SystemClock};
use base::secret::Secret;
use card_payments::api::ServerInfo;
use card_payments::app::Parts;
use card_payments::config::{Environment, LoadOptions};
use card_payments::limits::{ACQUIRER_TIMEOUT, CLOCK_MOVE_TIMEOUT};
use card_payments::services::wallets::Wallets;
use entity::{TimeSpan, Timestamp};
use outbound::blobs::Disk as FileStore;
use outbound::{AddressPolicy, Outbound};
use simulated_disk::Disk;
use store::Location;
use tempfile::TempDir;
use tokio::sync::watch;
use vault::OperatorKeys;
use web::connections::Connections;
use web::server::{self, ServerPhase};

use crate::harness::MONDAY;
use crate::network::at;

/// What the server and its acquirer share.
const SECRET: &str = "what-the-server-and-its-acquirer-know";
const TEST: Environment = Environment::Test;

/// The clocks of the machine. For the model the one on the wall stands.
struct MachineClock {
    stands: bool,
}

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        if self.stands { MONDAY } else { SystemClock.now() }
    }

    fn elapsed(&self) -> Duration {
        simulated_machine::now()
    }
}

/// The installation, as one of its servers sees it.
#[derive(Clone)]
pub struct Installation {
    folder: Arc<TempDir>,
    /// The address of a real database, or none: it is on the simulated disk.
    database: Option<String>,
    pub disk: Disk,
    operator: OperatorKeys,
    /// The port on which the server listens.
    pub port: u16,
    /// The port of the cable to the acquirer; without one, the simulator of the process is the acquirer.
    acquirer: Option<u16>,
    /// Whether the clock on the wall stands, for lives of the model.
    time_stands: bool,
}

impl Installation {
    pub fn new(
        seed: u64,
        port: u16,
        acquirer: Option<u16>,
        time_stands: bool,
        database: Option<String>,
    ) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let disk = Disk::mount(folder.path(), seed).unwrap();
        disk.on_pause(sleep);
        let operator = OperatorKeys::generate("test");
        Self { folder, database, disk, operator, port, acquirer, time_stands }
    }

    /// Returns the installation of another server.
    pub fn with_port(&self, port: u16) -> Self {
        Self { port, ..self.clone() }
    }

    pub fn location(&self) -> Location {
        match &self.database {
            Some(url) => Location::Postgres { url: url.clone() },
            None => Location::Sqlite { path: self.folder.path().join("card-payments.db") },
        }
    }

    /// Returns the book of the acquirer that is elsewhere.
    pub fn book(&self) -> PathBuf {
        self.folder.path().join("acquirer.csv")
    }

    /// Returns the parts of a server as of now.
    pub fn parts(&self) -> Parts {
        let files = self.folder.path().join("files");
        Parts {
            clock: Arc::new(MachineClock { stands: self.time_stands }),
            random: Arc::default(),
            acquirer: self.acquirer(),
            acquirer_timeout: ACQUIRER_TIMEOUT,
            environment: TEST,
            operator: self.operator.clone(),
            outbound: Outbound::new(AddressPolicy::test()),
            wallets: Wallets::simulated(),
            blobs: Arc::new(FileStore::new(files.clone())),
            incoming: files,
            audit_anchor: None,
            provider: None,
            break_glass: false,
            retention: TimeSpan::days(90),
            erase_after: None,
            clock_move_timeout: CLOCK_MOVE_TIMEOUT,
            recorder: None,
        }
    }

    /// Returns what the server says about itself.
    pub fn info(&self) -> ServerInfo {
        ServerInfo {
            base_url: format!("http://{}", at(self.port)),
            named: None,
            environment: TEST,
            trusted_proxies: Vec::new(),
            fill_in_key: false,
            metrics: true,
            load: LoadOptions::default(),
        }
    }

    /// Removes the folder. The threads of killed servers never let go of theirs.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(self.folder.path());
    }

    fn acquirer(&self) -> Arc<dyn Acquirer> {
        let Some(port) = self.acquirer else { return Arc::new(Simulator::new(Numbers::TestCards)) };
        let address = Address::parse(&format!("http://{}", at(port)), TEST).unwrap();
        Arc::new(HttpAcquirer::new(address, secrets(), TEST, Arc::new(MachineClock { stands: false })))
    }
}

/// Lets simulated time pass in the middle of a statement.
#[expect(clippy::disallowed_methods, reason = "the machine's other threads go on meanwhile")]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Serves an acquirer that outlives all servers, and writes what it moves to a book.
pub fn serve_acquirer(port: u16, book: &Path) {
    let clock: Arc<dyn Clock> = Arc::new(MachineClock { stands: false });
    let book = Book::open(book, Arc::clone(&clock)).unwrap();
    let acquirer = Arc::new(Simulator::served(TEST).with_book(book));
    let routes = router(acquirer, secrets(), TEST, clock);
    let listener = server::bind(at(port)).unwrap();
    tokio::spawn(async move {
        let (_serving, phase) = watch::channel(ServerPhase::Serving);
        server::serve(listener, routes, &Connections::new(1024), phase).await;
    });
}

fn secrets() -> AcquirerSecrets {
    AcquirerSecrets::parse(&Secret::from(SECRET)).unwrap()
}
