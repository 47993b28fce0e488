//! `card-payments merchant ...`: what the operator decides about merchants.

use std::error::Error;

use card_payments::clock::{Clock, SystemClock};
use card_payments::config::DatabaseOptions;
use card_payments::error::ErrorCode;
use card_payments::services::merchants::decide_as_operator;
use clap::{Args, Subcommand};
use entity::MerchantToken;
use entity::merchant::MerchantStatus;

/// What can be decided.
#[derive(Subcommand)]
pub enum Merchant {
    /// Let a merchant trade.
    Activate(Decision),
    /// Refuse a merchant, for ever.
    Decline(Decision),
    /// Let a merchant wait.
    Hold(Decision),
}

/// About whom.
#[derive(Args)]
pub struct Decision {
    /// The merchant's token: mrch_...
    merchant: MerchantToken,
    /// As JSON.
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
    let store = super::open(database).await?;
    let decided = decide_as_operator(&store, SystemClock.now(), merchant, status).await;
    let decided = decided.map_err(|error| {
        let unknown = error.code() == ErrorCode::NotFound;
        if unknown { format!("there is no merchant {merchant}") } else { super::refused(&error) }
    })?;
    println!("{}", if json { serde_json::to_string(&decided)? } else { decided.to_string() });
    Ok(())
}
