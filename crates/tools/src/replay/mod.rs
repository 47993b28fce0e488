//! `card-payments replay`: sends the requests of a recording again and compares the answers.

mod answers;
mod growing_list;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use base::clock::{Clock, FixedClock};
use base::plain_text::OneLine;
use base::secret::Secret;
use chrono::DateTime;
use clap::Args;
use entity::Timestamp;
use http::Method;
use http::header::DATE;
use recording::{Exchange, HIDDEN, KEY, PUBLISHABLE_KEY, UNREAD_BODY, UNREAD_QUERY};
use serde::Serialize;
use serde_json::Value;
use url::form_urlencoded;

use self::answers::{Answers, Difference, TimeShift};
use self::growing_list::GrowingList;
use crate::api_client::{ApiClient, ExactResponse};
use crate::known_api::KnownApi;
use crate::server_options::{ServerOptions, refuse_live};
use crate::terminal::{self, GOOD, Printer};

/// Send the requests of a recording again, and compare the answers.
///
/// Sends them to a running test server in the order of the recording, one after the other, with the same Idempotency-Keys. Begin
/// with a fresh server: `card-payments exec -- card-payments replay FILE`. A token, key or address that the server answers replaces
/// the recorded one in everything that follows, and so does a time; one up to an hour after it keeps its distance. Other times and days
/// in parameters move by the time since the request was recorded. Waits until an inbox, or a list that a client waited for, has as
/// many records as were recorded.
///
/// Prints a line per difference and exits with 1 if there is one. Not compared are request ids; times, days and what a move of the
/// clock ran, unless recording and server have a seed; deliveries beyond the recorded ones; and a request whose client had gone.
/// Refuses a live server.
#[derive(Args)]
#[command(after_help = "Examples:\n  card-payments exec -- card-payments replay run.jsonl\n  \
    card-payments replay run.har --server http://127.0.0.1:8080\n\n\
    With --json {request, call, at, recorded, answered, hidden}, one object per difference.")]
pub struct Replay {
    /// A file that `record` has written.
    file: PathBuf,
    /// The first account's publishable key. Needed if the recording uses one.
    #[arg(long, env = "CARD_PAYMENTS_PUBLISHABLE_KEY", hide_env_values = true, allow_hyphen_values = true)]
    publishable_key: Option<Secret>,
    /// Print one JSON object per difference, one per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// A difference, and where it is.
#[derive(Serialize)]
struct Found<'a> {
    /// The number of the request in the recording, from 1.
    request: usize,
    /// Method and path.
    call: String,
    #[serde(flatten)]
    difference: &'a Difference,
    /// The parameters whose values the recording does not hold.
    hidden: &'a [String],
}

impl Display for Found<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Difference { at, recorded, answered } = self.difference;
        write!(f, "request {}, {}: {at} was {recorded}, is {answered}", self.request, self.call)?;
        if !self.hidden.is_empty() {
            write!(f, " (the recording does not hold {})", self.hidden.join(", "))?;
        }
        Ok(())
    }
}

pub async fn run(command: Replay, api: &KnownApi) -> Result<(), Box<dyn Error>> {
    let Replay { file, publishable_key, json, server } = command;
    let of_file = |error: &dyn Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(&file).map_err(|error| of_file(&error))?;
    let exchanges = recording::read(&text).map_err(|error| of_file(&error))?;
    if publishable_key.is_none() && text.contains(PUBLISHABLE_KEY) {
        return Err("the recording uses the publishable key: name it by CARD_PAYMENTS_PUBLISHABLE_KEY".into());
    }
    let server = server.open().await?;
    refuse_live(&server, "nothing is sent").await?;
    let mut run = ReplayRun::new(&server, *api, publishable_key.as_ref());
    let (mut differences, mut printer) = (0, Printer::new(json));
    for (exchange, request) in exchanges.iter().zip(1..) {
        for difference in &run.send(exchange).await? {
            let call = format!("{} {}", exchange.method, exchange.path);
            let found = Found { request, call, difference, hidden: &exchange.hidden };
            printer.print(&found, &OneLine(&found));
            differences += 1;
        }
    }
    match differences {
        0 if json => Ok(()),
        0 => {
            let count = exchanges.len();
            let requests = if count == 1 { "request" } else { "requests" };
            Ok(writeln!(
                terminal::styled_stdout(),
                "{GOOD}{count} {requests}, and the same answers.{GOOD:#}"
            )?)
        }
        1 => Err("the answers are not the same: 1 difference".into()),
        many => Err(format!("the answers are not the same: {many} differences").into()),
    }
}

