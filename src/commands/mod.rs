//! The commands that operators run beside a server. A command opens the database, brings its schema up to date, and
//! calls a service. The commands that call a running server instead are a crate of their own, `tools`.

pub mod account;
mod account_file;
pub mod acquirer;
pub mod audit;
pub mod backup;
pub mod banner;
pub mod bench;
pub mod check;
pub mod clock;
pub mod copy;
pub mod customer;
pub mod deposit;
pub mod dispute;
pub mod examine;
pub mod exec;
pub mod explain;
mod fixtures;
pub mod help;
pub mod known_api;
pub mod ledger;
pub mod manual;
pub mod merchant;
pub mod migrate;
pub mod people;
pub mod reconcile;
pub mod record;
pub mod report;
pub mod serve;
mod tokens;
pub mod vault;
pub mod webhook;

use std::error::Error;
use std::fmt::Display;
use std::path::Path;

use base::clock::{Clock, IdGenerator, SystemClock};
use base::{durable_fs, platform};
use card_payments::Store;
use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::error::{self, Body, ErrorCode};
use card_payments::services::{Account, Ctx, accounts, installation};
use card_payments::{app, params};
use entity::token::{self, TokenKind};
use entity::{TimeSpan, Timestamp};
use store::{ConnectError, Location, Operator};

/// Returns the account with this token at an instant of the wall clock. As in a path, malformed tokens are not found.
pub async fn account(store: &Store, named: &str, wall: Timestamp) -> Result<Account, Box<dyn Error>> {
    let account = match named.parse() {
        Ok(token) => accounts::find_by_token(store, token, wall).await?,
        Err(_) => None,
    };
    let account = account.ok_or_else(|| tokens::missing::<token::Account>("account", &named))?;
    // The server's fence keeps no other process out.
    if installation::restoring(store.read()).await?.iter().any(|(restored, _)| *restored == account.id()) {
        return Err("a snapshot of the account is being restored: try again in a moment".into());
    }
    Ok(account)
}

/// Returns the wall clock's time; with a seed, the fixed clock's.
pub fn now(database: &DatabaseOptions) -> Result<Timestamp, Box<dyn Error>> {
    let (clock, _) = app::clock_and_random(database)?;
    Ok(clock.now())
}

/// Opens the database to read it. An empty one stays unclaimed.
pub async fn open(database: &DatabaseOptions) -> Result<Store, Box<dyn Error>> {
    let location = location(database)?;
    let found = store::read_installation(&location).await?;
    installation::refuse_other(found.environment.as_deref(), database.environment)?;
    Ok(Store::open(&location, IdGenerator::default().into()).await?)
}

/// Opens the database to copy it, also if it has begun to move.
pub async fn open_to_copy(database: &DatabaseOptions) -> Result<Store, Box<dyn Error>> {
    let location = location(database)?;
    let found = store::read_installation_to_copy(&location).await?;
    if found.copying.is_some() {
        return Err(ConnectError::UnfinishedCopy.into());
    }
    installation::refuse_other(found.environment.as_deref(), database.environment)?;
    Ok(Store::open(&location, IdGenerator::default().into()).await?)
}

/// Opens the database to change something.
pub async fn open_to_change(database: &DatabaseOptions) -> Result<Store, Box<dyn Error>> {
    let store = app::operator_store(&location(database)?, database).await?;
    store.set_operator(operator());
    Ok(store)
}

/// Opens the database with its keys, to read it. Refuses an empty one, which is only migrated: it stays unclaimed.
pub async fn open_claimed(database: &DatabaseOptions, secrets: &Secrets) -> Result<Ctx, Box<dyn Error>> {
    app::operator_store(&location(database)?, database).await?;
    if store::read_installation(&location(database)?).await?.environment.is_none() {
        return Err("the database is empty: a server, or account create, fills it".into());
    }
    with_keys(database, secrets).await
}

/// Opens the database with its keys. An unclaimed one now belongs to the environment.
pub async fn open_with_keys(database: &DatabaseOptions, secrets: &Secrets) -> Result<Ctx, Box<dyn Error>> {
    location(database)?;
    with_keys(database, secrets).await
}

/// Opens the database with its keys, and makes the one that is missing.
pub async fn open_or_make(database: &DatabaseOptions, secrets: &Secrets) -> Result<Ctx, Box<dyn Error>> {
    location_to_make(database.location()?)?;
    with_keys(database, secrets).await
}

async fn with_keys(database: &DatabaseOptions, secrets: &Secrets) -> Result<Ctx, Box<dyn Error>> {
    let ctx = app::operator_context(database, secrets).await?;
    ctx.store.set_operator(operator());
    Ok(ctx)
}

/// Returns the operator as the machine knows them: the user number, which cannot be chosen, and the name, which can.
fn operator() -> Operator {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let name = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_else(|| "nobody".into());
    let machine = platform::host_name().unwrap_or_else(|| "a machine without a name".into());
    let description = format!("{name} (user {}) on {}", platform::user(), machine.trim());
    // The name is printed on terminals.
    Operator {
        name: description.chars().filter(|letter| !letter.is_control()).collect(),
        at: SystemClock.now(),
    }
}

/// Returns the location of the database, which exists: a command in a wrong folder would find all well in a new one. A running
/// server keeps its lock; commands need none.
fn location(database: &DatabaseOptions) -> Result<Location, Box<dyn Error>> {
    let location = database.location()?;
    if let Some(folder) = folder(&location) {
        durable_fs::refuse_other(folder)?;
    }
    location.refuse_missing()?;
    Ok(location)
}

fn location_to_make(location: Location) -> Result<Location, Box<dyn Error>> {
    if let Some(folder) = folder(&location) {
        durable_fs::refuse_other(folder)?;
        durable_fs::create_folder(folder)?;
    }
    Ok(location)
}

/// Returns the folder of a database that is a file.
fn folder(location: &Location) -> Option<&Path> {
    match location {
        Location::Sqlite { path } => path.parent().filter(|parent| !parent.as_os_str().is_empty()),
        Location::Postgres { .. } => None,
    }
}

/// Parses how long a replaced key keeps working.
fn grace(text: &str) -> Result<TimeSpan, &'static str> {
    params::parse_grace_period(text).ok_or("not a whole number and m, h, d or w, at most a hundred years")
}

/// Returns a service's refusal in the words of the API.
pub fn refused(error: &error::Error) -> String {
    let (Body::Object(body) | Body::Array([body])) = error.body("");
    let messages = body.messages.into_iter().flatten().map(|message| message.message);
    let messages: Vec<_> = messages.collect();
    if messages.is_empty() { body.error_description.into_owned() } else { messages.join(", ") }
}

/// Returns a service's refusal; of what was named and is not there, which it is.
pub fn refused_of<K: TokenKind>(error: &error::Error, kind: &str, named: &impl Display) -> String {
    if matches!(error.code(), ErrorCode::NotFound | ErrorCode::RecordNotFound) {
        return tokens::missing::<K>(kind, named);
    }
    refused(error)
}
