//! Wallet payloads of simulated devices.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Envelope};
use crate::http::write_request::WriteRequest;
use crate::params::sandbox::NewWalletPayload;
use crate::services::sandbox::wallet_payloads;
use crate::views::sandbox::WalletPayload;

/// Make a wallet's payload.
///
/// Makes a payload as a device does: really encrypted, and signed by the test root. Post it to /payment_sources within
/// five minutes.
#[utoipa::path(post, path = "/sandbox/wallet_payloads", tag = "Sandbox", operation_id = "create_sandbox_wallet_payload",
    request_body(content((NewWalletPayload = "application/json"), (NewWalletPayload = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The payload", body = Envelope<WalletPayload>),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_sandbox_wallet_payload(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletPayload>, Error> {
    request.answer(wallet_payloads::create(&site, &request.caller, request.input.params())).await
}
