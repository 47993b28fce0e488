//! HTML of records as the API shows them. A page takes what it shows of a record from the API's response, so it never
//! shows more than the API does.

use entity::Currency;
use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::layout::{PageContent, PageResult};
use crate::error::Error;
use crate::limits::PER_PAGE_MAX;
use crate::params::{Paging, Params};
use crate::services::page::ListPage;

/// A record, as JSON.
pub struct Record(Value);

impl Record {
    /// Serialises a record as a response shows it.
    pub fn of(view: &impl Serialize) -> Result<Self, Error> {
        Ok(Self(serde_json::to_value(view)?))
    }

    /// Serialises records, each as a response shows it.
    pub fn each<T: Serialize>(views: &[T]) -> Result<Vec<Self>, Error> {
        views.iter().map(Self::of).collect()
    }

    /// Returns the record at a pointer (RFC 6901).
    pub fn at(&self, pointer: &str) -> Self {
        Self(self.value(pointer).clone())
    }

    /// Returns the records of the list at a pointer.
    pub fn all(&self, pointer: &str) -> Vec<Self> {
        self.value(pointer).as_array().into_iter().flatten().cloned().map(Self).collect()
    }

    /// Returns the entries of the object at a pointer.
    pub fn entries(&self, pointer: &str) -> Vec<(String, Self)> {
        let entries = self.value(pointer).as_object().into_iter().flatten();
        entries.map(|(name, value)| (name.clone(), Self(value.clone()))).collect()
    }

    fn value(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
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

    /// Renders an amount in the record's currency.
    pub fn money(&self, pointer: &str) -> Markup {
        money(Currency::parse(self.text("/currency")), self.number(pointer))
    }

    /// Renders an amount in AUD cents.
    pub fn cents(&self, pointer: &str) -> Markup {
        money(Some(Currency::Aud), self.number(pointer))
    }

    /// Renders a time.
    pub fn time(&self, pointer: &str) -> Markup {
        time(self.text(pointer))
    }

    /// Renders a token, as a link if it has a page.
    pub fn token(&self, pointer: &str) -> Markup {
        token(self.text(pointer))
    }

    /// Renders a status.
    pub fn state(&self, pointer: &str) -> Markup {
        html! { span.state { (self.text(pointer).replace('_', " ")) } }
    }

    /// Renders the whole record as JSON.
    pub fn whole(&self) -> Markup {
        html! {
            details {
                summary { "The record as the API shows it" }
                pre tabindex="0" { code { (format!("{:#}", self.0)) } }
            }
        }
    }
}

/// Renders the placeholder of an absent value.
fn nothing() -> Markup {
    html! { span.nothing { "none" } }
}

fn money(currency: Option<Currency>, amount: Option<i64>) -> Markup {
    let words = currency.zip(amount).map(|(currency, amount)| currency.in_words(amount));
    words.map_or_else(nothing, |words| html! { span.money { (words) } })
}

/// Renders a time such as `2026-03-02T10:00:00Z` for people.
pub fn time(text: &str) -> Markup {
    if text.is_empty() {
        return nothing();
    }
    html! { time datetime=(text) { (text.trim_end_matches('Z').replace('T', " ")) } }
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

/// Renders a token, as a link if it has a page.
pub fn token(text: &str) -> Markup {
    let page = OF_TOKENS.iter().find(|(prefix, _)| text.starts_with(prefix));
    match page {
        Some((_, page)) => html! { a.token href={ "/dashboard/" (page) "/" (text) } { (text) } },
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

/// A column: its heading, and what it shows of a record.
pub type Column = (&'static str, fn(&Record) -> Markup);

/// Renders a table of records under a caption.
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

/// Renders a page of a list, with links to the other pages. `here` is its address with its query.
pub fn list<T: Serialize>(
    caption: &str,
    columns: &[Column],
    page: ListPage<T>,
    here: &Address,
) -> Result<Markup, Error> {
    let ListPage { records, count, paging } = page;
    let records = Record::each(&records)?;
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

/// Creates the page of a section's list, which GET of the same path below /1 answers, too.
pub fn section<T: Serialize>(title: &str, columns: &[Column], page: ListPage<T>) -> PageResult {
    let name = title.to_lowercase();
    let same = Address::of(format!("/1/{name}")).page(page.paging).to_string();
    let here = Address::of(format!("/dashboard/{name}"));
    Ok(PageContent::of(same, title, list(&format!("{title}, newest first"), columns, page, &here)?))
}

/// Returns the parameters of a list's first page.
pub fn first_page() -> Params<Paging> {
    Paging::read(&json!({}))
}

/// Returns the parameters of the longest first page, for lists shown whole next to a record.
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
    /// Creates an address from a path.
    pub fn of(path: impl Into<String>) -> Self {
        Self { path: path.into(), query: Vec::new() }
    }

    /// Adds a parameter, unless it is blank.
    #[must_use]
    pub fn with(mut self, name: &'static str, text: &str) -> Self {
        if !text.is_empty() {
            self.query.push((name, text.to_owned()));
        }
        self
    }

    /// Adds the page number, unless it is the first one.
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
