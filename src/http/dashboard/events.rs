//! Events, each with the record as it was then.

use axum::extract::State;
use maud::html;

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::record::{self, Address, Column, Record, facts, words};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::services::events;

const COLUMNS: [Column; 4] = [
    ("Event", |event| event.token("/token")),
    ("Time", |event| event.time("/created_at")),
    ("Type", |event| words(event.text("/type"))),
    ("Record", |event| event.token("/data/token")),
];

/// Lists the events, newest first.
pub async fn list(State(site): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let paging = input.paging().valid()?;
    let page = events::list(&site, &user.account, paging).await?;
    let content = record::list("Events, newest first", &COLUMNS, page, &Address::of("/dashboard/events"))?;
    Ok(PageContent::of(Address::of("/1/events").page(paging).to_string(), "Events", content))
}

/// Shows one event.
pub async fn show(State(site): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let event = Record::of(&events::show(&site, &user.account, &id).await?)?;
    let content = html! {
        (facts(&[
            ("Type", words(event.text("/type"))),
            ("Time", event.time("/created_at")),
            ("Record", event.token("/data/token")),
        ]))
        (event.whole())
    };
    Ok(PageContent::of(format!("/1/events/{id}"), format!("Event {id}"), content))
}
