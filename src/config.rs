//! Configuration: every option is a flag and an environment variable; secrets are environment variables or files only,
//! because `ps` shows flags.

mod people;
mod variables;
mod vault_key;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base::client_network::parse_network;
use base::http_address::{parse_base_url, parse_listen_address};
use base::list::List;
use base::secret::Secret;
use base::secret_shares::ShareError;
use base::variables::set_variable;
use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};
use ipnet::IpNet;
use outbound::Allowed;
use store::{ConnectError, Location};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

pub use self::people::PeopleOptions;
pub use self::variables::{
    UnknownVariable, reason, serve_options, unknown_variables, variable, without_empty_variables,
    wrong_variable,
};
pub use self::vault_key::{KeyCommandError, VaultKeySource};
pub use base::environment::Environment;

use crate::limits::{CONCURRENCY, OPERATOR_KEY_LENGTH_MIN, RETENTION_DAYS_MAX, RETENTION_DAYS_MIN};

/// Returns the parser of an environment, whose help lists both.
pub fn environment_parser() -> impl TypedValueParser<Value = Environment> {
    let value = |environment: Environment, help| PossibleValue::new(environment.name()).help(help);
    let values = [
        value(Environment::Test, "Test cards, a simulated acquirer"),
        value(Environment::Live, "Real cards"),
    ];
    PossibleValuesParser::new(values)
        .map(|name| if name == Environment::Live.name() { Environment::Live } else { Environment::Test })
}

/// The database and its environment.
#[derive(Debug, Clone, Args)]
pub struct DatabaseOptions {
    /// sqlite:PATH or postgres://...; a SQLite file in the data directory by default.
    #[arg(long, env = "CARD_PAYMENTS_DATABASE_URL", hide_env_values = true, global = true)]
    pub database_url: Option<String>,
    /// The folder of SQLite file, vault key and uploaded files.
    #[arg(long, env = "CARD_PAYMENTS_DATA_DIR", default_value = "./data", global = true)]
    pub data_dir: PathBuf,
    /// test or live; a database belongs to one of them, an empty one to none yet.
    #[arg(long, env = "CARD_PAYMENTS_ENVIRONMENT", value_parser = environment_parser(), default_value = "test",
        global = true)]
    pub environment: Environment,
    /// Any text, in test: every run has the same ids, keys, codes and times. A database belongs to its first
    /// seed.
    #[arg(long, env = "CARD_PAYMENTS_SEED", hide_env_values = true, global = true,
        value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub seed: Option<String>,
}

impl DatabaseOptions {
    /// Returns where the database is.
    pub fn location(&self) -> Result<Location, ConnectError> {
        Location::new(self.database_url.as_deref(), &self.data_dir)
    }
}

/// Load limits.
#[derive(Debug, Clone, Args)]
pub struct LoadOptions {
    /// The requests a second that this server accepts from an account, and twice as many at once after a pause; no
    /// limit
    /// by default.
    #[arg(long, env = "CARD_PAYMENTS_RATE_LIMIT",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rate_limit: Option<u32>,
    /// The number of requests processed at once; those that wait for the acquirer do not count. Four times as many
    /// wait for
    /// a second; the rest is refused. There are eight times as many connections.
    #[arg(long, env = "CARD_PAYMENTS_CONCURRENCY", default_value_t = CONCURRENCY,
        value_parser = clap::value_parser!(u16).range(1..=8192))]
    pub concurrency: u16,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { rate_limit: None, concurrency: CONCURRENCY }
    }
}

