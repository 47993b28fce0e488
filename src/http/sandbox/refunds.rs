//! Refunds decided on request.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Envelope, Shown};
use crate::http::extract::Path;
use crate::http::write_request::WriteRequest;
use crate::params::sandbox::DecidedRefund;
use crate::services::sandbox::refunds;
use crate::views::refund::Refund;

/// Decide a refund.
///
/// Lets a pending refund succeed or fail now. A failed one returns its money.
#[utoipa::path(put, path = "/sandbox/refunds/{refund_token}", tag = "Sandbox", operation_id = "decide_sandbox_refund",
    params(("refund_token" = String, Path, description = "Refund token")),
    request_body(content((DecidedRefund = "application/json"), (DecidedRefund = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The refund", body = Envelope<Refund>),
        (status = 400, description = "invalid_state: it has ended before"),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn decide_sandbox_refund(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Refund>, Error> {
    request.answer(refunds::decide(&site, &request.caller, &token, request.input.params())).await
}
