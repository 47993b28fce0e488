//! `card-payments report`: a record with all that a server knows of it, in one file.

use std::error::Error;
use std::path::PathBuf;

use base::time_text::parse_time;
use card_payments::Store;
use card_payments::api::INSTALLATION;
use card_payments::config::DatabaseOptions;
use card_payments::services::installation::read_fingerprint;
use card_payments::services::ledger::report::{ReportFilter, report};
use clap::Args;
use entity::Timestamp;
use http::Method;
use serde_json::Value;
use tools::api_client::ApiClient;
use tools::report::{gather, list_of};
use tools::server_options::{ServerOptions, refuse_live};
use tools::terminal;

/// Write a record and all that belongs to it into one file.
///
/// That is a failing test to hand over: requests, events, webhooks and ledger entries.
///
/// Takes the record from a running test server and its ledger entries from the server's database; where that is not at hand, they
/// are left out. A charge comes with its refunds and disputes. The file is a page that needs nothing else, or JSON. It has the
/// seed, if there is one, and no key, secret or card number. Of requests it has those in the request log that name the record,
/// and those that may have made it: at its time and with its parameters.
#[derive(Args)]
#[command(after_help = "Examples:\n  card-payments report ch_AZqYv3rVcBKUQ1mHn7tKRw --to failure.html\n  \
    card-payments report ch_AZqYv3rVcBKUQ1mHn7tKRw --json\n\n\
    With --json {token, version, seed, now, record, refunds, disputes, requests, events, webhooks, ledger}.")]
pub struct Report {
    /// The record's token: ch_..., rf_..., cus_... and so on.
    token: String,
    /// The file. One that exists is replaced. Standard output if absent.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Write one JSON object instead of the page; also if the file's name ends in json.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    database: DatabaseOptions,
}

pub async fn run(command: Report) -> Result<(), Box<dyn Error>> {
    let Report { token, to, json, server, database } = command;
    let list = list_of(&token)?;
    let server = server.open().await?;
    refuse_live(&server, "nothing is reported").await?;
    let store = super::open(&database).await;
    if let Ok(store) = &store {
        refuse_database_of_another(&server, store).await?;
    }
    let mut report = gather(&server, (list, token), database.seed).await?;
    match store {
        Ok(store) => report.ledger = Some(ledger(&store, &report.tokens, &report.since).await?),
        Err(error) => terminal::print_notice(format_args!("The ledger entries are left out: {error}")),
    }
    report.write(to, json)
}

/// Refuses a database that is not the server's.
async fn refuse_database_of_another(server: &ApiClient, store: &Store) -> Result<(), Box<dyn Error>> {
    let health = server.answer_once(None, Method::GET, "/healthz", None, &[]).await?;
    if read_fingerprint(store).await.ok().as_deref() != health.header(INSTALLATION) {
        return Err(format!(
            "the database is not that of {}: name it by CARD_PAYMENTS_DATA_DIR or CARD_PAYMENTS_DATABASE_URL",
            server.address()
        )
        .into());
    }
    Ok(())
}

/// Returns the postings that these records have caused.
async fn ledger(store: &Store, tokens: &[String], since: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let from = parse_time(since).map(Timestamp::from);
    let mut rows = Vec::new();
    report(store, ReportFilter { from, ..ReportFilter::default() }, |row| {
        if tokens.contains(&row.source) {
            rows.push(serde_json::to_value(row)?);
        }
        Ok(())
    })
    .await?;
    Ok(rows)
}
