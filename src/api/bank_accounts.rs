//! Bank accounts (specification, Endpoints, Recipients; `docs/decisions.md`, 200).

use axum::extract::State;

use super::answer::{CreatedFrom, EnvelopeWithIp};
use super::openapi::BrowserBankAccount;
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::BrowserWriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::bank_accounts;
use crate::services::bank_accounts::view::BankAccount;

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default().routes(routes!(create_bank_account))
}

/// Store a bank account.
///
/// Stores bank account details in exchange for a single-use bank account token, which expires after one month unused.
/// Also takes the publishable_api_key parameter instead of basic authentication, from an insecure environment such as
/// a browser, and supports JSONP.
#[utoipa::path(post, path = "/bank_accounts", tag = "Bank accounts",
    security(("secret_key" = []), ("publishable_key" = [])),
    request_body = BrowserBankAccount,
    responses((status = 201, description = "The bank account", body = EnvelopeWithIp<BankAccount>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_bank_account(
    State(app): State<AppState>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<BankAccount>, Error> {
    request.answer(bank_accounts::store(&app, &request.caller, request.input.params())).await
}
