//! `card-payments audit`: the actions of operators and the uses of API keys.

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::params::Paging;
use card_payments::services::audit::{AuditFilter, list};
use clap::Args;
use entity::{AccountToken, Timestamp};

/// Print the actions of operators and the uses of API keys, newest first.
///
/// Every command that changes something is recorded in the same transaction: the time, the operator, the account or record. A
/// key is named by its last characters. Its uses have one line per day and address, with the first and last time and the number of
/// uses, a few seconds late. Entries are kept for 400 days. Changes nothing.
#[derive(Args)]
#[command(
    after_help = "Example:\n  card-payments audit --account acct_AZqYv3rVcBKUQ1mHn7tKRw --since 2026-11-01\n\n\
    With --json {at, action, account, subject, by, detail}. An empty page is the end."
)]
pub struct Audit {
    /// Only this account: acct_...
    #[arg(long)]
    account: Option<AccountToken>,
    /// Only entries at or after this day or time, by the wall clock in UTC.
    #[arg(long, value_parser = super::deposit::time)]
    since: Option<Timestamp>,
    /// Only entries before this day or time.
    #[arg(long, value_parser = super::deposit::time)]
    until: Option<Timestamp>,
    /// The number of the page.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    page: u64,
    /// Lines per page.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=500))]
    per_page: u64,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Runs the command.
pub async fn run(command: Audit) -> Result<(), Box<dyn Error>> {
    let Audit { account, since, until, page, per_page, json, database } = command;
    let store = super::open(&database).await?;
    let filter = AuditFilter { account, since, until, paging: Paging { page, per_page } };
    list(&store, filter).await?.iter().try_for_each(|record| super::print_result(record, record, json))
}
