//! PUT /charges/{charge_token}/capture and PUT /charges/{charge_token}/void.

use super::find::by_token;
use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::services::charges::params::Capture;
use crate::services::charges::view::Charge;
use crate::services::context::{Caller, Ctx};
use crate::services::payments::follow_up::{FollowUp, capture_or_void};
use crate::services::payments::state::{ChargeAction, EffectiveState, next};

/// Captures an authorised charge for the full authorised amount.
///
/// Refusals, first match wins: `not_found`, `bad_authorisation`, `already_captured`, `already_voided`,
/// `authorisation_expired`, `invalid_capture_amount`; then the acquirer's, `gateway_error`.
pub async fn capture(
    ctx: &Ctx,
    caller: &Caller,
    token: &str,
    params: Params<Capture>,
) -> Result<Charge, Error> {
    let row = by_token(ctx.store.read(), &caller.account, token).await?;
    next(EffectiveState::at(caller.account.now, &row), ChargeAction::Capture)
        .map_err(|code| Error::from(code).about(&row))?;
    let amount = params.value.amount.as_deref().map(str::trim).filter(|amount| !amount.is_empty());
    // Any other value, number or not, is the wrong amount, not a fault of the parameter.
    if params.faults.has("amount") || amount.is_some_and(|amount| amount.parse() != Ok(row.amount)) {
        return Err(Error::from(ErrorCode::InvalidCaptureAmount).about(&row));
    }
    let (now, row) = capture_or_void(ctx, caller, FollowUp::whole(row, ChargeAction::Capture)).await?;
    Ok(Charge::at(now, row))
}

/// Returns the reserved funds of an authorised charge.
///
/// Refusals, first match wins: `not_found`, `bad_authorisation`, `already_captured`, `already_voided`,
/// `authorisation_expired`; then the acquirer's, `gateway_error`.
pub async fn void(ctx: &Ctx, caller: &Caller, token: &str) -> Result<Charge, Error> {
    let row = by_token(ctx.store.read(), &caller.account, token).await?;
    let (now, row) = capture_or_void(ctx, caller, FollowUp::whole(row, ChargeAction::Void)).await?;
    Ok(Charge::at(now, row))
}
