//! The account's events, as a running server's API lists them.

use std::fmt::{self, Display, Formatter};

use card_payments::outbound::api_client::{ApiClient, ApiClientError};
use entity::EventToken;
use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::terminal::HEAD;

/// A page of events, newest first.
pub struct Page {
    pub events: Vec<Event>,
    /// The number of events on all pages.
    pub count: u64,
}

/// One event.
pub struct Event {
    pub head: Head,
    /// The whole event, byte for byte as webhook endpoints get it.
    pub body: Box<RawValue>,
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Head { token, r#type, created_at, data } = &self.head;
        write!(f, "{created_at}  {HEAD}{}{HEAD:#}  {token}  {}", r#type, data.token)
    }
}

/// The parts of an event that a line shows.
#[derive(Deserialize)]
pub struct Head {
    pub token: EventToken,
    pub r#type: String,
    pub created_at: String,
    pub data: Subject,
}

/// The record in an event.
#[derive(Deserialize)]
pub struct Subject {
    pub token: String,
}

#[derive(Deserialize)]
struct Listed {
    response: Vec<Box<RawValue>>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Pagination {
    count: u64,
}

/// Requests a page, counted from 1.
pub async fn page(server: &ApiClient, page: usize, per_page: usize) -> Result<Page, ApiClientError> {
    let path = format!("/1/events?page={page}&per_page={per_page}");
    let text = server.request_text(Method::GET, &path, None).await?;
    read(&text).map_err(|_| ApiClientError::Unintelligible(format!("GET {path}")))
}

fn read(text: &str) -> serde_json::Result<Page> {
    let Listed { response, pagination } = serde_json::from_str(text)?;
    let events = response.into_iter().map(|body| Ok(Event { head: serde_json::from_str(body.get())?, body }));
    Ok(Page { events: events.collect::<serde_json::Result<_>>()?, count: pagination.count })
}
