//! Assembles the application: configuration in, a context and a router out.

mod operator;
mod people;
mod start_error;
mod takeover;
mod vault_keys;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acquirer::Acquirer;
use acquirer::http::{Address, HttpAcquirer, Secrets as AcquirerSecrets};
use acquirer::simulator::Simulator;
use axum::Router;
use entity::TimeSpan;
use outbound::blobs::{Blobs, Bucket, Disk};
use outbound::identity_provider::IdentityProvider;
use sea_orm::DbBackend;
use store::{ConnectError, FileLock, Location};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use vault::OperatorKeys;
use wallet::{Gateway, GatewayError, Issuer, Roots};

pub use self::operator::{operator_context, operator_store};
pub(crate) use self::people::identity_provider;
use self::people::operators;
pub use self::start_error::StartError;
pub use self::vault_keys::existing_vault_keys;
pub(crate) use self::vault_keys::vault_key_path;
use base::clock::{Clock, FixedClock, IdGenerator, SystemClock};
use base::durable_fs;
use base::list::List;
use base::random::RandomSource;
use base::trusted_clock::TrustedClock;
use outbound::{AddressPolicy, Allowed, Outbound};
use web::server::ServerPhase;

use crate::Store;
use crate::api::{self, AdmissionControl, AppState, AppStateInner, Metrics, RateLimit, ServerInfo};
use crate::config::{ConfigError, DatabaseOptions, Environment, Secrets, ServeOptions, VaultKeySource};
use crate::dashboard::{self, DashboardAuth};
use crate::guide;
use crate::limits::{ACQUIRER_TIMEOUT, CLOCK_MOVE_TIMEOUT};
use crate::recorder::Recorder;
use crate::services::accounts::{self, ApiKeyPair};
use crate::services::audit::AuditAnchor;
use crate::services::context::Settings;
use crate::services::installation::{self, InstallationError};
use crate::services::memory::Memory;
use crate::services::memory::arrivals::Arrivals;
use crate::services::memory::event_sequences::EventSequences;
use crate::services::wallets::{Provider, Wallets};
use crate::services::{Context, Ctx, clock_record, data_keys, disputes};

/// The parts of a server besides its configuration; tests bring their own.
pub struct Parts {
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids, keys and codes.
    pub random: Arc<RandomSource>,
    pub acquirer: Arc<dyn Acquirer>,
    /// The time that the acquirer may take to answer.
    pub acquirer_timeout: Duration,
    /// Test or live.
    pub environment: Environment,
    pub operator: OperatorKeys,
    /// Calls the addresses that clients supply.
    pub outbound: Outbound,
    /// The operator's settings for wallets.
    pub wallets: Wallets,
    /// The storage of file contents.
    pub blobs: Arc<dyn Blobs>,
    /// The folder for uploads in progress.
    pub incoming: PathBuf,
    /// The destination of the audit trail's heads, if there is one.
    pub audit_anchor: Option<AuditAnchor>,
    /// The provider of the people who sign in at the dashboard, if there is one.
    pub provider: Option<IdentityProvider>,
    /// Whether the operator's key opens the dashboard beside a provider.
    pub break_glass: bool,
    /// The time for which events and webhooks are kept.
    pub retention: TimeSpan,
    /// The time after a customer's deletion at which its personal data is erased, if at all.
    pub erase_after: Option<TimeSpan>,
    /// The time for which one request may move a clock.
    pub clock_move_timeout: Duration,
    /// The recording of its requests, in test.
    pub recorder: Option<Arc<Recorder>>,
}

/// A server that is ready to answer.
pub struct App {
    /// The services' context.
    pub ctx: Ctx,
    pub router: Router,
    /// The first account's keys, in test.
    pub keys: Option<ApiKeyPair>,
    /// The phase; the process that runs the server sends it.
    pub phase: watch::Sender<ServerPhase>,
    site: AppState,
    /// Held while the server runs: one server per SQLite file.
    _lock: Option<FileLock>,
}

