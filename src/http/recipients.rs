//! Recipients (specification, Endpoints, Recipients).

use axum::extract::State;

use super::AppState;
use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::params::recipient::{NewRecipient, RecipientChanges};
use crate::services::{Account, recipients, transfers};
use crate::views::recipient::Recipient;
use crate::views::transfer::Transfer;

/// Create a recipient.
///
/// Stores a recipient with its bank account: exactly one of bank_account and bank_account_token.
#[utoipa::path(post, path = "/recipients", tag = "Recipients", operation_id = "create_recipient",
    request_body(content((NewRecipient = "application/json"), (NewRecipient = "application/x-www-form-urlencoded"))),
    responses((status = 201, description = "The recipient", body = Envelope<Recipient>), (status = 422, description = "invalid_resource")))]
pub async fn create_recipient(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Recipient>, Error> {
    let params = request.input.params::<NewRecipient>();
    request.answer(recipients::create(&site, &request.caller, params)).await
}

/// List recipients.
///
/// Returns a paginated list of all recipients, newest first.
#[utoipa::path(get, path = "/recipients", tag = "Recipients", operation_id = "list_recipients",
    params(PageParameters),
    responses((status = 200, description = "A page of recipients", body = LongList<Recipient>), (status = 422, description = "invalid_resource")))]
pub async fn list_recipients(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Recipient>, Error> {
    Ok(Listed(recipients::list(&site, &account, input.paging().valid()?).await?))
}

/// Get a recipient.
///
/// Returns the details of a recipient.
#[utoipa::path(get, path = "/recipients/{recipient_token}", tag = "Recipients", operation_id = "get_recipient",
    params(("recipient_token" = String, Path, description = "Recipient token")),
    responses((status = 200, description = "The recipient", body = Envelope<Recipient>), (status = 404, description = "not_found")))]
pub async fn get_recipient(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Recipient>, Error> {
    Ok(Shown(recipients::show(&site, &account, &token).await?))
}

/// Update a recipient.
///
/// Updates the details of a recipient. At most one of bank_account and bank_account_token replaces its bank account;
/// transfers already made are not touched.
#[utoipa::path(put, path = "/recipients/{recipient_token}", tag = "Recipients", operation_id = "update_recipient",
    params(("recipient_token" = String, Path, description = "Recipient token")),
    request_body(content((Option<RecipientChanges> = "application/json"), (Option<RecipientChanges> = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The recipient", body = Envelope<Recipient>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn update_recipient(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Recipient>, Error> {
    let params = request.input.params::<RecipientChanges>();
    request.answer(recipients::update(&site, &request.caller, &token, params)).await
}

/// List a recipient's transfers.
///
/// Returns a paginated list of the transfers to a recipient, newest first, without line_items_count.
#[utoipa::path(get, path = "/recipients/{recipient_token}/transfers", tag = "Recipients", operation_id = "list_recipient_transfers",
    params(("recipient_token" = String, Path, description = "Recipient token"), PageParameters),
    responses(
        (status = 200, description = "A page of transfers", body = LongList<Transfer>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_recipient_transfers(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Transfer>, Error> {
    Ok(Listed(transfers::of_recipient(&site, &account, &token, input.paging()).await?))
}
