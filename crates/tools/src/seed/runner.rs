//! Runs a plan: sends each request under an Idempotency-Key made of its name, so that a second run creates nothing twice, and
//! an interrupted run can be continued.

use std::collections::HashMap;
use std::fmt;

use base::plain_text::OneLine;
use base::progress::Progress;
use base::time_text::parse_time;
use entity::Timestamp;
use http::Method;
use serde::Serialize;
use serde_json::{Value, json};

use super::plan::{SeedPlan, SeedRequest};
use crate::api_client::{ApiClient, ApiClientError, ClientResponse};

/// The record of an entry.
#[derive(Debug, Serialize)]
pub struct Made {
    /// Its name: `charges/lamp`.
    what: String,
    /// The record's token; `None` for a charge that was declined as planned.
    token: Option<String>,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = OneLine(&self.what).to_string();
        write!(f, "{what:<40} {}", OneLine(self.token.as_deref().unwrap_or("declined")))
    }
}

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct Played {
    /// The number of records.
    made: usize,
    /// Whether all of them existed before.
    again: bool,
    /// The time of the account's clock.
    now: String,
    /// The snapshot of the account from before the run.
    snapshot: String,
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { made, again, now, snapshot } = self;
        let once_more = if *again { ", all of them as before" } else { "" };
        writeln!(f, "{made} records{once_more}; the account's clock shows {now}.")?;
        write!(f, "As it was before, it is kept: PUT /1/sandbox/snapshots/{snapshot}/restore")
    }
}

/// The account in which the fixtures are created.
pub struct SeedTarget {
    /// The client of the server, with the account's key.
    pub server: ApiClient,
    /// If the account was created for this run: the client of its creator, and its token.
    pub made: Option<(ApiClient, String)>,
}

/// The reason why a run stopped early.
enum Stopped {
    /// There was no answer, or none yet: it may be run again.
    Cut(String),
    /// The server refused a request.
    Refused(String),
}

/// A run in progress.
pub struct SeedRunner<'a> {
    target: &'a SeedTarget,
    /// The prefix of all Idempotency-Keys.
    name: &'a str,
    tokens: HashMap<String, String>,
    now: Timestamp,
    begun_before: bool,
    /// Whether nothing was created so far.
    again: bool,
    snapshot: String,
}

impl<'a> SeedRunner<'a> {
    /// Begins or continues a run.
    pub async fn begin(target: &'a SeedTarget, name: &'a str) -> Result<Self, String> {
        let key = format!("seed:{name}");
        // Its time is also the beginning of the run.
        let response = target
            .server
            .answer_to(Method::POST, "/1/sandbox/snapshots", Some(&json!({})), &[("idempotency-key", &key)])
            .await?;
        let snapshot = response.record()?;
        let (token, now) = (text(snapshot, "token")?, time(snapshot, "created_at")?);
        let (begun_before, again) = (response.is_replayed, response.is_replayed);
        Ok(Self { target, name, tokens: HashMap::new(), now, begun_before, again, snapshot: token })
    }

    /// Sends all requests; calls `on_made` for each record.
    pub async fn run(
        mut self,
        plan: &SeedPlan,
        progress: &dyn Progress,
        mut on_made: impl FnMut(&Made),
    ) -> Result<Played, String> {
        match self.send_all(plan, progress, &mut on_made).await {
            Ok(made) => {
                let Self { again, now, snapshot, .. } = self;
                Ok(Played { made, again, now: now.to_string(), snapshot })
            }
            Err(Stopped::Cut(why)) if self.target.made.is_some() => {
                Err(format!("{why}; run again with --key instead of --new-account to continue"))
            }
            Err(Stopped::Cut(why)) => Err(format!("{why}; run again to continue")),
            // This run must not delete what an earlier one created.
            Err(Stopped::Refused(why)) if self.begun_before => {
                Err(format!("{why}; what was made before stays"))
            }
            Err(Stopped::Refused(why)) => Err(match self.undo().await {
                Ok(()) => format!("{why}; nothing was made"),
                Err(again) => format!("{why}; and what was made stays: {again}"),
            }),
        }
    }

    /// Undoes the run: deletes an account that was created for it, restores any other.
    async fn undo(&self) -> Result<(), String> {
        if let Some((maker, account)) = &self.target.made {
            return send(maker, Method::DELETE, &format!("/1/sandbox/accounts/{account}")).await;
        }
        let path = format!("/1/sandbox/snapshots/{}", self.snapshot);
        send(&self.target.server, Method::PUT, &format!("{path}/restore")).await?;
        // Otherwise it is deleted by itself, later.
        let _ = send(&self.target.server, Method::DELETE, &path).await;
        Ok(())
    }

    async fn send_all(
        &mut self,
        plan: &SeedPlan,
        progress: &dyn Progress,
        on_made: &mut impl FnMut(&Made),
    ) -> Result<usize, Stopped> {
        let start = self.now;
        self.now = self.clock().await?;
        let mut steps: Vec<(Timestamp, &SeedRequest)> =
            plan.steps.iter().map(|step| (step.when.at(start), step)).collect();
        steps.sort_by_key(|(at, _)| *at);
        let mut made = 0;
        progress.set_total(steps.len() as u64);
        for (n, (at, step)) in steps.into_iter().enumerate() {
            progress.set_done(n as u64);
            self.move_to(at).await?;
            let token = self.step(step).await?;
            if step.makes || step.declined.is_some() {
                made += usize::from(step.makes);
                on_made(&Made { what: step.what.clone(), token: token.filter(|_| step.makes) });
            }
        }
        if let Some(until) = &plan.until {
            self.move_to(until.at(start)).await?;
        }
        Ok(made)
    }

