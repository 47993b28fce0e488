//! `card-payments examine client`: disturbs a client's requests, and judges them.

mod faults;
mod judge;
mod proxy;
mod traffic;

use std::collections::HashSet;
use std::error::Error;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use recording::{Format, RecordingFile};
use serde::Serialize;
use serde_json::Value;

use self::faults::FaultPlan;
use self::judge::{Finding, Rule, judge};
use self::proxy::{Proxy, ProxyErrors};
use crate::api_client::ApiClient;
use crate::document::Operations;
use crate::junit::{self, TestCase};
use crate::known_api::KnownApi;
use crate::report::all;
use crate::terminal::{BAD, GOOD, print_result};

/// How to examine.
#[derive(Args)]
pub struct ClientOptions {
    /// How many requests of a hundred are disturbed, each kind of fault as often as the others.
    #[arg(long, value_name = "PERCENT", default_value_t = 25, value_parser = clap::value_parser!(u64).range(0..=100))]
    faults: u64,
    /// A number that decides which requests are disturbed, and how.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare the totals that the command prints behind this text, in cents, with what its accounts have taken by the ledger:
    /// captured charges without what was refunded. Accounts that are deleted do not count.
    #[arg(long, value_name = "TEXT")]
    expect_total: Option<String>,
    /// A file for a log of the requests, a JSON object a line, which `coverage` reads. One that exists is replaced.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// A file for the result in the form of JUnit: a test case for each rule. One that exists is replaced.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON object behind the output of the command.
    #[arg(long)]
    json: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl ClientOptions {
    pub fn command(&self) -> &[OsString] {
        &self.command
    }

    /// Returns the text behind which the command prints totals.
    pub fn total_label(&self) -> Option<&str> {
        self.expect_total.as_deref()
    }
}

/// An examination in progress.
pub struct Examiner {
    options: ClientOptions,
    proxy: Arc<Proxy>,
    address: SocketAddr,
}

impl Examiner {
    /// Begins one, in front of this server.
    pub async fn start(options: ClientOptions, api: &KnownApi, server: &str) -> Result<Self, Box<dyn Error>> {
        let log = options.log.as_deref();
        let log = log.map(|file| {
            let created = RecordingFile::create(file, Format::JsonLines);
            created.map_err(|error| format!("{}: {error}", file.display()))
        });
        let plan = FaultPlan::new(options.seed, options.faults);
        let known = (Operations::new(api), ProxyErrors::new(api)?);
        let (proxy, address) = Proxy::listen(server, known, plan, log.transpose()?).await?;
        Ok(Self { options, proxy, address })
    }

    /// Returns the address at which the client finds its server.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Prints what was found. Returns whether the client is good. The total is the one that the command has printed.
    pub async fn finish(self, server: &ApiClient, total: Option<i64>) -> Result<bool, Box<dyn Error>> {
        let Self { options, proxy, .. } = self;
        proxy.settle().await;
        let (sent, keys, log, failed) = proxy.with_traffic(|traffic| {
            (traffic.sent.clone(), traffic.keys.clone(), traffic.log.take(), traffic.failed.take())
        });
        let mut findings = judge(&sent);
        if let Some(label) = options.total_label() {
            let taken = taken(server, &keys).await?;
            findings.extend(judge_total(label, total, taken));
        }
        if let Some(error) = log.map_or(failed, |log| log.finish().err()) {
            return Err(format!("the log cannot be written: {error}").into());
        }
        let judged = sent.iter().filter(|one| one.is_judged);
        let (requests, disturbed) = judged
            .fold((0, 0), |(all, disturbed), one| (all + 1, disturbed + usize::from(one.fault.is_some())));
        let findings =
            findings.into_iter().map(|finding| FindingShown::new(finding, &sent, &options)).collect();
        let summary = Summary { seed: options.seed, requests, disturbed, findings };
        if let Some(file) = &options.junit {
            junit::write(file, "examine client", &summary.junit())?;
        }
        let printed = print_result(&summary, &summary, options.json);
        if summary.findings.is_empty() { printed.map(|()| true) } else { Ok(false) }
    }
}

/// Adds up the totals that a command prints behind a text; none if it prints none.
#[derive(Default)]
pub struct Totals(Option<i64>);

impl Totals {
    pub fn add_line(&mut self, label: &str, line: &str) {
        let number = line.split_once(label).map(|(_, rest)| rest.trim_start_matches([' ', ':', '=']));
        let number =
            number.map(|rest| rest.split(|letter: char| !letter.is_ascii_digit() && letter != '-').next());
        if let Some(number) = number.flatten().and_then(|number| number.parse::<i64>().ok()) {
            self.0 = Some(self.0.unwrap_or_default().saturating_add(number));
        }
    }

