//! Events (specification, Endpoints, Events).

use axum::extract::State;

use super::AppState;
use super::answer::{Envelope, ListedShort, ShortList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use crate::error::Error;
use crate::services::{Account, events};
use crate::views::event::Event;

/// List events.
///
/// Returns a list of all events, newest first.
#[utoipa::path(get, path = "/events", tag = "Events", operation_id = "list_events",
    params(PageParameters),
    responses((status = 200, description = "A page of events", body = ShortList<Event>), (status = 422, description = "invalid_resource")))]
pub async fn list_events(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Event>, Error> {
    Ok(ListedShort(events::list(&site, &account, input.paging().valid()?).await?))
}

/// Get an event.
///
/// Returns the details of an event.
#[utoipa::path(get, path = "/events/{event_token}", tag = "Events", operation_id = "get_event",
    params(("event_token" = String, Path, description = "Event token")),
    responses((status = 200, description = "The event", body = Envelope<Event>), (status = 404, description = "resource_not_found")))]
pub async fn get_event(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Event>, Error> {
    Ok(Shown(events::show(&site, &account, &token).await?))
}