struct ReplayRun<'a> {
    server: &'a ApiClient,
    answers: Answers,
    /// The server's wall clock, as of its last answer.
    now: Option<Timestamp>,
}

impl<'a> ReplayRun<'a> {
    fn new(server: &'a ApiClient, api: KnownApi, publishable_key: Option<&Secret>) -> Self {
        let mut known = BTreeMap::from([(KEY.to_owned(), server.key().expose().to_owned())]);
        if let Some(key) = publishable_key {
            known.insert(PUBLISHABLE_KEY.to_owned(), key.expose().to_owned());
        }
        Self { server, answers: Answers::new(api, server.address(), known), now: None }
    }

    /// Sends a request, and returns how the answer differs.
    async fn send(&mut self, exchange: &Exchange) -> Result<Vec<Difference>, Box<dyn Error>> {
        const UNANSWERED: u16 = 499;
        let recorded = Timestamp::from(DateTime::parse_from_rfc3339(&exchange.at)?.to_utc());
        let now = if let Some(now) = self.now {
            now
        } else {
            let shown = self.server.answer_once(None, Method::GET, "/healthz", None, &[]).await?;
            let now = date(&shown).ok_or("the server does not say its time")?;
            self.answers.is_exact = recorded == FixedClock::SEEDED.now() && recorded == now;
            now
        };
        let list = GrowingList::from_exchange(exchange);
        let mut response = self.answer(exchange, list.as_ref(), TimeShift::between(recorded, now)).await?;
        self.now = date(&response).or(Some(now));
        if exchange.status == UNANSWERED {
            return Ok(Vec::new());
        }
        let Some(list) = list else { return Ok(self.answers.compare(exchange, &response)) };
        let mut exchange = exchange.clone();
        list.align(&mut exchange.body, &mut response.body);
        Ok(self.answers.compare(&exchange, &response))
    }

    async fn answer(
        &self,
        exchange: &Exchange,
        list: Option<&GrowingList>,
        shift: TimeShift,
    ) -> Result<ExactResponse, Box<dyn Error>> {
        const UNSUPPORTED: u16 = 415;
        let key = exchange.key.as_deref().map(|key| Secret::from(self.answers.resolve(key)));
        let mut path = self.answers.resolve(&exchange.path);
        let mut parameters = exchange.parameters.clone();
        for parameter in parameters.values_mut() {
            self.answers.resolve_all(parameter, shift);
        }
        if let Some(list) = list {
            list.wait(&mut parameters);
        }
        let is_unread =
            |part: &str| parameters.is_empty() && exchange.hidden.iter().any(|hidden| hidden == part);
        let query = || {
            let pairs = recording::query(&parameters);
            form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
        };
        let body = if is_unread(UNREAD_BODY) {
            // Neither JSON nor, where that was the fault, of a type that is read.
            let kind = if exchange.status == UNSUPPORTED { "text/plain" } else { "application/json" };
            Some((kind, HIDDEN.to_owned()))
        } else if is_unread(UNREAD_QUERY) {
            // No valid encoding.
            path.push_str("?%");
            None
        } else if parameters.is_empty() {
            None
        } else if exchange.reads() {
            path = format!("{path}?{}", query());
            None
        } else if path.starts_with("/1/") {
            Some(("application/json", Value::Object(parameters.clone()).to_string()))
        } else {
            // The page of a cardholder reads forms.
            Some(("application/x-www-form-urlencoded", query()))
        };
        let idempotency_key = exchange.idempotency_key.as_deref().map(|key| self.answers.resolve(key));
        let headers = [
            ("idempotency-key", idempotency_key.as_deref()),
            ("sandbox-outcome", exchange.sandbox_outcome.as_deref()),
            ("sandbox-challenge", exchange.sandbox_challenge.as_deref()),
            ("prefer", exchange.prefer.as_deref()),
        ];
        let headers: Vec<_> = headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let method = exchange.method.parse()?;
        Ok(self.server.answer_once(key.as_ref(), method, &path, body, &headers).await?)
    }
}

/// Returns the server's wall clock at a response, in whole seconds.
fn date(response: &ExactResponse) -> Option<Timestamp> {
    let date = DateTime::parse_from_rfc2822(response.header(DATE)?).ok()?;
    Some(Timestamp::from(date.to_utc()))
}
