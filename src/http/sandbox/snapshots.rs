//! Snapshots of the account.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Deleted, Envelope, Listed, LongList, Shown};
use crate::http::extract::{Input, Path};
use crate::http::openapi::PageParameters;
use crate::http::write_request::WriteRequest;
use crate::services::{Account, snapshots};
use crate::views::snapshot::Snapshot;

/// Make a snapshot.
///
/// Stores everything that this account holds at this moment, with its clock but without the cvc of cards, for a later
/// restore. At most ten at a time, each for thirty days.
#[utoipa::path(post, path = "/sandbox/snapshots", tag = "Sandbox", operation_id = "create_sandbox_snapshot",
    responses(
        (status = 201, description = "The snapshot", body = Envelope<Snapshot>),
        (status = 403, description = "limit_reached"),
        (status = 409, description = "payments_under_way"),
        (status = 413, description = "snapshot_too_large"),
    ))]
pub async fn create_sandbox_snapshot(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Snapshot>, Error> {
    request.answer(snapshots::create(&site, &request.caller)).await
}

/// List snapshots.
///
/// Returns a paginated list of this account's snapshots, newest first.
#[utoipa::path(get, path = "/sandbox/snapshots", tag = "Sandbox", operation_id = "list_sandbox_snapshots",
    params(PageParameters),
    responses(
        (status = 200, description = "A page of snapshots", body = LongList<Snapshot>),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_sandbox_snapshots(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Snapshot>, Error> {
    Ok(Listed(snapshots::list(&site, &account, input.paging().valid()?).await?))
}

/// Put a snapshot back.
///
/// Restores exactly what this account held when the snapshot was made; its clock goes back as well. Its keys, its
/// merchants and its snapshots stay, and webhooks that waited then wait again.
#[utoipa::path(put, path = "/sandbox/snapshots/{snapshot_token}/restore", tag = "Sandbox", operation_id = "restore_sandbox_snapshot",
    params(("snapshot_token" = String, Path, description = "Snapshot token")),
    responses(
        (status = 200, description = "The snapshot", body = Envelope<Snapshot>),
        (status = 400, description = "invalid_state: another release has made it"),
        (status = 404, description = "not_found"),
        (status = 409, description = "clock_moving, payments_under_way"),
    ))]
pub async fn restore_sandbox_snapshot(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Snapshot>, Error> {
    request.answer(snapshots::restore(&site, &request.caller, &token)).await
}

/// Delete a snapshot.
///
/// Deletes a snapshot of this account; the account stays as it is.
#[utoipa::path(delete, path = "/sandbox/snapshots/{snapshot_token}", tag = "Sandbox", operation_id = "delete_sandbox_snapshot",
    params(("snapshot_token" = String, Path, description = "Snapshot token")),
    responses((status = 204, description = "Deleted"), (status = 404, description = "not_found")))]
pub async fn delete_sandbox_snapshot(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(snapshots::remove(&site, &request.caller, &token)).await
}
