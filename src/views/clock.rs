//! The account's clock (decisions 12).

use entity::{TimeSpan, Timestamp};
use macros::view;

use crate::limits::CLOCK_RAN_TOLD_MAX;

/// The clock of an account.
#[view]
#[derive(Copy)]
pub struct Clock {
    /// What it shows.
    now: Timestamp,
    /// How far it runs ahead of the wall clock, in seconds.
    #[schema(minimum = 0, example = 604_800)]
    offset_seconds: i64,
}

/// The clock of an account after a move, and what was due on the way.
#[view]
pub struct MovedClock {
    /// What it shows: how far it came.
    now: Timestamp,
    /// How far it runs ahead of the wall clock, in seconds.
    #[schema(minimum = 0, example = 604_800)]
    offset_seconds: i64,
    /// Where it was to go. Sent again as to, it goes on after complete was false.
    to: Timestamp,
    /// Whether it came there.
    complete: bool,
    /// How many things were due on the way.
    #[schema(example = 2)]
    ran_count: u64,
    /// The first thousand of them, in order.
    #[schema(max_items = 1000)]
    ran: Vec<RanItem>,
}

const _: () = assert!(CLOCK_RAN_TOLD_MAX == 1000, "the document says so");

/// Something that was due while a clock was moved.
#[view]
pub struct RanItem {
    /// When it happened.
    pub at: Timestamp,
    /// The type of the event that it was, or what was due.
    #[schema(example = "refund.succeeded")]
    pub what: &'static str,
    /// The token of the record that was due.
    #[schema(example = "rf_AZqYv3rVcBKUQ1mHn7tKRw")]
    pub token: String,
}

impl Clock {
    /// A clock that shows `now`.
    pub fn new(now: Timestamp, offset: TimeSpan) -> Self {
        Self { now, offset_seconds: offset.whole_seconds() }
    }
}

impl MovedClock {
    /// A clock after a move to `to`.
    pub fn new(clock: Clock, to: Timestamp, complete: bool, ran_count: u64, ran: Vec<RanItem>) -> Self {
        let Clock { now, offset_seconds } = clock;
        Self { now, offset_seconds, to, complete, ran_count, ran }
    }
}
