//! `card-payments copy --to URL`.

use std::error::Error;
use std::io::Write;

use card_payments::Store;
use card_payments::config::DatabaseOptions;
use card_payments::services::accounts::stored_rows::first_unreadable;
use card_payments::services::ledger::verify::verify;
use card_payments::services::search_text::rebuild::rebuild_all;
use clap::Args;
use store::{CopiedTable, FollowingCopy};
use tools::progress_bar::{Bar, Unit};
use tools::terminal::{self, Printer};

/// Copy the whole installation into another database.
///
/// From SQLite to PostgreSQL, back, or between two of a kind. The copy is the database as it is when the command begins; a server
/// may run on it meanwhile. If the copy is to replace it, stop the server first, or let the copy follow it: then the server works
/// on, the copy takes over its changes, and only at the end, for a second or two, the server refuses changes (503). From then on
/// no server starts on the old database.
///
/// The target must be empty. A command that was cut off continues when it is run again.
///
/// Each table is read back and compared, each row is read as a server reads it, and the ledger is verified. Until then no server
/// starts on the copy.
#[derive(Args)]
#[command(after_help = "Examples:\n  card-payments copy --to postgres://payments@db/payments\n  \
    card-payments copy --to postgres://payments@db/payments --follow\n\n\
    Prints a line for each table; with --json {table, rows, checksum}. Uploaded files and the vault key are not in the \
    database: the last lines say what to bring along.")]
pub struct Copy {
    /// The database to copy to: sqlite:PATH or postgres://...
    #[arg(long, value_name = "URL")]
    to: String,
    /// Take over what a running server changes, and move: at the end the old database is written no more. PostgreSQL only.
    #[arg(long)]
    follow: bool,
    /// End a copy that was cut off: servers start on the old database again. The target stays unfinished.
    #[arg(long, conflicts_with = "follow")]
    cancel: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

pub async fn run(command: Copy) -> Result<(), Box<dyn Error>> {
    let Copy { to, follow, cancel, json, database } = command;
    let target = super::location_to_make(to.parse()?)?;
    let source = super::open_to_copy(&database).await?;
    if cancel {
        return Ok(store::Copy::cancel(&source, &target).await?);
    }
    let bar = Bar::new("Copying", Unit::Things);
    let mut printer = Printer::new(json);
    let mut print = |table: &CopiedTable| {
        let text = format_args!("{}: {} rows, {}", table.table, table.rows, table.checksum);
        bar.suspend(|| printer.print(table, &text));
    };
    if follow {
        let copy = FollowingCopy::begin(&source, &target).await?;
        copy.run(&bar).await?;
        copy.catch_up().await?;
        prove(copy.store()).await?;
        copy.catch_up().await?;
        let moved = copy.move_over().await?;
        let (to, milliseconds) = (target.display(), moved.refused_for.as_millis());
        let line = format!(
            "The installation has moved: start its servers on {to}. Changes were refused for {milliseconds} ms until now."
        );
        bar.suspend(|| terminal::print_notice(line));
        moved.compare(&mut print).await?;
    } else {
        let copy = store::Copy::begin(&source, &target).await?;
        copy.run(&bar, &mut print).await?;
        prove(copy.store()).await?;
        copy.finish().await?;
    }
    drop(bar);
    printer.end()?;
    if !json {
        let mut out = terminal::stdout();
        writeln!(out, "The copy is complete, and its books balance. Bring along what is not in a database:")?;
        let data_dir = database.data_dir.display();
        writeln!(out, "- uploaded files: {data_dir}/files, unless CARD_PAYMENTS_BLOBS names a bucket")?;
        writeln!(out, "- the vault key: {data_dir}/vault.key, or CARD_PAYMENTS_VAULT_KEY")?;
    }
    Ok(())
}

/// Reads all rows, makes what is made from rows, and verifies the ledger.
async fn prove(copy: &Store) -> Result<(), Box<dyn Error>> {
    if let Some(wrong) = first_unreadable(copy).await? {
        return Err(format!("{wrong}; no server starts on the copy").into());
    }
    rebuild_all(copy).await?;
    let bar = Bar::new("Proving the books", Unit::Things);
    if verify(copy, &bar, |_| ()).await? > 0 {
        let text = "the books of the copy do not balance: run ledger verify on the source; no server starts on the copy";
        return Err(text.into());
    }
    Ok(())
}
