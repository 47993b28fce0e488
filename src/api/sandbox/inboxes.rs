//! Inboxes: receivers of webhooks inside the server.

use axum::extract::State;
use entity::section::Right;

use crate::api::answer::{Created, Deleted, Envelope, Listed, LongList, Shown};
use crate::api::awaited_list::await_page;
use crate::api::extract::{Input, Path};
use crate::api::openapi::PageParameters;
use crate::api::rights::everywhere;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, LimitReached, NotFound};
use crate::services::Account;
use crate::services::webhooks::inboxes::params::{ChangedInbox, DeliverySearch};
use crate::services::webhooks::inboxes::view::{Inbox, InboxDelivery};
use crate::services::webhooks::inboxes::{self, deliveries};

/// Make an inbox.
///
/// Makes a receiver of webhooks inside this server, which keeps the last 1,000 deliveries and answers as ordered.
#[utoipa::path(post, path = "/sandbox/inboxes", tag = "Sandbox",
    request_body(content = Option<ChangedInbox>, example = json!({ "status": 503, "every": 3 })),
    responses((status = 201, description = "The inbox", body = Envelope<Inbox>)),
    extensions(("x-refusals" = json!([InvalidResource, (LimitReached, "", inboxes::full())]))))]
pub async fn create_sandbox_inbox(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Inbox>, Error> {
    request.answer(inboxes::create(&app, &request.caller, request.input.params())).await
}

/// List inboxes.
///
/// Returns a paginated list of this account's inboxes, newest first.
#[utoipa::path(get, path = "/sandbox/inboxes", tag = "Sandbox", params(PageParameters),
    responses((status = 200, description = "A page of inboxes", body = LongList<Inbox>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_sandbox_inboxes(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Inbox>, Error> {
    Ok(Listed(inboxes::list(&app, &account, input.paging().valid()?).await?))
}

/// Change an inbox.
///
/// Changes the answer from the next delivery on.
#[utoipa::path(put, path = "/sandbox/inboxes/{inbox_token}", tag = "Sandbox",
    request_body(content = Option<ChangedInbox>, example = json!({ "status": 503, "every": 3 })),
    responses((status = 200, description = "The inbox", body = Envelope<Inbox>)),
    extensions(("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn update_sandbox_inbox(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Inbox>, Error> {
    request.answer(inboxes::change(&app, &request.caller, &token, request.input.params())).await
}

/// Delete an inbox.
///
/// Deletes an inbox with its deliveries.
#[utoipa::path(delete, path = "/sandbox/inboxes/{inbox_token}", tag = "Sandbox",
    responses((status = 204, description = "Deleted")), extensions(("x-refusals" = json!([NotFound]))))]
pub async fn delete_sandbox_inbox(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(inboxes::delete(&app, &request.caller, &token)).await
}

/// List an inbox's deliveries.
///
/// Returns a paginated list of what arrived, newest first. With `wait` it answers as soon as there are `count` deliveries, or
/// after that time.
#[utoipa::path(get, path = "/sandbox/inboxes/{inbox_token}/deliveries", tag = "Sandbox",
    params(
        ("count" = Option<i64>, Query, description = "How many records `wait` waits for; 1 if absent.", minimum = 1, maximum = 1000),
        ("wait" = Option<i64>, Query, description = "The seconds to wait for them at most; 0 if absent.", minimum = 0, maximum = 30),
        PageParameters,
    ),
    responses((status = 200, description = "A page of deliveries", body = LongList<InboxDelivery>)),
    extensions(("x-rights" = json!(everywhere(Right::Read))), ("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_sandbox_inbox_deliveries(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<InboxDelivery>, Error> {
    let list = Box::pin(deliveries::of_inbox(&app, &account, &token, DeliverySearch::read(&input))).await?;
    // A request that waits holds nothing else.
    let key = account.key_hash();
    drop((account, input));
    Ok(Listed(await_page(&app, key, &list).await?))
}