    /// Returns what they add up to.
    pub fn sum(&self) -> Option<i64> {
        self.0
    }
}

/// Returns what the accounts of these keys have taken, in cents, without what they gave back.
async fn taken(server: &ApiClient, keys: &[String]) -> Result<i64, Box<dyn Error>> {
    // Keys of one account show the same charges.
    let (mut sum, mut seen) = (0, HashSet::new());
    for key in keys {
        let own = server.with_key(key);
        // The key of a deleted account, or one that may not read charges.
        let Ok(charges) = all(&own, "/1/charges?", "").await else { continue };
        let captured = charges.iter().filter(|charge| charge["captured"] == true);
        let captured = captured.filter(|charge| seen.insert(charge["token"].to_string()));
        let cents = |charge: &Value, name: &str| charge[name].as_i64().unwrap_or_default();
        sum += captured.map(|charge| cents(charge, "amount") - cents(charge, "amount_refunded")).sum::<i64>();
    }
    Ok(sum)
}

fn judge_total(label: &str, total: Option<i64>, taken: i64) -> Option<Finding> {
    let text = match total {
        Some(total) if total == taken => return None,
        Some(total) => format!("the command counts {total} cents, and the ledger {taken}"),
        None => format!("the command prints no total behind {label:?}, and the ledger has {taken} cents"),
    };
    Some(Finding { rule: Rule::Total, request: None, line: None, text })
}

/// A finding with the request that it is about.
#[derive(Serialize)]
struct FindingShown {
    #[serde(flatten)]
    finding: Finding,
    method: Option<String>,
    path: Option<String>,
    #[serde(skip)]
    place: String,
}

impl FindingShown {
    fn new(finding: Finding, sent: &[traffic::Sent], options: &ClientOptions) -> Self {
        let request = finding.request.and_then(|number| sent.get(number.checked_sub(1)?));
        let line = match (&options.log, finding.line) {
            (Some(file), Some(line)) => format!(" ({}:{line})", file.display()),
            (None, _) | (_, None) => String::new(),
        };
        let place = request.map(|one| format!("request {}{line}, {} {}: ", one.number, one.method, one.path));
        Self {
            method: request.map(|one| one.method.clone()),
            path: request.map(|one| one.path.clone()),
            place: place.unwrap_or_default(),
            finding,
        }
    }
}

impl Display for FindingShown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place, self.finding.text)
    }
}

#[derive(Serialize)]
struct Summary {
    seed: u64,
    requests: usize,
    disturbed: usize,
    findings: Vec<FindingShown>,
}

impl Summary {
    fn breaking(&self, rule: Rule) -> impl Iterator<Item = &FindingShown> {
        self.findings.iter().filter(move |shown| shown.finding.rule == rule)
    }

    fn junit(&self) -> Vec<TestCase> {
        let case = |rule: Rule| {
            let failures: Vec<_> = self.breaking(rule).map(ToString::to_string).collect();
            let failure =
                (!failures.is_empty()).then(|| format!("{} {}", rule.sentence(), failures.join("; ")));
            TestCase { name: rule.name().to_owned(), ms: 0, failure }
        };
        Rule::ALL.into_iter().map(case).collect()
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for rule in Rule::ALL {
            let mut findings = self.breaking(rule).peekable();
            if findings.peek().is_none() {
                writeln!(f, "{GOOD}ok{GOOD:#}    {:15}  {}", rule.name(), rule.sentence())?;
                continue;
            }
            writeln!(f, "{BAD}FAIL{BAD:#}  {:15}  {}", rule.name(), rule.sentence())?;
            for finding in findings {
                writeln!(f, "      {finding}")?;
            }
        }
        let Self { seed, requests, disturbed, findings } = self;
        write!(
            f,
            "{requests} requests, {disturbed} of them disturbed by seed {seed}: {} findings.",
            findings.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_added_up() {
        let mut totals = Totals::default();
        for line in ["total: 1200", "nothing", "Total taken: 5", "  total: -200 cents", "total: none"] {
            totals.add_line("total", line);
        }
        assert_eq!(totals.sum(), Some(1000));
        assert_eq!(Totals::default().sum(), None);
        assert!(judge_total("total", Some(7), 7).is_none());
        assert!(judge_total("total", None, 0).is_some() && judge_total("total", Some(6), 7).is_some());
    }
}
