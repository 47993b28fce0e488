//! walletA's domains, sessions and certificates, and the record of used payloads (specification, Mobile wallet support;
//! `docs/decisions.md`, 223 to 230).

pub mod certificates;
pub mod domains;
pub mod params;
pub mod payloads;
pub mod providers;
pub mod sessions;
pub mod view;

pub use providers::{Provider, Wallets};

use entity::Listed;

use super::context::{Account, Caller, Context};
use super::idempotency;
use crate::error::{Error, ErrorCode};

/// Checks that the account may use wallets: its `wallet` switch.
///
/// Refusals: `api_unavailable`.
pub fn enabled(account: &Account) -> Result<(), Error> {
    if account.settings().wallet { Ok(()) } else { Err(ErrorCode::ApiUnavailable.into()) }
}

/// Deletes a record of the account.
async fn delete<E: Listed>(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    enabled(&caller.account)?;
    let id: E::Id = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = E::delete_at(caller.account.id(), id);
    let unit = idempotency::write(ctx, caller, row, async |tx, row| {
        match row.clone().exec(tx).await?.rows_affected {
            0 => Err(ErrorCode::NotFound.into()),
            _ => Ok(()),
        }
    });
    unit.await
}
