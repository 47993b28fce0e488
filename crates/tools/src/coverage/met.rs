//! The goals that were met, by a recording or a server's log.

use std::collections::BTreeSet;

use entity::event::EventType;
use recording::{Exchange, nested_object};
use serde_json::Value;

use super::goals::{
    ACCEPTED, APPROVED, DECLINED, EXPIRED, FAILED, Part, REFUSED, REPLAY, UNAVAILABLE, VERIFY, of_error,
};
use crate::document::Operations;

/// The goals that were met, by their names.
#[derive(Default)]
pub struct Met(BTreeSet<(Part, String)>);

impl Met {
    /// Returns whether a goal was met.
    pub fn contains(&self, part: Part, name: &str) -> bool {
        self.0.contains(&(part, name.to_owned()))
    }

    fn add(&mut self, part: Part, name: impl Into<String>) {
        self.0.insert((part, name.into()));
    }

    /// Adds a request with its answer.
    pub fn add_exchange(&mut self, operations: &Operations, exchange: &Exchange) {
        let path = exchange.path.split('?').next().unwrap_or_default();
        let Some(operation) = operations.find(&exchange.method, path) else { return };
        let is_success = (200..400).contains(&exchange.status);
        if exchange.replayed {
            self.add(Part::GeneralErrors, REPLAY);
        }
        if is_success {
            self.add(Part::Operations, operation.name());
            self.add_records(&exchange.body);
            let page = exchange.parameters.get("page").map(|page| page.to_string().replace('"', ""));
            if page.and_then(|page| page.parse::<u64>().ok()).is_some_and(|page| page > 1) {
                self.add(Part::Pages, operation.name());
            }
        } else if let Some((part, name)) = of_error(operation, error_code(&exchange.body)) {
            self.add(part, name);
        }
        if operation.path == VERIFY {
            self.add_challenge(exchange, is_success);
        }
    }

    fn add_challenge(&mut self, exchange: &Exchange, is_success: bool) {
        let name = match error_code(&exchange.body) {
            // A log keeps no answers that succeed.
            _ if is_success && exchange.body["response"]["success"] == false => DECLINED,
            _ if is_success => APPROVED,
            "transaction_forbidden" => FAILED,
            "three_d_secure_unavailable" => UNAVAILABLE,
            "not_found" => EXPIRED,
            _ => return,
        };
        self.add(Part::ThreeDSecure, name);
    }

    /// Adds the events and webhooks in an answer, however deep they stand.
    pub fn add_records(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.add_records(item)),
            Value::Object(fields) => {
                self.add_event(value);
                self.add_webhook(value);
                for (name, field) in fields {
                    match nested_object(name, field) {
                        Some(body) => self.add_records(&body),
                        None => self.add_records(field),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn add_event(&mut self, record: &Value) {
        let what = record["type"].as_str().and_then(EventType::from_code);
        if let Some(what) = what.filter(|_| has_prefix(record, "token", "evt_")) {
            self.add(Part::Events, what.code());
        }
    }

    fn add_webhook(&mut self, record: &Value) {
        let is_webhook = has_prefix(record, "token", "whr_");
        let is_delivery = record.get("signature_error").is_some();
        let name = match (record["status"].as_str(), record["status"].as_u64()) {
            (Some("completed"), _) if is_webhook => ACCEPTED,
            (Some("retrying" | "failed"), _) if is_webhook => REFUSED,
            (_, Some(200..=299)) if is_delivery => ACCEPTED,
            (_, Some(_)) if is_delivery => REFUSED,
            _ => return,
        };
        self.add(Part::Webhooks, name);
    }
}

fn has_prefix(record: &Value, field: &str, prefix: &str) -> bool {
    record[field].as_str().is_some_and(|text| text.starts_with(prefix))
}

fn error_code(body: &Value) -> &str {
    // The body of one error is an array.
    body.get(0).unwrap_or(body)["error"].as_str().unwrap_or_default()
}