impl Parts {
    /// Creates the parts that the configuration asks for. Reads the database and refuses one of another environment or
    /// seed; changes nothing in it.
    pub async fn configured(
        options: &ServeOptions,
        database: &DatabaseOptions,
        secrets: &Secrets,
    ) -> Result<Self, StartError> {
        let environment = database.environment;
        if let Some(name) = test_only(environment, secrets).into_iter().next() {
            return Err(StartError::TestOnly(name));
        }
        let (clock, random) = clock_and_random(database)?;
        let acquirer = NamedAcquirer::new(options.acquirer.as_deref(), environment, secrets)?;
        let acquirer = acquirer.validated(environment).await?;
        if has_insecure_links(environment, options) {
            tracing::warn!("{INSECURE_LINKS}");
        }
        let operator = operator(database, secrets, &random).await?;
        let policy = address_policy(environment, &options.webhook_allow);
        let folder = database.data_dir.join("files");
        let blobs: Arc<dyn Blobs> = match &options.blobs {
            Some(address) => Arc::new(Bucket::at(address)?),
            None => Arc::new(Disk::new(folder.clone())),
        };
        Ok(Self {
            clock,
            random,
            acquirer,
            acquirer_timeout: ACQUIRER_TIMEOUT,
            environment,
            operator,
            outbound: Outbound::new(policy.clone()),
            wallets: wallets(options, environment, secrets, policy)?,
            blobs,
            incoming: folder,
            audit_anchor: options
                .audit_anchor
                .as_deref()
                .map(AuditAnchor::at)
                .transpose()
                .map_err(StartError::Anchor)?,
            provider: identity_provider(&options.people, environment, secrets)?,
            break_glass: options.people.break_glass,
            retention: TimeSpan::days(options.retention_days),
            erase_after: options.erase_after.map(TimeSpan::days),
            clock_move_timeout: CLOCK_MOVE_TIMEOUT,
            recorder: None,
        })
    }
}

impl App {
    /// Opens the database and assembles the server.
    pub async fn open(
        location: &Location,
        mut parts: Parts,
        secrets: Secrets,
        info: ServerInfo,
    ) -> Result<Self, StartError> {
        let (lock, recorder) = (location.lock()?, parts.recorder.take());
        let (environment, incoming) = (parts.environment, parts.incoming.clone());
        let operators = operators(parts.provider.take(), parts.break_glass, secrets.operator_key);
        let ctx = Box::pin(context(location, lock.as_ref(), parts, &info.base_url)).await?;
        // Not earlier: a server that is refused leaves nothing behind.
        durable_fs::create_folder(&incoming)
            .map_err(|error| ConfigError::File(incoming.display().to_string(), error))?;
        let keys = match environment {
            Environment::Test => {
                let keys =
                    accounts::ensure_first_account(&ctx, secrets.secret_key, secrets.publishable_key).await;
                Some(keys.map_err(StartError::First)?)
            }
            Environment::Live => None,
        };
        if let Some(recorder) = &recorder {
            recorder.begin(&info.base_url, keys.as_ref().map(|keys| (&keys.secret, &keys.publishable)));
        }
        if lock.is_some() || ctx.random.is_seeded() {
            // No other server can make a payment, submit a refund, deliver a webhook or move a clock on this file. With
            // a seed no other may either, and no time passes that would free the work of a killed server.
            takeover::take_over(&ctx).await?;
        }
        let dashboard = DashboardAuth::new(environment, operators, Arc::clone(&ctx.clock));
        let rate_limit = info.load.rate_limit.and_then(NonZeroU32::new);
        let phase = watch::Sender::default();
        let fingerprint = installation::read_fingerprint(&ctx.store).await?;
        let site = AppState::new(AppStateInner {
            installation: fingerprint.into(),
            rate: Arc::new(RateLimit::new(rate_limit, Arc::clone(&ctx.clock))),
            admission: Arc::new(AdmissionControl::new(info.load.concurrency)),
            phase: phase.subscribe(),
            ctx: Arc::clone(&ctx),
            test_key: keys.as_ref().filter(|_| info.fill_in_key).map(|keys| Arc::new(keys.secret.clone())),
            info: Arc::new(info),
            document: Arc::new(api::document()),
            rights: Arc::new(api::operation_rights()),
            parameters: Arc::new(api::operation_parameters()),
            metrics: Metrics::install(),
            has_dashboard: dashboard.is_some(),
            recorder,
        });
        let dashboard = dashboard.map_or_else(Router::new, |auth| dashboard::routes(site.clone(), auth));
        let pages = guide::routes().merge(dashboard);
        Ok(Self { router: api::router(site.clone(), pages), ctx, keys, phase, site, _lock: lock })
    }

