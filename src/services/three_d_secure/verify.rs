//! GET /charges/verify: returns the result of a session.

use entity::charge::ChargeState;
use entity::three_d_secure::SessionState;

use super::find;
use crate::error::{Error, ErrorCode};
use crate::services::context::{Account, Context};
use crate::services::three_d_secure::view::VerifiedCharge;

/// Returns the charge, possibly declined, of a session that its cardholder has approved.
///
/// Refusals: `not_found`, also for an expired session; `three_d_secure_unavailable`; `transaction_forbidden` if the
/// cardholder has not approved, or the acquirer has not answered yet.
pub async fn verify(
    ctx: &Context,
    account: &Account,
    session_token: Option<&str>,
) -> Result<VerifiedCharge, Error> {
    let id = session_token.unwrap_or_default().trim().parse().map_err(|_| ErrorCode::NotFound)?;
    let session = find::by_id(ctx, account.id(), id).await?.ok_or(ErrorCode::NotFound)?;
    if find::is_expired(&session, account.now) {
        return Err(ErrorCode::NotFound.into());
    }
    match session.state {
        SessionState::Approved => {}
        SessionState::Unavailable => return Err(ErrorCode::ThreeDSecureUnavailable.into()),
        SessionState::Open | SessionState::Failed | SessionState::Expired => {
            return Err(ErrorCode::TransactionForbidden.into());
        }
    }
    let charge = find::charge(ctx, &session).await?;
    if charge.state == ChargeState::Processing {
        return Err(ErrorCode::TransactionForbidden.into());
    }
    Ok(VerifiedCharge::at(account.now, charge))
}
