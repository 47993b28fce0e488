//! `card-payments report`: a record with all that a server knows of it, in one file.

mod page;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use card_payments::api::INSTALLATION;
use card_payments::config::DatabaseOptions;
use card_payments::outbound::api_client::{ApiClient, ApiClientError};
use card_payments::params::parse_time;
use card_payments::recording::without_secrets;
use card_payments::runtime::durable_fs;
use card_payments::services::installation::read_fingerprint;
use card_payments::services::ledger::report::{ReportFilter, report};
use card_payments::store::Store;
use clap::Args;
use entity::Timestamp;
use http::Method;
use serde::Serialize;
use serde_json::Value;

use super::server::{ServerOptions, refuse_live};
use super::terminal;

/// Write a record with its requests, events, webhooks and ledger entries: a failing test in one file.
///
/// Takes the record from a running test server and its ledger entries from the server's database. A charge comes with its refunds
/// and disputes. The file is a page that needs nothing else, or JSON. It has the seed, if there is one, and no key, secret or card
/// number. Of requests it has those in the request log that name the record, and those that may have made it: at its time and with
/// its parameters.
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

/// A record with what belongs to it, in the order of time.
#[derive(Serialize)]
struct RecordReport {
    token: String,
    /// This program's version.
    version: &'static str,
    seed: Option<String>,
    /// The time of the account's clock.
    now: Value,
    record: Value,
    refunds: Vec<Value>,
    disputes: Vec<Value>,
    requests: Vec<Value>,
    events: Vec<Value>,
    webhooks: Vec<Value>,
    ledger: Vec<Value>,
}

/// The lists of records by token prefix.
const LISTS: [(&str, &str); 15] = [
    ("auth_", "authorisations"),
    ("card_", "cards"),
    ("ch_", "charges"),
    ("cus_", "customers"),
    ("dis_", "disputes"),
    ("dpo_", "deposits"),
    ("evt_", "events"),
    ("mrch_", "merchants"),
    ("plan_", "plans"),
    ("rf_", "refunds"),
    ("rp_", "recipients"),
    ("sub_", "subscriptions"),
    ("tfer_", "transfers"),
    ("whe_", "webhook_endpoints"),
    ("whr_", "webhooks"),
];

/// The longest page of a list.
const PAGE: usize = 500;

/// The X-Request-Id of this command's own requests. No report shows them.
pub const OWN_REQUESTS: &str = "card-payments-report";

/// Runs the command.
pub async fn run(command: Report) -> Result<(), Box<dyn Error>> {
    let Report { token, to, json, server, database } = command;
    let is_json = json
        || to
            .as_deref()
            .and_then(|file| file.extension())
            .is_some_and(|name| name.eq_ignore_ascii_case("json"));
    let list = LISTS.iter().find(|(prefix, _)| token.starts_with(prefix)).map(|(_, list)| *list);
    let list = list.ok_or_else(|| format!("{token} is the token of no record that can be reported"))?;
    let store = super::open(&database).await?;
    let server = server.open().await?;
    refuse_live(&server, "nothing is reported").await?;
    refuse_database_of_another(&server, &store).await?;
    let report = gather(&server, &store, (list, token), database.seed).await?;
    let text = if json && to.is_none() {
        serde_json::to_string(&report)?
    } else if is_json {
        serde_json::to_string_pretty(&report)?
    } else {
        page::page(&report).into_string()
    };
    let text = terminal::escape_lines(&text).into_owned();
    match to {
        Some(file) => {
            let written = durable_fs::replace_file(&file, (text + "\n").as_bytes());
            written.map_err(|error| format!("{}: {error}", file.display()))?;
        }
        None => writeln!(terminal::stdout(), "{text}")?,
    }
    Ok(())
}

