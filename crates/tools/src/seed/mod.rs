//! `card-payments seed FILE`: creates fixtures through the API of a running server, which may be this process.

mod faults;
mod nouns;
mod plan;
mod runner;
mod times;
mod yaml;

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base::http_address::reachable;
use base::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;
use http::Method;
use serde_json::json;
use sha2::{Digest, Sha256};

pub use self::faults::Fault;
use self::faults::Faults;
use self::plan::SeedPlan;
use self::runner::{Made, SeedRunner, SeedTarget};
use crate::api_client::ApiClient;
use crate::known_api::KnownApi;
use crate::progress_bar::{Bar, Unit};
use crate::server_options::{ServerOptions, refuse_live};
use crate::terminal::{Printer, print_result};

/// A year of a small shop, which uses everything that a file may contain.
const SAMPLE: &str = include_str!("../../sample.yaml");

/// The size limit of a file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Create the fixtures of a YAML file in an account.
///
/// Customers, plans, subscriptions, charges and what happens to them, through a running test server. docs/fixtures.md describes
/// the file.
///
/// Reads the whole file first. If it has faults, prints all of them by line and creates nothing. If the server refuses a
/// request, restores the account. Moves the account's clock ahead as far as the file says.
///
/// The account must be empty. Run twice within a day, a file creates nothing twice. If the server is busy, the request is
/// repeated; if it does not answer, the command stops and can be run again. Refuses a live server.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options, each independent of the others")]
#[command(after_help = "Examples:\n  card-payments seed fixtures/shop.yaml --key sk_test_0123456789\n  \
    card-payments seed --sample --new-account\n\n\
    Prints each record with its token; with --json {what, token} for each, and {made, again, now, snapshot} at the end. \
    Faults are lines, with --json {line, fault}.")]
pub struct Seed {
    /// The file: YAML, at most 1 MiB.
    #[arg(required_unless_present = "sample")]
    file: Option<PathBuf>,
    /// Use the built-in sample instead: a year of a small shop.
    #[arg(long, conflicts_with = "file")]
    sample: bool,
    /// Create an account for the fixtures, and print its keys first.
    #[arg(long)]
    new_account: bool,
    /// Also run in an account that is not empty.
    #[arg(long, conflicts_with = "new_account")]
    anyway: bool,
    #[command(flatten)]
    server: ServerOptions,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: Seed, api: &KnownApi) -> Result<(), Box<dyn Error>> {
    let Seed { file, new_account, anyway, server, json, .. } = command;
    let fixtures = Fixtures::read(file.as_deref(), json, api)?;
    let server = server.open().await?;
    refuse_live(&server, "nothing was created").await?;
    let target = if new_account { made(server, json).await? } else { SeedTarget { server, made: None } };
    if !anyway && fixtures.is_foreign(&target.server).await? {
        return Err("something has happened in this account already: name a fresh one, let --new-account make one, or \
                    say --anyway"
            .into());
    }
    let summary = SeedRunner::begin(&target, &fixtures.key).await?;
    let bar = Bar::new("Seeding", Unit::Things);
    // A closed pipe does not stop the requests.
    let print_made = |made: &Made| bar.suspend(|| drop(print_result(made, made, json)));
    let summary = summary.run(&fixtures.plan, &bar, print_made).await?;
    drop(bar);
    print_result(&summary, &summary, json)
}

/// Fixtures without a fault.
pub struct Fixtures {
    plan: SeedPlan,
    /// Their name in Idempotency-Keys.
    key: String,
}

impl Fixtures {
    /// Reads a file, or the sample. The error has all faults of the file, by line.
    pub fn read(file: Option<&Path>, json: bool, api: &KnownApi) -> Result<Self, Box<dyn Error>> {
        let (name, key, text) = match file {
            Some(file) => {
                let text = read(file).map_err(|error| format!("{}: {error}", file.display()))?;
                (file.file_name().unwrap_or_default().to_string_lossy().into_owned(), key(file), text)
            }
            None => ("sample".to_owned(), "sample".to_owned(), SAMPLE.to_owned()),
        };
        match Self::parse(&text, key, api) {
            Ok(fixtures) => Ok(fixtures),
            Err(faults) => Err(print_faults(&faults, &name, json).into()),
        }
    }

    /// Parses the text of a file. The error has all of its faults, by line.
    pub fn parse(text: &str, key: String, api: &KnownApi) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::default();
        let plan = plan::read(text, api, &mut faults);
        if faults.is_empty() { Ok(Self { plan, key }) } else { Err(faults.into_sorted()) }
    }

    /// Creates them in the account with this key, through the server that listens on this address. Leaves an account as it is
    /// in which anything else has happened.
    pub async fn create(&self, listening: SocketAddr, key: &Secret) -> Result<(), Box<dyn Error>> {
        let server = ApiClient::at(&format!("http://{}", reachable(listening)), Some(key.clone())).await?;
        if self.is_foreign(&server).await? {
            tracing::warn!("no fixtures are created: something has happened in the first account already");
            return Ok(());
        }
        let target = SeedTarget { server, made: None };
        SeedRunner::begin(&target, &self.key).await?.run(&self.plan, &(), |_| ()).await?;
        tracing::info!("the fixtures are created");
        Ok(())
    }

    /// Returns whether something has happened in the account besides these fixtures.
    async fn is_foreign(&self, server: &ApiClient) -> Result<bool, String> {
        Ok(!runner::is_fresh(server).await? && !runner::is_begun(server, &self.key).await?)
    }
}

/// Creates an account for the fixtures and prints its keys.
async fn made(server: ApiClient, json: bool) -> Result<SeedTarget, Box<dyn Error>> {
    let made = server.answer_to(Method::POST, "/1/sandbox/accounts", Some(&json!({})), &[]).await?;
    let account = made.record()?;
    let text = |field: &str| account[field].as_str().unwrap_or_default();
    print_result(account, &format!("{:<40} {}", "secret key", text("secret_key")), json)?;
    let token = text("token").to_owned();
    Ok(SeedTarget { server: server.with_key(text("secret_key")), made: Some((server, token)) })
}

/// Returns the name of a file in Idempotency-Keys: its own, and its folder, because files may have the same name.
fn key(file: &Path) -> String {
    let place = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let place = Sha256::digest(place.as_os_str().as_encoded_bytes());
    format!("{}-{}", stem(file), URL_SAFE_NO_PAD.encode(&place[..9]))
}

/// Returns the file's name in characters that an Idempotency-Key may have.
fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    stem.chars().take(100).map(plain).collect()
}

fn read(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other("is larger than 1 MiB"));
    }
    Ok(text)
}

/// Returns all faults as the text of the error; for programs, prints each by itself.
fn print_faults(faults: &[Fault], name: &str, json: bool) -> String {
    let head = match faults.len() {
        1 => format!("{name} has a fault, and nothing was made"),
        many => format!("{name} has {many} faults, and nothing was made"),
    };
    if json {
        let mut printer = Printer::new(true);
        for fault in faults {
            printer.print(fault, &"");
        }
        return head;
    }
    let lines = faults.iter().map(|Fault { line, fault }| format!("\n  line {line}: {fault}"));
    head + &lines.collect::<String>()
}
