//! `card-payments account key ...`: restricted keys.

use std::error::Error;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::error::{self, ErrorCode};
use card_payments::limits::RESTRICTED_KEYS_MAX;
use card_payments::params::{self, Paging, ParameterTree as _};
use card_payments::services::Caller;
use card_payments::services::accounts::key_params::NewApiKey;
use card_payments::services::accounts::restricted_keys;
use card_payments::workers::write_counts;
use clap::Subcommand;
use entity::{TimeSpan, token};
use serde_json::{Map, json};
use tools::terminal::{print_list, print_result};

use crate::commands::{self, grace, refused, tokens};

/// Manages restricted keys: secret keys that may do only what their rights say.
#[derive(Subcommand)]
pub enum Key {
    /// Make a restricted key and show it, only this once.
    ///
    /// A right is a section of the API and `read` or `write`, which includes reading. In all other sections the key may do nothing:
    /// it gets 403. Needs the vault key as a server does.
    #[command(
        after_help = "Example:\n  card-payments account key create acct_AZqYv3rVcBKUQ1mHn7tKRw --name Accounting \
        --right charges:read --right refunds:write --network 192.0.2.0/24 --expires-at 2031-05-01T00:00:00Z"
    )]
    Create {
        /// The account: acct_...
        account: String,
        /// A name, to tell it from others.
        #[arg(long)]
        name: String,
        /// A right, as in charges:read; repeat it for others.
        #[arg(long = "right", required = true, value_parser = right)]
        rights: Vec<(String, String)>,
        /// A network or an address from which the key works, as in 192.0.2.0/24; repeat it for others. From all if there is none.
        #[arg(long = "network", value_parser = parse_non_blank)]
        networks: Vec<String>,
        /// When the key ends: ISO 8601. Never if absent.
        #[arg(long, value_parser = parse_non_blank)]
        expires_at: Option<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print the restricted keys of an account that work, newest first, without their secrets. Changes nothing.
    #[command(after_help = "Example:\n  card-payments account key list acct_AZqYv3rVcBKUQ1mHn7tKRw --json")]
    List {
        /// The account: acct_...
        account: String,
        /// Print one JSON object per key, one per line.
        #[arg(long)]
        json: bool,
    },
    /// Replace a restricted key by another with the same rights, networks and end, and show that, only this once.
    ///
    /// The old key works until the grace period ends. A running server caches keys for five seconds. Needs the vault key as a
    /// server does.
    #[command(
        after_help = "Example:\n  card-payments account key roll acct_AZqYv3rVcBKUQ1mHn7tKRw key_AZqYv3rVcBKUQ1mHn7tKRw --grace 2d\n\n\
        --grace 0h ends the former key at once."
    )]
    Roll {
        /// The account: acct_...
        account: String,
        /// The key: key_...
        key: String,
        /// How long the old key keeps working: a whole number and m, h, d or w.
        #[arg(long, default_value = params::GRACE, value_parser = grace)]
        grace: TimeSpan,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// End a restricted key and print its token. A running server caches keys for five seconds. Needs the vault key as a server
    /// does.
    #[command(
        after_help = "Example:\n  card-payments account key revoke acct_AZqYv3rVcBKUQ1mHn7tKRw key_AZqYv3rVcBKUQ1mHn7tKRw"
    )]
    Revoke {
        /// The account: acct_...
        account: String,
        /// The key: key_...
        key: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

impl Key {
    fn account(&self) -> &str {
        match self {
            Self::Create { account, .. }
            | Self::List { account, .. }
            | Self::Roll { account, .. }
            | Self::Revoke { account, .. } => account,
        }
    }
}

pub async fn run(command: Key, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let secrets = Secrets::from_environment()?;
    let account =
        commands::account(&commands::open(database).await?, command.account(), commands::now(database)?)
            .await?;
    let ctx = commands::open_with_keys(database, &secrets).await?;
    let caller = Caller::without_key(account);
    let refused_for = |key: &str, error: &error::Error| {
        if error.code() == ErrorCode::NotFound {
            tokens::missing::<token::ApiKey>("restricted key", &key)
        } else {
            refused(error)
        }
    };
    match &command {
        Key::Create { name, rights, networks, expires_at, json, .. } => {
            let mut granted = Map::new();
            for (section, right) in rights {
                if granted.insert(section.clone(), right.as_str().into()).is_some() {
                    return Err(format!("{section} is named twice, and has one right").into());
                }
            }
            let parameters =
                json!({ "name": name, "rights": granted, "networks": networks, "expires_at": expires_at });
            let made = restricted_keys::create(&ctx, &caller, parameters.params::<NewApiKey>()).await;
            let made = made.map_err(|error| refused(&error))?;
            write_counts(&ctx).await;
            print_result(&made, &made, *json)
        }
        Key::List { json, .. } => {
            let all = Paging { page: 1, per_page: RESTRICTED_KEYS_MAX };
            let keys = restricted_keys::list(&ctx, &caller.account, all).await?;
            print_list(&keys.records, *json)
        }
        Key::Roll { key, grace, json, .. } => {
            let rolled = restricted_keys::roll(&ctx, &caller, key, Ok(*grace)).await;
            let rolled = rolled.map_err(|error| refused_for(key, &error))?;
            write_counts(&ctx).await;
            print_result(&rolled, &rolled, *json)
        }
        Key::Revoke { key, json, .. } => {
            let revoked = restricted_keys::revoke(&ctx, &caller, key).await;
            revoked.map_err(|error| refused_for(key, &error))?;
            print_result(&json!({ "token": key }), key, *json)
        }
    }
}

/// Refuses a value that a script has left blank: without networks or an end the key would work from everywhere, for ever.
fn parse_non_blank(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("blank") } else { Ok(text.to_owned()) }
}

/// Parses a right: `charges:read`.
fn right(text: &str) -> Result<(String, String), &'static str> {
    let (section, right) = text.split_once(':').ok_or("not a section and a right, as in charges:read")?;
    Ok((section.to_owned(), right.to_owned()))
}
