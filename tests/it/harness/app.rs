//! A whole server without its socket.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use acquirer::Acquirer;
use acquirer::simulator::{Numbers, Simulator};
use base::clock::{Clock, TESTS_AS_OF};
use base::secret::Secret;
use card_payments::api::{AdmissionControl, ServerInfo};
use card_payments::app::Parts;
use card_payments::config::{Environment, LoadOptions, Secrets};
use card_payments::limits::CLOCK_MOVE_TIMEOUT;
use card_payments::services::accounts::{self, ApiKeyPair, NewAccount};
use card_payments::services::due_work::work_time::WorkTime;
use card_payments::services::due_work_registry;
use card_payments::services::wallets::Wallets;
use card_payments::services::{Ctx, clock_record};
use chrono::DateTime;
use entity::{AccountToken, TimeSpan, Timestamp, event};
use ipnet::IpNet;
use outbound::blobs::Disk;
use outbound::identity_provider::IdentityProvider;
use outbound::{AddressPolicy, Outbound};
use sea_orm::{ConnectionTrait, DbBackend, EntityTrait, QueryOrder, Statement};
use serde_json::Value;
use store::{Counts, Location};
use tokio::net::TcpListener;
use vault::OperatorKeys;
use web::connections::Connections;
use web::server::{self, ServerPhase};

use super::client::Client;
use super::contract::Contract;
use super::fixtures::eventually;
use super::migrated::migrated;
use super::{postgres, remote_acquirer};

/// The database of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    pub fn backend(self) -> DbBackend {
        match self {
            Self::Sqlite => DbBackend::Sqlite,
            Self::Postgres => DbBackend::Postgres,
        }
    }
}

/// The document, which an unoptimised build makes in a fifth of a second.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(card_payments::api::openapi);

/// The document as every answer is checked against it.
pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::new(DOCUMENT.clone()));

/// 2026-03-02T10:00:00Z, a Monday: when servers begin, if tests do not run as of another time.
pub const MONDAY: Timestamp = Timestamp::from_millis(1_772_445_600_000);

tokio::task_local! {
    /// When the servers of this rule begin.
    static START: Timestamp;
}

/// Runs a rule whose servers begin at this instant.
pub async fn starting_at<T>(start: Timestamp, rule: impl Future<Output = T>) -> T {
    START.scope(start, rule).await
}

/// Returns the instant as of which tests run: that of `CARD_PAYMENTS_TESTS_AS_OF`, or else a fixed one.
pub fn as_of() -> Timestamp {
    let given = TESTS_AS_OF.and_then(|name| std::env::var(name).ok());
    given.map_or(MONDAY, |time| DateTime::parse_from_rfc3339(&time).expect("a time").to_utc().into())
}

/// A wall clock that stands still until a test moves it: the real time, and how wrong the clock is.
pub struct TestClock {
    real: AtomicI64,
    error: AtomicI64,
}

impl TestClock {
    /// Sets the clock, while no time passes.
    pub fn set_by(&self, span: TimeSpan) {
        self.error.fetch_add(span.millis(), Ordering::SeqCst);
    }

