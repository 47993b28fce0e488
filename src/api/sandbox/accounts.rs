//! Isolated accounts.

use axum::extract::State;
use entity::section::Right;

use crate::api::answer::{Created, Deleted, Envelope};
use crate::api::extract::Path;
use crate::api::rights::everywhere;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, NotFound};
use crate::services::sandbox::accounts;
use crate::services::sandbox::params::NewSandboxAccount;
use crate::services::sandbox::view::SandboxKeys;

/// Create an isolated account.
///
/// Makes an account with keys, a clock and an opening deposit of its own, for one run of tests. The keys are shown this
/// once.
#[utoipa::path(post, path = "/sandbox/accounts", tag = "Sandbox",
    request_body(content = Option<NewSandboxAccount>, example = json!({ "partner": false })),
    responses((status = 201, description = "The account's token and keys", body = Envelope<SandboxKeys>)),
    extensions(("x-rights" = json!({ "keys": "write" })), ("x-refusals" = json!([InvalidResource]))))]
pub async fn create_sandbox_account(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<SandboxKeys>, Error> {
    request.answer(accounts::create(&app, &request.caller, request.input.params(), None)).await
}

/// Delete an isolated account.
///
/// Deletes an account that this account has made, or this account itself if it was made so, with everything in it. Its
/// keys stop working at once.
#[utoipa::path(delete, path = "/sandbox/accounts/{account_token}", tag = "Sandbox",
    responses((status = 204, description = "Deleted")), extensions(("x-rights" = json!(everywhere(Right::Write))), ("x-refusals" = json!([NotFound]))))]
pub async fn delete_sandbox_account(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(accounts::delete(&app, &request.caller, &token)).await
}
