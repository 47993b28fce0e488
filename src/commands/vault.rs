//! `card-payments vault ...`: the keys that encrypt what is stored.

use std::error::Error;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::services::data_keys::rotate::rotate_watched;
use clap::Subcommand;

use super::progress_bar::{Bar, Unit};
use super::{refused, tell};

/// What can be done with the vault.
#[derive(Subcommand)]
pub enum Vault {
    /// Make a new data key and encrypt by it whatever older ones encrypted, while servers run.
    ///
    /// Also wraps every key by the first key of CARD_PAYMENTS_VAULT_KEY. So the operator's key is changed in three steps:
    /// start every server with CARD_PAYMENTS_VAULT_KEY=new:...,old:..., run this with the same, and start every server with
    /// new:... alone.
    ///
    /// It may be killed and run again: everything stays readable. Servers learn of the new key within seconds. A former
    /// data key is kept for an hour at least and goes once no row needs it, by a server or by a later run.
    #[command(after_help = "Example:\n  card-payments vault rotate\n\n\
        Prints the id of the new data key, how many rows were encrypted anew, and how many former keys are kept; with \
        --json {data_key, rows, damaged, removed, kept}.")]
    Rotate {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Run a command.
pub async fn run(command: Vault, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let Vault::Rotate { json } = command;
    let bar = Bar::new("Encrypting anew", Unit::Things);
    let ctx = super::open_with_keys(database, &Secrets::from_environment()?).await?;
    let rotation = rotate_watched(&ctx, &bar).await.map_err(|error| refused(&error))?;
    drop(bar);
    tell(&rotation, &rotation, json)
}
