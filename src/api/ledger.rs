//! Balance (`docs/decisions.md`, 195 and 378).

use axum::extract::State;

use super::answer::{Envelope, Shown};
use super::extract::Input;
use super::operations::{Operations, routes};
use super::state::AppState;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::params::read_instant;
use crate::services::ledger::view::Balance;
use crate::services::{Account, ledger};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default().routes(routes!(get_balance))
}

/// Get the balance.
///
/// Returns what the account owns: available now, and pending until a later day; with `at` as it was then.
#[utoipa::path(get, path = "/balance", tag = "Balance",
    params(("at" = Option<String>, Query, description = "The time of the balance: a day, for its first moment in UTC, or an ISO 8601 time, but none in the future; now if it is absent. An extension.",
        example = "2026-03-01")),
    responses((status = 200, description = "The balance", body = Envelope<Balance>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn get_balance(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Shown<Balance>, Error> {
    Ok(Shown(ledger::balance_at(&app, &account, read_instant(&input)).await?))
}
