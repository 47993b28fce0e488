//! `card-payments dispute ...`: the card network's part in disputes.

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::services::disputes::operator;
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use entity::dispute::{DisputeCategory, DisputeStatus};
use entity::token;
use tools::terminal::print_result;

use super::refused_of;

/// Manages disputes.
#[derive(Subcommand)]
pub enum Dispute {
    /// Open a dispute of a captured charge and print it. Debits its amount and a fee from the balance.
    #[command(after_help = "Example:\n  card-payments dispute open ch_AZqYv3rVcBKUQ1mHn7tKRw --amount 400")]
    Open {
        /// The charge's token.
        charge: String,
        /// The amount in the charge's currency. If absent, all that can still be disputed.
        #[arg(long, value_parser = clap::value_parser!(i64).range(1..))]
        amount: Option<i64>,
        /// The reason.
        #[arg(long, default_value = DisputeCategory::General.code(),
            value_parser = PossibleValuesParser::new(DisputeCategory::ALL.iter().map(|category| category.code())))]
        category: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Change the status of a dispute, as the card network decides, and print the dispute. The status decides whether its money
    /// is returned, stays, or is debited.
    #[command(after_help = "Example:\n  card-payments dispute resolve dis_AZqYv3rVcBKUQ1mHn7tKRw won")]
    Resolve {
        /// The dispute's token.
        dispute: String,
        /// The new status.
        #[arg(value_parser = PossibleValuesParser::new(DisputeStatus::ALL.iter().map(|status| status.code())))]
        status: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(command: Dispute, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let store = super::open_to_change(database).await?;
    let wall = super::now(database)?;
    let (dispute, json) = match command {
        Dispute::Open { charge, amount, category, json } => {
            // clap has checked the word.
            let category = DisputeCategory::from_code(&category).unwrap_or(DisputeCategory::General);
            let opened = operator::open(&store, wall, &charge, amount, category).await;
            (opened.map_err(|error| refused_of::<token::Charge>(&error, "charge", &charge)), json)
        }
        Dispute::Resolve { dispute, status, json } => {
            let status = DisputeStatus::from_code(&status).ok_or("no such status")?;
            let resolved = operator::resolve(&store, wall, &dispute, status).await;
            (resolved.map_err(|error| refused_of::<token::Dispute>(&error, "dispute", &dispute)), json)
        }
    };
    let dispute = dispute?;
    print_result(&dispute, &dispute, json)
}
