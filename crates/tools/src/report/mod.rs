//! The report of a server on a record, in one page or as JSON. The program adds the ledger entries, which the API does not show.

mod page;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use base::durable_fs;
use base::plain_text::OneLine;
use http::Method;
use recording::without_secrets;
use serde::Serialize;
use serde_json::Value;

use crate::api_client::{ApiClient, ApiClientError};
use crate::terminal;

/// A record with what belongs to it, in the order of time.
#[derive(Serialize)]
pub struct RecordReport {
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
    /// The postings that these records have caused; none if the server's database is not at hand.
    pub ledger: Option<Vec<Value>>,
    /// The tokens of these records.
    #[serde(skip)]
    pub tokens: Vec<String>,
    /// The time at which the record was made.
    #[serde(skip)]
    pub since: String,
}

impl RecordReport {
    /// Writes it to a file or to standard output: as one JSON object, or as a page unless the file's name ends in json.
    pub fn write(&self, to: Option<PathBuf>, json: bool) -> Result<(), Box<dyn Error>> {
        let extension = to.as_deref().and_then(|file| file.extension());
        let is_json = json || extension.is_some_and(|name| name.eq_ignore_ascii_case("json"));
        let text = if json && to.is_none() {
            serde_json::to_string(self)?
        } else if is_json {
            serde_json::to_string_pretty(self)?
        } else {
            page::page(self).into_string()
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

/// Returns the list of the records that a token is of.
pub fn list_of(token: &str) -> Result<&'static str, String> {
    let list = LISTS.iter().find(|(prefix, _)| token.starts_with(prefix)).map(|(_, list)| *list);
    list.ok_or_else(|| {
        let prefixes: Vec<_> = LISTS.iter().map(|(prefix, _)| *prefix).collect();
        let expected = prefixes.join(", ");
        format!(
            "{} is the token of no record that can be reported: those begin with {expected}",
            OneLine(token)
        )
    })
}

/// Returns what the server tells of a record of this list.
pub async fn gather(
    server: &ApiClient,
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
    let mut since = time(&record).to_owned();
    let own = RelatedRecords::new([(list, &record)].into_iter().chain(
        refunds.iter().map(|refund| ("refunds", refund)).chain(disputes.iter().map(|one| ("disputes", one))),
    ));
    let mut events = all(server, "/1/events?", &since).await?;
    events.retain(|event| own.is_named_in(event));
    // The view of a deposit does not say when it was made.
    if since.is_empty()
        && let Some(first) = events.last()
        && first["type"].as_str().is_some_and(|name| name.ends_with(".created"))
    {
        time(first).clone_into(&mut since);
    }
    let mut webhooks = all(server, "/1/webhooks?", &since).await?;
    webhooks.retain(|webhook| {
        own.is_named_in(webhook) || events.iter().any(|event| event["token"] == webhook["event_token"])
    });
    requests.retain(|request| own.is_named_in(request) || own.may_be_made_by(request, &since));
    for newest_first in [&mut events, &mut webhooks, &mut requests] {
        newest_first.reverse();
    }
    let now = get(server, "/1/sandbox/clock").await?["now"].take();
    let tokens = own.tokens.into_iter().map(str::to_owned).collect();
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
        ledger: None,
        tokens,
        since,
    };
    let RecordReport { record, refunds, disputes, requests, events, webhooks, .. } = &mut report;
    let parts = [refunds, disputes, requests, events, webhooks].into_iter().flatten();
    parts.chain([record]).for_each(without_secrets);
    Ok(report)
}

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

/// Returns the time at which a record was made, if it says so.
fn time(record: &Value) -> &str {
    ["created_at", "received_at"].iter().find_map(|name| record[*name].as_str()).unwrap_or_default()
}

struct RelatedRecords<'a> {
    tokens: Vec<&'a str>,
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

    /// Returns whether a request may have made one of the records: the log does not keep answers. One that does not say its time was
    /// made at `since`.
    fn may_be_made_by(&self, request: &Value, since: &str) -> bool {
        let route = request["route"].as_str().unwrap_or_default();
        request["method"] == "POST"
            && self.records.iter().any(|(list, record)| {
                let is_same = |(name, sent): (&String, &Value)| match record.get(name) {
                    Some(Value::String(shown)) => is_shown_as(sent, shown),
                    Some(shown @ (Value::Number(_) | Value::Bool(_))) => {
                        is_shown_as(sent, &shown.to_string())
                    }
                    Some(_) | None => true,
                };
                let made_at = Some(time(record)).filter(|time| !time.is_empty()).unwrap_or(since);
                route.ends_with(&format!("/{list}"))
                    && request["created_at"] == made_at
                    && request["parameters"].as_object().is_some_and(|sent| sent.iter().all(is_same))
            })
    }
}

/// Returns whether a parameter may be shown so: the server accepts blanks around it, `aud` and `0400`, and the log cuts long texts.
fn is_shown_as(sent: &Value, shown: &str) -> bool {
    let text = sent.as_str().map_or_else(|| sent.to_string(), |text| text.trim().to_owned());
    let is_number = || text.parse::<i64>().is_ok_and(|number| shown.parse() == Ok(number));
    text.eq_ignore_ascii_case(shown)
        || text.strip_suffix('…').is_some_and(|begin| shown.starts_with(begin))
        || is_number()
}
