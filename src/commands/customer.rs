//! `card-payments customer ...`: erases customers' personal data, and what a database still holds of it.

use std::error::Error;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::services::erasures;
use card_payments::workers::write_counts;
use clap::Subcommand;
use entity::token;
use serde_json::json;
use store::Rewriting;
use tools::progress_bar::{Bar, Unit};
use tools::terminal::{Printer, print_result};

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
    /// Needs the vault key as a server does. Backups made before still hold the data: see docs/operating/backup.md.
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
    /// Rewrite the tables that hold customers' data, so that the files of PostgreSQL hold nothing any more of who was erased.
    ///
    /// Runs VACUUM (FULL) on one table after the other, which blocks requests that need the table and takes as much room again,
    /// then CHECKPOINT. Run it when traffic allows it, after the last pass of the erasures. Safe to kill and to repeat. On SQLite,
    /// which overwrites what it deletes, it does nothing.
    #[command(after_help = "Example:\n  card-payments customer vacuum\n\n\
        Prints each table when it is rewritten; with --json {table}.")]
    Vacuum {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(command: Customer, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let (customer, account, json) = match command {
        Customer::Erase { customer, account, json } => (customer, account, json),
        Customer::Vacuum { json } => return vacuum(database, json).await,
    };
    let secrets = Secrets::from_environment()?;
    let account = super::account(&super::open(database).await?, &account, super::now(database)?).await?;
    let ctx = super::open_with_keys(database, &secrets).await?;
    let erased = erasures::erase(&ctx, &account, &customer).await;
    let erased = erased.map_err(|error| refused_of::<token::Customer>(&error, "customer", &customer))?;
    write_counts(&ctx).await;
    print_result(&erased, &erased, json)
}

async fn vacuum(database: &DatabaseOptions, json: bool) -> Result<(), Box<dyn Error>> {
    // Brings the schema up to date: each table is there.
    super::open(database).await?;
    let bar = Bar::new("Rewriting", Unit::Things);
    let mut printer = Printer::new(json);
    let location = super::location(database)?;
    let rewritten = store::rewrite(&location, erasures::tables_of_customers(), |table| {
        bar.suspend(|| printer.print(&json!({ "table": table }), &table));
    });
    let rewritten = rewritten.await?;
    drop(bar);
    match rewritten {
        Rewriting::Complete => printer.end(),
        Rewriting::NoCheckpoint => {
            Err("the tables are rewritten, but this user may not run CHECKPOINT: let the database's administrator run it".into())
        }
        Rewriting::NotNeeded if json => Ok(()),
        Rewriting::NotNeeded => {
            print_result(&(), &"SQLite overwrites what it deletes: there is nothing to rewrite.", false)
        }
    }
}