    /// Moves the clock, with as many requests as that takes.
    async fn move_to(&mut self, at: Timestamp) -> Result<(), Stopped> {
        while self.now < at {
            let body = json!({ "to": at.to_string() });
            let response =
                self.target.server.answer_to(Method::PUT, "/1/sandbox/clock", Some(&body), &[]).await?;
            let refused = |why| Stopped::Refused(format!("the clock of the account: {why}"));
            if response.status == 422 {
                // The clock runs meanwhile, and may have passed a time that is near.
                self.now = self.clock().await?;
                if self.now >= at {
                    break;
                }
            }
            let shown = response.record().map_err(refused)?;
            self.again = false;
            let complete = shown["complete"].as_bool().unwrap_or_default();
            self.now = if complete { at } else { time(shown, "now").map_err(refused)? };
        }
        Ok(())
    }

    /// Returns the time of the account's clock.
    async fn clock(&self) -> Result<Timestamp, Stopped> {
        let shown = self.target.server.answer_to(Method::GET, "/1/sandbox/clock", None, &[]).await?;
        time(shown.record().map_err(Stopped::Cut)?, "now").map_err(Stopped::Cut)
    }

    /// Sends one request and returns the token of its record.
    async fn step(&mut self, step: &SeedRequest) -> Result<Option<String>, Stopped> {
        let refused = |why: String| Stopped::Refused(format!("line {}: {}: {why}", step.line, step.what));
        let token = |what: &String| {
            self.tokens.get(what).cloned().ok_or_else(|| refused(format!("there is no {what}")))
        };
        let path = match &step.of {
            Some(of) => step.path.replace("{}", &token(of)?),
            None => step.path.clone(),
        };
        let mut parameters = step.parameters.clone();
        for (param, what) in &step.tokens {
            parameters[*param] = token(what)?.into();
        }
        // Made of names alone, so that entries may be added to a file.
        let key = format!("seed:{}:{}:{}:{}", self.name, step.what, step.method, step.path);
        let mut headers = vec![("idempotency-key", key.as_str())];
        headers.extend(step.declined.as_deref().map(|code| ("sandbox-outcome", code)));
        let parameters = (!parameters.is_null()).then_some(&parameters);
        let response = self.target.server.answer_to(step.method.clone(), &path, parameters, &headers).await?;
        self.again &= response.is_replayed;
        if let Some(code) = &step.declined {
            return if response.code() == code {
                Ok(None)
            } else {
                Err(refused(unexpected(&response, code)))
            };
        }
        let record = response.record().map_err(refused)?;
        let made = record["token"].as_str().filter(|_| step.makes).map(str::to_owned);
        self.tokens.extend(made.clone().map(|token| (step.what.clone(), token)));
        Ok(made)
    }
}

impl From<ApiClientError> for Stopped {
    fn from(error: ApiClientError) -> Self {
        Self::Cut(error.to_string())
    }
}

fn unexpected(response: &ClientResponse, code: &str) -> String {
    let found = response.record().err().unwrap_or_else(|| "it was accepted".into());
    format!("was to be declined by {code}, but: {found}")
}

/// Sends a request whose response does not matter.
async fn send(server: &ApiClient, method: Method, path: &str) -> Result<(), String> {
    let response = server.answer_to(method.clone(), path, None, &[]).await;
    let done = response.map_err(String::from).and_then(|response| response.record().map(drop));
    done.map_err(|why| format!("{why}; {method} {path} would undo it"))
}

/// Returns whether the account is empty.
pub async fn is_fresh(server: &ApiClient) -> Result<bool, String> {
    // Events are deleted after a while, and not everything that fixtures make has one.
    for list in [
        "/1/events",
        "/1/charges",
        "/1/customers",
        "/1/plans",
        "/1/recipients",
        "/1/transfers",
        "/1/webhook_endpoints",
    ] {
        let response = server.answer_to(Method::GET, &format!("{list}?per_page=1"), None, &[]).await?;
        response.record()?;
        if response.body["pagination"]["count"].as_i64() != Some(0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether the server knows the Idempotency-Key with which these fixtures begin. Sends an invalid request with it: a
/// known key is refused before the parameters are read, and an unknown one is not stored.
pub async fn is_begun(server: &ApiClient, name: &str) -> Result<bool, String> {
    let key = format!("seed:{name}");
    let impossible = json!({ "settlement_delay_days": "none" });
    let response = server
        .answer_to(Method::PUT, "/1/sandbox/account", Some(&impossible), &[("idempotency-key", &key)])
        .await?;
    Ok(response.code() == "idempotency_key_reused")
}

fn text(record: &Value, field: &str) -> Result<String, String> {
    record[field].as_str().map(str::to_owned).ok_or_else(|| format!("the server shows no {field}"))
}

fn time(record: &Value, field: &str) -> Result<Timestamp, String> {
    let text = text(record, field)?;
    parse_time(&text).map(Timestamp::from).ok_or_else(|| format!("the server shows no {field}"))
}
