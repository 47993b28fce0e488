//! Deposits on request.

use axum::extract::State;

use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::http::answer::{Created, Envelope};
use crate::http::state::AppState;
use crate::http::write_request::WriteRequest;
use crate::params::deposit::NewDeposit;
use crate::services::sandbox::deposits;
use crate::views::deposit::Deposit;

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
