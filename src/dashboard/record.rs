//! HTML of records as the API shows them. A page takes what it shows of a record from the API's response, so it never
//! shows more than the API does.

use entity::{Currency, Timestamp};
use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};

use super::format;
use crate::error::Error;
use crate::limits::PER_PAGE_MAX;
use crate::params::{Paging, Params};

/// A record as JSON, and the account's now.
pub struct Record {
    json: Value,
    now: Timestamp,
}

impl Record {
    /// Serialises a record as a response shows it.
    pub fn new(now: Timestamp, view: &impl Serialize) -> Result<Self, Error> {
        Ok(Self { json: serde_json::to_value(view)?, now })
    }

    /// Serialises records, each as a response shows it.
    pub fn each<T: Serialize>(now: Timestamp, views: &[T]) -> Result<Vec<Self>, Error> {
        views.iter().map(|view| Self::new(now, view)).collect()
    }

    /// Returns the record at a pointer (RFC 6901).
    pub fn at(&self, pointer: &str) -> Self {
        self.inner(self.value(pointer))
    }

    fn inner(&self, json: &Value) -> Self {
        Self { json: json.clone(), now: self.now }
    }

    /// Returns the records of the list at a pointer.
    pub fn all(&self, pointer: &str) -> Vec<Self> {
        self.value(pointer).as_array().into_iter().flatten().map(|item| self.inner(item)).collect()
    }

    pub fn entries(&self, pointer: &str) -> Vec<(String, Self)> {
        let entries = self.value(pointer).as_object().into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), self.inner(value))).collect()
    }

    /// Returns the value at a pointer, or null.
    pub fn value(&self, pointer: &str) -> &Value {
        self.json.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// Returns a text, or an empty one.
    pub fn text(&self, pointer: &str) -> &str {
        self.value(pointer).as_str().unwrap_or_default()
    }

    /// Returns an integer, if there is one.
    pub fn number(&self, pointer: &str) -> Option<i64> {
        self.value(pointer).as_i64()
    }

    /// Returns the record itself as text, if it is a scalar.
    pub fn word(&self) -> String {
        match &self.json {
            Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => self.json.to_string(),
        }
    }

    /// Returns whether a flag is set.
    pub fn is(&self, pointer: &str) -> bool {
        self.value(pointer).as_bool() == Some(true)
    }

    /// Renders an amount in the record's currency.
    pub fn money(&self, pointer: &str) -> Markup {
        money(Currency::parse(self.text("/currency")), self.number(pointer))
    }

    /// Renders an amount in AUD cents.
    pub fn cents(&self, pointer: &str) -> Markup {
        money(Some(Currency::Aud), self.number(pointer))
    }

    pub fn time(&self, pointer: &str) -> Markup {
        self.some_time(pointer, format::time)
    }

    /// Renders how long ago a time was.
    pub fn ago(&self, pointer: &str) -> Markup {
        self.some_time(pointer, format::ago)
    }

    fn some_time(&self, pointer: &str, rendered: fn(&str, Timestamp) -> Markup) -> Markup {
        match self.text(pointer) {
            "" => nothing(),
            text => rendered(text, self.now),
        }
    }

    /// Renders a token, as a link if it has a page.
    pub fn token(&self, pointer: &str) -> Markup {
        token(self.text(pointer))
    }

    /// Renders a status.
    pub fn state(&self, pointer: &str) -> Markup {
        format::status(self.text(pointer))
    }

    /// Renders the value at a pointer as JSON.
    pub fn json(&self, pointer: &str) -> Markup {
        html! { pre tabindex="0" { code { (format!("{:#}", self.value(pointer))) } } }
    }

    /// Renders the whole record as JSON.
    pub fn whole(&self) -> Markup {
        html! {
            details {
                summary { "The record as the API shows it" }
                (self.json(""))
            }
        }
    }
}

/// Renders the placeholder of an absent value.
fn nothing() -> Markup {
    html! { span.nothing { "none" } }
}

fn money(currency: Option<Currency>, amount: Option<i64>) -> Markup {
    currency.zip(amount).map_or_else(nothing, |(currency, amount)| format::money(currency, amount))
}

/// The pages of records, by token prefix.
const OF_TOKENS: [(&str, &str); 7] = [
    ("ch_", "charges"),
    ("cus_", "customers"),
    ("sub_", "subscriptions"),
    ("tfer_", "transfers"),
    ("dis_", "disputes"),
    ("evt_", "events"),
    ("whr_", "webhooks"),
];

/// Returns the name of the pages of a token's kind of record, if it has any.
pub fn page_name(token: &str) -> Option<&'static str> {
    OF_TOKENS.iter().find(|(prefix, _)| token.starts_with(prefix)).map(|(_, page)| *page)
}

/// Renders a token, as a link if it has a page.
pub fn token(text: &str) -> Markup {
    match page_name(text) {
        Some(page) => html! { a.token href={ "/dashboard/" (page) "/" (text) } { (text) } },
        None if text.is_empty() => nothing(),
        None => html! { code.token { (text) } },
    }
}

/// Renders facts, each under its name.
pub fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl {
            @for (name, fact) in facts { div { dt { (name) } dd { (fact) } } }
        }
    }
}

/// Renders a text, or the placeholder.
pub fn words(text: &str) -> Markup {
    if text.is_empty() {
        nothing()
    } else {
        html! { (text) }
    }
}

/// Renders a text in a table: a long one is cut, and stands whole in its hint.
pub fn brief(text: &str) -> Markup {
    const LETTERS: usize = 80;
    let cut = text.char_indices().nth(LETTERS).and_then(|(end, _)| text.get(..end));
    cut.map_or_else(|| words(text), |cut| html! { span title=(text) { (cut) "…" } })
}

/// Renders the ways to the requests and events about a record, which tests can search.
pub fn traces(token: &str) -> Markup {
    html! {
        p {
            a href={ "/dashboard/requests?token=" (token) } { "Its requests" } " · "
            a href={ "/dashboard/events?about=" (token) } { "Its events" }
        }
    }
}

/// Returns the parameters of a list's first page.
pub fn first_page() -> Params<Paging> {
    Paging::read(&json!({}))
}

/// Returns the parameters of the longest first page, for lists shown whole next to a record.
pub fn longest_page() -> Params<Paging> {
    Paging::read(&json!({ "per_page": PER_PAGE_MAX }))
}
