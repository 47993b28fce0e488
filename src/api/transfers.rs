//! Transfers (specification, Endpoints, Transfers).

use axum::extract::State;

use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::{PageParameters, SearchParameters};
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InsufficientServiceBalance, InvalidResource, NotFound};
use crate::services::transfers::params::NewTransfer;
use crate::services::transfers::view::{LineItem, Transfer};
use crate::services::{Account, transfers};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_transfer, list_transfers))
        .routes(routes!(search_transfers))
        .routes(routes!(get_transfer))
        .routes(routes!(list_transfer_line_items))
}

/// Create a transfer.
///
/// Pays money from the available balance to a recipient, or to your own bank account. A transfer to a recipient costs a
/// fee.
#[utoipa::path(post, path = "/transfers", tag = "Transfers", request_body = NewTransfer,
    responses((status = 201, description = "The transfer", body = Envelope<Transfer>)),
    extensions(("x-refusals" = json!([(InsufficientServiceBalance, "an array that holds the one error", transfers::create::NOT_COVERED), InvalidResource]))))]
pub async fn create_transfer(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Transfer>, Error> {
    let params = request.input.params::<NewTransfer>();
    request.answer(transfers::create(&app, &request.caller, params)).await
}

/// List transfers.
///
/// Returns a paginated list of all transfers, newest first.
#[utoipa::path(get, path = "/transfers", tag = "Transfers", params(PageParameters),
    responses((status = 200, description = "A page of transfers", body = LongList<Transfer>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_transfers(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Transfer>, Error> {
    Ok(Listed(transfers::list(&app, &account, input.paging().valid()?).await?))
}

/// Search transfers.
///
/// Returns a paginated list of the transfers that match the search. The query is matched against description and the
/// recipient's name and e-mail address as a part of them, and exactly against amount, transfer token and recipient
/// token.
#[utoipa::path(get, path = "/transfers/search", tag = "Transfers",
    params(
        SearchParameters,
        ("sort" = Option<String>, Query, description = "The field by which the transfers are ordered; `paid_at` if absent.",
            extensions(("x-enum" = json!(transfers::search::SORTS)))),
        PageParameters,
    ),
    responses((status = 200, description = "A page of transfers", body = LongList<Transfer>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn search_transfers(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Transfer>, Error> {
    let search = input.search(transfers::search::SORTS, "paid_at")?;
    Ok(Listed(transfers::search(&app, &account, search).await?))
}

/// Get a transfer.
///
/// Returns the details of a transfer.
#[utoipa::path(get, path = "/transfers/{transfer_token}", tag = "Transfers",
    responses((status = 200, description = "The transfer", body = Envelope<Transfer>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_transfer(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Transfer>, Error> {
    Ok(Shown(transfers::show(&app, &account, &token).await?))
}

/// List a transfer's line items.
///
/// Returns a paginated list of the line items of a transfer, newest first: for a settlement, the charges that became
/// available and an adjustment for each other movement.
#[utoipa::path(get, path = "/transfers/{transfer_token}/line_items", tag = "Transfers",
    params(PageParameters),
    responses((status = 200, description = "A page of line items", body = LongList<LineItem>)),
    extensions(("x-rights" = json!({ "charges": "read" })), ("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_transfer_line_items(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<LineItem>, Error> {
    Ok(Listed(transfers::line_items(&app, &account, &token, input.paging()).await?))
}
