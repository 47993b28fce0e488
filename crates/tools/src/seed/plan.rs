//! The plan of a file: its requests, each with its line, its time and the records that it names. All faults that need no
//! server are found here, by the server's own rules of parameters.

use std::collections::HashMap;

use entity::{TimeSpan, Timestamp};
use http::Method;
use serde_json::{Value, json};

use super::faults::Faults;
use super::nouns::{self, Section};
use super::times::{LENGTHS, Length, TimeOffset};
use super::yaml::{self, Named, Node};
use crate::known_api::{KnownApi, ParameterFault, Parameters};

#[derive(Debug, Clone)]
pub struct SeedRequest {
    /// The entry that it is about: `charges/lamp`.
    pub what: String,
    pub line: usize,
    /// The time of the request, from the beginning.
    pub when: TimeOffset,
    /// HTTP method.
    pub method: Method,
    /// The path; `{}` stands for the token of `of`.
    pub path: String,
    /// The record in the path.
    pub of: Option<String>,
    pub parameters: Value,
    /// The parameters that are tokens, and the entries they name.
    pub tokens: Vec<(&'static str, String)>,
    /// The decline that the request forces and expects.
    pub declined: Option<String>,
    /// Whether the response is the entry's record.
    pub makes: bool,
}

/// The contents of a file.
#[derive(Debug, Default)]
pub struct SeedPlan {
    /// Its requests; those of the same time in this order.
    pub steps: Vec<SeedRequest>,
    /// The time at which it ends, if the file says so.
    pub until: Option<TimeOffset>,
}

/// Reads a file. If there are faults, the result must not be used.
pub fn read(text: &str, api: &KnownApi, faults: &mut Faults) -> SeedPlan {
    let mut plan = SeedPlan::default();
    let Some(root) = yaml::parse(text, faults) else { return plan };
    let Some(parts) = root.named() else {
        faults.add(root.line, "is not the beginning of fixtures: sections such as customers: are");
        return plan;
    };
    for Named { line, name, node } in parts {
        match name.as_str() {
            "account" => plan.steps.extend(account(*line, node, api, faults)),
            "until" => match node.text().as_deref().and_then(Length::parse) {
                Some(length) => plan.until = Some(TimeOffset::default().later(Some(length))),
                None => faults.add(*line, format!("until is not a length of time, {LENGTHS}")),
            },
            name if nouns::SECTIONS.iter().any(|section| section.name == name) => {}
            name => faults
                .add(*line, format!("{name} is no section: there are account, {}, until", nouns::names())),
        }
    }
    let mut known = HashMap::new();
    for section in nouns::SECTIONS {
        let Some(part) = parts.iter().find(|part| part.name == section.name) else { continue };
        let Some(entries) = part.node.named() else {
            faults.add(part.line, format!("{} is not a mapping of names", section.name));
            continue;
        };
        for Named { line, name, node } in entries {
            let what = format!("{}/{name}", section.name);
            if !is_name(name) {
                faults.add(*line, format!("{what}: a name is up to 50 letters, digits, - and _"));
            }
            let Some(fields) = node.named() else {
                faults.add(*line, format!("{what} is not a mapping of fields"));
                continue;
            };
            let mut entry = Entry {
                section,
                what,
                name,
                line: *line,
                fields,
                known: &known,
                parts,
                api,
                faults: &mut *faults,
            };
            let steps = entry.steps();
            if let Some(made) = steps.first().filter(|made| made.makes) {
                known.insert(made.what.clone(), made.when.clone());
            }
            plan.steps.extend(steps);
        }
    }
    plan
}

fn is_name(name: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    (1..=50).contains(&name.len()) && name.chars().all(letters)
}

/// Returns the request that sets the account's switches, before all others.
fn account(line: usize, node: &Node, api: &KnownApi, faults: &mut Faults) -> Option<SeedRequest> {
    const FIELDS: [&str; 6] =
        ["disputes", "wallet", "partner", "transfers_enabled", "transfers_schedule", "settlement_delay_days"];
    let Some(fields) = node.named() else {
        faults.add(line, "account is not a mapping of fields");
        return None;
    };
    for field in fields.iter().filter(|field| !FIELDS.contains(&field.name.as_str())) {
        faults
            .add(field.line, format!("account: {} is no field: there are {}", field.name, FIELDS.join(", ")));
    }
    let parameters = node.json();
    for ParameterFault { param, message } in (api.faults)(Parameters::Account, &parameters) {
        let at = fields.iter().find(|field| field.name == param).map_or(line, |field| field.line);
        faults.add(at, format!("account: {message}"));
    }
    Some(SeedRequest {
        what: "account".into(),
        line,
        when: TimeOffset::default(),
        method: Method::PUT,
        path: "/1/sandbox/account".into(),
        of: None,
        parameters,
        tokens: Vec::new(),
        declined: None,
        makes: false,
    })
}

pub struct Entry<'a> {
    pub section: &'static Section,
    /// `charges/lamp`.
    pub what: String,
    /// `lamp`.
    pub name: &'a str,
    line: usize,
    fields: &'a [Named],
    /// The entries so far, and when each is created.
    known: &'a HashMap<String, TimeOffset>,
    parts: &'a [Named],
    api: &'a KnownApi,
    faults: &'a mut Faults,
}

/// The days on which a run may begin, as far as months differ: those of two years, one of which is a leap year.
const FIRST_START: Timestamp = Timestamp::from_millis(1_798_761_600_000);
const DAYS: i64 = 731;