    pub fn has_dashboard(&self) -> bool {
        self.site.has_dashboard
    }

    pub fn admission(&self) -> &Arc<AdmissionControl> {
        &self.site.admission
    }

    /// Returns the routes of the operator's own listener.
    pub fn admin(&self) -> Router {
        let info = Arc::new(ServerInfo { metrics: true, ..(*self.site.info).clone() });
        api::admin_router(AppState::new(AppStateInner { info, ..(*self.site).clone() }))
    }
}

/// Opens the database, locked by a server if there is one, and its keys. An unclaimed database now belongs to the
/// environment.
async fn context(
    location: &Location,
    lock: Option<&FileLock>,
    parts: Parts,
    base_url: &str,
) -> Result<Ctx, StartError> {
    let random = parts.random;
    let ids = Arc::new(IdGenerator::new(Arc::clone(&random)));
    let store = Store::open_locked(location, lock, Arc::clone(&ids)).await?;
    installation::claim(&store, parts.environment).await?;
    random.begin(installation::begin(&store, random.fingerprint()).await?);
    let vault = data_keys::open(&store, &parts.operator, &ids, &random, parts.clock.now()).await?;
    let arrivals = Arc::new(Arrivals::new(store.backend() == DbBackend::Postgres));
    let event_sequences = Arc::new(EventSequences::new(Arc::clone(&arrivals)));
    store.add_listener(Arc::clone(&event_sequences));
    disputes::arrival::listen(&store);
    let trusted = if random.is_seeded() {
        TrustedClock::still(Arc::clone(&parts.clock))
    } else {
        clock_record::open(&store, Arc::clone(&parts.clock)).await.map_err(InstallationError::from)?
    };
    Ok(Arc::new(Context {
        environment: parts.environment,
        store,
        clock: parts.clock,
        trusted,
        ids,
        vault: Arc::new(vault),
        operator: parts.operator,
        acquirer: parts.acquirer,
        outbound: parts.outbound,
        wallets: parts.wallets.drawing_from(&random),
        random,
        blobs: parts.blobs,
        tasks: TaskTracker::new(),
        settings: Settings {
            acquirer_timeout: parts.acquirer_timeout,
            incoming: parts.incoming,
            audit_anchor: parts.audit_anchor,
            base_url: base_url.into(),
            retention: parts.retention,
            erase_after: parts.erase_after,
            clock_move_timeout: parts.clock_move_timeout,
        },
        memory: Memory::new(arrivals, event_sequences),
    }))
}

/// Returns the machine's clock and randomness. With a seed, the clock stands still and the randomness comes from the
/// seed.
pub fn clock_and_random(
    database: &DatabaseOptions,
) -> Result<(Arc<dyn Clock>, Arc<RandomSource>), StartError> {
    match (&database.seed, database.environment) {
        (None, _) => Ok((Arc::new(SystemClock), Arc::default())),
        (Some(_), Environment::Live) => Err(StartError::TestOnly("CARD_PAYMENTS_SEED")),
        (Some(seed), Environment::Test) => {
            Ok((Arc::new(FixedClock::SEEDED), Arc::new(RandomSource::seeded(seed))))
        }
    }
}

