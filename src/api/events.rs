//! Events (specification, Endpoints, Events).

use axum::extract::State;
use entity::event::EventType;

use super::answer::{Envelope, ListedShort, ShortList, Shown};
use super::awaited_list::await_page;
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::operations::{Operations, routes};
use super::state::AppState;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, RecordNotFound};
use crate::services::events::params::EventSearch;
use crate::services::events::view::Event;
use crate::services::{Account, events};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default().routes(routes!(list_events)).routes(routes!(get_event))
}

/// List events.
///
/// Returns a list of all events, newest first; with filters those that fit all of them. With `after` it returns the oldest
/// first, in the order of `sequence`: a client that goes on after the last event it has seen misses none and gets none twice. With
/// `wait` it answers as soon as `count` events match, or after that time. The filters, `after`, `count` and `wait` are extensions.
#[utoipa::path(get, path = "/events", tag = "Events",
    params(
        ("type" = Option<EventType>, Query, description = "The type of the events; all types if it is absent."),
        ("about" = Option<String>, Query, description = "The token of the record that the events are about; all records if it is absent."),
        ("after" = Option<String>, Query, description = "The last event that you have seen, by its token or its `sequence`; 0 means none. With it the oldest of the later events come first; if it is absent, the newest of all."),
        ("count" = Option<i64>, Query, description = "How many records `wait` waits for; 1 if absent.", minimum = 1, maximum = 1000),
        ("wait" = Option<i64>, Query, description = "The seconds to wait for them at most; 0 if absent.", minimum = 0, maximum = 30),
        PageParameters,
    ),
    responses((status = 200, description = "A page of events", body = ShortList<Event>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_events(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Event>, Error> {
    let list = Box::pin(events::list(&app, &account, EventSearch::read(&input))).await?;
    // A request that waits holds nothing else.
    let key = account.key_hash();
    drop((account, input));
    Ok(ListedShort(await_page(&app, key, &list).await?))
}

/// Get an event.
///
/// Returns the details of an event.
#[utoipa::path(get, path = "/events/{event_token}", tag = "Events",
    responses((status = 200, description = "The event", body = Envelope<Event>)),
    extensions(("x-refusals" = json!([RecordNotFound]))))]
pub async fn get_event(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Event>, Error> {
    Ok(Shown(events::show(&app, &account, &token).await?))
}
