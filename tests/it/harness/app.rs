//! A whole server without its socket.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use card_payments::acquirer::Acquirer;
use card_payments::acquirer::simulator::{Numbers, Simulator};
use card_payments::app::Parts;
use card_payments::blobs::Disk;
use card_payments::config::{Environment, LoadOptions, Secrets};
use card_payments::http::server::ShutdownPhase;
use card_payments::http::{AdmissionControl, ServerInfo};
use card_payments::limits::CLOCK_MOVE;
use card_payments::outbound::{AddressPolicy, Outbound};
use card_payments::runtime::clock::Clock;
use card_payments::sensitive::secret::Secret;
use card_payments::services::Ctx;
use card_payments::services::accounts::{self, ApiKeyPair, NewAccount};
use card_payments::services::due_work::registry;
use card_payments::services::due_work::work_time::WorkTime;
use card_payments::services::ledger::verify::{Difference, verify};
use card_payments::services::wallets::Wallets;
use card_payments::store::Location;
use card_payments::vault::OperatorKeys;
use entity::merchant::MerchantStatus;
use entity::{AccountToken, FileToken, TimeSpan, Timestamp, account, event, file, merchant, stray_blob};
use futures::FutureExt;
use sea_orm::{ConnectionTrait, EntityTrait, QueryOrder, Statement};

use super::client::Client;
use super::contract::Contract;
use super::migrated::migrated;
use super::{postgres, remote_acquirer};

/// Where a test's data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// The document that every answer is checked against.
pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::new(card_payments::http::openapi()));

/// Subscriptions that anybody sees.
const SHOWN_SUBSCRIPTIONS: &str = "SELECT COUNT(*) FROM subscriptions s WHERE s.state <> 'starting' AND NOT EXISTS (SELECT 1 FROM plans p WHERE p.account_id = s.account_id AND p.id = s.plan_id AND p.deleted_at IS NOT NULL)";

/// What there never is.
const BROKEN_SUBSCRIPTIONS: [(&str, &str); 7] = [
    (
        "plans that miscount their first charges under way",
        "plans p WHERE p.deleted_at IS NULL AND p.starting <> (SELECT COUNT(*) FROM subscriptions s JOIN charges c ON c.account_id = s.account_id AND c.id = s.charge_id WHERE s.account_id = p.account_id AND s.plan_id = p.id AND c.origin = 'subscription')",
    ),
    (
        "subscriptions without their plan",
        "subscriptions s WHERE NOT EXISTS (SELECT 1 FROM plans p WHERE p.account_id = s.account_id AND p.id = s.plan_id)",
    ),
    (
        "entries without their subscription",
        "subscription_entries e WHERE NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.account_id = e.account_id AND s.id = e.subscription_id)",
    ),
    (
        "subscriptions that name a card of nobody's",
        "subscriptions s WHERE s.card_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM cards c WHERE c.account_id = s.account_id AND c.id = s.card_id AND c.customer_id = s.customer_id)",
    ),
    (
        // Those of a deleted plan are out of sight, and gone soon.
        "open subscriptions of deleted customers",
        "subscriptions s WHERE s.state IN ('trial', 'active', 'cancelling') AND NOT EXISTS (SELECT 1 FROM customers c WHERE c.account_id = s.account_id AND c.id = s.customer_id) AND EXISTS (SELECT 1 FROM plans p WHERE p.account_id = s.account_id AND p.id = s.plan_id AND p.deleted_at IS NULL)",
    ),
    (
        "ledgers whose credits are not their debits",
        "(SELECT subscription_id FROM subscription_entries GROUP BY account_id, subscription_id HAVING SUM(CASE WHEN annotation = 'charge_credit' THEN amount ELSE -amount END) <> 0) AS off",
    ),
    (
        "credits that no charge made",
        "subscription_entries e WHERE e.annotation = 'charge_credit' AND NOT EXISTS (SELECT 1 FROM charges c WHERE c.account_id = e.account_id AND c.id = e.charge_id AND c.amount = e.amount AND c.state = 'captured')",
    ),
];

/// 2026-03-02T10:00:00Z, a Monday.
const START: i64 = 1_772_445_600_000;

