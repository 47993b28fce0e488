//! The second step: calls of the acquirer, their keys and their times (decisions 5).

use entity::Timestamp;
use entity::charge::{self, ChargeState};

use super::state::Action;
use crate::acquirer::{CallKey, Failure, NoAnswer};
use crate::crash;
use crate::limits::{ACQUIRER_CALL_START, SETTLE_AFTER};
use crate::services::context::Context;
use crate::services::moment::Moment;
use crate::under_way::{Wait, waiting};

/// A payment is made by one call only, so its key needs no number.
pub(super) fn creation_key(row: &charge::Model) -> CallKey {
    CallKey::new(row.token(), call_name(ChargeState::Processing))
}

/// The key of the capture or void in flight.
pub(super) fn key(row: &charge::Model, action: Action) -> CallKey {
    let action = match action {
        Action::Capture => call_name(ChargeState::Capturing),
        Action::Void => call_name(ChargeState::Voiding),
    };
    CallKey::new(row.token(), &format!("{action}:{}", row.call))
}

/// What the call of a charge in flight is called.
pub(in crate::services) fn call_name(state: ChargeState) -> &'static str {
    match state {
        ChargeState::Capturing => "capture",
        ChargeState::Voiding => "void",
        ChargeState::Pending
        | ChargeState::Processing
        | ChargeState::Authorised
        | ChargeState::Captured
        | ChargeState::Voided
        | ChargeState::Failed => "charge",
    }
}

/// Call the acquirer for the attempt in `row`, within its times.
pub(in crate::services) async fn ask<T>(
    ctx: &Context,
    moment: &Moment,
    row: &charge::Model,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    if !may_start(ctx.clock.now(), row.settle_after) {
        return Err(Failure::NoAnswer);
    }
    metrics::counter!("card_payments_acquirer_calls_total").increment(1);
    crash::point(call_name(row.state), "call.before");
    let answer = tokio::time::timeout(moment.patience(ctx), call);
    let answer = waiting(Wait::Acquirer, answer).await.unwrap_or(Err(Failure::NoAnswer));
    crash::point(call_name(row.state), "call.after");
    answer
}

/// Settle a key, within the same time.
pub(super) async fn within_time<T>(
    ctx: &Context,
    call: impl Future<Output = Result<T, NoAnswer>>,
) -> Result<T, NoAnswer> {
    tokio::time::timeout(ctx.acquirer_answer, call).await.unwrap_or(Err(NoAnswer))
}

/// Whether a call whose intent may be settled after `settle_after` may still start: soon after the intent or
/// not at all, so that no worker settles a payment that is being made.
fn may_start(now: Timestamp, settle_after: Option<Timestamp>) -> bool {
    let latest = SETTLE_AFTER.millis() - ACQUIRER_CALL_START.millis();
    settle_after.is_some_and(|settle| (settle - now).millis() >= latest)
}
