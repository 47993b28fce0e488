//! `card-payments account ...`: accounts, their keys, switches and settings.

mod export;
mod import;
mod key;

use std::error::Error;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::params;
use card_payments::services::accounts::params::{ChangedSettings, NewAccount};
use card_payments::services::accounts::view::AccountKeys;
use card_payments::services::accounts::{ApiKeyPair, create, keys, operator};
use card_payments::workers::write_counts;
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use entity::TimeSpan;
use serde_json::json;
use tools::terminal::{print_none, print_result};

use super::{grace, refused};

/// Manages accounts.
#[derive(Subcommand)]
pub enum Account {
    /// Create an account in this environment and show its keys, only this once.
    ///
    /// In live this is the only way to the first account, which opens empty. In test an account opens with 1,000,000.00 AUD
    /// and a bank account, and a server prints the keys of the first account of its database.
    ///
    /// The keys are CARD_PAYMENTS_SECRET_KEY and CARD_PAYMENTS_PUBLISHABLE_KEY if these are set, otherwise new ones.
    /// Needs the vault key as a server does: CARD_PAYMENTS_VAULT_KEY.
    #[command(after_help = "Example:\n  card-payments account create --business-name 'Roland Robotics' \
        --email accounts@example.com --bsb 806015 --number 987654321\n\n\
        Prints its token, its name and both keys; with --json {token, business_name, secret_key, publishable_key}.")]
    Create {
        /// The name that customers know.
        #[arg(long)]
        business_name: String,
        /// The contact's email address.
        #[arg(long)]
        email: String,
        /// The account manages an approved partner, so it may use the merchants API.
        #[arg(long)]
        partner: bool,
        /// The branch of the bank account for its payouts: six digits.
        #[arg(long, requires = "number")]
        bsb: Option<String>,
        /// The number of the bank account for its payouts: 1 to 12 digits.
        #[arg(long, requires = "bsb")]
        number: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print every account with its switches and settings, oldest first, without keys. Changes nothing.
    #[command(after_help = "Example:\n  card-payments account list --json")]
    List {
        /// Print one JSON object per account, one per line.
        #[arg(long)]
        json: bool,
    },
    /// Turn a part of the API on or off for an account and print the account. Takes effect with the next request.
    #[command(
        after_help = "Example:\n  card-payments account switch acct_AZqYv3rVcBKUQ1mHn7tKRw wallet off\n\n\
        With `disputes` or `wallet` off, these APIs answer 400 api_unavailable; without `partner`, the merchants API \
        answers 401. With `strict_parameters`, which is off at first, unknown parameters are refused."
    )]
    Switch {
        /// The account: acct_...
        account: String,
        /// The switch.
        #[arg(value_parser = PossibleValuesParser::new(ChangedSettings::SWITCHES))]
        switch: String,
        /// on or off.
        #[arg(value_parser = ["on", "off"])]
        to: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Change a setting of an account and print the account. Takes effect with the next request.
    #[command(
        after_help = "Examples:\n  card-payments account set acct_AZqYv3rVcBKUQ1mHn7tKRw transfers_schedule weekly\n  \
        card-payments account set acct_AZqYv3rVcBKUQ1mHn7tKRw foreign_transaction_percentage_fee 3.1\n\n\
        Fees and the largest charge are AUD cents, percentages have at most four decimals, transfers_enabled is true or \
        false, transfers_schedule is daily, weekly or manual, settlement_delay_days 0 to 365. transaction_fixed_fee is that \
        of every kind of charge; pricing is the whole table, as list --json shows it. card_testing.action is off, report or refuse; its other words \
        are the thresholds of the rules, 0 to 50, and 0 switches a rule off. What was charged before stays as it is."
    )]
    Set {
        /// The account: acct_...
        account: String,
        /// The setting.
        #[arg(value_parser = PossibleValuesParser::new(ChangedSettings::SETTINGS))]
        setting: String,
        /// The new value.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Give an account a new pair of keys and show it, only this once. The old keys work until the grace period ends.
    ///
    /// A key that was to end earlier still does. A running server caches keys for five seconds, so a key may work that
    /// much longer. Needs the vault key as a server does.
    #[command(
        after_help = "Example:\n  card-payments account rotate-keys acct_AZqYv3rVcBKUQ1mHn7tKRw --grace 2d\n\n\
        Prints what `account create` prints. --grace 0h ends the former keys at once."
    )]
    RotateKeys {
        /// The account: acct_...
        account: String,
        /// How long the old keys keep working: a whole number and m, h, d or w.
        #[arg(long, default_value = params::GRACE, value_parser = grace)]
        grace: TimeSpan,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    #[command(subcommand)]
    Key(key::Key),
    Export(export::Export),
    Import(import::Import),
}

pub async fn run(command: Account, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    match command {
        Account::Create { business_name, email, partner, bsb, number, json } => {
            let secrets = Secrets::from_environment()?;
            let bank_account = bsb
                .zip(number)
                .map(|(bsb, number)| json!({ "name": business_name, "bsb": bsb, "number": number }));
            let new_account = params::read::<NewAccount>(&json!({
                "business_name": business_name, "email": email, "partner": partner, "bank_account": bank_account,
            }));
            // Checked before the database is opened: opening an unclaimed one with keys claims it.
            let new_account = create::checked(new_account).map_err(|faults| refused(&faults.into()))?;
            let ctx = super::open_or_make(database, &secrets).await?;
            let minted = ApiKeyPair::mint(&ctx.random);
            let keys = ApiKeyPair {
                secret: secrets.secret_key.unwrap_or(minted.secret),
                publishable: secrets.publishable_key.unwrap_or(minted.publishable),
            };
            let made = create::create(&ctx, database.environment, &keys, new_account).await;
            let made = made.map_err(|error| refused(&error))?;
            write_counts(&ctx).await;
            print_result(&made, &made, json)
        }
        Account::List { json } => {
            let store = super::open(database).await?;
            let mut is_empty = true;
            operator::list(&store, |account| {
                is_empty = false;
                print_result(&account, &account, json)
            })
            .await?;
            if is_empty {
                print_none(json);
            }
            Ok(())
        }
        Account::Switch { account, switch, to, json } => {
            change(database, &account, &switch, &(to == "on").to_string(), json).await
        }
        Account::Set { account, setting, value, json } => {
            change(database, &account, &setting, &value, json).await
        }
        Account::Key(command) => key::run(command, database).await,
        Account::Export(command) => export::run(command, database).await,
        Account::Import(command) => import::run(command, database).await,
        Account::RotateKeys { account, grace, json } => {
            let secrets = Secrets::from_environment()?;
            let found =
                super::account(&super::open(database).await?, &account, super::now(database)?).await?;
            let ctx = super::open_with_keys(database, &secrets).await?;
            let ApiKeyPair { secret, publishable } =
                keys::rotate(&ctx, found.id(), grace).await.map_err(|error| refused(&error))?;
            write_counts(&ctx).await;
            let shown = AccountKeys {
                token: found.id(),
                business_name: found.settings().business_name.clone(),
                secret_key: secret.expose().into(),
                publishable_key: publishable.expose().into(),
            };
            print_result(&shown, &shown, json)
        }
    }
}

async fn change(
    database: &DatabaseOptions,
    account: &str,
    word: &str,
    value: &str,
    json: bool,
) -> Result<(), Box<dyn Error>> {
    let store = super::open_to_change(database).await?;
    let account = super::account(&store, account, super::now(database)?).await?;
    let changed = operator::change(&store, &account, word, value).await.map_err(|error| refused(&error))?;
    print_result(&changed, &changed, json)
}
