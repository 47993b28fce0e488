//! `card-payments customer ...`: erases customers' personal data.

use std::error::Error;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::services::erasures;
use card_payments::workers::write_counts;
use clap::Subcommand;

use super::refused_of;

/// Manages customers.
#[derive(Subcommand)]
pub enum Customer {
    /// Erase the personal data of a customer for ever, and delete the customer if it is not deleted yet.
    ///
    /// Names, e-mail addresses, addresses, IP addresses, descriptions, metadata and evidence are replaced in the customer's cards,
    /// charges, disputes, events and webhooks, in the words of searches and in kept responses, and its files are deleted.
    /// Amounts, dates and tokens stay, and so do the books. Refused while a subscription runs, a payment is not finished or a
    /// dispute is open. Safe to kill and to repeat. A running server makes a last pass two minutes later, for requests that
    /// were in flight; without one, the next start does.
    ///
    /// Needs the vault key as a server does. Backups made before still hold the data: see docs/operating.md.
    #[command(
        after_help = "Example:\n  card-payments customer erase cus_AZqYv3rVcBKUQ1mHn7tKRw --account acct_AZqYv3rVcBKUQ1mHn7tKRw\n\n\
        Prints how much was erased; with --json {token, account, charges, events, files, ends_at}."
    )]
    Erase {
        /// The customer's token, which may be deleted: cus_...
        customer: String,
        /// The account: acct_...
        #[arg(long)]
        account: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Runs a command.
pub async fn run(command: Customer, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let Customer::Erase { customer, account, json } = command;
    let secrets = Secrets::from_environment()?;
    let account = super::account(&super::open(database).await?, &account, super::now(database)?).await?;
    let ctx = super::open_with_keys(database, &secrets).await?;
    let erased = erasures::erase(&ctx, &account, &customer).await;
    let erased = erased.map_err(|error| refused_of(&error, "customer", &customer))?;
    write_counts(&ctx).await;
    super::print_result(&erased, &erased, json)
}
