//! Recipients (specification, Endpoints, Recipients).

use axum::extract::State;

use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, NotFound};
use crate::services::recipients::params::{NewRecipient, RecipientChanges};
use crate::services::recipients::view::Recipient;
use crate::services::transfers::view::Transfer;
use crate::services::{Account, recipients, transfers};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_recipient, list_recipients))
        .routes(routes!(get_recipient, update_recipient))
        .routes(routes!(list_recipient_transfers))
}

/// Create a recipient.
///
/// Stores a recipient with its bank account: exactly one of bank_account and bank_account_token.
#[utoipa::path(post, path = "/recipients", tag = "Recipients",
    request_body(content = NewRecipient, example = json!({ "name": "Mr Roland Robot", "bank_account": {} })),
    responses((status = 201, description = "The recipient", body = Envelope<Recipient>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_recipient(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Recipient>, Error> {
    let params = request.input.params::<NewRecipient>();
    request.answer(recipients::create(&app, &request.caller, params)).await
}

/// List recipients.
///
/// Returns a paginated list of all recipients, newest first.
#[utoipa::path(get, path = "/recipients", tag = "Recipients", params(PageParameters),
    responses((status = 200, description = "A page of recipients", body = LongList<Recipient>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_recipients(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Recipient>, Error> {
    Ok(Listed(recipients::list(&app, &account, input.paging().valid()?).await?))
}

/// Get a recipient.
///
/// Returns the details of a recipient.
#[utoipa::path(get, path = "/recipients/{recipient_token}", tag = "Recipients",
    responses((status = 200, description = "The recipient", body = Envelope<Recipient>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_recipient(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Recipient>, Error> {
    Ok(Shown(recipients::show(&app, &account, &token).await?))
}

/// Update a recipient.
///
/// Updates the details of a recipient. At most one of bank_account and bank_account_token replaces its bank account;
/// transfers already made are not touched.
#[utoipa::path(put, path = "/recipients/{recipient_token}", tag = "Recipients",
    request_body(content = Option<RecipientChanges>, example = json!({ "name": "Mr Roland Robot" })),
    responses((status = 200, description = "The recipient", body = Envelope<Recipient>)),
    extensions(("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn update_recipient(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Recipient>, Error> {
    let params = request.input.params::<RecipientChanges>();
    request.answer(recipients::update(&app, &request.caller, &token, params)).await
}

/// List a recipient's transfers.
///
/// Returns a paginated list of the transfers to a recipient, newest first, without line_items_count.
#[utoipa::path(get, path = "/recipients/{recipient_token}/transfers", tag = "Recipients",
    params(PageParameters),
    responses((status = 200, description = "A page of transfers", body = LongList<Transfer>)),
    extensions(("x-rights" = json!({ "transfers": "read" })), ("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_recipient_transfers(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Transfer>, Error> {
    Ok(Listed(transfers::of_recipient(&app, &account, &token, input.paging()).await?))
}