/// A wall clock that stands still until it is moved.
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn advance(&self, span: TimeSpan) {
        self.0.fetch_add(span.millis(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.now().millis().unsigned_abs())
    }
}

/// The server.
pub struct App {
    pub clock: Arc<TestClock>,
    pub database: Database,
    /// None only while one process ends and the next begins.
    inner: Option<card_payments::app::App>,
    keys: ApiKeyPair,
    outlives: Outlives,
}

/// What a process that ends leaves to the next one.
struct Outlives {
    location: Location,
    operator: OperatorKeys,
    acquirer: Arc<dyn Acquirer>,
    acquirer_answer: Duration,
    clock_move: Duration,
    load: LoadOptions,
    environment: Environment,
    operator_key: Option<Secret>,
    wallets: Box<dyn Fn() -> Wallets + Send + Sync>,
    // Removed when the test ends.
    folder: tempfile::TempDir,
    _postgres: Option<postgres::Database>,
}

impl Outlives {
    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    async fn open(&self, clock: &Arc<TestClock>) -> card_payments::app::App {
        let parts = Parts {
            clock: Arc::clone(clock) as Arc<dyn Clock>,
            chance: Arc::default(),
            acquirer: Arc::clone(&self.acquirer),
            acquirer_answer: self.acquirer_answer,
            environment: self.environment,
            operator: self.operator.clone(),
            outbound: Outbound::new(AddressPolicy::test()),
            blobs: Arc::new(Disk::new(self.files())),
            incoming: self.files(),
            wallets: (self.wallets)(),
            retention: TimeSpan::days(90),
            clock_move: self.clock_move,
        };
        let index = ServerInfo {
            base_url: "http://test".into(),
            named: None,
            environment: self.environment,
            trusted_proxies: Vec::new(),
            fill_in_key: true,
            metrics: true,
            load: self.load.clone(),
        };
        let secrets = Secrets { operator_key: self.operator_key.clone(), ..Secrets::default() };
        card_payments::app::App::open(&self.location, parts, secrets, index).await.unwrap()
    }
}

/// Another account's keys.
pub async fn another_account(ctx: &Ctx) -> ApiKeyPair {
    let keys = ApiKeyPair::mint(&ctx.chance);
    let new = NewAccount::new(ctx, "Stranger", "stranger@example.com", &keys);
    ctx.store.write(new, |tx, new| new.record(tx).boxed()).await.unwrap();
    keys
}

impl App {
    /// A server on an empty database of its own. None where PostgreSQL is not there.
    pub async fn start(database: Database) -> Option<Self> {
        // The simulator answers at once or never.
        Self::start_with(database, Arc::new(Simulator::new(Numbers::TestCards)), Duration::from_millis(200))
            .await
    }

    /// A server whose acquirer is the test's own, and how long it may take to answer.
    pub async fn start_with(
        database: Database,
        acquirer: Arc<dyn Acquirer>,
        acquirer_answer: Duration,
    ) -> Option<Self> {
        Self::start_in(Environment::Test, database, acquirer, acquirer_answer).await
    }

    /// A live server with one account.
    pub async fn live(database: Database) -> Option<Self> {
        let acquirer = Arc::new(Simulator::new(Numbers::All));
        Self::start_in(Environment::Live, database, acquirer, Duration::from_millis(200)).await
    }

