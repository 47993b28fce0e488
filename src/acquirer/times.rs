//! When a call may start (decisions 5).

use entity::Timestamp;

use crate::limits::{ACQUIRER_CALL_START, SETTLE_AFTER};

/// Whether a call whose intent may be settled after `settle_after` may still start: soon after the intent or
/// not at all, so that no worker settles a payment that is being made.
pub fn may_start(now: Timestamp, settle_after: Option<Timestamp>) -> bool {
    settle_after.is_some_and(|settle| {
        (settle - now).millis() >= (SETTLE_AFTER.millis() - ACQUIRER_CALL_START.millis())
    })
}
