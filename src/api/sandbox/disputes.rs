//! Disputes opened and decided on request.

use axum::extract::State;

use crate::api::answer::{Created, Envelope, Shown};
use crate::api::extract::Path;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, InvalidState, NotFound};
use crate::services::disputes;
use crate::services::disputes::params::{DecidedDispute, NewDispute};
use crate::services::disputes::view::Dispute;

/// Open a dispute.
///
/// Lets a cardholder dispute a captured charge, all that can still be disputed of it or a part.
#[utoipa::path(post, path = "/sandbox/disputes", tag = "Sandbox", request_body = NewDispute,
    responses((status = 201, description = "The dispute", body = Envelope<Dispute>)),
    extensions(("x-rights" = json!({ "charges": "read", "disputes": "write" })), ("x-refusals" = json!([InvalidResource]))))]
pub async fn create_sandbox_dispute(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Dispute>, Error> {
    request.answer(disputes::open::open(&app, &request.caller, request.input.params())).await
}

/// Decide a dispute.
///
/// Gives a dispute another status, as the network would. Arbitration after a dispute that was won is about what refunds have
/// left since: amount shows it.
#[utoipa::path(put, path = "/sandbox/disputes/{dispute_token}", tag = "Sandbox",
    request_body(content = DecidedDispute, example = json!({ "status": "cancelled" })),
    responses((status = 200, description = "The dispute", body = Envelope<Dispute>)),
    extensions(("x-rights" = json!({ "charges": "read", "disputes": "write" })), ("x-refusals" = json!([(InvalidState, "that status cannot follow the present one"), NotFound, InvalidResource]))))]
pub async fn decide_sandbox_dispute(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Dispute>, Error> {
    request.answer(disputes::decide(&app, &request.caller, &token, request.input.params())).await
}
