//! Refunds decided on request.

use axum::extract::State;

use crate::api::answer::{Envelope, Shown};
use crate::api::extract::Path;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, InvalidState, NotFound};
use crate::services::refunds::view::Refund;
use crate::services::sandbox::params::DecidedRefund;
use crate::services::sandbox::refunds;

/// Decide a refund.
///
/// Lets a pending refund succeed or fail now. A failed one gives its money back.
#[utoipa::path(put, path = "/sandbox/refunds/{refund_token}", tag = "Sandbox",
    request_body(content = DecidedRefund, example = json!({ "outcome": "failed" })),
    responses((status = 200, description = "The refund", body = Envelope<Refund>)),
    extensions(("x-rights" = json!({ "refunds": "write" })), ("x-refusals" = json!([(InvalidState, "it has ended before"), NotFound, InvalidResource]))))]
pub async fn decide_sandbox_refund(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Refund>, Error> {
    request.answer(refunds::decide(&app, &request.caller, &token, request.input.params())).await
}
