//! `card-payments account ...`: accounts, and merchants on their way from one environment to the other.

mod export;
mod import;

use std::error::Error;

use card_payments::config::{DatabaseOptions, Environment};
use clap::Subcommand;

/// What can be done with accounts.
#[derive(Subcommand)]
pub enum Account {
    /// Write a merchant's application, and the keys that are to work in the other environment, as a JSON document.
    Export(export::Export),
    /// Make the account of a merchant that was exported in the other environment.
    Import(import::Import),
}

/// Run a command.
pub async fn run(
    command: Account,
    environment: Environment,
    database: &DatabaseOptions,
) -> Result<(), Box<dyn Error>> {
    match command {
        Account::Export(command) => export::run(command, environment, database).await,
        Account::Import(command) => import::run(command, environment, database).await,
    }
}
