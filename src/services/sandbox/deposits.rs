//! POST /sandbox/deposits.

use futures::FutureExt;

use crate::error::Error;
use crate::params::Params;
use crate::params::deposit::NewDeposit;
use crate::services::context::{Account, Context};
use crate::services::{deposits, idempotency};
use crate::views::deposit::Deposit;

/// Creates a deposit, available now or later.
///
/// Refusals: `invalid_resource`.
pub async fn create(ctx: &Context, account: &Account, params: Params<NewDeposit>) -> Result<Deposit, Error> {
    let row = deposits::row_of(account, ctx.ids.token(), params.spelled()?);
    idempotency::write(ctx, account, row, |tx, row| deposits::make(tx, row).boxed()).await
}
