//! `card-payments copy --to URL`.

use std::error::Error;
use std::io::Write;

use card_payments::config::DatabaseOptions;
use card_payments::services::accounts::wipe::rebuild_search_texts;
use card_payments::services::ledger::verify::verify;
use card_payments::store;
use clap::Args;

use super::progress_bar::{Bar, Unit};
use super::{tell, terminal};

/// Copy the whole installation into another database: from SQLite to PostgreSQL, back, or between two of a kind.
///
/// The copy is the database as it is when the command begins; a server may run on it meanwhile. Stop the server first if
/// the copy is to replace it. The target must be empty. A command that was cut off continues when it is run again.
///
/// Each table is read back and compared, and the ledger is verified. Until then no server starts on the copy.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments copy --to postgres://payments@db/payments\n\n\
    Prints a line for each table; with --json {table, rows, checksum}. Uploaded files and the vault key are not in the \
    database: the last lines say what to bring along.")]
pub struct Copy {
    /// The database to copy to: sqlite:PATH or postgres://...
    #[arg(long, value_name = "URL")]
    to: String,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Runs the command.
pub async fn run(command: Copy) -> Result<(), Box<dyn Error>> {
    let Copy { to, json, database } = command;
    let target = super::location_of(&to)?;
    let source = super::open(&database).await?;
    let copy = store::Copy::begin(&source, &target).await?;
    let bar = Bar::new("Copying", Unit::Things);
    let mut printed = Ok(());
    copy.run(&bar, |table| {
        if printed.is_ok() {
            let text = format!("{}: {} rows, {}", table.table, table.rows, table.checksum);
            printed = bar.suspend(|| tell(table, &text, json));
        }
    })
    .await?;
    drop(bar);
    rebuild_search_texts(copy.store()).await?;
    let bar = Bar::new("Proving the books", Unit::Things);
    let differences = verify(copy.store(), &bar, |_| ()).await?;
    drop(bar);
    if differences > 0 {
        let text = "the books of the copy do not balance: run ledger verify on the source; no server starts on the copy";
        return Err(text.into());
    }
    copy.finish().await?;
    // The copy is complete, whether or not anybody reads what was printed.
    printed?;
    if !json {
        let mut out = terminal::stdout();
        writeln!(out, "The copy is complete, and its books balance. Bring along what is not in a database:")?;
        let data_dir = database.data_dir.display();
        writeln!(out, "- uploaded files: {data_dir}/files, unless CARD_PAYMENTS_BLOBS names a bucket")?;
        writeln!(out, "- the vault key: {data_dir}/vault.key, or CARD_PAYMENTS_VAULT_KEY")?;
    }
    Ok(())
}
