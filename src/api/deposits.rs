//! Deposits (specification, Endpoints, Deposits).

use axum::extract::State;

use super::answer::{Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::operations::{Operations, routes};
use super::state::AppState;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, NotFound};
use crate::services::deposits::view::Deposit;
use crate::services::{Account, deposits};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default().routes(routes!(list_deposits)).routes(routes!(get_deposit))
}

/// List deposits.
///
/// Returns a paginated list of all deposits, newest first.
#[utoipa::path(get, path = "/deposits", tag = "Deposits", params(PageParameters),
    responses((status = 200, description = "A page of deposits", body = LongList<Deposit>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_deposits(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Deposit>, Error> {
    Ok(Listed(deposits::list(&app, &account, input.paging().valid()?).await?))
}

/// Get a deposit.
///
/// Returns the details of a deposit.
#[utoipa::path(get, path = "/deposits/{deposit_token}", tag = "Deposits",
    responses((status = 200, description = "The deposit", body = Envelope<Deposit>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_deposit(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Deposit>, Error> {
    Ok(Shown(deposits::show(&app, &account, &token).await?))
}
