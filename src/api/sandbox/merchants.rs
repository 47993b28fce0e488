//! The operator's decisions about merchants, on request.

use axum::extract::State;

use crate::api::answer::{Envelope, Shown};
use crate::api::extract::Path;
use crate::api::state::AppState;
use crate::api::write_request::PartnerWriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, InvalidState, NotFound};
use crate::services::merchants;
use crate::services::merchants::params::DecidedMerchant;
use crate::services::merchants::view::MerchantDetail;

/// Decide about a merchant.
///
/// Gives a merchant that you have referred another status, as the operator would.
#[utoipa::path(put, path = "/sandbox/merchants/{merchant_token}", tag = "Sandbox",
    request_body = DecidedMerchant,
    responses((status = 200, description = "The merchant", body = Envelope<MerchantDetail>)),
    extensions(("x-rights" = json!({ "merchants": "write", "keys": "write" })), ("x-refusals" = json!([(InvalidState, "that status cannot follow the present one"), NotFound, InvalidResource]))))]
pub async fn decide_sandbox_merchant(
    State(app): State<AppState>,
    Path(token): Path<String>,
    PartnerWriteRequest(request): PartnerWriteRequest,
) -> Result<Shown<MerchantDetail>, Error> {
    request.answer(merchants::decide(&app, &request.caller, &token, request.input.params())).await
}