/// Options of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeOptions {
    /// The address to listen on. A port alone means 127.0.0.1; port 0 means any free port.
    #[arg(long, env = "CARD_PAYMENTS_LISTEN", default_value = "127.0.0.1:8080", value_parser = parse_listen_address)]
    pub listen: SocketAddr,
    /// The server's address as clients know it, with the path below which it is, if there is one; by default http:// and the address
    /// to listen on, or 127.0.0.1 for all addresses.
    #[arg(long, env = "CARD_PAYMENTS_BASE_URL", value_parser = parse_base_url)]
    pub base_url: Option<String>,
    /// The storage of uploaded files: s3://BUCKET/PREFIX, required for several servers; the data directory by default.
    /// AWS_... variables set region, credentials and endpoint of the bucket.
    #[arg(long, env = "CARD_PAYMENTS_BLOBS")]
    pub blobs: Option<String>,
    /// A file or s3://BUCKET/PREFIX that gets the signed head of the audit trail after each batch of entries.
    #[arg(long, env = "CARD_PAYMENTS_AUDIT_ANCHOR")]
    pub audit_anchor: Option<String>,
    /// simulator, or the address of a remote acquirer: https://HOST, with an optional port and path. The default in
    /// test is
    /// simulator; live has none.
    #[arg(long, env = "CARD_PAYMENTS_ACQUIRER")]
    pub acquirer: Option<String>,
    /// A second address, the only one for /metrics, and also for /healthz and /readyz. Without it, live has no
    /// /metrics.
    #[arg(long, env = "CARD_PAYMENTS_ADMIN_LISTEN", value_parser = parse_listen_address)]
    pub admin_listen: Option<SocketAddr>,
    /// Networks and addresses of proxies with a trusted X-Forwarded-For, separated by commas.
    #[arg(long, env = "CARD_PAYMENTS_TRUSTED_PROXIES", value_parser = networks)]
    pub trusted_proxies: Vec<List<IpNet>>,
    /// Whether pages fill in the first account's key for a browser on the server's own machine, in test.
    #[arg(long, env = "CARD_PAYMENTS_FILL_IN_KEY", default_value = "true", action = ArgAction::Set,
        value_parser = BoolishValueParser::new())]
    pub fill_in_key: bool,
    /// Networks, addresses and host names that live webhooks may call in addition to public ones, separated by commas;
    /// link-local and metadata addresses stay forbidden.
    #[arg(long, env = "CARD_PAYMENTS_WEBHOOK_ALLOW")]
    pub webhook_allow: Vec<List<Allowed>>,
    /// How many days events, webhooks and the log of requests are kept, at least 30.
    #[arg(long, env = "CARD_PAYMENTS_RETENTION_DAYS", default_value = "90",
        value_parser = clap::value_parser!(i64).range(RETENTION_DAYS_MIN..=RETENTION_DAYS_MAX))]
    pub retention_days: i64,
    /// After how many days a deleted customer's personal data is erased, by the account's clock. Without it, only
    /// `card-payments customer erase` erases any.
    #[arg(long, env = "CARD_PAYMENTS_ERASE_AFTER", value_name = "DAYS",
        value_parser = clap::value_parser!(i64).range(0..=RETENTION_DAYS_MAX))]
    pub erase_after: Option<i64>,
    /// Hosts that a walletA validation URL may name, separated by commas.
    #[arg(long, env = "CARD_PAYMENTS_WALLET_A_HOSTS")]
    pub wallet_a_hosts: Vec<List<String>>,
    /// The gateway's name at walletG's provider: gateway:NAME.
    #[arg(long, env = "CARD_PAYMENTS_WALLET_G_RECIPIENT")]
    pub wallet_g_recipient: Option<String>,
    /// A file with the wallet providers' root certificates and keys.
    #[arg(long, env = "CARD_PAYMENTS_WALLET_ROOTS")]
    pub wallet_roots: Option<PathBuf>,
    /// How people sign in at a live server's dashboard.
    #[command(flatten)]
    pub people: PeopleOptions,
    /// Load limits.
    #[command(flatten)]
    pub load: LoadOptions,
    /// How long a stopping server still serves, in seconds. Meanwhile /readyz refuses, so that a load balancer sends no
    /// more requests.
    #[arg(long, env = "CARD_PAYMENTS_DRAIN_SECONDS", default_value = "0",
        value_parser = clap::value_parser!(u64).range(0..=600))]
    pub drain_seconds: u64,
    /// Which entries the log has, in the syntax of tracing: warn, or info,card_payments=debug.
    #[arg(long = "log-filter", value_name = "FILTER", env = "CARD_PAYMENTS_LOG", default_value = "info")]
    pub log: String,
}

