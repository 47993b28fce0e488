//! `card-payments clock ...`: the wall clock.

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::services::clock_record;
use clap::Subcommand;
use tools::terminal::print_result;

use super::refused;

/// Confirms the wall clock.
#[derive(Subcommand)]
pub enum Clock {
    /// Confirm that this machine's clock is right, if servers doubt theirs.
    ///
    /// A server doubts a clock that was set by more than an hour, and one that went on while no server ran. Until it believes the
    /// clock, after a day at most, it deletes nothing by age. Servers whose clocks agree with this machine's believe them within
    /// a minute. The audit trail has an entry.
    #[command(after_help = "Example:\n  card-payments clock confirm\n\n\
        With --json {now, expected}; expected is null if nobody doubts the clock.")]
    Confirm {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(command: Clock, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let Clock::Confirm { json } = command;
    if database.seed.is_some() {
        return Err("with CARD_PAYMENTS_SEED the clock stands still".into());
    }
    let wall = super::now(database)?;
    let store = super::open_to_change(database).await?;
    let confirmed = clock_record::confirm(&store, wall).await.map_err(|error| refused(&error))?;
    print_result(&confirmed, &confirmed, json)
}
