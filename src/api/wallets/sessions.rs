//! Sessions of walletA.

use axum::extract::State;

use crate::api::answer::{Created, Envelope};
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{ApiUnavailable, GatewayError};
use crate::services::wallets::params::NewSession;
use crate::services::wallets::sessions;
use crate::services::wallets::view::WalletSession;

/// Create a session.
///
/// Asks the wallet provider for a session, which the page hands to the device. In the test environment a simulated
/// provider answers.
#[utoipa::path(post, path = "/walletA_pay/sessions", tag = "Mobile wallet support",
    request_body(content = NewSession, example = json!({ "initiative": "messaging" })),
    responses((status = 201, description = "The session", body = Envelope<WalletSession>)),
    extensions(("x-refusals" = json!([ApiUnavailable, (GatewayError, "the provider gave none", GatewayError.description())]))))]
pub async fn create_wallet_session(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletSession>, Error> {
    // Whatever else is wrong with the parameters is a bad request.
    request.input.refuse_unknown()?;
    request.answer(sessions::create(&app, &request.caller, request.input.params())).await
}
