//! The actions that a charge allows now, by the rules that decide about each request.

use crate::error::Error;
use crate::services::charges::find::by_token;
use crate::services::context::{Account, Context};
use crate::services::payments::state::{ChargeAction, EffectiveState, next};
use crate::services::{disputes, refunds};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferedAction {
    /// Takes the reserved money.
    Capture,
    /// Returns the reserved money.
    Void,
    /// Refunds money.
    Refund,
    /// Opens a dispute of its cardholder.
    Dispute,
}

/// Returns the actions that the state of the charge allows.
///
/// Refusals: `not_found`.
pub async fn allowed_actions(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<Vec<OfferedAction>, Error> {
    let charge = by_token(ctx.store.read(), account, token).await?;
    let effective = EffectiveState::at(account.now, &charge);
    let verbs = [
        (OfferedAction::Capture, next(effective, ChargeAction::Capture).is_ok()),
        (OfferedAction::Void, next(effective, ChargeAction::Void).is_ok()),
        (OfferedAction::Refund, refunds::create::refundable_amount(&charge).is_ok_and(|left| left > 0)),
        (OfferedAction::Dispute, disputes::open::disputable_amount(&charge).is_ok()),
    ];
    Ok(verbs.into_iter().filter_map(|(verb, is_possible)| is_possible.then_some(verb)).collect())
}
