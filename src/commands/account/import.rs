//! `card-payments account import`.

use std::error::Error;
use std::path::PathBuf;

use card_payments::config::{self, DatabaseOptions, Secrets};
use card_payments::services::merchants::import::{import, read};
use clap::Args;
use serde_json::json;
use tools::terminal::print_result;

use crate::commands;

/// Create the account of a merchant that was exported from the other environment, pending approval, and print its token.
///
/// A second import is refused. Needs the vault key as a server does.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments account import merchant.json")]
pub struct Import {
    /// The document that `account export` wrote in the other environment.
    file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub async fn run(Import { file, json }: Import, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    // Read before the database is opened: a wrong document changes nothing.
    let document = read(config::read(&file)?.expose(), database.environment)?;
    let merchant = document.merchant();
    let ctx = commands::open_or_make(database, &Secrets::from_environment()?).await?;
    let token = import(&ctx, document).await?;
    let text = format!(
        "{token}: the account of {merchant}, pending approval; `merchant activate {merchant}` lets it trade"
    );
    print_result(&json!({ "token": token, "merchant": merchant }), &text, json)
}
