//! The answers of a replay: what they make known, and how they differ from the recorded ones.

use std::collections::{BTreeMap, HashMap, HashSet};

use base::time_text::parse_time;
use entity::token::is_token;
use entity::{TimeSpan, Timestamp};
use http::header::LOCATION;
use recording::{Exchange, Piece, SERVER, is_drawn, nested_object, pieces, without_secrets};
use serde::Serialize;
use serde_json::Value;

use crate::api_client::ExactResponse;
use crate::known_api::KnownApi;

/// Fields that differ in every run: ids of requests, the times of a wallet's session, the end and the last use of a key, how much an
/// inbox has received so far, and the time, signature and trace of a delivery.
const NOT_COMPARED: [&str; 10] = [
    "request_id",
    "epochTimestamp",
    "expiresAt",
    "last_characters",
    "last_used_at",
    "received",
    "webhook-timestamp",
    "webhook-signature",
    "traceparent",
    "tracestate",
];

/// Parts that depend on the wall clock, besides times: how far a clock was moved to a time; what a move has left to do, because workers
/// may have done it before; the card of a wallet's test payload.
const OF_THE_CLOCK: [&str; 5] = [
    "response.offset_seconds",
    "response.ran",
    "response.ran_count",
    "response.source.expiry_month",
    "response.source.expiry_year",
];

/// The longest text of a difference.
const SHOWN_LETTERS: usize = 200;

/// A difference between a recorded answer and this one.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The part of the answer: `status`, or a path into the body.
    pub at: String,
    /// The recorded value, as JSON.
    pub recorded: String,
    /// The value of this run.
    pub answered: String,
}

/// The time by which a request is sent later than in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeShift {
    /// For times.
    later: TimeSpan,
    /// For days.
    days: i32,
}

impl TimeShift {
    /// Returns the shift between two times of the wall clock.
    pub fn between(recorded: Timestamp, now: Timestamp) -> Self {
        Self { later: now - recorded, days: now.day().number() - recorded.day().number() }
    }
}

/// The knowledge from the answers so far.
pub struct Answers {
    api: KnownApi,
    server: String,
    /// The values of this run by recorded tokens and placeholders.
    known: HashMap<String, String>,
    /// The values, none of which stands for two.
    taken: HashSet<String>,
    /// The times of this run by the recorded ones.
    times: BTreeMap<Timestamp, Timestamp>,
    /// Whether recording and server have a seed: the same wall clock, and no work besides requests.
    pub is_exact: bool,
}

impl Answers {
    /// Begins with what is known before the first answer.
    pub fn new(api: KnownApi, server: &str, known: BTreeMap<String, String>) -> Self {
        let taken = known.values().cloned().collect();
        let (server, known) = (server.to_owned(), known.into_iter().collect());
        Self { api, server, known, taken, times: BTreeMap::new(), is_exact: false }
    }

    /// Returns a recorded text with the values of this run.
    pub fn resolve(&self, text: &str) -> String {
        let resolved = pieces(text).into_iter().map(|piece| match piece {
            Piece::Literal(text) => text,
            Piece::Token(hole) | Piece::Placeholder(hole) => match self.known.get(hole) {
                Some(known) => known,
                None if hole == SERVER => &self.server,
                None => (self.api.test_card)(hole).unwrap_or(hole),
            },
        });
        resolved.collect()
    }

