//! The account's clock (`docs/decisions.md`, 266 to 269).

use entity::{TimeSpan, Timestamp};
use macros::view;

use crate::limits::CLOCK_RAN_REPORTED_MAX;

/// The clock of an account.
#[view]
#[derive(Copy)]
pub struct Clock {
    /// The clock's time.
    now: Timestamp,
    /// How far the clock is ahead of the wall clock, in seconds.
    #[schema(minimum = 0, example = 604_800)]
    offset_seconds: i64,
}

/// The account's clock after a move, and the work done on the way.
#[view]
pub struct MovedClock {
    /// The clock's time: how far the move came.
    now: Timestamp,
    /// How far the clock is ahead of the wall clock, in seconds.
    #[schema(minimum = 0, example = 604_800)]
    offset_seconds: i64,
    /// The target. After an incomplete move, send it again as `to` to continue.
    to: Timestamp,
    /// Whether the clock reached the target.
    complete: bool,
    /// The number of items done on the way.
    #[schema(example = 2)]
    ran_count: u64,
    /// The first thousand items, in order.
    #[schema(max_items = 1000)]
    ran: Vec<RanItem>,
}

const _: () = assert!(CLOCK_RAN_REPORTED_MAX == 1000, "the document says so");

/// Due work that a clock move did.
#[view]
pub struct RanItem {
    /// The instant of the item.
    pub at: Timestamp,
    /// The type of its event, or the kind of due work.
    #[schema(example = "refund.succeeded")]
    pub what: &'static str,
    /// The token of the due record.
    #[schema(example = "rf_AZqYv3rVcBKUQ1mHn7tKRw")]
    pub token: String,
}

impl Clock {
    /// Returns a clock that shows `now`.
    pub fn new(now: Timestamp, offset: TimeSpan) -> Self {
        Self { now, offset_seconds: offset.whole_seconds() }
    }
}

impl MovedClock {
    /// Returns a clock after a move to `to`.
    pub fn new(clock: Clock, to: Timestamp, complete: bool, ran_count: u64, ran: Vec<RanItem>) -> Self {
        let Clock { now, offset_seconds } = clock;
        Self { now, offset_seconds, to, complete, ran_count, ran }
    }
}
