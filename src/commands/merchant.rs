//! `card-payments merchant ...`: what the operator decides about merchants.

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::error::ErrorCode;
use card_payments::services::merchants::decide_as_operator;
use clap::{Args, Subcommand};
use entity::merchant::MerchantStatus;

/// What can be decided.
#[derive(Subcommand)]
pub enum Merchant {
    /// Let a merchant trade, and print it.
    ///
    /// Its keys of this environment work from the next request on, and its partner is told by an event.
    #[command(after_help = "Example:\n  card-payments merchant activate mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    Activate(Decision),
    /// Refuse a merchant, for ever, and print it.
    ///
    /// In live its keys open nothing from the next request on; its partner is told by an event.
    #[command(after_help = "Example:\n  card-payments merchant decline mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    Decline(Decision),
    /// Let a merchant wait, and print it.
    ///
    /// In live its keys only read from the next request on; its partner is told by an event.
    #[command(after_help = "Example:\n  card-payments merchant hold mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    Hold(Decision),
}

/// About whom.
#[derive(Args)]
pub struct Decision {
    /// The merchant's token: mrch_...
    merchant: String,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

/// Run a command.
pub async fn run(command: Merchant, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let (Decision { merchant, json }, status) = match command {
        Merchant::Activate(decision) => (decision, MerchantStatus::Active),
        Merchant::Decline(decision) => (decision, MerchantStatus::Declined),
        Merchant::Hold(decision) => (decision, MerchantStatus::OnHold),
    };
    let store = super::open_to_change(database).await?;
    let nobody = || format!("there is no merchant {merchant}");
    let token = merchant.parse().map_err(|_| nobody())?;
    let decided = decide_as_operator(&store, super::now(database)?, token, status).await;
    let decided = decided.map_err(|error| {
        if error.code() == ErrorCode::NotFound { nobody() } else { super::refused(&error) }
    })?;
    super::tell(&decided, &decided, json)
}
