//! `card-payments webhook ...`: the operator's commands for webhook endpoints.

use std::error::Error;

use card_payments::config::{DatabaseOptions, Secrets};
use card_payments::error;
use card_payments::params::GRACE;
use card_payments::services::Caller;
use card_payments::services::events::ping::ping;
use card_payments::services::webhook_endpoints::keys::rotate;
use card_payments::workers::write_counts;
use clap::{Args, Subcommand};
use entity::{TimeSpan, WebhookEndpointToken, token};
use tools::terminal::print_result;

use super::{grace, refused_of, tokens};

/// Manages webhook endpoints.
#[derive(Subcommand)]
pub enum Webhook {
    /// Send an event of type `ping` to a webhook endpoint and print the webhook.
    ///
    /// A running server signs and delivers it like every event. No other endpoint gets it.
    #[command(
        after_help = "Example:\n  card-payments webhook ping acct_AZqYv3rVcBKUQ1mHn7tKRw whe_AZqYv3rVcBKUQ1mHn7tKRw"
    )]
    Ping {
        #[command(flatten)]
        endpoint: Endpoint,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Give a webhook endpoint a new key and print it.
    ///
    /// Until the grace period ends, the old key signs, too: a receiver that knows either key can verify each webhook. An endpoint
    /// has at most two keys: while an old one signs, only a rotation without a grace period is accepted, and it ends the old key.
    #[command(after_help = "Example:\n  card-payments webhook rotate-key acct_AZqYv3rVcBKUQ1mHn7tKRw \
        whe_AZqYv3rVcBKUQ1mHn7tKRw --grace 2d\n\n\
        --grace 0h ends the former key at once. With --json {token, key, former_key_until}.")]
    RotateKey {
        #[command(flatten)]
        endpoint: Endpoint,
        /// How long the old key signs, too: a whole number and m, h, d or w.
        #[arg(long, default_value = GRACE, value_parser = grace)]
        grace: TimeSpan,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// The endpoint.
#[derive(Args)]
pub struct Endpoint {
    /// The account: acct_...
    account: String,
    /// The endpoint's token: whe_...
    #[arg(value_parser = endpoint)]
    endpoint: WebhookEndpointToken,
}

fn endpoint(text: &str) -> Result<WebhookEndpointToken, String> {
    tokens::parse("webhook endpoint", text)
}

pub async fn run(command: Webhook, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let (Webhook::Ping { endpoint: Endpoint { account, endpoint }, .. }
    | Webhook::RotateKey { endpoint: Endpoint { account, endpoint }, .. }) = &command;
    let secrets = Secrets::from_environment()?;
    let account = super::account(&super::open(database).await?, account, super::now(database)?).await?;
    let (ctx, caller) = (super::open_with_keys(database, &secrets).await?, Caller::without_key(account));
    let refused =
        |error: error::Error| refused_of::<token::WebhookEndpoint>(&error, "webhook endpoint", endpoint);
    match &command {
        Webhook::Ping { json, .. } => {
            let sent = ping(&ctx, &caller, &endpoint.to_string()).await.map_err(refused)?;
            print_result(&sent, &sent, *json)
        }
        Webhook::RotateKey { grace, json, .. } => {
            let rotated = rotate(&ctx, &caller, *endpoint, *grace).await.map_err(refused)?;
            write_counts(&ctx).await;
            print_result(&rotated, &rotated, *json)
        }
    }
}
