//! `card-payments merchant ...`: the operator's decisions about merchants.

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::services::merchants::decide_as_operator;
use clap::{Args, Subcommand};
use entity::merchant::MerchantStatus;
use entity::token;
use tools::terminal::print_result;

use super::{refused_of, tokens};

/// Decides about a merchant.
#[derive(Subcommand)]
pub enum Merchant {
    /// Activate a merchant and print it.
    ///
    /// Its keys in this environment work from the next request on, and its partner gets an event.
    #[command(after_help = "Example:\n  card-payments merchant activate mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    Activate(Decision),
    /// Decline a merchant for good and print it.
    ///
    /// In live its keys stop working with the next request. Its partner gets an event.
    #[command(after_help = "Example:\n  card-payments merchant decline mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    Decline(Decision),
    /// Put a merchant on hold and print it.
    ///
    /// In live its keys can only read from the next request on. Its partner gets an event.
    #[command(after_help = "Example:\n  card-payments merchant hold mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    Hold(Decision),
}

/// The merchant to decide about.
#[derive(Args)]
pub struct Decision {
    /// The merchant's token: mrch_...
    merchant: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: Merchant, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let (Decision { merchant, json }, status) = match command {
        Merchant::Activate(decision) => (decision, MerchantStatus::Active),
        Merchant::Decline(decision) => (decision, MerchantStatus::Declined),
        Merchant::Hold(decision) => (decision, MerchantStatus::OnHold),
    };
    let store = super::open_to_change(database).await?;
    let token = merchant.parse().map_err(|_| tokens::missing::<token::Merchant>("merchant", &merchant))?;
    let decided = decide_as_operator(&store, super::now(database)?, token, status).await;
    let decided = decided.map_err(|error| refused_of::<token::Merchant>(&error, "merchant", &merchant))?;
    print_result(&decided, &decided, json)
}
