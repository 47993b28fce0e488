//! Balance (`docs/decisions.md`, 195).

use axum::extract::State;

use super::AppState;
use super::answer::{Envelope, Shown};
use super::extract::Input;
use crate::error::Error;
use crate::services::{Account, ledger};
use crate::views::balance::Balance;

/// Get the balance.
///
/// Returns what the account owns: available now, and pending until a later day.
#[utoipa::path(get, path = "/balance", tag = "Balance",
    responses((status = 200, description = "The balance", body = Envelope<Balance>)))]
pub async fn get_balance(
    State(app): State<AppState>,
    account: Account,
    _input: Input,
) -> Result<Shown<Balance>, Error> {
    Ok(Shown(ledger::balance(&app, &account).await?))
}
