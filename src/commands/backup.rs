//! `card-payments backup FILE`.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::platform::{Signal, on_signals};
use card_payments::config::DatabaseOptions;
use clap::Args;
use serde::Serialize;
use store::{BackupError, backup};
use tools::own_server::code_of;
use tools::progress_bar::{Bar, Unit};
use tools::terminal::print_result;

/// Copy a SQLite database into a file while a server writes to it.
///
/// The copy holds everything that was committed at one moment, in one file that only its owner can read. It is a database:
/// name it in CARD_PAYMENTS_DATABASE_URL, or replace card-payments.db in the data directory with it.
///
/// It contains neither the vault key (vault.key or CARD_PAYMENTS_VAULT_KEY), without which no card in it can be read, nor
/// uploaded files. Back up both, too, and keep the key in another place. For PostgreSQL, use its own tools: pg_dump.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments backup /backups/card-payments-2026-11-22.db\n\n\
    Prints the file and its size; with --json {file, bytes}. Never writes over a file.")]
pub struct Backup {
    /// The file to create.
    file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

#[derive(Serialize)]
struct Made {
    file: String,
    bytes: u64,
}

pub async fn run(command: Backup) -> Result<ExitCode, Box<dyn Error>> {
    let Backup { file, json, database } = command;
    if file.as_os_str() == "-" {
        return Err("a backup is a database, which cannot be written to standard output: name a file".into());
    }
    let location = database.location()?;
    let mut signals = on_signals(&[Signal::Interrupt, Signal::Terminate, Signal::HangUp])?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut copying = tokio::task::spawn_blocking({
        let (file, stop) = (file.clone(), Arc::clone(&stop));
        move || {
            let bar = Bar::new("Copying", Unit::Bytes);
            backup(&location, database.environment.name(), &file, &bar, &stop)
        }
    });
    let (made, signal) = tokio::select! {
        made = &mut copying => (made?, None),
        Some(signal) = signals.recv() => {
            stop.store(true, Ordering::Relaxed);
            (copying.await?, Some(signal))
        }
    };
    match (made, signal) {
        (Err(BackupError::Stopped), Some(signal)) => Ok(code_of(signal)),
        (made, _) => {
            let bytes = made?;
            let text = format!("{}: {bytes} bytes", file.display());
            print_result(&Made { file: file.display().to_string(), bytes }, &text, json)
                .map(|()| ExitCode::SUCCESS)
        }
    }
}
