//! Snapshots of the account.

use axum::extract::State;
use entity::section::Right;

use crate::api::answer::{Created, Deleted, Envelope, Listed, LongList, Shown};
use crate::api::extract::{Input, Path};
use crate::api::openapi::PageParameters;
use crate::api::rights::everywhere;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{
    ClockMoving, InvalidResource, InvalidState, LimitReached, NotFound, PaymentsUnderWay, SnapshotTooLarge,
};
use crate::services::snapshots::view::Snapshot;
use crate::services::{Account, snapshots};

/// Make a snapshot.
///
/// Keeps all that this account holds at this moment, its clock too, to be restored later; only the cvc of cards is not kept. At
/// most ten at a time, each for thirty days.
#[utoipa::path(post, path = "/sandbox/snapshots", tag = "Sandbox",
    responses((status = 201, description = "The snapshot", body = Envelope<Snapshot>)),
    extensions(("x-refusals" = json!([(LimitReached, "", snapshots::create::full()), PaymentsUnderWay, SnapshotTooLarge]))))]
pub async fn create_sandbox_snapshot(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Snapshot>, Error> {
    request.answer(snapshots::create(&app, &request.caller)).await
}

/// List snapshots.
///
/// Returns a paginated list of this account's snapshots, newest first.
#[utoipa::path(get, path = "/sandbox/snapshots", tag = "Sandbox", params(PageParameters),
    responses((status = 200, description = "A page of snapshots", body = LongList<Snapshot>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_sandbox_snapshots(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Snapshot>, Error> {
    Ok(Listed(snapshots::list(&app, &account, input.paging().valid()?).await?))
}

/// Put a snapshot back.
///
/// Lets this account hold what it held when the snapshot was made, and nothing else; its clock goes back as well. Its
/// keys, its merchants and its snapshots stay as they are, and what waited to be delivered waits again.
#[utoipa::path(put, path = "/sandbox/snapshots/{snapshot_token}/restore", tag = "Sandbox",
    responses((status = 200, description = "The snapshot", body = Envelope<Snapshot>)),
    extensions(("x-rights" = json!(everywhere(Right::Write))), ("x-refusals" = json!([(InvalidState, "another release has made it", snapshots::restore::OTHER_RELEASE), NotFound, ClockMoving, PaymentsUnderWay]))))]
pub async fn restore_sandbox_snapshot(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Snapshot>, Error> {
    request.answer(snapshots::restore(&app.ctx, &request.caller, &token)).await
}

/// Delete a snapshot.
///
/// Deletes a snapshot of this account; the account stays as it is.
#[utoipa::path(delete, path = "/sandbox/snapshots/{snapshot_token}", tag = "Sandbox",
    responses((status = 204, description = "Deleted")), extensions(("x-refusals" = json!([NotFound]))))]
pub async fn delete_sandbox_snapshot(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(snapshots::remove(&app, &request.caller, &token)).await
}
