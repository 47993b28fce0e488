//! The account's events, as a running server's API lists them.

use std::fmt::{self, Display, Formatter};

use base::plain_text::OneLine;
use entity::EventToken;
use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api_client::{ApiClient, ApiClientError};
use crate::terminal::HEAD;

pub struct Event {
    /// The parts that a line of it shows.
    pub head: Head,
    /// The whole event, byte for byte as webhook endpoints get it.
    pub body: Box<RawValue>,
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Head { token, r#type, created_at, data, .. } = &self.head;
        let (created_at, kind, subject) = (OneLine(created_at), OneLine(r#type), OneLine(&data.token));
        write!(f, "{created_at}  {HEAD}{kind}{HEAD:#}  {token}  {subject}")
    }
}

/// The parts of an event that a line shows.
#[derive(Deserialize)]
pub struct Head {
    pub token: EventToken,
    /// Its type, in the words of the API.
    pub r#type: String,
    /// The time at which it happened, as the API writes times.
    pub created_at: String,
    /// The record that it is about.
    pub data: Subject,
    /// Its number among the events of the account, from 1.
    pub sequence: u64,
}

#[derive(Deserialize)]
pub struct Subject {
    pub token: String,
}

/// The number of events that are read at once.
const PAGE: usize = 200;

/// Returns the number of the account's last event; 0 without one.
pub async fn last(server: &ApiClient) -> Result<u64, ApiClientError> {
    let newest = list(server, "per_page=1").await?;
    Ok(newest.first().map_or(0, |event| event.head.sequence))
}

/// Returns the next events after this number, oldest first. If there are none, waits so many seconds for some.
pub async fn after(server: &ApiClient, number: u64, wait: u64) -> Result<Vec<Event>, ApiClientError> {
    list(server, &format!("after={number}&wait={wait}&per_page={PAGE}")).await
}

#[derive(Deserialize)]
struct Listed {
    response: Vec<Box<RawValue>>,
}

async fn list(server: &ApiClient, query: &str) -> Result<Vec<Event>, ApiClientError> {
    let path = format!("/1/events?{query}");
    let text = server.request_text(Method::GET, &path, None).await?;
    read(&text).map_err(|_| ApiClientError::Unintelligible(format!("GET {path}")))
}

fn read(text: &str) -> serde_json::Result<Vec<Event>> {
    let Listed { response } = serde_json::from_str(text)?;
    response.into_iter().map(|body| Ok(Event { head: serde_json::from_str(body.get())?, body })).collect()
}
