//! PUT /authorisations/{auth_token}/void.

use super::find::by_token;
use crate::error::Error;
use crate::services::authorisations::view::Authorisation;
use crate::services::context::{Caller, Ctx};
use crate::services::payments::follow_up::{FollowUp, capture_or_void};
use crate::services::payments::state::ChargeAction;

/// Returns the reserved funds of an authorisation.
///
/// Refusals, first match wins: `not_found`, `bad_authorisation`, `already_captured`, `already_voided`,
/// `authorisation_expired`; then the acquirer's, `gateway_error`.
pub async fn void(ctx: &Ctx, caller: &Caller, token: &str) -> Result<Authorisation, Error> {
    let row = by_token(ctx, &caller.account, token).await?;
    let (now, row) = capture_or_void(ctx, caller, FollowUp::whole(row, ChargeAction::Void)).await?;
    Ok(Authorisation::at(now, row))
}
