//! `card-payments ledger ...`: the books.

use std::error::Error;
use std::io::Write;

use card_payments::config::DatabaseOptions;
use card_payments::services::ledger::report::{COLUMNS, Extent, report};
use card_payments::services::ledger::verify::{Difference, verify};
use clap::Subcommand;
use entity::Timestamp;

/// What can be done with the books.
#[derive(Subcommand)]
pub enum Ledger {
    /// Prove the books of all accounts. Changes nothing; exit code 1, and a line a difference, where they do not balance.
    #[command(after_help = "Example:\n  card-payments ledger verify --json")]
    Verify {
        /// One JSON object a difference, one a line.
        #[arg(long)]
        json: bool,
    },
    /// Print the postings with their journal entries, for reconciliation. Changes nothing.
    #[command(
        after_help = "Example:\n  card-payments ledger report --from 2026-11-01 --to 2026-12-01 --csv > november.csv"
    )]
    Report {
        /// Of this account only: acct_...
        #[arg(long)]
        account: Option<String>,
        /// From this day or time on, by the account's clock.
        #[arg(long, value_parser = super::deposit::time)]
        from: Option<Timestamp>,
        /// Before this day or time.
        #[arg(long, value_parser = super::deposit::time)]
        to: Option<Timestamp>,
        /// As comma-separated values, the only form there is.
        #[arg(long, required = true)]
        csv: bool,
    },
}

/// Run a command.
pub async fn run(command: Ledger, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    match command {
        Ledger::Report { account, from, to, csv: _ } => {
            let store = super::open(database).await?;
            let account = match account {
                Some(named) => Some(super::account(&store, &named, super::now(database)?).await?.id()),
                None => None,
            };
            let mut out = csv::WriterBuilder::new().has_headers(false).from_writer(std::io::stdout().lock());
            out.write_record(COLUMNS)?;
            let told = report(&store, Extent { account, from, to }, |row| Ok(out.serialize(row)?)).await;
            out.flush()?;
            Ok(told?)
        }
        Ledger::Verify { json } => {
            let store = super::open(database).await?;
            let mut out = std::io::stdout().lock();
            let mut told = Ok(());
            let differences = verify(&store, |difference| {
                let line = if json { as_json(difference) } else { as_text(difference) };
                if told.is_ok() {
                    told = writeln!(out, "{line}");
                }
            })
            .await?;
            told?;
            match differences {
                0 if json => Ok(()),
                0 => Ok(writeln!(out, "The books balance.")?),
                1 => Err("the books do not balance: 1 difference".into()),
                many => Err(format!("the books do not balance: {many} differences").into()),
            }
        }
    }
}

fn as_json(difference: &Difference) -> String {
    serde_json::to_string(difference).unwrap_or_default()
}

fn as_text(difference: &Difference) -> String {
    let Difference { proof, account, subject, expected, found } = difference;
    format!("{account}: {proof}: {subject} is {found} and should be {expected}")
}
