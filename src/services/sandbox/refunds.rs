//! PUT /sandbox/refunds/{refund_token}.

use crate::error::Error;
use crate::params::Params;
use crate::services::context::{Caller, Context};
use crate::services::refunds;
use crate::services::refunds::view::Refund;
use crate::services::sandbox::params::DecidedRefund;

/// Ends a pending refund with the given outcome.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`, `invalid_state`.
pub async fn decide(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<DecidedRefund>,
) -> Result<Refund, Error> {
    let refund = refunds::find::by_token(ctx, &caller.account, token).await?;
    refunds::complete::decide(ctx, caller, refund, params.valid()?.outcome).await
}
