//! Deposits on request.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Envelope};
use crate::http::write_request::WriteRequest;
use crate::params::deposit::NewDeposit;
use crate::services::sandbox::deposits;
use crate::views::deposit::Deposit;

/// Make a deposit.
///
/// Records money from outside. It raises the balance at `available_at`.
#[utoipa::path(post, path = "/sandbox/deposits", tag = "Sandbox", operation_id = "create_sandbox_deposit",
    request_body(content((NewDeposit = "application/json"), (NewDeposit = "application/x-www-form-urlencoded"))),
    responses((status = 201, description = "The deposit", body = Envelope<Deposit>), (status = 422, description = "invalid_resource")))]
pub async fn create_sandbox_deposit(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Deposit>, Error> {
    request.answer(deposits::create(&site, &request.caller, request.input.params())).await
}
