//! `card-payments deposit ...`: money that arrived from outside.

use std::error::Error;

use base::time_text::parse_time;
use card_payments::config::DatabaseOptions;
use card_payments::limits::{DEPOSIT_CENTS_MAX, TEXT_LENGTH_MAX};
use card_payments::services::deposits::arrive;
use card_payments::services::deposits::params::DepositOrder;
use clap::Subcommand;
use entity::Timestamp;
use tools::terminal::print_result;

/// Manages deposits.
#[derive(Subcommand)]
pub enum Deposit {
    /// Record money that arrived for an account and print the deposit. It adds to the balance and emits deposit.created, as in
    /// the sandbox.
    #[command(
        after_help = "Example:\n  card-payments deposit create acct_AZqYv3rVcBKUQ1mHn7tKRw --amount 50000 \
        --narration 'Direct credit'"
    )]
    Create {
        /// The account: acct_...
        account: String,
        /// The amount in AUD cents.
        #[arg(long, value_parser = clap::value_parser!(i64).range(1..=DEPOSIT_CENTS_MAX))]
        amount: i64,
        /// The sender's text.
        #[arg(long, default_value = DepositOrder::NARRATION, value_parser = narration)]
        narration: String,
        /// When it becomes available, by the account's clock: an ISO 8601 time, or a date, which means its first moment. At once
        /// if absent or past.
        #[arg(long, value_parser = time)]
        available_at: Option<Timestamp>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

fn narration(text: &str) -> Result<String, String> {
    let fits = u64::try_from(text.chars().count()).is_ok_and(|length| length <= TEXT_LENGTH_MAX);
    if fits { Ok(text.to_owned()) } else { Err(format!("at most {TEXT_LENGTH_MAX} characters")) }
}

/// Parses a time as searches do.
pub fn time(text: &str) -> Result<Timestamp, String> {
    parse_time(text.trim()).map(Timestamp::from).ok_or_else(|| "not a date or an ISO 8601 time".into())
}

pub async fn run(command: Deposit, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let Deposit::Create { account, amount, narration, available_at, json } = command;
    let store = super::open_to_change(database).await?;
    let account = super::account(&store, &account, super::now(database)?).await?;
    let deposit = arrive(&store, account, DepositOrder { amount, narration, available_at }).await;
    let deposit = deposit.map_err(|error| super::refused(&error))?;
    let text = format!("{}: {} cents, available at {}", deposit.token, deposit.amount, deposit.available_at);
    print_result(&deposit, &text, json)
}
