//! `card-payments examine receiver`: sends a receiver what it will meet one day, and judges its answers.

mod cases;
mod material;
mod sender;

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use base::clock::{Clock, SystemClock};
use base::list::List;
use base::secret::Secret;
use clap::Args;
use entity::event::EventType;
use futures::stream::{self, StreamExt};
use http::Method;
use outbound::OutboundError;
use serde::Serialize;

use self::cases::{CASES, Case, Expected};
use self::material::Material;
use self::sender::{Answer, Sender};
use crate::api_client::ApiClient;
use crate::events::Event;
use crate::junit::{self, TestCase};
use crate::known_api::KnownApi;
use crate::listen::{event_types, fits, webhook_key};
use crate::server_options::receiver_address;
use crate::terminal::{BAD, GOOD, HEAD, Printer, print_result};
use crate::trigger;

/// The events that are sent if none are named.
const USUAL: [EventType; 4] = [
    EventType::ChargeCaptured,
    EventType::CustomerCreated,
    EventType::RefundCreated,
    EventType::RefundFailed,
];

/// What to examine, and how.
#[derive(Args)]
pub struct ReceiverOptions {
    /// The address of the receiver.
    #[arg(value_name = "URL", value_parser = receiver_address, required_unless_present = "list")]
    url: Option<String>,
    /// The key by which the receiver verifies webhooks, whsec_... Prefer the variable, because `ps` shows flags.
    #[arg(long, value_name = "KEY", env = "CARD_PAYMENTS_WEBHOOK_KEY", hide_env_values = true, value_parser = webhook_key,
        required_unless_present = "list")]
    secret: Option<Secret>,
    /// The types of the events that are sent, separated by commas; a * at the end of a type stands for any ending. By default four, of
    /// a charge, a customer and two refunds.
    #[arg(long, value_name = "TYPES", value_parser = event_types)]
    events: Vec<List<String>>,
    /// Only these cases, separated by commas.
    #[arg(long, value_name = "CASES", value_parser = case_names)]
    only: Vec<List<&'static str>>,
    /// A number that decides all that is drawn: the same cases are sent in each run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print every case with what is sent, what a good receiver answers, and why; and exit.
    #[arg(long)]
    list: bool,
    /// A file for the result in the form of JUnit. One that exists is replaced.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl ReceiverOptions {
    pub fn needs_server(&self) -> bool {
        !self.list
    }

    /// Returns the number that decides all that is drawn.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

fn case_names(text: &str) -> Result<List<&'static str>, String> {
    List::parse_each(text, |name| {
        let case = CASES.iter().find(|case| case.name == name);
        case.map(|case| case.name).ok_or("no case has this name; --list names them all")
    })
}

/// Prints the cases.
pub fn list(options: &ReceiverOptions) -> Result<(), Box<dyn Error>> {
    CASES.iter().map(CaseShown::from).try_for_each(|case| print_result(&case, &case, options.json))
}

/// Examines a receiver by events of an account of this server.
pub async fn examine(
    options: ReceiverOptions,
    server: &ApiClient,
    api: &KnownApi,
) -> Result<(), Box<dyn Error>> {
    let ReceiverOptions { url, secret, events, only, seed, junit, json, .. } = options;
    // clap has checked that they are there.
    let (url, key) = (url.unwrap_or_default(), secret.unwrap_or_default());
    let chosen = chosen_types(&List::all(&events));
    if chosen.is_empty() {
        return Err("--events names nothing that can be sent: a ping needs an endpoint of the account".into());
    }
    let happened = happen(server, api, &chosen).await?;
    let (sender, only) = (Sender::new(&url), List::all(&only));
    let (mut results, mut printer) = (Vec::new(), Printer::new(json));
    for case in CASES.iter().filter(|case| only.is_empty() || only.contains(&case.name)) {
        // A receiver has the machine's clock, whatever time the tests of this program begin at.
        let now = SystemClock.now() - SystemClock::ahead();
        let material = Material { happened: &happened, key: &key, seed, case: case.name, now };
        let result = send(case, &material, &sender).await?;
        if !json {
            printer.print(&result, &result);
        }
        results.push(result);
    }
    let failed = results.iter().filter(|result| !result.passed).count();
    let summary = Summary { receiver: &url, seed, passed: results.len() - failed, failed, cases: &results };
    if let Some(file) = junit {
        let cases: Vec<_> = results.iter().map(CaseResult::junit).collect();
        junit::write(&file, "examine receiver", &cases)?;
    }
    printer.print(&summary, &summary);
    if failed > 0 {
        return Err(format!(
            "the receiver does not answer as it should in {failed} of {} cases",
            results.len()
        )
        .into());
    }
    printer.end()
}

