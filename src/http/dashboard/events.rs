//! Events: what happened, with the record as it was then.

use axum::extract::State;
use maud::html;

use super::door::Visit;
use super::frame::{Page, Sheet};
use super::record::{self, Address, Column, Record, facts, words};
use crate::http::Site;
use crate::http::extract::{Input, Path};
use crate::services::events;

const COLUMNS: [Column; 4] = [
    ("Event", |event| event.token("/token")),
    ("Time", |event| event.time("/created_at")),
    ("Type", |event| words(event.text("/type"))),
    ("Record", |event| event.token("/data/token")),
];

/// The events, newest first.
pub async fn list(State(site): State<Site>, visit: Visit, input: Input) -> Page {
    let paging = input.paging().valid()?;
    let page = events::list(&site, &visit.account, paging).await?;
    let content = record::list("Events, newest first", &COLUMNS, page, &Address::of("/dashboard/events"))?;
    Ok(Sheet::of(Address::of("/1/events").page(paging).to_string(), "Events", content))
}

/// One event.
pub async fn show(State(site): State<Site>, visit: Visit, Path(id): Path<String>) -> Page {
    let event = Record::of(&events::show(&site, &visit.account, &id).await?)?;
    let content = html! {
        (facts(&[
            ("Type", words(event.text("/type"))),
            ("Time", event.time("/created_at")),
            ("Record", event.token("/data/token")),
        ]))
        (event.whole())
    };
    Ok(Sheet::of(format!("/1/events/{id}"), format!("Event {id}"), content))
}