/// What the first account of a test server holds before the server is ready, and where it is kept afterwards.
#[derive(Debug, Clone, Default, Args)]
pub struct FixtureOptions {
    /// A file of fixtures for the first account, in test. The server is ready once they are created; an account that is not
    /// empty keeps what it has.
    #[arg(long, env = "CARD_PAYMENTS_FIXTURES", value_name = "FILE")]
    pub fixtures: Option<PathBuf>,
    /// Use the built-in sample as the fixtures: a year of a small shop.
    #[arg(long, env = "CARD_PAYMENTS_SAMPLE", conflicts_with = "fixtures")]
    pub sample: bool,
    /// A file of --export-on-exit: the first account of a new database becomes what it holds, in test.
    #[arg(long, env = "CARD_PAYMENTS_IMPORT", value_name = "FILE", conflicts_with_all = ["fixtures", "sample"])]
    pub import: Option<PathBuf>,
    /// The file to which the server writes its first account when it ends, in test: all that it holds but what is
    /// secret.
    #[arg(long, env = "CARD_PAYMENTS_EXPORT_ON_EXIT", value_name = "FILE")]
    pub export_on_exit: Option<PathBuf>,
}

/// Secrets from environment variables or files.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    pub secret_key: Option<Secret>,
    /// The first account's publishable key.
    pub publishable_key: Option<Secret>,
    /// Where the operator's vault keys come from.
    pub vault_key: Option<VaultKeySource>,
    /// The merchant identity for walletA: certificate and private key, in PEM.
    pub wallet_a_identity: Option<Secret>,
    /// The private key that decrypts walletG payloads, in PEM.
    pub wallet_g_key: Option<Secret>,
    /// The secrets that a remote acquirer and this server share.
    pub acquirer: Option<Secret>,
    /// The key of a live server's dashboard.
    pub operator_key: Option<Secret>,
    /// This server's secret at the provider of its people.
    pub oidc_client_secret: Option<Secret>,
}