/// Returns the operator's keys: the configured ones, or in test those of a development machine. Checks that they open
/// the database's keys, if it has any, and that the database belongs to the environment or is unclaimed.
async fn operator(
    database: &DatabaseOptions,
    secrets: &Secrets,
    random: &RandomSource,
) -> Result<OperatorKeys, StartError> {
    let configured = match &secrets.vault_key {
        Some(source) => Some(vault_keys::read_vault_keys(source).await?),
        None if database.environment == Environment::Live => {
            return Err(StartError::Required(VaultKeySource::TEXT));
        }
        None => None,
    };
    durable_fs::refuse_other(&database.data_dir).map_err(ConnectError::from)?;
    let found = store::read_installation(&database.location()?).await?;
    installation::refuse_other(found.environment.as_deref(), database.environment)?;
    let (is_empty, seed) = (found.keys.is_empty(), random.fingerprint());
    installation::refuse_other_seed(found.seed.as_deref(), is_empty, seed.as_deref())?;
    let operator = match configured {
        Some(keys) => keys,
        None => vault_keys::open_key_file(&database.data_dir, &found)?,
    };
    data_keys::refuse_closed(&found.keys, &operator)?;
    Ok(operator)
}

/// Returns the configured keys that live does not allow.
pub(crate) fn test_only(environment: Environment, secrets: &Secrets) -> Vec<&'static str> {
    let keys = [
        ("CARD_PAYMENTS_SECRET_KEY", &secrets.secret_key),
        ("CARD_PAYMENTS_PUBLISHABLE_KEY", &secrets.publishable_key),
    ];
    let given = keys.into_iter().filter(|(_, key)| key.is_some() && environment == Environment::Live);
    given.map(|(name, _)| name).collect()
}

/// The configured acquirer, before any call to it.
pub(crate) enum NamedAcquirer {
    Simulator(Simulator),
    /// The acquirer at an address.
    Elsewhere(Address, Arc<HttpAcquirer>),
}

impl NamedAcquirer {
    /// Returns the configured acquirer.
    pub(crate) fn new(
        named: Option<&str>,
        environment: Environment,
        secrets: &Secrets,
    ) -> Result<Self, StartError> {
        let named = match (named, environment) {
            (None, Environment::Live) => return Err(StartError::Required("CARD_PAYMENTS_ACQUIRER")),
            (None | Some("simulator"), _) => {
                return Ok(Self::Simulator(Simulator::for_environment(environment)));
            }
            (Some(named), _) if !named.contains("://") => return Err(StartError::Acquirer(named.into())),
            (Some(named), _) => named,
        };
        let address = Address::parse(named, environment)?;
        let secret = secrets.acquirer.as_ref();
        let secret = secret
            .ok_or(StartError::MissingPartner("CARD_PAYMENTS_ACQUIRER_SECRET", "CARD_PAYMENTS_ACQUIRER"))?;
        let secrets = AcquirerSecrets::parse(secret)?;
        // The acquirer compares with its own machine's time, although our clock may stand still.
        let remote = HttpAcquirer::new(address.clone(), secrets, environment, Arc::new(SystemClock));
        Ok(Self::Elsewhere(address, Arc::new(remote)))
    }

    /// Returns the acquirer, ready to be called. A remote one with a wrong answer stops the start; if it does not answer
    /// yet, the server starts but is not ready.
    async fn validated(self, environment: Environment) -> Result<Arc<dyn Acquirer>, StartError> {
        match self {
            Self::Simulator(simulator) => {
                if environment == Environment::Live {
                    tracing::warn!("the acquirer is a simulator: no money moves");
                }
                Ok(Arc::new(simulator))
            }
            Self::Elsewhere(address, remote) => {
                match remote.greet().await {
                    Ok(()) => {}
                    Err(error) if error.is_transient() => {
                        tracing::warn!(%address, %error, "this server is not ready until its acquirer answers");
                    }
                    Err(error) => return Err(StartError::AcquirerFailed(address.to_string(), error)),
                }
                Ok(remote)
            }
        }
    }
}

