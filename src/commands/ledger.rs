//! `card-payments ledger ...`: the books.

mod report;

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::services::ledger::report::{BOOK_COLUMNS, COLUMNS, ReportFilter, trial_balance};
use card_payments::services::ledger::verify::{Difference, verify};
use clap::Subcommand;
use entity::Timestamp;
use tools::progress_bar::{Bar, Unit};
use tools::terminal::{self, GOOD, Printer};

use self::report::{BookTable, Csv, JsonLines, Table, print_books, print_report};

/// Verifies and reports the books.
#[derive(Subcommand)]
pub enum Ledger {
    /// Verify the books of all accounts. If they do not balance, prints a line per difference and exits with 1. Changes nothing.
    #[command(after_help = "Example:\n  card-payments ledger verify --json")]
    Verify {
        /// Print one JSON object per difference, one per line.
        #[arg(long)]
        json: bool,
    },
    /// Print the postings with their journal entries, for reconciliation. Changes nothing.
    #[command(
        after_help = "Example:\n  card-payments ledger report --from 2026-11-01 --to 2026-12-01 --csv > november.csv\n\n\
        Without --csv and --json a table for a person: an account after the other, amounts in its currency."
    )]
    Report {
        /// Only this account: acct_...
        #[arg(long)]
        account: Option<String>,
        /// Only postings at or after this day or time, by the account's clock.
        #[arg(long, value_parser = super::deposit::time)]
        from: Option<Timestamp>,
        /// Only postings before this day or time.
        #[arg(long, value_parser = super::deposit::time)]
        to: Option<Timestamp>,
        /// Print what lay in each book of an account at the end of this second, or of the first one of a day, by the account's clock.
        /// The books of an account sum to zero.
        #[arg(long, value_parser = super::deposit::time, conflicts_with_all = ["from", "to"])]
        at: Option<Timestamp>,
        /// Print comma-separated values.
        #[arg(long)]
        csv: bool,
        /// Print one JSON object per posting or book, one per line.
        #[arg(long, conflicts_with = "csv")]
        json: bool,
    },
}

pub async fn run(command: Ledger, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    match command {
        Ledger::Report { account, from, to, at, csv, json } => {
            let store = super::open(database).await?;
            let account = match account {
                Some(named) => Some(super::account(&store, &named, super::now(database)?).await?.id()),
                None => None,
            };
            if let Some(at) = at {
                let books = trial_balance(&store, account, at).await?;
                return match (csv, json) {
                    (true, _) => print_books(&books, Csv::new(&BOOK_COLUMNS)?),
                    (_, true) => print_books(&books, JsonLines),
                    _ => print_books(&books, BookTable::default()),
                };
            }
            let extent = ReportFilter { account, from, to };
            if csv {
                return print_report(&store, extent, Csv::new(&COLUMNS)?).await;
            }
            if json {
                return print_report(&store, extent, JsonLines).await;
            }
            print_report(&store, extent, Table::default()).await
        }
        Ledger::Verify { json } => {
            let bar = Bar::new("Proving the books", Unit::Things);
            let store = super::open(database).await?;
            let mut printer = Printer::new(json);
            let differences = verify(&store, &bar, |difference| {
                bar.suspend(|| printer.print(difference, &as_text(difference)));
            })
            .await?;
            drop(bar);
            // The differences decide the exit code, even if the reader closes the pipe.
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
