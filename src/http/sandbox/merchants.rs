//! The operator's decisions about merchants, on request.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Envelope, Shown};
use crate::http::extract::Path;
use crate::http::write_request::PartnerWriteRequest;
use crate::params::merchant::DecidedMerchant;
use crate::services::merchants;
use crate::views::merchant::MerchantDetail;

/// Decide about a merchant.
///
/// Gives a merchant that you have referred another status, as the operator would.
#[utoipa::path(put, path = "/sandbox/merchants/{merchant_token}", tag = "Sandbox", operation_id = "decide_sandbox_merchant",
    params(("merchant_token" = String, Path, description = "Merchant token")),
    request_body(content((DecidedMerchant = "application/json"), (DecidedMerchant = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The merchant", body = Envelope<MerchantDetail>),
        (status = 400, description = "invalid_state: that status cannot follow the present one"),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn decide_sandbox_merchant(
    State(site): State<AppState>,
    Path(token): Path<String>,
    PartnerWriteRequest(request): PartnerWriteRequest,
) -> Result<Shown<MerchantDetail>, Error> {
    request.answer(merchants::decide(&site, &request.caller, &token, request.input.params())).await
}
