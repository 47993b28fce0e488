//! Records as the API shows them, as HTML. What a page shows of a record is taken from its answer, so no page tells more than
//! the API does.

use entity::Currency;
use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::error::Error;
use crate::limits::PER_PAGE_MAX;
use crate::params::{Paging, Params};
use crate::services::page::ListPage;

/// A record.
pub struct Record(Value);

impl Record {
    /// As an answer shows it.
    pub fn of(view: &impl Serialize) -> Result<Self, Error> {
        Ok(Self(serde_json::to_value(view)?))
    }

    /// One that lies in this one; a pointer of RFC 6901.
    pub fn at(&self, pointer: &str) -> Self {
        Self(self.value(pointer).clone())
    }

    /// The records of a list that lies in this one.
    pub fn all(&self, pointer: &str) -> Vec<Self> {
        self.value(pointer).as_array().into_iter().flatten().cloned().map(Self).collect()
    }

    /// The entries of an object that lies in this one.
    pub fn entries(&self, pointer: &str) -> Vec<(String, Self)> {
        let entries = self.value(pointer).as_object().into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), Self(value.clone()))).collect()
    }

    fn value(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// A text, or nothing.
    pub fn text(&self, pointer: &str) -> &str {
        self.value(pointer).as_str().unwrap_or_default()
    }

    /// An integer, or nothing.
    pub fn number(&self, pointer: &str) -> Option<i64> {
        self.value(pointer).as_i64()
    }

    /// The record itself as one word, where it is one.
    pub fn word(&self) -> String {
        match &self.0 {
            Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => self.0.to_string(),
        }
    }

    /// Whether a flag is set.
    pub fn is(&self, pointer: &str) -> bool {
        self.value(pointer).as_bool() == Some(true)
    }

    /// An amount of the record's currency.
    pub fn money(&self, pointer: &str) -> Markup {
        money(Currency::parse(self.text("/currency")), self.number(pointer))
    }

    /// An amount of AUD cents.
    pub fn cents(&self, pointer: &str) -> Markup {
        money(Some(Currency::Aud), self.number(pointer))
    }

    /// A time.
    pub fn time(&self, pointer: &str) -> Markup {
        time(self.text(pointer))
    }

    /// A token, which leads to its page where it has one.
    pub fn token(&self, pointer: &str) -> Markup {
        token(self.text(pointer))
    }

    /// A word that says where the record stands.
    pub fn state(&self, pointer: &str) -> Markup {
        html! { span.state { (self.text(pointer).replace('_', " ")) } }
    }

    /// All of it.
    pub fn whole(&self) -> Markup {
        html! {
            details {
                summary { "The record as the API shows it" }
                pre tabindex="0" { code { (format!("{:#}", self.0)) } }
            }
        }
    }
}

/// What stands where there is nothing.
fn nothing() -> Markup {
    html! { span.nothing { "none" } }
}

fn money(currency: Option<Currency>, amount: Option<i64>) -> Markup {
    let words = currency.zip(amount).map(|(currency, amount)| currency.in_words(amount));
    words.map_or_else(nothing, |words| html! { span.money { (words) } })
}

/// `2026-03-02T10:00:00Z` as people read it.
pub fn time(text: &str) -> Markup {
    if text.is_empty() {
        return nothing();
    }
    html! { time datetime=(text) { (text.trim_end_matches('Z').replace('T', " ")) } }
}

/// The pages of records, by how their tokens begin.
const OF_TOKENS: [(&str, &str); 7] = [
    ("ch_", "charges"),
    ("cus_", "customers"),
    ("sub_", "subscriptions"),
    ("tfer_", "transfers"),
    ("dis_", "disputes"),
    ("evt_", "events"),
    ("whr_", "webhooks"),
];

/// A token, which leads to its page where it has one.
pub fn token(text: &str) -> Markup {
    let page = OF_TOKENS.iter().find(|(prefix, _)| text.starts_with(prefix));
    match page {
        Some((_, page)) => html! { a.token href={ "/dashboard/" (page) "/" (text) } { (text) } },
        None if text.is_empty() => nothing(),
        None => html! { code.token { (text) } },
    }
}

/// Facts, each under its name.
pub fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl {
            @for (name, fact) in facts { div { dt { (name) } dd { (fact) } } }
        }
    }
}

/// A text, or a sign that there is none.
pub fn words(text: &str) -> Markup {
    if text.is_empty() {
        nothing()
    } else {
        html! { (text) }
    }
}

/// A column: what it is called, and what of a record stands in it.
pub type Column = (&'static str, fn(&Record) -> Markup);

/// A table of records under a caption.
pub fn table(caption: &str, columns: &[Column], records: &[Record]) -> Markup {
    html! {
        div.scroll role="region" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead { tr { @for (name, _) in columns { th scope="col" { (name) } } } }
                tbody {
                    @for record in records {
                        tr { @for (_, cell) in columns { td { (cell(record)) } } }
                    }
                }
            }
        }
        @if records.is_empty() { p.nothing { "There are none." } }
    }
}

/// A page of a list, with the ways to the other pages. `here` is where it stands, with what it was asked for.
pub fn list<T: Serialize>(
    caption: &str,
    columns: &[Column],
    page: ListPage<T>,
    here: &Address,
) -> Result<Markup, Error> {
    let ListPage { records, count, paging } = page;
    let records = records.iter().map(Record::of).collect::<Result<Vec<_>, _>>()?;
    let last = count.div_ceil(paging.per_page).max(1);
    let at = |page: u64| here.clone().with("page", &page.to_string()).to_string();
    Ok(html! {
        (table(caption, columns, &records))
        @if count > paging.per_page || paging.page > 1 {
            nav.pager aria-label="Pages of the list" {
                @if paging.page > 1 { a rel="prev" href=(at(paging.page - 1)) { "Newer" } }
                span { "Page " (paging.page) " of " (last) ", " (count) " in all" }
                @if paging.page < last { a rel="next" href=(at(paging.page + 1)) { "Older" } }
            }
        }
    })
}

/// The first page of a list beside a record.
pub fn first_page() -> Params<Paging> {
    Paging::read(&json!({}))
}

/// The first page, as long as one can be: of a list all of which is shown beside a record.
pub fn longest_page() -> Params<Paging> {
    Paging::read(&json!({ "per_page": PER_PAGE_MAX }))
}

/// An address with its query.
#[derive(Clone)]
pub struct Address {
    path: String,
    query: Vec<(&'static str, String)>,
}

impl Address {
    /// Of a path.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), query: Vec::new() }
    }

    /// The same with a parameter, where it is not blank.
    #[must_use]
    pub fn with(mut self, name: &'static str, text: &str) -> Self {
        if !text.is_empty() {
            self.query.push((name, text.to_owned()));
        }
        self
    }

    /// The same on a page of the list; the first one goes without saying.
    #[must_use]
    pub fn page(self, paging: Paging) -> Self {
        if paging.page > 1 { self.with("page", &paging.page.to_string()) } else { self }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.path)?;
        if self.query.is_empty() {
            return Ok(());
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
        write!(f, "?{query}")
    }
}
