//! Deposits (specification, Endpoints, Deposits).

use axum::extract::State;

use super::AppState;
use super::answer::{Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use crate::error::Error;
use crate::services::{Account, deposits};
use crate::views::deposit::Deposit;

/// List deposits.
///
/// Returns a paginated list of all deposits, newest first.
#[utoipa::path(get, path = "/deposits", tag = "Deposits", operation_id = "list_deposits",
    params(PageParameters),
    responses((status = 200, description = "A page of deposits", body = LongList<Deposit>), (status = 422, description = "invalid_resource")))]
pub async fn list_deposits(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Deposit>, Error> {
    Ok(Listed(deposits::list(&site, &account, input.paging().valid()?).await?))
}

/// Get a deposit.
///
/// Returns the details of a deposit.
#[utoipa::path(get, path = "/deposits/{deposit_token}", tag = "Deposits", operation_id = "get_deposit",
    params(("deposit_token" = String, Path, description = "Deposit token")),
    responses((status = 200, description = "The deposit", body = Envelope<Deposit>), (status = 404, description = "not_found")))]
pub async fn get_deposit(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Deposit>, Error> {
    Ok(Shown(deposits::show(&site, &account, &token).await?))
}