    /// Does so with every text of a value; times and days move.
    pub fn resolve_all(&self, value: &mut Value, shift: TimeShift) {
        match value {
            Value::String(text) => {
                *text = match parse_time(text).map(Timestamp::from) {
                    Some(time) if text.contains('T') => self.moved(time, shift).to_string(),
                    // The text of a day may be spelled in several ways.
                    Some(day) if shift.days != 0 => day.day().plus(shift.days).date().to_string(),
                    Some(_) => return,
                    None => self.resolve(text),
                };
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.resolve_all(item, shift)),
            Value::Object(fields) => {
                for field in fields.values_mut() {
                    self.resolve_all(field, shift);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns a recorded time as one of this run: a move of the clock to just behind a renewal stays just behind it, though more or
    /// less time has passed since the subscription was made. What lies further behind moves by the wall clock: a midnight, which does not
    /// move, is no measure for the next day.
    fn moved(&self, time: Timestamp, shift: TimeShift) -> Timestamp {
        const JUST_BEHIND: TimeSpan = TimeSpan::seconds(60 * 60);
        match self.times.range(..=time).next_back() {
            Some((recorded, known)) if time - *recorded <= JUST_BEHIND => *known + (time - *recorded),
            Some(_) | None => time + shift.later,
        }
    }

    /// Compares an answer with the recorded one, and learns from it.
    pub fn compare(&mut self, recorded: &Exchange, answered: &ExactResponse) -> Vec<Difference> {
        if recorded.status != answered.status {
            let status = format!("{} {}", answered.status, answered.code()).trim_end().to_owned();
            return vec![Difference {
                at: "status".into(),
                recorded: recorded.status.to_string(),
                answered: status,
            }];
        }
        let mut differences = Vec::new();
        let pairs = [
            ("replayed", recorded.replayed.into(), answered.is_replayed.into()),
            ("location", recorded.location.clone().into(), answered.header(LOCATION).into()),
        ];
        for (at, recorded, answered) in &pairs {
            self.compare_values(at, recorded, answered, &mut differences);
        }
        self.compare_values("", &recorded.body, &answered.body, &mut differences);
        differences
    }

    fn compare_values<'v>(
        &mut self,
        at: &str,
        recorded: &'v Value,
        answered: &'v Value,
        differences: &mut Vec<Difference>,
    ) {
        let nested = |value| nested_object(at.rsplit('.').next().unwrap_or_default(), value);
        if let (Some(recorded), Some(answered)) = (nested(recorded), nested(answered)) {
            return self.compare_values(at, &recorded, &answered, differences);
        }
        match (recorded, answered) {
            (Value::Object(one), Value::Object(other)) => {
                let (one, other) = (by_names(one), by_names(other));
                let names = one.iter().map(|(name, _)| name).chain(
                    other
                        .iter()
                        .map(|(name, _)| name)
                        .filter(|name| !one.iter().any(|(known, _)| known == *name)),
                );
                for name in names.filter(|name| !NOT_COMPARED.contains(&name.as_str())) {
                    let field = |of: &[(String, &'v Value)]| {
                        of.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
                    };
                    let dot = if at.is_empty() { "" } else { "." };
                    let at = format!("{at}{dot}{name}");
                    if !self.is_exact && OF_THE_CLOCK.contains(&at.as_str()) {
                        continue;
                    }
                    match (field(&one), field(&other)) {
                        (Some(one), Some(other)) => self.compare_values(&at, one, other, differences),
                        (one, other) => differences.push(Difference::new(at, one, other)),
                    }
                }
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                for (index, (one, other)) in one.iter().zip(other).enumerate() {
                    self.compare_values(&format!("{at}[{index}]"), one, other, differences);
                }
            }
            (Value::String(one), Value::String(other)) => {
                let are_times = !self.is_exact && is_time(one) && is_time(other);
                if are_times {
                    self.learn_time(one, other);
                } else if !self.agree(one, other) {
                    differences.push(Difference::new(at.to_owned(), Some(recorded), Some(answered)));
                }
            }
            (one, other) if one == other => {}
            _ => differences.push(Difference::new(at.to_owned(), Some(recorded), Some(answered))),
        }
    }

    /// Remembers a time of this run, so that a request which names the recorded one names this.
    fn learn_time(&mut self, recorded: &str, answered: &str) {
        let time = |text: &str| parse_time(text).filter(|_| text.contains('T')).map(Timestamp::from);
        if let (Some(recorded), Some(answered)) = (time(recorded), time(answered)) {
            self.times.entry(recorded).or_insert(answered);
        }
    }

    /// Returns whether a text is the recorded one, but for what each run draws again; that is known from now on.
    fn agree(&mut self, recorded: &str, answered: &str) -> bool {
        let pieces = pieces(recorded);
        let (mut rest, mut learned) = (answered, Vec::new());
        for (index, piece) in pieces.iter().enumerate() {
            let hole = match *piece {
                Piece::Literal(text) => match rest.strip_prefix(text) {
                    Some(after) => {
                        rest = after;
                        continue;
                    }
                    None => return false,
                },
                Piece::Token(hole) | Piece::Placeholder(hole) => hole,
            };
            let end = match (*piece, pieces.get(index + 1)) {
                (Piece::Token(_), _) => Some(hole.len()),
                (_, Some(Piece::Literal(next))) => rest.find(next),
                (_, _) => Some(rest.len()),
            };
            let Some(value) = end.and_then(|end| rest.get(..end)) else { return false };
            rest = &rest[value.len()..];
            let is_like = !matches!(piece, Piece::Token(_)) || is_token_like(hole, value);
            match self.known.get(hole) {
                Some(known) if known == value => {}
                None if is_like && !self.taken.contains(value) => learned.push((hole, value)),
                Some(_) | None => return false,
            }
        }
        if !rest.is_empty() {
            return false;
        }
        for (hole, value) in learned {
            self.known.insert(hole.to_owned(), value.to_owned());
            self.taken.insert(value.to_owned());
        }
        true
    }
}

impl Difference {
    fn new(at: String, recorded: Option<&Value>, answered: Option<&Value>) -> Self {
        // An address to return to names its session.
        let is_secret = at == "location" || at.rsplit('.').next().is_some_and(is_drawn);
        let shown = |value: Option<&Value>| match value {
            None => "absent".to_owned(),
            Some(Value::String(_)) if is_secret => "a secret".to_owned(),
            Some(value) => {
                let mut value = value.clone();
                without_secrets(&mut value);
                let text = value.to_string();
                match text.char_indices().nth(SHOWN_LETTERS) {
                    Some((end, _)) => format!("{}…", &text[..end]),
                    None => text,
                }
            }
        };
        let (recorded, answered) = (shown(recorded), shown(answered));
        Self { at, recorded, answered }
    }
}

/// Returns the fields; of names that are times, their number in place of the time.
fn by_names(fields: &serde_json::Map<String, Value>) -> Vec<(String, &Value)> {
    let named = fields.iter().enumerate().map(|(index, (name, value))| {
        let name = if is_time(name) { format!("time {}", index + 1) } else { name.clone() };
        (name, value)
    });
    named.collect()
}

fn is_time(text: &str) -> bool {
    parse_time(text.trim_end_matches(" UTC")).is_some()
}

fn is_token_like(recorded: &str, answered: &str) -> bool {
    let prefix = recorded.split('_').next();
    is_token(answered) && answered.split('_').next() == prefix
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use serde_json::json;

    use super::*;

    const API: KnownApi = KnownApi {
        version: "",
        document: || Value::Null,
        strict_only: "",
        faults: |_, _| Vec::new(),
        error: |_| None,
        test_card: |_| None,
    };

    #[test]
    fn a_time_just_behind_one_that_was_answered_stays_as_far_behind_it() {
        let mut answers = Answers::new(API, "http://127.0.0.1:1", BTreeMap::new());
        // A subscription that was made two seconds after the first answer, and in this run seven seconds after it.
        answers.learn_time("2026-04-02T10:00:02Z", "2026-04-02T11:00:07Z");
        let recorded = "2026-03-02T10:00:00Z".parse::<DateTime<Utc>>().unwrap();
        let shift = TimeShift::between(recorded.into(), (recorded + TimeDelta::hours(1)).into());
        for (recorded, sent) in [
            ("2026-04-02T10:00:02Z", "2026-04-02T11:00:07Z"),
            ("2026-04-02T10:00:03Z", "2026-04-02T11:00:08Z"),
            ("2026-04-02T11:00:02Z", "2026-04-02T12:00:07Z"),
            ("2026-04-02T10:00:01Z", "2026-04-02T11:00:01Z"),
            ("2026-04-02T11:00:03Z", "2026-04-02T12:00:03Z"),
        ] {
            let mut parameters = json!({ "to": recorded });
            answers.resolve_all(&mut parameters, shift);
            assert_eq!(parameters["to"], sent, "{recorded}");
        }
    }
}
