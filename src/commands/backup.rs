//! `card-payments backup FILE`.

use std::error::Error;
use std::path::PathBuf;

use card_payments::config::DatabaseOptions;
use card_payments::store::{Location, backup};
use clap::Args;
use serde::Serialize;

use super::progress_bar::{Bar, Unit};
use super::tell;

/// Copy a SQLite database into a file, while a server writes to it.
///
/// The copy is what was committed at one moment, complete in one file that only its owner reads. It is a database by
/// itself: name it in CARD_PAYMENTS_DATABASE_URL, or put it in the place of the data directory's card-payments.db.
///
/// It holds neither the vault's key (vault.key or CARD_PAYMENTS_VAULT_KEY), without which nobody reads a card in it, nor
/// uploaded files: keep both as well, and the key elsewhere. PostgreSQL has tools of its own: pg_dump.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments backup /backups/card-payments-2026-11-22.db\n\n\
    Prints the file and its size; with --json {file, bytes}. Never writes over a file.")]
pub struct Backup {
    /// The file to make.
    file: PathBuf,
    /// One JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

#[derive(Serialize)]
struct Made {
    file: PathBuf,
    bytes: u64,
}

/// Run it.
pub fn run(command: Backup) -> Result<(), Box<dyn Error>> {
    let Backup { file, json, database } = command;
    let location: Location = database.url().parse()?;
    let bar = Bar::new("Copying", Unit::Bytes);
    let bytes = backup(&location, database.environment.name(), &file, &bar)?;
    drop(bar);
    let text = format!("{}: {bytes} bytes", file.display());
    tell(&Made { file, bytes }, &text, json)
}