/// The warning of a live server whose links anybody on the way can read.
pub(crate) const INSECURE_LINKS: &str =
    "CARD_PAYMENTS_BASE_URL is no https address: links to pages and files use plain HTTP";

/// Returns whether links to this server are to be warned of ([`INSECURE_LINKS`]).
pub(crate) fn has_insecure_links(environment: Environment, options: &ServeOptions) -> bool {
    environment == Environment::Live && !options.base_url.as_deref().is_some_and(is_https)
}

/// Returns whether an address is safe from eavesdroppers.
pub(crate) fn is_https(address: &str) -> bool {
    address.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

pub(crate) fn address_policy(environment: Environment, allow: &[List<Allowed>]) -> AddressPolicy {
    match environment {
        Environment::Test => AddressPolicy::test(),
        Environment::Live => AddressPolicy::live(List::all(allow)),
    }
}

/// Returns the wallet providers. Test has its own, whose private keys are public; the operator's settings for real ones
/// count there, too. Live accepts payloads of a wallet only with complete settings, and never trusts the test
/// providers.
pub(crate) fn wallets(
    options: &ServeOptions,
    environment: Environment,
    secrets: &Secrets,
    policy: AddressPolicy,
) -> Result<Wallets, StartError> {
    let mut wallets = match environment {
        Environment::Test => Wallets::simulated(),
        Environment::Live => Wallets::default(),
    };
    if let Some(file) = &options.wallet_roots {
        let wrong = |why: String| StartError::Wallet("CARD_PAYMENTS_WALLET_ROOTS", why);
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        wallets.roots = wallets.roots.and(Roots::parse(&text).map_err(|error| wrong(error.to_string()))?);
    }
    let key = ("CARD_PAYMENTS_WALLET_G_KEY", secrets.wallet_g_key.as_ref());
    let recipient = ("CARD_PAYMENTS_WALLET_G_RECIPIENT", options.wallet_g_recipient.as_ref());
    let (key_name, recipient_name) = (key.0, recipient.0);
    if let Some((key, recipient)) = required_pair(key, recipient)? {
        let gateway = Gateway::new(key.expose(), recipient).map_err(|error| match error {
            GatewayError::Key => StartError::Wallet(key_name, error.to_string()),
            GatewayError::Recipient => StartError::Wallet(recipient_name, error.to_string()),
        });
        wallets.gateway = Some(gateway?);
    }
    if environment == Environment::Live {
        let known = Issuer::built_in();
        if wallets.roots.shares_any(&known.roots()) {
            return Err(StartError::TestOnly("a root of the test environment in CARD_PAYMENTS_WALLET_ROOTS"));
        }
        if wallets.gateway.as_ref().is_some_and(|gateway| gateway.shares_key(&known.gateway())) {
            return Err(StartError::TestOnly("the key in CARD_PAYMENTS_WALLET_G_KEY"));
        }
    }
    let hosts = Some(List::all(&options.wallet_a_hosts)).filter(|hosts| !hosts.is_empty());
    let identity = ("CARD_PAYMENTS_WALLET_A_IDENTITY", secrets.wallet_a_identity.as_ref());
    let name = identity.0;
    if let Some((identity, hosts)) = required_pair(identity, ("CARD_PAYMENTS_WALLET_A_HOSTS", hosts))? {
        let provider = Provider::new(identity, &hosts, policy).map_err(|why| StartError::Wallet(name, why));
        wallets.provider = Some(provider?);
    }
    Ok(wallets)
}

/// Returns two settings that need each other, each given with its name; `None` if neither is set.
fn required_pair<A, B>(
    (first_name, first): (&'static str, Option<A>),
    (second_name, second): (&'static str, Option<B>),
) -> Result<Option<(A, B)>, StartError> {
    match (first, second) {
        (Some(first), Some(second)) => Ok(Some((first, second))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(StartError::MissingPartner(first_name, second_name)),
        (Some(_), None) => Err(StartError::MissingPartner(second_name, first_name)),
    }
}