    /// Lets time pass.
    pub fn advance(&self, span: TimeSpan) {
        self.real.fetch_add(span.millis(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.real.load(Ordering::SeqCst) + self.error.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.real.load(Ordering::SeqCst).unsigned_abs())
    }
}

/// The server.
pub struct App {
    pub clock: Arc<TestClock>,
    pub database: Database,
    /// None only while one process ends and the next begins.
    inner: Option<card_payments::app::App>,
    keys: ApiKeyPair,
    installation: Installation,
}

/// What outlives a process: the database, the files, and the configuration.
struct Installation {
    location: Location,
    operator: OperatorKeys,
    acquirer: Arc<dyn Acquirer>,
    acquirer_timeout: Duration,
    clock_move_timeout: Duration,
    erase_after: Option<TimeSpan>,
    load: LoadOptions,
    base_url: String,
    trusted_proxies: Vec<IpNet>,
    environment: Environment,
    operator_key: Option<Secret>,
    provider: Box<dyn Fn() -> Option<IdentityProvider> + Send + Sync>,
    break_glass: bool,
    wallets: Box<dyn Fn() -> Wallets + Send + Sync>,
    // Removed when the test ends.
    folder: tempfile::TempDir,
    postgres: Option<postgres::Database>,
}

impl Installation {
    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    async fn open(&self, location: &Location, clock: &Arc<TestClock>) -> card_payments::app::App {
        let parts = Parts {
            clock: Arc::clone(clock) as Arc<dyn Clock>,
            random: Arc::default(),
            acquirer: Arc::clone(&self.acquirer),
            acquirer_timeout: self.acquirer_timeout,
            environment: self.environment,
            operator: self.operator.clone(),
            outbound: Outbound::new(AddressPolicy::test()),
            blobs: Arc::new(Disk::new(self.files())),
            incoming: self.files(),
            audit_anchor: None,
            provider: (self.provider)(),
            break_glass: self.break_glass,
            wallets: (self.wallets)(),
            retention: TimeSpan::days(90),
            erase_after: self.erase_after,
            clock_move_timeout: self.clock_move_timeout,
            recorder: None,
        };
        let info = ServerInfo {
            base_url: self.base_url.clone(),
            named: None,
            environment: self.environment,
            trusted_proxies: self.trusted_proxies.clone(),
            fill_in_key: true,
            metrics: true,
            load: self.load.clone(),
        };
        let secrets = Secrets { operator_key: self.operator_key.clone(), ..Secrets::default() };
        card_payments::app::App::open(location, parts, secrets, info).await.unwrap()
    }
}

/// Makes another account. Returns its keys.
pub async fn another_account(ctx: &Ctx) -> ApiKeyPair {
    let keys = ApiKeyPair::mint(&ctx.random);
    let new = NewAccount::new(ctx, "Stranger", "stranger@example.com", &keys);
    ctx.store.write(new, async |tx, new| new.record(tx).await).await.unwrap();
    keys
}

impl App {
    /// Starts a server on an empty database. None where PostgreSQL is not installed.
    pub async fn start(database: Database) -> Option<Self> {
        // The simulator answers at once or never.
        Self::start_with(database, Arc::new(Simulator::new(Numbers::TestCards)), Duration::from_millis(200))
            .await
    }

    /// Starts a server with the test's own acquirer, and a limit for its answers.
    pub async fn start_with(
        database: Database,
        acquirer: Arc<dyn Acquirer>,
        acquirer_timeout: Duration,
    ) -> Option<Self> {
        Self::start_in(Environment::Test, database, acquirer, acquirer_timeout).await
    }

    /// Starts a live server with one account.
    pub async fn live(database: Database) -> Option<Self> {
        let acquirer = Arc::new(Simulator::new(Numbers::All));
        Self::start_in(Environment::Live, database, acquirer, Duration::from_millis(200)).await
    }

