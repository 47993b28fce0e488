//! `card-payments account import`.

use std::error::Error;
use std::path::PathBuf;

use card_payments::clock::{Clock, Ids, SystemClock};
use card_payments::config::{self, DatabaseOptions, Environment};
use card_payments::services::merchants::import::{Here, import, read};
use clap::Args;
use serde_json::json;

use crate::commands;

/// Which document.
#[derive(Args)]
pub struct Import {
    /// What `account export` has written in the other environment.
    file: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub async fn run(
    Import { file, json }: Import,
    environment: Environment,
    database: &DatabaseOptions,
) -> Result<(), Box<dyn Error>> {
    // Before the database: a document that is wrong changes nothing.
    let document = read(config::read(&file)?.expose(), environment)?;
    let merchant = document.merchant();
    let (store, vault) = commands::installation(environment, database).await?;
    let (ids, wall) = (Ids::default(), SystemClock.now());
    let token = import(&Here { store: &store, vault: &vault, ids: &ids, wall }, document).await?;
    if json {
        println!("{}", json!({ "token": token, "merchant": merchant }));
    } else {
        println!(
            "{token}: the account of {merchant}, pending approval; `merchant activate {merchant}` lets it trade"
        );
    }
    Ok(())
}
