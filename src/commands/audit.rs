//! `card-payments audit`: what operators have done, and which keys were used from where.

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::params::Paging;
use card_payments::services::audit::{AuditFilter, list};
use clap::Args;
use entity::{AccountToken, Timestamp};

/// Print what operators have done, and which keys were used from where, the newest first.
///
/// A command that changes something is recorded with what it changes: when, who ran it, on which account or record. A key is
/// named by its last characters; of its uses on a day there is a line for each address, with the first and the last of them and
/// how many they were, a few seconds behind what happens. Kept for 400 days. Changes nothing.
#[derive(Args)]
#[command(
    after_help = "Example:\n  card-payments audit --account acct_AZqYv3rVcBKUQ1mHn7tKRw --since 2026-11-01\n\n\
    With --json {at, action, account, subject, by, detail}. An empty page is the end."
)]
pub struct Audit {
    /// About this account only: acct_...
    #[arg(long)]
    account: Option<AccountToken>,
    /// From this day or time on, by the wall clock in UTC.
    #[arg(long, value_parser = super::deposit::time)]
    since: Option<Timestamp>,
    /// Before this day or time.
    #[arg(long, value_parser = super::deposit::time)]
    until: Option<Timestamp>,
    /// Which page.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    page: u64,
    /// Lines of a page.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=500))]
    per_page: u64,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Run it.
pub async fn run(command: Audit) -> Result<(), Box<dyn Error>> {
    let Audit { account, since, until, page, per_page, json, database } = command;
    let store = super::open(&database).await?;
    let asked = AuditFilter { account, since, until, paging: Paging { page, per_page } };
    list(&store, asked).await?.iter().try_for_each(|record| super::tell(record, record, json))
}
