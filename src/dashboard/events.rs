//! Events, each with the record as it was then.

use axum::extract::State;
use entity::event::EventType;
use futures::FutureExt;
use maud::html;

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::list::{Field, FieldInput, ListView, Listing, column, table};
use super::record::{Record, facts, words};
use super::state::DashboardState;
use super::webhooks::LIST as WEBHOOKS;
use crate::api::extract::{Input, Path};
use crate::services::events::params::EventSearch;
use crate::services::events::view::Event;
use crate::services::page::AwaitedList;
use crate::services::{Account, events, webhooks};

pub static LIST: ListView<Event> = ListView {
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
    find,
};

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, Event> {
    async move {
        let search = EventSearch::read(&LIST.parameters(input));
        let list = events::list(app, account, search).await?;
        list.prepare(app).await?;
        list.page(app).await
    }
    .boxed()
}

/// Shows one event, and the webhooks that tell of it.
pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let now = user.account.now;
    let event = Record::new(now, &events::show(&app, &user.account, &id).await?)?;
    let webhooks = Record::each(now, &webhooks::of_event(&app, &user.account, &id).await?)?;
    let content = html! {
        (facts(&[
            ("Type", words(event.text("/type"))),
            ("Time", event.time("/created_at")),
            ("Record", event.token("/data/token")),
            ("Charge", event.token(if event.value("/data/charge").is_object() { "/data/charge/token" } else { "/data/charge" })),
        ]))
        @if !webhooks.is_empty() { (table("Its webhooks", WEBHOOKS.columns, &webhooks)) }
        (event.whole())
    };
    Ok(PageContent::new(format!("/1/events/{id}"), format!("Event {id}"), content))
}
