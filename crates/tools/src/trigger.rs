//! `card-payments trigger EVENT`: causes an event by the API calls that lead to it.

mod recipes;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Display, Formatter};

use base::plain_text::OneLine;
use clap::Args;
use clap::builder::PossibleValuesParser;
use entity::event::EventType;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use self::recipes::{Step, recipe};
use crate::api_client::{ApiClient, ApiClientError};
use crate::events::{self, Event};
use crate::known_api::KnownApi;
use crate::server_options::{ServerOptions, refuse_live};
use crate::terminal::print_result;

/// Cause an event of any type, by the API calls that lead to it.
///
/// Calls a running test server: it stores cards, charges them, disputes charges, lets the bank return money, and so on, whatever
/// the type needs, with new records each time. If it takes days, it moves the account's clock, which never goes back, and
/// says so. It moves no other account's clock.
///
/// Prints each call and the event. Refuses a live server.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  card-payments trigger charge.captured\n  card-payments trigger --list\n\n\
    With --json {type, did: [{call, token, clock}], event}; --list --json {type, calls, moves_clock}, one object per type."
)]
pub struct Trigger {
    /// The event's type.
    #[arg(required_unless_present = "list", conflicts_with = "list", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(EventType::ALL.iter().map(|what| what.code())))]
    event: Option<String>,
    /// Print every type with the calls that cause it, and exit. Needs no server.
    #[arg(long)]
    list: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerOptions,
}

