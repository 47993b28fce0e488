//! `card-payments vault ...`: the keys that encrypt stored data.

use std::error::Error;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::services::data_keys::rotate::rotate_watched;
use clap::Subcommand;

use super::progress_bar::{Bar, Unit};
use super::{print_result, refused};

/// Manages the vault.
#[derive(Subcommand)]
pub enum Vault {
    /// Make a new data key and re-encrypt everything with it, while servers run.
    ///
    /// Also wraps every data key with the first key of CARD_PAYMENTS_VAULT_KEY. To change the operator's key, start every server
    /// with CARD_PAYMENTS_VAULT_KEY=new:...,old:..., run this command with the same value, then start every server with new:...
    /// alone.
    ///
    /// It is safe to kill it and run it again: everything stays readable. Servers use the new key within seconds. An old data key
    /// is kept for at least an hour; once no row needs it, a server or a later run deletes it.
    #[command(after_help = "Example:\n  card-payments vault rotate\n\n\
        Prints the id of the new data key, how many rows were re-encrypted, and how many former keys are kept; with \
        --json {data_key, rows, damaged, removed, kept}.")]
    Rotate {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Runs a command.
pub async fn run(command: Vault, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let Vault::Rotate { json } = command;
    let bar = Bar::new("Re-encrypting", Unit::Things);
    let ctx = super::open_with_keys(database, &Secrets::from_environment()?).await?;
    let rotation = rotate_watched(&ctx, &bar).await.map_err(|error| refused(&error))?;
    drop(bar);
    print_result(&rotation, &rotation, json)
}
