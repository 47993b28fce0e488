//! `card-payments ledger ...`: the books.

mod report;

use std::error::Error;
use std::io::Write;

use card_payments::config::DatabaseOptions;
use card_payments::services::ledger::report::Extent;
use card_payments::services::ledger::verify::{Difference, verify};
use clap::Subcommand;
use entity::Timestamp;

use self::report::{Csv, JsonLines, Table, print_report};
use super::progress_bar::{Bar, Unit};
use super::tell;
use super::terminal::{self, GOOD};

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
        after_help = "Example:\n  card-payments ledger report --from 2026-11-01 --to 2026-12-01 --csv > november.csv\n\n\
        Without --csv and --json a table for a person: an account after the other, amounts in its currency."
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
        /// As comma-separated values.
        #[arg(long)]
        csv: bool,
        /// One JSON object a posting, one a line.
        #[arg(long, conflicts_with = "csv")]
        json: bool,
    },
}

/// Run a command.
pub async fn run(command: Ledger, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    match command {
        Ledger::Report { account, from, to, csv, json } => {
            let store = super::open(database).await?;
            let account = match account {
                Some(named) => Some(super::account(&store, &named, super::now(database)?).await?.id()),
                None => None,
            };
            let extent = Extent { account, from, to };
            if csv {
                return print_report(&store, extent, Csv::new()?).await;
            }
            if json {
                return print_report(&store, extent, JsonLines).await;
            }
            print_report(&store, extent, Table::default()).await
        }
        Ledger::Verify { json } => {
            let bar = Bar::new("Proving the books", Unit::Things);
            let store = super::open(database).await?;
            let mut told = Ok(());
            let differences = verify(&store, &bar, |difference| {
                if told.is_ok() {
                    told = bar.suspend(|| tell(difference, &as_text(difference), json));
                }
            })
            .await?;
            drop(bar);
            // What was found counts, though nobody reads all of it.
            match differences {
                0 if json => Ok(()),
                0 => Ok(writeln!(terminal::styled_stdout(), "{GOOD}The books balance.{GOOD:#}")?),
                1 => Err("the books do not balance: 1 difference".into()),
                many => Err(format!("the books do not balance: {many} differences").into()),
            }
        }
    }
}

fn as_text(difference: &Difference) -> String {
    let Difference { proof, account, subject, expected, found } = difference;
    format!("{account}: {proof}: {subject} is {found} and should be {expected}")
}
