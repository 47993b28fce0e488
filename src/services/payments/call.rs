//! The second step: acquirer calls, their keys and timeouts (`docs/decisions.md`, 133).

use acquirer::{Approval, AuthoriseCall, CallKey, Failure, NoAnswer};
use base::crash_points;
use base::request_context::{Wait, count_wait, waiting};
use base::trace::{Span, SpanKind};
use entity::Timestamp;
use entity::charge::{self, ChargeState};
use entity::failure::Decline;

use super::state::ChargeAction;
use crate::limits::{ACQUIRER_CALL_START, SETTLE_AFTER};
use crate::services::accounts::faults::FaultPlan;
use crate::services::cards;
use crate::services::context::Context;
use crate::services::due_work::work_time::WorkTime;

/// Returns the key of a creation. A payment makes only one such call, so its key needs no number. If a restored
/// snapshot makes a charge pending again, the acquirer repeats its first answer.
pub(super) fn creation_key(row: &charge::Model) -> CallKey {
    CallKey::new(row.token(), call_name(ChargeState::Processing))
}

/// Returns the key of the capture or void in flight.
pub(super) fn key(row: &charge::Model, action: ChargeAction) -> CallKey {
    let action = match action {
        ChargeAction::Capture => call_name(ChargeState::Capturing),
        ChargeAction::Void => call_name(ChargeState::Voiding),
    };
    CallKey::new(row.token(), &format!("{action}:{}", row.call))
}

/// Returns the name of the call that a charge's state has in flight.
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

/// Calls the acquirer for the attempt in `row`, within its timeouts.
pub(in crate::services) async fn call_acquirer<T>(
    ctx: &Context,
    time: &WorkTime,
    row: &charge::Model,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    if !may_start(ctx.clock.now(), row.settle_after) {
        return Err(Failure::NoAnswer);
    }
    let name = call_name(row.state);
    crash_points::point(name, "call.before");
    let answer = timed_call(ctx, time, name, call).await;
    crash_points::point(name, "call.after");
    answer
}

/// Makes a call of this name, counted and traced, and waits up to the call timeout.
pub(in crate::services) async fn timed_call<T>(
    ctx: &Context,
    time: &WorkTime,
    name: &str,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    metrics::counter!("card_payments_acquirer_calls_total").increment(1);
    let mut span = span(name);
    let answer = tokio::time::timeout(time.call_timeout(ctx), call);
    let answer = span.run(waiting(Wait::Acquirer, answer)).await.unwrap_or(Err(Failure::NoAnswer));
    match &answer {
        Ok(_) => {}
        // A decline is an ordinary answer.
        Err(Failure::Declined(decline)) => span.set_attribute("card_payments.decline", decline.code()),
        Err(Failure::GatewayError) => span.fail("gateway_error"),
        Err(Failure::NoAnswer) => span.fail("no_answer"),
        Err(Failure::Closed) => span.fail("closed"),
    }
    answer
}

/// Returns whether the card has expired: the acquirer knows only its own clock.
pub(super) fn has_expired_card(call: &AuthoriseCall, now: Timestamp) -> bool {
    let month = u32::try_from(call.expiry_month).unwrap_or_default();
    cards::has_expired((call.expiry_year, month), now)
}

/// Forces an outcome that is ordered for the account, unless one is forced for this attempt.
pub(super) fn force_outcome(call: &mut AuthoriseCall, faults: &FaultPlan) {
    call.forced = call.forced.or(faults.outcome);
}

/// Counts and traces a call whose answer is there at once. It releases no permit: the payment's only commit is still to come.
pub(super) fn note_answer(name: &str, answer: &Result<Approval, Decline>) {
    crash_points::point(name, "call.before");
    metrics::counter!("card_payments_acquirer_calls_total").increment(1);
    let mut span = span(name);
    if let Err(decline) = answer {
        span.set_attribute("card_payments.decline", decline.code());
    }
    count_wait(Wait::Acquirer);
    crash_points::point(name, "call.after");
}

fn span(name: &str) -> Span {
    let mut span = Span::begin("acquirer call", SpanKind::Client);
    span.set_attribute("card_payments.acquirer_call", name);
    span
}

/// Asks for or reverses the result of a key, within the same timeout.
pub(super) async fn within_time<T>(
    ctx: &Context,
    time: &WorkTime,
    call: impl Future<Output = Result<T, NoAnswer>>,
) -> Result<T, NoAnswer> {
    let mut span = span("settle");
    let answer = span.run(tokio::time::timeout(time.call_timeout(ctx), call)).await.unwrap_or(Err(NoAnswer));
    if answer.is_err() {
        span.fail("no_answer");
    }
    answer
}

/// Returns whether a call whose intent may be recovered after `settle_after` may still start: soon after the intent or
/// not at all, so that no worker recovers a payment that is still being made.
fn may_start(now: Timestamp, settle_after: Option<Timestamp>) -> bool {
    let latest = SETTLE_AFTER.millis() - ACQUIRER_CALL_START.millis();
    settle_after.is_some_and(|settle| (settle - now).millis() >= latest)
}
