//! Disputes opened and decided on request.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Envelope, Shown};
use crate::http::extract::Path;
use crate::http::write_request::WriteRequest;
use crate::params::dispute::{DecidedDispute, NewDispute};
use crate::services::disputes;
use crate::views::dispute::Dispute;

/// Open a dispute.
///
/// Disputes a captured charge as its cardholder: the whole disputable amount or a part.
#[utoipa::path(post, path = "/sandbox/disputes", tag = "Sandbox", operation_id = "create_sandbox_dispute",
    request_body(content((NewDispute = "application/json"), (NewDispute = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The dispute", body = Envelope<Dispute>),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_sandbox_dispute(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Dispute>, Error> {
    request.answer(disputes::open::open(&site, &request.caller, request.input.params())).await
}

/// Decide a dispute.
///
/// Gives a dispute another status, as the network would. Arbitration after a won dispute is about the amount
/// that refunds have left; `amount` shows it.
#[utoipa::path(put, path = "/sandbox/disputes/{dispute_token}", tag = "Sandbox", operation_id = "decide_sandbox_dispute",
    params(("dispute_token" = String, Path, description = "Dispute token")),
    request_body(content((DecidedDispute = "application/json"), (DecidedDispute = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The dispute", body = Envelope<Dispute>),
        (status = 400, description = "invalid_state: that status cannot follow the present one"),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn decide_sandbox_dispute(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Dispute>, Error> {
    request.answer(disputes::decide(&site, &request.caller, &token, request.input.params())).await
}
