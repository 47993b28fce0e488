//! Deposits on request.

use axum::extract::State;

use crate::api::answer::{Created, Envelope};
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::deposits::params::NewDeposit;
use crate::services::deposits::view::Deposit;
use crate::services::sandbox::deposits;

/// Make a deposit.
///
/// Lets money arrive from outside. It raises the balance when available_at comes.
#[utoipa::path(post, path = "/sandbox/deposits", tag = "Sandbox",
    request_body(content = NewDeposit, example = json!({ "narration": "Direct credit" })),
    responses((status = 201, description = "The deposit", body = Envelope<Deposit>)),
    extensions(("x-rights" = json!({ "deposits": "write" })), ("x-refusals" = json!([InvalidResource]))))]
pub async fn create_sandbox_deposit(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Deposit>, Error> {
    request.answer(deposits::create(&app, &request.caller, request.input.params())).await
}