    async fn start_in(
        environment: Environment,
        database: Database,
        acquirer: Arc<dyn Acquirer>,
        acquirer_answer: Duration,
    ) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("files")).unwrap();
        let (location, copy) = migrated(database, folder.path()).await?;
        let (acquirer, acquirer_answer) = if remote_acquirer::is_everywhere() {
            // Nobody there answers within milliseconds, and who never answers is waited for.
            let wire = remote_acquirer::served(acquirer, environment).await;
            (
                remote_acquirer::client(wire, environment) as Arc<dyn Acquirer>,
                acquirer_answer.max(Duration::from_secs(5)),
            )
        } else {
            (acquirer, acquirer_answer)
        };
        let clock = Arc::new(TestClock(AtomicI64::new(START)));
        let operator = OperatorKeys::generate("test");
        let outlives = Outlives {
            location,
            operator,
            acquirer,
            acquirer_answer,
            clock_move: CLOCK_MOVE,
            load: LoadOptions::default(),
            environment,
            operator_key: None,
            folder,
            wallets: match environment {
                Environment::Test => Box::new(Wallets::simulated),
                Environment::Live => Box::new(Wallets::default),
            },
            _postgres: copy,
        };
        let inner = outlives.open(&clock).await;
        let keys = match inner.keys.clone() {
            Some(keys) => keys,
            None => another_account(&inner.ctx).await,
        };
        Some(Self { clock, database, inner: Some(inner), keys, outlives })
    }

    /// The process ends as it is, and another one begins on its database.
    pub async fn restart(&mut self) {
        drop(self.inner.take());
        self.inner = Some(self.outlives.open(&self.clock).await);
    }

    /// From its next start on, a process moves clocks for no longer than this.
    pub fn moves_clocks_for(&mut self, span: Duration) {
        self.outlives.clock_move = span;
    }

    /// Another process begins, which takes on no more than this.
    pub async fn takes_on(&mut self, rate_limit: Option<u32>, concurrency: u16) {
        self.outlives.load = LoadOptions { rate_limit, concurrency };
        self.restart().await;
    }

    /// Another process begins, whose dashboard this key opens in live.
    pub async fn operator_has(&mut self, key: Option<&str>) {
        self.outlives.operator_key = key.map(Secret::from);
        self.restart().await;
    }

    /// How much the process takes on at once.
    pub fn gate(&self) -> &AdmissionControl {
        self.inner().admission()
    }

    /// How far the process is on its way out.
    pub fn enters(&self, phase: ShutdownPhase) {
        self.inner().phase.send_replace(phase);
    }

    /// Another process begins, whose operator tells this about wallets.
    pub async fn knows_wallets(&mut self, wallets: impl Fn() -> Wallets + Send + Sync + 'static) {
        self.outlives.wallets = Box::new(wallets);
        self.restart().await;
    }

    /// Another copy of the server on the same PostgreSQL.
    pub async fn copy(&self) -> card_payments::app::App {
        self.outlives.open(&self.clock).await
    }

    fn inner(&self) -> &card_payments::app::App {
        self.inner.as_ref().unwrap()
    }

    /// The services' context, for what no request can do.
    pub fn ctx(&self) -> &Ctx {
        &self.inner().ctx
    }

    /// A caller with the first account's secret key.
    pub fn client(&self) -> Client {
        self.with_key(self.secret_key())
    }

    /// The first account's secret key.
    pub fn secret_key(&self) -> &str {
        self.keys.secret.expose()
    }

    /// The first account's publishable key.
    pub fn publishable_key(&self) -> &str {
        self.keys.publishable.expose()
    }

    /// The first account.
    pub async fn account(&self) -> AccountToken {
        accounts::authenticate(self.ctx(), &self.keys.secret, None).await.unwrap().account.id()
    }

    /// A caller with any key.
    pub fn with_key(&self, key: &str) -> Client {
        Client::new(self.inner().router.clone(), Some(key.into()))
    }

    /// A caller without a key.
    pub fn anonymous(&self) -> Client {
        Client::new(self.inner().router.clone(), None)
    }

    /// A caller of another account.
    pub async fn stranger(&self) -> Client {
        self.with_key(another_account(self.ctx()).await.secret.expose())
    }

    /// Do all due work, as the workers would by now.
    pub async fn do_due_work(&self) {
        for kind in registry::KINDS {
            while kind.run(self.ctx()).await.unwrap() > 0 {}
        }
    }

    /// The first account, as a worker comes by now.
    pub async fn moment(&self) -> WorkTime {
        let secret = &self.keys.secret;
        WorkTime::on_running_clock(accounts::authenticate(self.ctx(), secret, None).await.unwrap().account)
    }

    /// One number from the database.
    pub async fn number(&self, sql: &str) -> i64 {
        let reader = self.ctx().store.read();
        let statement = Statement::from_string(
            reader.get_database_backend(),
            format!("SELECT CAST(({sql}) AS BIGINT) AS n"),
        );
        reader.query_one_raw(statement).await.unwrap().unwrap().try_get("", "n").unwrap()
    }

    /// Change what no request can change.
    pub async fn execute(&self, sql: &'static str) {
        let unit = self
            .ctx()
            .store
            .write((), move |tx, ()| async move { Ok(tx.execute_unprepared(sql).await.map(drop)?) }.boxed());
        unit.await.unwrap();
    }

    /// The events so far, oldest first.
    pub async fn events(&self) -> Vec<&'static str> {
        let events = event::Entity::find().order_by_asc(event::Column::Id);
        let events = events.all(self.ctx().store.read()).await.unwrap();
        events.into_iter().map(|event| event.r#type.code()).collect()
    }

    /// Where the books differ, as `ledger verify` tells.
    pub async fn differences(&self) -> Vec<Difference> {
        let mut differences = Vec::new();
        verify(&self.ctx().store, &(), |difference| differences.push(difference.clone())).await.unwrap();
        differences
    }

    /// The blobs that there are, and what uploads have left beside them.
    pub fn blobs(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.outlives.files()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Begin to deliver, as the program does.
    pub fn work(&self) {
        card_payments::workers::start(self.ctx());
    }

    /// Plans know how many subscriptions they have in each state; what was charged is what was billed, once.
    async fn check_subscriptions(&self) {
        if self.number("SELECT COUNT(*) FROM plans").await == 0 {
            return;
        }
        for state in ["trial", "active", "cancelling", "cancelled"] {
            let off = format!(
                "SELECT COUNT(*) FROM plans p WHERE p.deleted_at IS NULL AND p.{state} <> (SELECT COUNT(*) FROM subscriptions s \
                 WHERE s.account_id = p.account_id AND s.plan_id = p.id AND s.state = '{state}')"
            );
            assert_eq!(self.number(&off).await, 0, "plans that miscount {state} subscriptions");
        }
        for (what, rows) in BROKEN_SUBSCRIPTIONS {
            assert_eq!(self.number(&format!("SELECT COUNT(*) FROM {rows}")).await, 0, "{what}");
        }
    }

    /// A merchant's own account says what its application says. In two statements: each lies by its own key, and tables that
    /// are distributed are joined by nothing else.
    async fn check_merchants(&self) {
        let db = self.ctx().store.read();
        for merchant in merchant::Entity::find().all(db).await.unwrap() {
            let own = account::Entity::find_by_id(merchant.own_account()).one(db).await.unwrap().unwrap();
            assert_eq!(own.referred_by, Some(merchant.account_id), "{merchant:?}");
            assert_eq!(own.status, merchant.status, "{merchant:?}");
            assert!(own.bank_account_id.is_some(), "{merchant:?}");
            let is_active = merchant.status == MerchantStatus::Active;
            assert!(!is_active || merchant.activated_at.is_some(), "{merchant:?}");
        }
    }

    /// What no test may break: the ledger's proofs hold, counters are the numbers of rows.
    pub async fn check_books(&self) {
        assert_eq!(self.differences().await, []);
        let entries = "SELECT COUNT(*) FROM journal_entries WHERE kind = 'charge'";
        let captured = "SELECT COUNT(*) FROM charges WHERE state = 'captured' AND origin <> 'authorisation'";
        assert_eq!(self.number(entries).await, self.number(captured).await, "one entry a captured charge");
        let orphans = "SELECT COUNT(*) FROM webhooks w WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.account_id = w.account_id AND e.id = w.endpoint_id) OR NOT EXISTS (SELECT 1 FROM events x WHERE x.account_id = w.account_id AND x.id = w.event_id)";
        assert_eq!(self.number(orphans).await, 0, "webhooks without their endpoint or event");
        let halves = "SELECT COUNT(*) FROM webhook_endpoints WHERE (former_key_sealed IS NULL) <> (former_key_until IS NULL)";
        assert_eq!(self.number(halves).await, 0, "a former key without its end, or the other way round");
        let complete = "SELECT COUNT(*) FROM wallet_certificates WHERE (state = 'active') <> (merchant_id IS NOT NULL AND valid_from IS NOT NULL AND valid_until IS NOT NULL)";
        assert_eq!(self.number(complete).await, 0, "a certificate is active once the provider has issued it");
        let miscounted = "SELECT COUNT(*) FROM key_uses WHERE uses < 1 OR first_at > last_at OR (uses = 1 AND first_at < last_at)";
        assert_eq!(self.number(miscounted).await, 0, "uses of keys have a first and a last one");
        let listed = format!("SELECT COUNT(*) FROM charges WHERE {}", entity::charge::LISTED);
        let astray = "SELECT COUNT(*) FROM three_d_secure_sessions s WHERE (s.state = 'open') <> (s.expires_at IS NOT NULL) OR (s.state = 'open') <> EXISTS (SELECT 1 FROM cards c WHERE c.account_id = s.account_id AND c.id = s.card_id AND c.state = 'reserved' AND c.number_sealed IS NOT NULL) OR (s.state = 'open') <> EXISTS (SELECT 1 FROM charges c WHERE c.account_id = s.account_id AND c.id = s.charge_id AND c.state = 'pending')";
        // Where there are none, their cards' table may be lost as well.
        let sessions = self.number("SELECT COUNT(*) FROM three_d_secure_sessions").await;
        assert_eq!(
            if sessions > 0 { self.number(astray).await } else { 0 },
            0,
            "an open session has a pending charge and a copy of its card, an ended one neither"
        );
        self.check_merchants().await;
        let authorisations =
            format!("SELECT COUNT(*) FROM charges WHERE {}", entity::charge::LISTED_AUTHORISATIONS);
        let apart = "SELECT COUNT(*) FROM charges c WHERE origin = 'capture' AND NOT EXISTS (SELECT 1 FROM charges a WHERE a.account_id = c.account_id AND a.id = c.authorisation_id AND a.origin = 'authorisation' AND a.state = 'captured' AND a.captured_as = c.id AND a.amount_captured = c.amount AND c.amount <= a.amount)";
        assert_eq!(self.number(apart).await, 0, "charges without the authorisation that they capture");
        for (kind, rows) in [
            ("authorisations", authorisations.as_str()),
            ("charges", listed.as_str()),
            ("customers", "SELECT COUNT(*) FROM customers"),
            ("disputes", "SELECT COUNT(*) FROM disputes"),
            ("deposits", "SELECT COUNT(*) FROM deposits"),
            ("recipients", "SELECT COUNT(*) FROM recipients"),
            ("transfers", "SELECT COUNT(*) FROM transfers"),
            ("events", "SELECT COUNT(*) FROM events"),
            ("refunds", "SELECT COUNT(*) FROM refunds"),
            ("webhooks", "SELECT COUNT(*) FROM webhooks"),
            ("merchants", "SELECT COUNT(*) FROM merchants"),
            ("plans", "SELECT COUNT(*) FROM plans WHERE deleted_at IS NULL"),
            ("subscriptions", SHOWN_SUBSCRIPTIONS),
        ] {
            let counted = format!("SELECT COALESCE(SUM(n), 0) FROM counters WHERE kind = '{kind}'");
            assert_eq!(self.number(&counted).await, self.number(rows).await, "the counter of {kind}");
        }
        self.check_subscriptions().await;
        let db = self.ctx().store.read();
        let files = file::Entity::find().all(db).await.unwrap();
        let blobs = self.blobs();
        let name = |file: &file::Model| format!("{}.{}", file.account_id.id(), file.id.id());
        assert!(files.iter().all(|file| blobs.contains(&name(file))), "a file without its blob: {blobs:?}");
        let strays = stray_blob::Entity::find().all(db).await.unwrap();
        let stray = |blob: &str| {
            let is = |account: AccountToken, id: FileToken| {
                blob.starts_with(&format!("{}.{}", account.id(), id.id()))
            };
            strays.iter().any(|stray| is(stray.account_id, stray.id))
        };
        let named: Vec<_> = files.iter().map(name).collect();
        assert!(
            blobs.iter().all(|blob| named.contains(blob) || stray(blob)),
            "a blob that nothing names: {blobs:?}"
        );
    }
}
