//! Events, each with the record as it was then.

use axum::extract::State;
use axum::response::Response;
use entity::event::EventType;
use maud::html;

use super::auth::AccountSession;
use super::layout::{ErrorPage, PageContent, PageResult};
use super::list::{Field, FieldInput, ListView, column};
use super::record::{Record, facts, words};
use crate::error::Error;
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::params::event::EventSearch;
use crate::services::page::{AwaitedList, ListPage};
use crate::services::{Account, events};
use crate::views::event::Event;

const LIST: ListView = ListView {
    title: "Events",
    name: "events",
    api: "events",
    search: "events",
    columns: &[
        column("Event", |event| event.token("/token")),
        column("Type", |event| words(event.text("/type"))),
        column("Time", |event| event.ago("/created_at")).wide(),
        column("Record", |event| event.token("/data/token")).wide(),
    ],
    fields: &[&[
        Field {
            name: "type",
            label: "Type",
            input: FieldInput::Choice(|| EventType::ALL.iter().map(|known| known.code()).collect()),
        },
        Field { name: "about", label: "Token of the record", input: FieldInput::Text("ch_...") },
    ]],
    order: None,
    is_searched_in_live: false,
};

/// Lists the events, newest first.
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let page = find(&app, &user.account, &input).await?;
    LIST.page(&app, &user, &input, page, &html! {})
}

/// Returns the same as CSV.
pub async fn csv(
    State(app): State<AppState>,
    user: AccountSession,
    input: Input,
) -> Result<Response, ErrorPage> {
    Ok(LIST.csv(find(&app, &user.account, &input).await?))
}

async fn find(app: &AppState, account: &Account, input: &Input) -> Result<ListPage<Event>, Error> {
    let search = EventSearch::read(&LIST.parameters(input));
    let list = events::list(app, account, search).await?;
    list.prepare(app).await?;
    list.page(app).await
}

/// Shows one event.
pub async fn show(State(app): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let event = Record::of(user.account.now, &events::show(&app, &user.account, &id).await?)?;
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
