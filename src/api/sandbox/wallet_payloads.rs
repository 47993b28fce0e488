//! Wallet payloads of simulated devices.

use axum::extract::State;

use crate::api::answer::{Created, Envelope};
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::sandbox::params::NewWalletPayload;
use crate::services::sandbox::view::WalletPayload;
use crate::services::sandbox::wallet_payloads;

/// Make a wallet's payload.
///
/// Makes what a device would hand over: a payload really encrypted, and signed by the test root, ready to be posted to
/// /payment_sources within five minutes.
#[utoipa::path(post, path = "/sandbox/wallet_payloads", tag = "Sandbox",
    request_body(content = NewWalletPayload, example = json!({ "type": "walletGpay" })),
    responses((status = 201, description = "The payload", body = Envelope<WalletPayload>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_sandbox_wallet_payload(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletPayload>, Error> {
    request.answer(wallet_payloads::create(&app, &request.caller, request.input.params())).await
}
