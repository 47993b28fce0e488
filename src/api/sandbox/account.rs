//! The account's switches and settings.

use axum::extract::State;

use crate::api::answer::{Envelope, Shown};
use crate::api::extract::Input;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::Account;
use crate::services::sandbox::account;
use crate::services::sandbox::params::ChangedAccount;
use crate::services::sandbox::view::SandboxAccount;

/// Get the account's switches.
///
/// Returns the switches and settings of this account that a test may change.
#[utoipa::path(get, path = "/sandbox/account", tag = "Sandbox",
    responses((status = 200, description = "Switches and settings", body = Envelope<SandboxAccount>)))]
pub async fn get_sandbox_account(account: Account, _input: Input) -> Result<Shown<SandboxAccount>, Error> {
    Ok(Shown(account::show(&account)))
}

/// Change the account's switches.
///
/// Changes switches and settings of this account. What is absent stays as it is.
#[utoipa::path(put, path = "/sandbox/account", tag = "Sandbox",
    request_body(content = Option<ChangedAccount>, example = json!({ "transfers_schedule": "daily" })),
    responses((status = 200, description = "Switches and settings", body = Envelope<SandboxAccount>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn update_sandbox_account(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Shown<SandboxAccount>, Error> {
    request.answer(account::change(&app, &request.caller, request.input.params())).await
}
