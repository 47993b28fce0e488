//! Events (specification, Endpoints, Events).

use axum::extract::State;

use super::AppState;
use super::answer::{Envelope, ListedShort, ShortList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, RecordNotFound};
use crate::services::{Account, events};
use crate::views::event::Event;

/// List events.
///
/// Returns a list of all events, newest first.
#[utoipa::path(get, path = "/events", tag = "Events", params(PageParameters),
    responses((status = 200, description = "A page of events", body = ShortList<Event>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_events(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Event>, Error> {
    Ok(ListedShort(events::list(&app, &account, input.paging().valid()?).await?))
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