    async fn start_in(
        environment: Environment,
        database: Database,
        acquirer: Arc<dyn Acquirer>,
        acquirer_timeout: Duration,
    ) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("files")).unwrap();
        let (location, copy) = migrated(database, folder.path()).await?;
        let (acquirer, acquirer_timeout) = if remote_acquirer::is_everywhere() {
            // Over a socket an answer takes more than milliseconds.
            let wire = remote_acquirer::served(acquirer, environment).await;
            (
                remote_acquirer::client(wire, environment) as Arc<dyn Acquirer>,
                acquirer_timeout.max(Duration::from_secs(5)),
            )
        } else {
            (acquirer, acquirer_timeout)
        };
        let start = START.try_get().unwrap_or_else(|_| as_of());
        let clock = Arc::new(TestClock { real: AtomicI64::new(start.millis()), error: AtomicI64::default() });
        let operator = OperatorKeys::generate("test");
        let installation = Installation {
            location,
            operator,
            acquirer,
            acquirer_timeout,
            clock_move_timeout: CLOCK_MOVE_TIMEOUT,
            erase_after: None,
            load: LoadOptions::default(),
            base_url: "http://test".into(),
            trusted_proxies: Vec::new(),
            environment,
            operator_key: None,
            provider: Box::new(|| None),
            break_glass: false,
            folder,
            wallets: match environment {
                Environment::Test => Box::new(Wallets::simulated),
                Environment::Live => Box::new(Wallets::default),
            },
            postgres: copy,
        };
        let inner = installation.open(&installation.location, &clock).await;
        let keys = match inner.keys.clone() {
            Some(keys) => keys,
            None => another_account(&inner.ctx).await,
        };
        Some(Self { clock, database, inner: Some(inner), keys, installation })
    }

    /// Ends the process as it is, and starts another one on its database.
    pub async fn restart(&mut self) {
        self.note_time().await;
        self.start_again().await;
    }

    /// Notes the time, as a server does each minute.
    pub async fn note_time(&self) {
        // A database that fails is the test's.
        let _ = clock_record::synchronise(self.ctx()).await;
    }

    /// Ends the process as it is, and starts another one after so long.
    pub async fn is_down_for(&mut self, span: TimeSpan) {
        self.clock.advance(span);
        self.start_again().await;
    }

    /// Copies SQLite's database, as `card-payments backup` does.
    pub fn back_up(&self, copy: &Path) {
        let environment = self.installation.environment.name();
        store::backup(self.location(), environment, copy, &(), &AtomicBool::new(false)).unwrap();
    }

    /// Ends the process, puts a copy in the place of its database (`docs/operating/backup.md`), and starts another one.
    pub async fn restore(&mut self, copy: &Path) {
        self.end().await;
        let Location::Sqlite { path } = self.location() else { panic!("a file") };
        for log in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{log}", path.display()));
        }
        std::fs::copy(copy, path).unwrap();
        self.start_again().await;
    }

    async fn end(&mut self) {
        drop(self.inner.take());
        // A process that another test starts at this moment shares the lock on our file until it runs its program.
        eventually(async || self.installation.location.lock().is_ok()).await;
    }

    async fn start_again(&mut self) {
        self.end().await;
        self.inner = Some(self.installation.open(self.location(), &self.clock).await);
    }

    /// Starts another process that erases deleted customers after this time.
    pub async fn erases_after(&mut self, span: TimeSpan) {
        self.installation.erase_after = Some(span);
        self.restart().await;
    }

    /// Limits how long a process moves clocks, from its next start on.
    pub fn moves_clocks_for(&mut self, span: Duration) {
        self.installation.clock_move_timeout = span;
    }

    /// Starts another process with these limits of load.
    pub async fn takes_on(&mut self, rate_limit: Option<u32>, concurrency: u16) {
        self.installation.load = LoadOptions { rate_limit, concurrency };
        self.restart().await;
    }

    /// Starts another process with this address.
    pub async fn is_known_as(&mut self, base_url: &str) {
        self.installation.base_url = base_url.into();
        self.restart().await;
    }

    /// Starts another process behind proxies of these networks.
    pub async fn trusts(&mut self, networks: &[&str]) {
        self.installation.trusted_proxies = networks.iter().map(|network| network.parse().unwrap()).collect();
        self.restart().await;
    }

    /// Starts another process with this operator key, which opens the dashboard in live.
    pub async fn operator_has(&mut self, key: Option<&str>) {
        self.installation.operator_key = key.map(Secret::from);
        self.restart().await;
    }

    /// Starts another process with this provider of people, beside which the operator's key may open the dashboard.
    pub async fn knows_people(
        &mut self,
        provider: impl Fn() -> Option<IdentityProvider> + Send + Sync + 'static,
        break_glass: bool,
    ) {
        (self.installation.provider, self.installation.break_glass) = (Box::new(provider), break_glass);
        self.restart().await;
    }

    /// Returns the process's admission control.
    pub fn gate(&self) -> &AdmissionControl {
        self.inner().admission()
    }

    /// Sets the phase of the process.
    pub fn enters(&self, phase: ServerPhase) {
        self.inner().phase.send_replace(phase);
    }

    /// Serves so many connections on a socket, for as long as the test's runtime lives. Returns its address, and the connections.
    pub async fn listens(&self, connections: usize) -> (SocketAddr, Arc<Connections>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, connections) = (listener.local_addr().unwrap(), Connections::new(connections));
        let (router, phase, served) =
            (self.inner().router.clone(), self.inner().phase.subscribe(), Arc::clone(&connections));
        tokio::spawn(async move { server::serve(listener, router, &served, phase).await });
        (address, connections)
    }

    /// Starts another process with this configuration of wallets.
    pub async fn knows_wallets(&mut self, wallets: impl Fn() -> Wallets + Send + Sync + 'static) {
        self.installation.wallets = Box::new(wallets);
        self.restart().await;
    }

    /// Starts another copy of the server on the same PostgreSQL; on a cluster it is connected to another node.
    pub async fn copy(&self) -> card_payments::app::App {
        let nodes = self.installation.postgres.as_ref().unwrap().node_urls().await;
        let location = nodes.last().unwrap().parse().unwrap();
        self.note_time().await;
        self.installation.open(&location, &self.clock).await
    }

    /// Returns where its database is.
    pub fn location(&self) -> &Location {
        &self.installation.location
    }

    fn inner(&self) -> &card_payments::app::App {
        self.inner.as_ref().unwrap()
    }

    /// Returns the services' context, for what no request can do.
    pub fn ctx(&self) -> &Ctx {
        &self.inner().ctx
    }

    /// Returns a client with the first account's secret key.
    pub fn client(&self) -> Client {
        self.with_key(self.secret_key())
    }

    /// Returns the first account's secret key.
    pub fn secret_key(&self) -> &str {
        self.keys.secret.expose()
    }

    /// Returns the first account's publishable key.
    pub fn publishable_key(&self) -> &str {
        self.keys.publishable.expose()
    }

    /// Returns the first account.
    pub async fn account(&self) -> AccountToken {
        self.work_time().await.account().id()
    }

    /// Returns a client with any key.
    pub fn with_key(&self, key: &str) -> Client {
        Client::new(self.inner().router.clone(), Some(key.into()))
    }

    /// Returns a client without a key.
    pub fn anonymous(&self) -> Client {
        Client::new(self.inner().router.clone(), None)
    }

    /// Returns a client of another account, which is made for it.
    pub async fn stranger(&self) -> Client {
        self.with_key(another_account(self.ctx()).await.secret.expose())
    }

    /// Does all due work, as the workers would by now.
    pub async fn do_due_work(&self) {
        self.note_time().await;
        for kind in due_work_registry::KINDS {
            while kind.run(self.ctx()).await.unwrap() > 0 {}
        }
    }

    /// Returns the first account and its time, as workers see them now.
    pub async fn work_time(&self) -> WorkTime {
        let authenticated = accounts::authenticate(self.ctx(), &self.keys.secret, None).await.unwrap();
        WorkTime::on_running_clock(authenticated.account)
    }

    /// Returns the running clock of another account.
    pub async fn work_time_of(&self, account: AccountToken) -> WorkTime {
        let found = accounts::find_by_token(&self.ctx().store, account, self.clock.now()).await.unwrap();
        WorkTime::on_running_clock(found.unwrap())
    }

    /// Returns the totals of the store. The key is known from now on: after five real seconds it is forgotten.
    pub async fn statements_from_now(&self) -> Counts {
        self.ctx().memory.keys.invalidate_all();
        self.client().get("/1/balance").await.ok(200);
        self.ctx().store.statements()
    }

    /// Returns one number from the database.
    pub async fn number(&self, sql: &str) -> i64 {
        let reader = self.ctx().store.read();
        let sql = format!("SELECT CAST(({sql}) AS BIGINT) AS n");
        let statement = Statement::from_string(reader.get_database_backend(), sql);
        reader.query_one_raw(statement).await.unwrap().unwrap().try_get("", "n").unwrap()
    }

    /// Runs a statement, for what no request can change.
    pub async fn execute(&self, sql: &'static str) {
        let unit =
            self.ctx().store.write(sql, async |tx, sql| Ok(tx.execute_unprepared(sql).await.map(drop)?));
        unit.await.unwrap();
    }

    /// Returns the types of the events so far, oldest first.
    pub async fn events(&self) -> Vec<&'static str> {
        let events = event::Entity::find().order_by_asc(event::Column::Id);
        let events = events.all(self.ctx().store.read()).await.unwrap();
        events.into_iter().map(|event| event.r#type.code()).collect()
    }

    /// Returns the names of all stored blobs, and of what uploads have left beside them.
    pub fn blobs(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.installation.files()).unwrap();
        // The marks of erased customers are no blobs.
        let blobs = names.map(Result::unwrap).filter(|entry| entry.file_name() != "erased");
        let mut names: Vec<_> = blobs.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Starts the workers, as the program does.
    pub fn work(&self) {
        card_payments::workers::start(self.ctx());
    }
}