fn chosen_types(wanted: &[String]) -> Vec<EventType> {
    if wanted.is_empty() {
        return USUAL.to_vec();
    }
    // A ping is about an endpoint, which the account has not.
    let is_wanted =
        |what: &&EventType| **what != EventType::Ping && wanted.iter().any(|one| fits(one, what.code()));
    EventType::ALL.iter().filter(is_wanted).copied().collect()
}

/// Makes an event of each type happen in an account of its own.
async fn happen(
    server: &ApiClient,
    api: &KnownApi,
    types: &[EventType],
) -> Result<Vec<Event>, Box<dyn Error>> {
    let account = server.answer_to(Method::POST, "/1/sandbox/accounts", None, &[]).await?;
    let account = account.record()?;
    let key = account["secret_key"].as_str().unwrap_or_default();
    let own = server.with_key(key);
    let events = caused(&own, api, types).await;
    let path = format!("/1/sandbox/accounts/{}", account["token"].as_str().unwrap_or_default());
    server.request_text(Method::DELETE, &path, None).await?;
    events
}

async fn caused(
    account: &ApiClient,
    api: &KnownApi,
    types: &[EventType],
) -> Result<Vec<Event>, Box<dyn Error>> {
    let mut events = Vec::new();
    for &what in types {
        let happened = trigger::cause(account, api, what).await;
        events.push(happened.map_err(|error| format!("{} cannot be sent: {error}", what.code()))?);
    }
    Ok(events)
}

async fn send(
    case: &'static Case,
    material: &Material<'_>,
    sender: &Sender,
) -> Result<CaseResult, Box<dyn Error>> {
    let deliveries = (case.deliveries)(material)?;
    let answers = stream::iter(deliveries).map(|delivery| async move {
        let expected = delivery.expected.unwrap_or(case.expected);
        (sender.send(delivery).await, expected)
    });
    let answers: Vec<_> = answers.buffered(case.at_once).collect().await;
    let unexpected = answers.iter().find(|(answer, expected)| !answer.is(*expected));
    let shown = unexpected.or(answers.last()).map(|(answer, _)| *answer);
    let ms = answers.iter().map(|(answer, _)| answer.ms).max().unwrap_or_default();
    Ok(CaseResult::new(case, unexpected.is_none(), shown, ms))
}

#[derive(Serialize)]
struct CaseShown {
    name: &'static str,
    sent: &'static str,
    expected: &'static str,
    why: &'static str,
    guide: String,
}

impl From<&Case> for CaseShown {
    fn from(case: &Case) -> Self {
        let Case { name, sent, expected, why, heading, .. } = *case;
        Self {
            name,
            sent,
            expected: Expected::words(expected),
            why,
            guide: format!("docs/webhooks.md#{heading}"),
        }
    }
}

impl Display for CaseShown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, sent, expected, why, guide } = self;
        write!(f, "{HEAD}{name}{HEAD:#}: {sent}\n  {expected}. {why} {guide}")
    }
}

#[derive(Serialize)]
struct CaseResult {
    #[serde(flatten)]
    case: CaseShown,
    passed: bool,
    /// The status of the first answer that is not as expected, or else of the last one; null without an answer.
    status: Option<u16>,
    /// The reason why there is no answer.
    error: Option<&'static str>,
    error_description: Option<&'static str>,
    /// The longest time of an answer.
    ms: u64,
}

impl CaseResult {
    fn new(case: &Case, passed: bool, shown: Option<Answer>, ms: u64) -> Self {
        let status = shown.and_then(|answer| answer.status.ok());
        let error = shown.and_then(|answer| answer.status.err());
        Self {
            case: CaseShown::from(case),
            passed,
            status,
            error: error.map(OutboundError::code),
            error_description: error.map(OutboundError::description),
            ms,
        }
    }

    fn answer(&self) -> String {
        match (self.status, self.error) {
            (Some(status), _) => status.to_string(),
            (None, error) => error.unwrap_or_default().to_owned(),
        }
    }

    fn junit(&self) -> TestCase {
        let CaseShown { name, sent, expected, why, guide } = &self.case;
        let failure =
            format!("{}, but a good receiver answers {expected} to {sent}. {why} {guide}", self.answer());
        TestCase { name: (*name).to_owned(), ms: self.ms, failure: (!self.passed).then_some(failure) }
    }
}

impl Display for CaseResult {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let CaseShown { name, sent, expected, why, guide } = &self.case;
        let (answer, ms) = (self.answer(), self.ms);
        if self.passed {
            return write!(f, "{GOOD}ok{GOOD:#}    {name:21}  {answer} in {ms} ms");
        }
        write!(
            f,
            "{BAD}FAIL{BAD:#}  {name:21}  {answer} in {ms} ms, but a good receiver answers {expected}"
        )?;
        write!(f, "\n      Sent: {sent}. {why} {guide}")
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    receiver: &'a str,
    seed: u64,
    passed: usize,
    failed: usize,
    cases: &'a [CaseResult],
}

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed.", self.passed, self.failed)
    }
}
