//! The account's clock (`docs/decisions.md`, 266 to 269).

use entity::{TimeSpan, Timestamp};
use macros::view;

use crate::limits::CLOCK_RAN_REPORTED_MAX;

/// The clock of an account.
#[view]
#[derive(Copy)]
pub struct Clock {
    /// The time that the clock shows.
    now: Timestamp,
    /// How far the clock is ahead of the real time, in seconds.
    #[schema(minimum = 0, example = 604_800)]
    offset_seconds: i64,
}

/// The account's clock after a move, and what happened on the way.
#[view]
pub struct MovedClock {
    /// The time that the clock shows: how far the move came.
    now: Timestamp,
    /// How far the clock is ahead of the real time, in seconds.
    #[schema(minimum = 0, example = 604_800)]
    offset_seconds: i64,
    /// The target of the move. After an incomplete move, send it again as `to` to continue.
    to: Timestamp,
    /// Whether the clock reached the target.
    complete: bool,
    /// The number of things that happened on the way.
    #[schema(example = 2)]
    ran_count: u64,
    /// The first thousand of them, in their order.
    #[schema(max_items = 1000)]
    ran: Vec<RanItem>,
}

const _: () = assert!(CLOCK_RAN_REPORTED_MAX == 1000, "the document says so");

/// Something that was due and happened while the clock moved.
#[view]
pub struct RanItem {
    /// The time at which it was due.
    pub at: Timestamp,
    /// The type of the event that it caused, or the name of the work.
    #[schema(example = "refund.succeeded")]
    pub what: &'static str,
    /// The token of the record that it happened to.
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
