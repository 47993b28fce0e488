//! Sessions of walletA.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Envelope};
use crate::http::write_request::WriteRequest;
use crate::params::wallet::NewSession;
use crate::services::wallets::sessions;
use crate::views::wallet::WalletSession;

/// Create a session.
///
/// Asks the wallet provider for a session, which the page hands to the device. In the test environment a simulated
/// provider answers.
#[utoipa::path(post, path = "/walletA_pay/sessions", tag = "Mobile wallet support", operation_id = "create_wallet_session",
    request_body(content((NewSession = "application/json"), (NewSession = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The session", body = Envelope<WalletSession>),
        (status = 400, description = "api_unavailable"),
        (status = 502, description = "gateway_error: the provider gave none"),
    ))]
pub async fn create_wallet_session(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletSession>, Error> {
    request.answer(sessions::create(&site, &request.caller, request.input.params())).await
}