async fn gather(
    server: &ApiClient,
    store: &Store,
    (list, token): (&'static str, String),
    seed: Option<String>,
) -> Result<RecordReport, Box<dyn Error>> {
    // Before the requests that this report makes.
    let mut requests = all(server, "/1/sandbox/requests?", "").await?;
    requests.retain(|request| request["request_id"] != OWN_REQUESTS);
    let record = get(server, &format!("/1/{list}/{token}")).await?;
    let (mut refunds, mut disputes) = (Vec::new(), Vec::new());
    if list == "charges" {
        refunds = all(server, &format!("/1/charges/{token}/refunds?"), "").await?;
        disputes = match all(server, &format!("/1/disputes/search?query={token}&"), "").await {
            // An account without disputes cannot search them.
            Err(error) if is_unavailable(error.as_ref()) => Vec::new(),
            found => found?,
        };
        for part in [&mut refunds, &mut disputes] {
            part.sort_by(|one, other| time(one).cmp(time(other)));
        }
    }
    let since = time(&record).to_owned();
    let own = RelatedRecords::new([(list, &record)].into_iter().chain(
        refunds.iter().map(|refund| ("refunds", refund)).chain(disputes.iter().map(|one| ("disputes", one))),
    ));
    let mut events = all(server, "/1/events?", &since).await?;
    events.retain(|event| own.is_named_in(event));
    let mut webhooks = all(server, "/1/webhooks?", &since).await?;
    webhooks.retain(|webhook| {
        own.is_named_in(webhook) || events.iter().any(|event| event["token"] == webhook["event_token"])
    });
    requests.retain(|request| own.is_named_in(request) || own.may_be_made_by(request));
    for newest_first in [&mut events, &mut webhooks, &mut requests] {
        newest_first.reverse();
    }
    let now = get(server, "/1/sandbox/clock").await?["now"].take();
    let ledger = ledger(store, &own, &since).await?;
    let version = env!("CARGO_PKG_VERSION");
    let mut report = RecordReport {
        token,
        version,
        seed,
        now,
        record,
        refunds,
        disputes,
        requests,
        events,
        webhooks,
        ledger,
    };
    let RecordReport { record, refunds, disputes, requests, events, webhooks, .. } = &mut report;
    let parts = [refunds, disputes, requests, events, webhooks].into_iter().flatten();
    parts.chain([record]).for_each(without_secrets);
    Ok(report)
}

/// Returns one record.
async fn get(server: &ApiClient, path: &str) -> Result<Value, Box<dyn Error>> {
    let response = server.answer_to(Method::GET, path, None, &[("x-request-id", OWN_REQUESTS)]).await?;
    Ok(response.record()?.clone())
}

fn is_unavailable(error: &(dyn Error + 'static)) -> bool {
    let refused: Option<&ApiClientError> = error.downcast_ref();
    matches!(refused, Some(ApiClientError::Refused { body, .. }) if body["error"] == "api_unavailable")
}

/// Returns the records of a list that begins with the newest ones, up to a time; without one, all of them.
pub async fn all(server: &ApiClient, path: &str, since: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut records = Vec::new();
    for page in 1.. {
        let Value::Array(found) = get(server, &format!("{path}per_page={PAGE}&page={page}")).await? else {
            break;
        };
        let is_last = found.len() < PAGE || found.last().is_some_and(|last| time(last) < since);
        records.extend(found);
        if is_last {
            break;
        }
    }
    Ok(records)
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
async fn ledger(store: &Store, own: &RelatedRecords<'_>, since: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let from = parse_time(since).map(Timestamp::from);
    let mut rows = Vec::new();
    report(store, ReportFilter { from, ..ReportFilter::default() }, |row| {
        if own.tokens.contains(&row.source.as_str()) {
            rows.push(serde_json::to_value(row)?);
        }
        Ok(())
    })
    .await?;
    Ok(rows)
}

/// Returns the time at which a record was made.
fn time(record: &Value) -> &str {
    ["created_at", "received_at"].iter().find_map(|name| record[*name].as_str()).unwrap_or_default()
}

/// The records of a report.
struct RelatedRecords<'a> {
    tokens: Vec<&'a str>,
    /// With their lists.
    records: Vec<(&'static str, &'a Value)>,
}

impl<'a> RelatedRecords<'a> {
    fn new(records: impl Iterator<Item = (&'static str, &'a Value)>) -> Self {
        let records: Vec<_> = records.collect();
        let tokens = records.iter().filter_map(|(_, record)| record["token"].as_str()).collect();
        Self { tokens, records }
    }

    fn is_named_in(&self, value: &Value) -> bool {
        let text = value.to_string();
        self.tokens.iter().any(|token| text.contains(token))
    }

    /// Returns whether a request may have made one of the records: the log does not keep answers.
    fn may_be_made_by(&self, request: &Value) -> bool {
        let route = request["route"].as_str().unwrap_or_default();
        request["method"] == "POST"
            && self.records.iter().any(|(list, record)| {
                let is_same = |(name, sent): (&String, &Value)| match record.get(name) {
                    Some(Value::String(shown)) => sent.as_str() == Some(shown),
                    Some(shown @ (Value::Number(_) | Value::Bool(_))) => {
                        let text = shown.to_string();
                        sent == shown || sent.as_str() == Some(text.as_str())
                    }
                    Some(_) | None => true,
                };
                route.ends_with(&format!("/{list}"))
                    && request["created_at"] == time(record)
                    && request["parameters"].as_object().is_some_and(|sent| sent.iter().all(is_same))
            })
    }
}
