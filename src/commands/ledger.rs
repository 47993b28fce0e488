//! `card-payments ledger ...`: the books.

use std::error::Error;
use std::io::Write;

use card_payments::config::DatabaseOptions;
use card_payments::services::ledger::verify::{Difference, verify};
use clap::Subcommand;

/// What can be done with the books.
#[derive(Subcommand)]
pub enum Ledger {
    /// Prove the books of all accounts.
    Verify {
        /// One JSON object a difference, one a line.
        #[arg(long)]
        json: bool,
    },
}

/// Run a command.
pub async fn run(command: Ledger, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    match command {
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
