//! Bank accounts (specification, Endpoints, Recipients; `docs/decisions.md`, 200).

use axum::extract::State;

use super::AppState;
use super::answer::{CreatedFrom, EnvelopeWithIp};
use super::openapi::BrowserBankAccount;
use super::write_request::BrowserWriteRequest;
use crate::error::Error;
use crate::services::bank_accounts;
use crate::views::bank_account::BankAccount;

/// Store a bank account.
///
/// Stores bank account details in exchange for a single-use bank account token, which expires after one month unused.
/// Also takes publishable_api_key instead of basic authentication, for use in a browser, and supports JSONP.
#[utoipa::path(post, path = "/bank_accounts", tag = "Bank accounts", operation_id = "create_bank_account",
    security(("secret_key" = []), ("publishable_key" = [])),
    request_body(content((BrowserBankAccount = "application/json"), (BrowserBankAccount = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The bank account", body = EnvelopeWithIp<BankAccount>),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_bank_account(
    State(site): State<AppState>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<BankAccount>, Error> {
    request.answer(bank_accounts::store(&site, &request.caller, request.input.params())).await
}
