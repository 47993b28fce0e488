//! A receiver of webhooks.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Account, ApiError, text};

/// Receives an account's webhooks inside the server, which verifies their signatures. Waits take whole seconds, at most 30.
#[derive(Debug)]
pub struct Inbox<'a> {
    /// Its address.
    pub url: String,
    account: &'a Account<'a>,
    path: String,
    taken: Mutex<BTreeSet<String>>,
}

impl<'a> Inbox<'a> {
    pub(crate) fn open(account: &'a Account<'a>) -> Self {
        let inbox = account.request("POST", "/1/sandbox/inboxes", &json!({})).expect("an inbox");
        let url = text(&inbox, "url");
        account.request("POST", "/1/webhook_endpoints", &json!({ "url": url })).expect("a webhook endpoint");
        let path = format!("/1/sandbox/inboxes/{}", text(&inbox, "token"));
        Self { url, account, path, taken: Mutex::default() }
    }

    /// Orders the answer from the next delivery on: status, `latency_ms`, fault (hang or reset), every (only each nth).
    pub fn answer(&self, answer: &Value) -> Result<Value, ApiError> {
        self.account.request("PUT", &self.path, answer)
    }

    /// Returns the last 1,000 deliveries, the oldest first, once there are so many, or after ten seconds with fewer. Each has number,
    /// headers, body, signature (valid, invalid or missing) and its answer.
    #[must_use]
    pub fn deliveries(&self, count: u64) -> Vec<Value> {
        self.read(count, PATIENCE)
    }

    fn read(&self, count: u64, patience: Duration) -> Vec<Value> {
        let seconds = patience.as_millis().div_ceil(1000);
        let wait = if count > 0 { format!("&count={count}&wait={seconds}") } else { String::new() };
        let path = format!("{}/deliveries?per_page=500", self.path);
        let page = |which: &str| {
            let page = self.account.request("GET", &(path.clone() + which), &Value::Null);
            page.expect("the deliveries").as_array().cloned().unwrap_or_default()
        };
        let mut deliveries = page(&wait);
        if deliveries.len() == 500 {
            let last = deliveries[499]["number"].as_u64();
            let older = page("&page=2").into_iter().filter(|delivery| delivery["number"].as_u64() < last);
            deliveries.extend(older);
        }
        deliveries.reverse();
        deliveries
    }

    /// Returns the next signed event of a type, each once. Panics once nothing arrives for ten seconds.
    #[must_use]
    pub fn wait_for(&self, event_type: &str) -> Value {
        self.next(PATIENCE, event_type)
            .unwrap_or_else(|types| panic!("no {event_type} within ten seconds, but {types:?}"))
    }

    /// Returns the next signed event of a type, each once, unless nothing arrives for so long.
    #[must_use]
    pub fn wait_at_most(&self, patience: Duration, event_type: &str) -> Option<Value> {
        self.next(patience, event_type).ok()
    }

    /// Returns the event, or the types of those that arrived.
    fn next(&self, patience: Duration, event_type: &str) -> Result<Value, Vec<String>> {
        let mut count = 1;
        loop {
            let (mut received, mut types) = (0, Vec::new());
            for delivery in self.read(count, patience) {
                received = received.max(delivery["number"].as_u64().expect("a number"));
                if delivery["signature"] != "valid" {
                    continue;
                }
                let event: Value = serde_json::from_str(&text(&delivery, "body")).expect("an event");
                let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
                if event["type"] == event_type && taken.insert(text(&event, "token")) {
                    return Ok(event);
                }
                types.push(text(&event, "type"));
            }
            // The inbox keeps no more, and more cannot be waited for.
            if received < count || received >= 1000 {
                return Err(types);
            }
            count = received + 1;
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
