//! Events, each with the record as it was then.

use axum::extract::State;
use maud::html;

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::record::{self, Column, Record, facts, words};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::params::event::EventSearch;
use crate::services::events;
use crate::services::page::AwaitedList;

const COLUMNS: [Column; 4] = [
    ("Event", |event| event.token("/token")),
    ("Time", |event| event.time("/created_at")),
    ("Type", |event| words(event.text("/type"))),
    ("Record", |event| event.token("/data/token")),
];

/// Lists the events, newest first.
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let list = events::list(&app, &user.account, EventSearch::read(&input)).await?;
    list.prepare(&app).await?;
    let page = list.page(&app).await?;
    record::section("Events", &COLUMNS, page)
}

/// Shows one event.
pub async fn show(State(app): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let event = Record::of(&events::show(&app, &user.account, &id).await?)?;
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
