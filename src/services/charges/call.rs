//! The second step: calls of the acquirer, their keys and their times (decisions 5).

use entity::Timestamp;
use entity::charge::{self, ChargeState};

use super::state::ChargeAction;
use crate::acquirer::{CallKey, Failure, NoAnswer};
use crate::limits::{ACQUIRER_CALL_START, SETTLE_AFTER};
use crate::runtime::crash_points;
use crate::runtime::request_context::{Wait, waiting};
use crate::services::context::Context;
use crate::services::due_work::work_time::WorkTime;
use crate::trace::{Span, SpanKind};

/// A payment is made by one call only, so its key needs no number. One that waits once more, because a snapshot was put
/// back, is answered as it was the first time.
pub(super) fn creation_key(row: &charge::Model) -> CallKey {
    CallKey::new(row.token(), call_name(ChargeState::Processing))
}

/// The key of the capture or void in flight.
pub(super) fn key(row: &charge::Model, action: ChargeAction) -> CallKey {
    let action = match action {
        ChargeAction::Capture => call_name(ChargeState::Capturing),
        ChargeAction::Void => call_name(ChargeState::Voiding),
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
    moment: &WorkTime,
    row: &charge::Model,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    if !may_start(ctx.clock.now(), row.settle_after) {
        return Err(Failure::NoAnswer);
    }
    let name = call_name(row.state);
    crash_points::point(name, "call.before");
    let answer = made(ctx, moment, name, call).await;
    crash_points::point(name, "call.after");
    answer
}

/// Make a call of this name, counted and traced, and wait for it as long as the moment has patience.
pub(in crate::services) async fn made<T>(
    ctx: &Context,
    moment: &WorkTime,
    name: &str,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    metrics::counter!("card_payments_acquirer_calls_total").increment(1);
    let mut span = span(name);
    let answer = tokio::time::timeout(moment.call_timeout(ctx), call);
    let answer = span.run(waiting(Wait::Acquirer, answer)).await.unwrap_or(Err(Failure::NoAnswer));
    match &answer {
        Ok(_) => {}
        // An answer like any other.
        Err(Failure::Declined(decline)) => span.set_attribute("card_payments.decline", decline.code()),
        Err(Failure::GatewayError) => span.fail("gateway_error"),
        Err(Failure::NoAnswer) => span.fail("no_answer"),
        Err(Failure::Closed) => span.fail("closed"),
    }
    answer
}

fn span(name: &str) -> Span {
    let mut span = Span::begin("acquirer call", SpanKind::Client);
    span.set_attribute("card_payments.acquirer_call", name);
    span
}

/// Settle a key, within the same time.
pub(super) async fn within_time<T>(
    ctx: &Context,
    moment: &WorkTime,
    call: impl Future<Output = Result<T, NoAnswer>>,
) -> Result<T, NoAnswer> {
    let mut span = span("settle");
    let answer =
        span.run(tokio::time::timeout(moment.call_timeout(ctx), call)).await.unwrap_or(Err(NoAnswer));
    if answer.is_err() {
        span.fail("no_answer");
    }
    answer
}

/// Whether a call whose intent may be settled after `settle_after` may still start: soon after the intent or
/// not at all, so that no worker settles a payment that is being made.
fn may_start(now: Timestamp, settle_after: Option<Timestamp>) -> bool {
    let latest = SETTLE_AFTER.millis() - ACQUIRER_CALL_START.millis();
    settle_after.is_some_and(|settle| (settle - now).millis() >= latest)
}
