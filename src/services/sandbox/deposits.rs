//! POST /sandbox/deposits.

use crate::error::Error;
use crate::params::Params;
use crate::services::context::{Caller, Context};
use crate::services::deposits::params::NewDeposit;
use crate::services::deposits::view::Deposit;
use crate::services::{deposits, idempotency};

/// Creates a deposit, available now or later.
///
/// Refusals: `invalid_resource`.
pub async fn create(ctx: &Context, caller: &Caller, params: Params<NewDeposit>) -> Result<Deposit, Error> {
    let row = deposits::row_of(&caller.account, ctx.ids.token(), params.parse()?);
    idempotency::write(ctx, caller, row, deposits::make).await
}