/// A configuration error, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// A secret that is set both by value and by file.
    #[error("{0} and {0}_FILE are both set")]
    Twice(&'static str),
    /// A secret that is no text.
    #[error("{0} is not UTF-8")]
    NotUtf8(&'static str),
    /// One key for two purposes.
    #[error("CARD_PAYMENTS_SECRET_KEY and CARD_PAYMENTS_PUBLISHABLE_KEY must differ")]
    SameKeys,
    /// A malformed key.
    #[error("{0} must be 8 to 100 visible characters, the last of them no colon")]
    Key(&'static str),
    /// A key in quotes that no shell has removed.
    #[error(
        "{0} is in quotes, which would be a part of the key (a file of variables for containers keeps them): remove them"
    )]
    QuotedKey(&'static str),
    /// A key that is too short.
    #[error("CARD_PAYMENTS_OPERATOR_KEY must be at least {} visible characters", OPERATOR_KEY_LENGTH_MIN)]
    OperatorKey,
    /// A malformed log filter.
    #[error("CARD_PAYMENTS_LOG: {0}")]
    Log(#[from] ParseError),
    /// The vault key is given in more than one way.
    #[error("{0} and {1} are both set")]
    VaultKeys(&'static str, &'static str),
    /// The command that prints the vault key fails.
    #[error("CARD_PAYMENTS_VAULT_KEY_COMMAND: {0}")]
    KeyCommand(KeyCommandError),
    /// The shares do not make up the vault key.
    #[error("CARD_PAYMENTS_VAULT_KEY_SHARES: {0}")]
    Shares(#[from] ShareError),
}

/// Parses a list of networks and single addresses.
fn networks(text: &str) -> Result<List<IpNet>, String> {
    List::parse_each(text, |item| {
        parse_network(item).ok_or("must be a network such as 10.1.0.0/16, or an address")
    })
}

/// Parses CARD_PAYMENTS_LOG.
pub fn log_filter(text: &str) -> Result<EnvFilter, ConfigError> {
    Ok(EnvFilter::try_new(text)?)
}

impl Secrets {
    /// Reads the secrets from environment variables, or from the files that `..._FILE` variables name.
    pub fn from_environment() -> Result<Self, ConfigError> {
        let (secrets, faults) = Self::gathered();
        faults.into_iter().next().map_or(Ok(secrets), Err)
    }

    /// Reads the secrets as far as possible, and returns every error.
    pub fn gathered() -> (Self, Vec<ConfigError>) {
        let mut faults = Vec::new();
        let [
            secret_key,
            publishable_key,
            vault_key,
            wallet_a_identity,
            wallet_g_key,
            acquirer,
            operator_key,
            oidc_client_secret,
        ] = Self::VARIABLES.map(|name| {
            secret(name).unwrap_or_else(|fault| {
                faults.push(fault);
                None
            })
        });
        for (name, key) in Self::VARIABLES.into_iter().zip([&secret_key, &publishable_key]) {
            let Some(key) = key.as_ref().map(Secret::expose) else { continue };
            if !is_key(key) {
                faults.push(ConfigError::Key(name));
            } else if is_quoted(key) {
                faults.push(ConfigError::QuotedKey(name));
            }
        }
        if secret_key.is_some() && secret_key == publishable_key {
            faults.push(ConfigError::SameKeys);
        }
        if !operator_key.as_ref().is_none_or(|key| opens_to_operators(key.expose())) {
            faults.push(ConfigError::OperatorKey);
        }
        let vault_key = VaultKeySource::from_environment(vault_key).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        let secrets = Self {
            secret_key,
            publishable_key,
            vault_key,
            wallet_a_identity,
            wallet_g_key,
            acquirer,
            operator_key,
            oidc_client_secret,
        };
        (secrets, faults)
    }

    /// The variables of all secrets. `_FILE` after a name gives a file instead.
    pub const VARIABLES: [&str; 8] = [
        "CARD_PAYMENTS_SECRET_KEY",
        "CARD_PAYMENTS_PUBLISHABLE_KEY",
        "CARD_PAYMENTS_VAULT_KEY",
        "CARD_PAYMENTS_WALLET_A_IDENTITY",
        "CARD_PAYMENTS_WALLET_G_KEY",
        "CARD_PAYMENTS_ACQUIRER_SECRET",
        "CARD_PAYMENTS_OPERATOR_KEY",
        "CARD_PAYMENTS_OIDC_CLIENT_SECRET",
    ];
}

/// Whether a text can be an API key (`docs/decisions.md`, 58).
pub fn is_key(text: &str) -> bool {
    // A colon ends the user of HTTP Basic.
    (8..=100).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && !text.ends_with(':')
}

fn is_quoted(text: &str) -> bool {
    ['"', '\''].into_iter().any(|quote| text.starts_with(quote) && text.ends_with(quote))
}

fn opens_to_operators(text: &str) -> bool {
    text.len() >= OPERATOR_KEY_LENGTH_MIN && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn secret(name: &'static str) -> Result<Option<Secret>, ConfigError> {
    let file = set_variable(format!("{name}_FILE"));
    let value = set_variable(name).map(|text| text.into_string().map_err(|_| ConfigError::NotUtf8(name)));
    match (value.transpose()?, file) {
        (Some(_), Some(_)) => Err(ConfigError::Twice(name)),
        (Some(text), None) => Ok(Some(text.into())),
        (None, Some(file)) => read(Path::new(&file)).map(Some),
        (None, None) => Ok(None),
    }
}

/// Reads a secret's file, without the line end that editors add.
pub fn read(file: &Path) -> Result<Secret, ConfigError> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| ConfigError::File(file.display().to_string(), error))?;
    Ok(text.trim_end_matches(['\r', '\n']).into())
}
