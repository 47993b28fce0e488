//! `card-payments migrate`.

use std::error::Error;
use std::io::Write;

use card_payments::config::DatabaseOptions;
use card_payments::services::installation;
use clap::Args;
use serde_json::json;
use store::Migrator;
use tools::progress_bar::{Bar, Unit};
use tools::terminal;

/// Bring the database's schema up to date.
///
/// It is safe to kill it, to run it twice, and to run several at once. A server does the same when it starts.
#[derive(Args)]
#[command(
    after_help = "Example:\n  card-payments migrate --database-url postgres://payments@db/payments\n\n\
    Prints nothing, or with --distribute the tables; with --json {step} for each step that has run, or {table}."
)]
pub struct Migrate {
    #[command(flatten)]
    database: DatabaseOptions,
    /// Also distribute its tables over the workers of a Citus cluster, and print those that were not distributed before. Stop
    /// every server first.
    #[arg(long)]
    distribute: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: Migrate) -> Result<(), Box<dyn Error>> {
    let Migrate { database, distribute, json } = command;
    let location =
        if distribute { database.location()? } else { super::location_to_make(database.location()?)? };
    let bar = Bar::new(if distribute { "Distributing" } else { "Migrating" }, Unit::Things);
    let found = store::read_installation(&location).await?;
    installation::refuse_other(found.environment.as_deref(), database.environment)?;
    let (done, kind) = if distribute {
        (store::distribute(&location, &bar).await?, "table")
    } else {
        (store::migrate::<Migrator>(&location, &bar).await?, "step")
    };
    drop(bar);
    for name in done {
        if json {
            terminal::print_json(&json!({ kind: name }))?;
        } else if distribute {
            writeln!(terminal::stdout(), "{name}")?;
        }
    }
    Ok(())
}
