//! `card-payments coverage`: what a test suite has met of the API, and what never.

mod advice;
pub mod goals;
mod met;
mod page;

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use base::durable_fs;
use base::list::List;
use clap::Args;
use entity::section::Section;
use serde::Serialize;
use serde_json::Value;

use self::goals::{Goal, Part, goals};
use self::met::Met;
use crate::api_client::ApiClient;
use crate::document::Operations;
use crate::junit::{self, TestCase};
use crate::known_api::KnownApi;
use crate::report::{OWN_REQUESTS, all};
use crate::requests::exchange;
use crate::server_options::{ServerOptions, refuse_live};
use crate::terminal::{HEAD, print_result};

/// Show what a test suite has met of the API, and what never.
///
/// Reads recordings (`record --to run.jsonl`), logs of `examine client`, or without a file the request log, the events and the
/// webhooks of an account of a running server. Counts operations that succeed, errors, declines, pages beyond the first, events,
/// webhooks and 3-D Secure results, and prints for each gap the line that makes it happen.
///
/// Errors that any operation may answer count once. Answers that no request causes, such as 500, do not count.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  card-payments coverage run.jsonl\n  card-payments coverage run.jsonl --only charges,balance \
    --fail-under 60 --to coverage.html\n\n\
    With --json {percent, met, total, parts: [{part, met, total}], goals: [{part, name, line, met}]}."
)]
pub struct Coverage {
    /// The recordings. Without one, the log of a running server.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only these sections of the document, in small letters and separated by commas: charges,bank_accounts. By default all but
    /// sandbox.
    #[arg(long, value_name = "SECTIONS", value_parser = sections)]
    only: Vec<List<String>>,
    /// Fail if less than so many per cent are met.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(0..=100))]
    fail_under: Option<u64>,
    /// A file for a page that needs nothing else. One that exists is replaced.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// A file for the result in the form of JUnit: a test case for each goal. One that exists is replaced.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

fn sections(text: &str) -> Result<List<String>, String> {
    List::parse_each(text, |name| {
        let section = Section::from_code(name).map(|section| section.code().to_owned());
        section.ok_or("not a section of the document in small letters, such as bank_accounts")
    })
}

/// Runs the command with what the program knows of the API.
pub async fn run(command: Coverage, api: &KnownApi) -> Result<(), Box<dyn Error>> {
    let Coverage { files, only, fail_under, to, junit, json, server } = command;
    let operations = Operations::new(api);
    let mut met = Met::default();
    if files.is_empty() {
        let server = server.open().await?;
        refuse_live(&server, "nothing is covered").await?;
        add_log(&server, &operations, &mut met).await?;
    }
    for file in files {
        let of_file = |error: String| format!("{}: {error}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|error| of_file(error.to_string()))?;
        let exchanges = recording::read_with_logs(&text).map_err(of_file)?;
        for exchange in &exchanges {
            met.add_exchange(&operations, exchange);
        }
    }
    let summary = Summary::new(goals(&operations, &List::all(&only)), &met);
    if let Some(file) = to {
        let written = durable_fs::replace_file(&file, page::page(&summary).into_string().as_bytes());
        written.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if let Some(file) = junit {
        junit::write(&file, "coverage", &summary.junit())?;
    }
    let printed = print_result(&summary, &summary, json);
    match fail_under {
        Some(least) if summary.percent < least => {
            Err(format!("{} % is covered, and {least} % is demanded", summary.percent).into())
        }
        Some(_) | None => printed,
    }
}

async fn add_log(server: &ApiClient, operations: &Operations, met: &mut Met) -> Result<(), Box<dyn Error>> {
    let mut requests = all(server, "/1/sandbox/requests?", "").await?;
    requests.retain(|request| request["request_id"] != OWN_REQUESTS);
    for request in &requests {
        met.add_exchange(operations, &exchange(request));
    }
    for list in ["/1/events?", "/1/webhooks?"] {
        met.add_records(&Value::Array(all(server, list, "").await?));
    }
    Ok(())
}

/// A goal, and whether it was met.
#[derive(Serialize)]
struct GoalResult {
    #[serde(flatten)]
    goal: Goal,
    met: bool,
}

/// The goals of one kind.
#[derive(Serialize)]
struct PartSummary {
    part: Part,
    met: usize,
    total: usize,
}

#[derive(Serialize)]
struct Summary {
    /// Rounded down.
    percent: u64,
    met: usize,
    total: usize,
    parts: Vec<PartSummary>,
    goals: Vec<GoalResult>,
}

impl Summary {
    fn new(goals: Vec<Goal>, met: &Met) -> Self {
        let results =
            goals.into_iter().map(|goal| GoalResult { met: met.contains(goal.part, &goal.name), goal });
        let goals: Vec<_> = results.collect();
        let parts = Part::ALL.into_iter().map(|part| {
            let own = || goals.iter().filter(|result| result.goal.part == part);
            PartSummary { part, met: own().filter(|result| result.met).count(), total: own().count() }
        });
        let parts: Vec<_> = parts.filter(|part| part.total > 0).collect();
        let (met, total) = (goals.iter().filter(|result| result.met).count(), goals.len());
        let percent = u64::try_from(met * 100 / total.max(1)).unwrap_or_default();
        Self { percent, met, total, parts, goals }
    }

    fn gaps(&self) -> impl Iterator<Item = &Goal> {
        self.goals.iter().filter(|result| !result.met).map(|result| &result.goal)
    }

    fn junit(&self) -> Vec<TestCase> {
        let cases = self.goals.iter().map(|GoalResult { goal, met }| TestCase {
            name: format!("{}: {}", goal.part.title(), goal.name),
            ms: 0,
            failure: (!met).then(|| format!("never met; {}", goal.line)),
        });
        cases.collect()
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { percent, met, total, parts, .. } = self;
        for PartSummary { part, met, total } in parts {
            writeln!(f, "{:23}  {met:3} of {total:3}", part.title())?;
        }
        write!(f, "{HEAD}{:23}  {met:3} of {total:3}, {percent} %{HEAD:#}", "Together")?;
        let mut last = None;
        for Goal { part, name, line } in self.gaps() {
            if last != Some(part) {
                let (first, rest) = part.title().split_at(1);
                write!(f, "\n\n{HEAD}Never met: {}{rest}{HEAD:#}", first.to_lowercase())?;
                last = Some(part);
            }
            write!(f, "\n  {name}\n      {line}")?;
        }
        Ok(())
    }
}