impl Entry<'_> {
    fn steps(&mut self) -> Vec<SeedRequest> {
        for field in self.fields {
            if field.name != "after" && !self.section.fields.contains(&field.name.as_str()) {
                let fields = self.section.fields.join(", ");
                self.fault(field.line, format!("{} is no field: there are {fields}, after", field.name));
            }
        }
        (self.section.steps)(self)
    }

    fn fault(&mut self, line: usize, problem: impl std::fmt::Display) {
        self.faults.add(line, format!("{}: {problem}", self.what));
    }

    /// Returns a field, unless it is absent or empty.
    pub fn field(&self, name: &str) -> Option<&Named> {
        self.fields.iter().find(|field| field.name == name && !field.node.json().is_null())
    }

    /// Returns the text of a field.
    pub fn words(&self, name: &str) -> Option<String> {
        self.field(name)?.node.text().map(Into::into)
    }

    /// Returns the text of a field; any other value is a fault.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let text = self.words(name);
        if text.is_none() && self.field(name).is_some() {
            self.wrong(name, "is not a text");
        }
        text
    }

    /// Adds a fault of a field, present or not.
    pub fn wrong(&mut self, field: &str, problem: impl std::fmt::Display) {
        let line = self.fields.iter().find(|known| known.name == field).map_or(self.line, |known| known.line);
        self.fault(line, format!("{field} {problem}"));
    }

    /// Returns these fields as parameters of the same names.
    pub fn parameters(&self, names: &[&str]) -> Value {
        let fields = self.fields.iter().filter(|field| names.contains(&field.name.as_str()));
        fields.map(|field| (field.name.clone(), field.node.json())).collect::<serde_json::Map<_, _>>().into()
    }

    /// Returns the length of time in a field.
    pub fn length(&mut self, field: &str) -> Option<Length> {
        let text = self.field(field)?.node.text().map(std::borrow::Cow::into_owned);
        let length = text.as_deref().and_then(Length::parse);
        if length.is_none() {
            self.wrong(field, format!("is not a length of time, {LENGTHS}"));
        }
        length
    }

    /// Returns the entry of another section that a field names.
    pub fn named(&mut self, field: &'static str, section: &'static str) -> Option<String> {
        let Some(name) = self.words(field) else {
            self.wrong(field, format!("is missing: a name of {section}"));
            return None;
        };
        let what = format!("{section}/{name}");
        if self.known.contains_key(&what) {
            return Some(what);
        }
        match self.other(section, &name) {
            None => self.wrong(field, format!("names {name}, which is not in {section}")),
            Some(fields) if fields.iter().any(|field| field.name == "declined") => {
                self.wrong(field, format!("names {name}, which is declined"));
            }
            // A wrong entry, which has faults already.
            Some(_) => {}
        }
        None
    }

    /// Returns the fields of an entry of another section.
    pub fn other(&self, section: &str, name: &str) -> Option<&[Named]> {
        let part = self.parts.iter().find(|part| part.name == section)?;
        let found = part.node.named()?.iter().find(|named| named.name == name)?;
        Some(found.node.named().unwrap_or_default())
    }

    /// Returns when it happens: after the beginning, or after the entry it is about, and not before the entries it needs.
    pub fn when(&mut self, about: Option<&str>, needs: &[&str]) -> TimeOffset {
        let length = self.length("after");
        let base = about.and_then(|what| self.known.get(what)).cloned().unwrap_or_default();
        let when = base.later(length);
        for &needed in needs {
            // Months differ: on whatever day a run begins.
            let mut starts = (0..DAYS).map(|day| FIRST_START + TimeSpan::days(day));
            let made = self
                .known
                .get(needed)
                .is_none_or(|made| starts.all(|start| made.at(start) <= when.at(start)));
            if !made {
                self.wrong("after", format!("is too early: {needed} is not there yet"));
            }
        }
        when
    }

    /// Checks parameters by the server's own rules. `spelled` maps parameters to fields of other names.
    pub fn check(&mut self, of: Parameters, parameters: &Value, spelled: &[(&str, &'static str)]) {
        for ParameterFault { param, message } in (self.api.faults)(of, parameters) {
            let head = param.split('.').next().unwrap_or_default();
            let field = spelled.iter().find(|(known, _)| *known == head).map_or(head, |(_, field)| *field);
            let line = line_of(self.fields, field, &param).unwrap_or(self.line);
            self.fault(line, message);
        }
    }

    /// Makes the request that creates it.
    pub fn creation(&self, path: &str, parameters: Value, when: TimeOffset) -> SeedRequest {
        SeedRequest {
            what: self.what.clone(),
            line: self.line,
            when,
            method: Method::POST,
            path: path.into(),
            of: None,
            parameters,
            tokens: Vec::new(),
            declined: None,
            makes: true,
        }
    }

    /// Makes a request about it, or about another named entry.
    pub fn follow(&self, method: Method, path: &str, of: &str, when: TimeOffset) -> SeedRequest {
        SeedRequest { method, of: Some(of.into()), makes: false, ..self.creation(path, json!({}), when) }
    }
}

/// Returns the line of a parameter, as deep as it can be found.
fn line_of(fields: &[Named], field: &str, param: &str) -> Option<usize> {
    let found = fields.iter().find(|named| named.name == field)?;
    let inner = param
        .split_once('.')
        .and_then(|(_, rest)| line_of(found.node.named()?, rest.split('.').next().unwrap_or_default(), rest));
    Some(inner.unwrap_or(found.line))
}