pub async fn run(command: Trigger, api: &KnownApi) -> Result<(), Box<dyn Error>> {
    let Trigger { event, json, server, .. } = command;
    // clap has checked the word.
    let Some(what) = event.as_deref().and_then(EventType::from_code) else { return list(json) };
    let server = server.open().await?;
    refuse_live(&server, "nothing is triggered").await?;
    let (did, event) = run_recipe(&server, api, what, json).await?;
    print_result(&Triggered { r#type: what.code(), did, event: &event.body }, &event, json)
}

/// Makes an event of this type happen, and prints nothing.
pub async fn cause(server: &ApiClient, api: &KnownApi, what: EventType) -> Result<Event, Box<dyn Error>> {
    Ok(run_recipe(server, api, what, true).await?.1)
}

/// Returns the first type of events that a call of this operation helps to cause.
pub fn causing(method: &str, path: &str) -> Option<EventType> {
    let is_call = |step: &Step| {
        let (own, given) = (step.path.split('/'), path.split('/'));
        let is_same =
            |(own, given): (&str, &str)| own == given || own.ends_with('_') && given.starts_with('{');
        step.method() == *method
            && own.clone().count() == given.clone().count()
            && own.zip(given).all(is_same)
    };
    EventType::ALL.iter().copied().find(|&what| recipe(what).iter().any(is_call))
}

async fn run_recipe(
    server: &ApiClient,
    api: &KnownApi,
    what: EventType,
    json: bool,
) -> Result<(Vec<TriggerCall>, Event), Box<dyn Error>> {
    let before = events::last(server).await?;
    let mut run = TriggerRun { server, api, json, made: BTreeMap::new(), calls: Vec::new() };
    for step in recipe(what) {
        run.run_step(step).await?;
    }
    let event = run.event(what, before).await?;
    Ok((run.calls, event))
}

fn list(json: bool) -> Result<(), Box<dyn Error>> {
    for &what in EventType::ALL {
        let steps = recipe(what);
        let calls: Vec<_> = steps.iter().map(Step::call).collect();
        let moves_clock = steps.iter().any(Step::moves_clock);
        let text = format!("{}: {}", what.code(), calls.join(", "));
        print_result(&Listed { r#type: what.code(), calls, moves_clock }, &text, json)?;
    }
    Ok(())
}

/// The calls, in the order in which they are made.
struct TriggerRun<'a> {
    server: &'a ApiClient,
    api: &'a KnownApi,
    json: bool,
    /// The latest record of each kind, by the prefix of its token.
    made: BTreeMap<String, String>,
    calls: Vec<TriggerCall>,
}

impl TriggerRun<'_> {
    async fn run_step(&mut self, step: &Step) -> Result<(), Box<dyn Error>> {
        let path =
            step.path.split('/').map(|part| self.named(part)).collect::<Result<Vec<_>, _>>()?.join("/");
        let mut body = step.body(self.api).map(|body| self.filled(body)).transpose()?;
        loop {
            let answer = self.server.request_text(step.method(), &path, body.as_ref()).await;
            let record = match answer {
                // Submitted evidence and deletions have no body.
                Ok(text) => serde_json::from_str::<Value>(&text).unwrap_or_default()["response"].clone(),
                Err(ApiClientError::Refused { body, .. })
                    if step.declined && body["charge_token"].is_string() =>
                {
                    json!({ "token": body["charge_token"] })
                }
                Err(error) => return Err(error.into()),
            };
            // The newest record of a list.
            let token = record.get(0).unwrap_or(&record)["token"].as_str().map(str::to_owned);
            let clock = record["now"].as_str().map(str::to_owned);
            let call = TriggerCall { call: format!("{} {path}", step.method()), token, clock };
            if !self.json {
                // A closed pipe does not stop the calls.
                drop(print_result(&call, &call, false));
            }
            if let Some(token) = &call.token
                && let Some((kind, _)) = token.split_once('_')
            {
                self.made.insert(format!("{kind}_"), token.clone());
            }
            self.calls.push(call);
            if record["complete"] != false {
                return Ok(());
            }
            // A long move of the clock continues where it stopped.
            body = Some(json!({ "to": record["to"] }));
        }
    }

    /// Returns the record that a bare prefix stands for.
    fn named(&self, text: &str) -> Result<String, String> {
        if !text.ends_with('_') {
            return Ok(text.to_owned());
        }
        self.made
            .get(text)
            .cloned()
            .ok_or_else(|| format!("this account has no record {text}... yet; create one first"))
    }

    fn filled(&self, body: Value) -> Result<Value, String> {
        Ok(match body {
            Value::String(text) => self.named(&text)?.into(),
            Value::Object(fields) => {
                let filled = fields.into_iter().map(|(name, value)| Ok((name, self.filled(value)?)));
                Value::Object(filled.collect::<Result<_, String>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => body,
        })
    }

    /// Finds the event of this type about one of these records, after `before`.
    async fn event(&self, what: EventType, before: u64) -> Result<Event, Box<dyn Error>> {
        let is_it = |event: &Event| {
            event.head.r#type == what.code()
                && self.made.values().any(|token| *token == event.head.data.token)
        };
        let mut seen = before;
        loop {
            let new = events::after(self.server, seen, 0).await?;
            let Some(last) = new.last() else { break };
            seen = last.head.sequence;
            if let Some(event) = new.into_iter().rev().find(is_it) {
                return Ok(event);
            }
        }
        Err(format!("all of it was done, but {} did not happen", what.code()).into())
    }
}

/// A call that was made.
#[derive(Serialize)]
struct TriggerCall {
    call: String,
    /// The record that the call created or changed.
    token: Option<String>,
    /// The time of the account's clock, if the call moved it.
    clock: Option<String>,
}

impl Display for TriggerCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", OneLine(&self.call))?;
        match (&self.token, &self.clock) {
            (Some(token), _) => write!(f, " -> {}", OneLine(token)),
            (None, Some(clock)) => write!(f, " -> the account's clock was moved to {}", OneLine(clock)),
            (None, None) => Ok(()),
        }
    }
}

#[derive(Serialize)]
struct Triggered<'a> {
    r#type: &'static str,
    did: Vec<TriggerCall>,
    event: &'a RawValue,
}

#[derive(Serialize)]
struct Listed {
    r#type: &'static str,
    calls: Vec<String>,
    moves_clock: bool,
}
