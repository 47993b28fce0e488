//! What a kind of due work says of itself, beside the rule of its noun: what is due, and the one verb that does it,
//! whether a worker or a moved clock comes by.

pub(super) mod clocks;
pub mod registry;
pub mod work_time;

use entity::event::EventType;
use entity::{AccountToken, RefundToken, TimeSpan, Timestamp};
use sea_orm::{EntityTrait, ModelTrait, Select};

use self::work_time::WorkTime;
use super::context::Context;
use crate::error::Error;
use crate::limits::{SETTLE_AFTER, SETTLE_PAUSE_DOUBLINGS_MAX};

/// A kind of due work of accounts.
pub trait DueWork: 'static {
    /// The table whose rows become due.
    type Entity: EntityTrait<Model: ModelTrait + Send + Sync>;

    /// What it is called, for metrics and for who moves a clock.
    const NAME: &'static str;

    /// What is due for anybody who looks, at an instant of the wall clock; without the accounts whose clock is being
    /// moved, where it goes by the account's clock.
    fn due(wall: Timestamp) -> Vec<Select<Self::Entity>>;

    /// The column that says when it is due, by the account's clock.
    const AT: <Self::Entity as EntityTrait>::Column;

    /// The column that orders what is due at the same instant.
    const ID: <Self::Entity as EntityTrait>::Column;

    /// What of one account is due, sooner or later: what a moved clock comes by.
    fn of_account(reach: &ClockMoveRange) -> Select<Self::Entity>;

    /// What it is about.
    fn subject(row: &<Self::Entity as EntityTrait>::Model) -> DueRow;

    /// Do it. Twice does no harm.
    fn work(
        ctx: &Context,
        moment: &WorkTime,
        row: <Self::Entity as EntityTrait>::Model,
    ) -> impl Future<Output = Result<WorkResult, Error>> + Send;
}

/// How far a clock is moved.
#[derive(Debug, Clone, Copy)]
pub struct ClockMoveRange {
    /// Whose clock.
    pub account: AccountToken,
    /// The last instant, by the account's clock.
    pub to: Timestamp,
    /// When the move began, by the wall clock.
    pub began: Timestamp,
    /// The last refund that it has passed, and when that was made: the acquirer answered none up to it.
    pub passed: Option<(Timestamp, RefundToken)>,
}

/// A row that is due.
#[derive(Debug, Clone)]
pub struct DueRow {
    /// Whose.
    pub account: AccountToken,
    /// When it is due, by the account's clock.
    pub at: Timestamp,
    /// Its token.
    pub token: String,
    /// Until when somebody may have it in hand, by the wall clock.
    pub leased_until: Option<Timestamp>,
}

/// What came of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkResult {
    /// It is done; this has happened.
    Event(EventType),
    /// It is done, and that is no event.
    Silent,
    /// There was nothing to do any more, or somebody else does it.
    Skipped,
    /// The acquirer gave no answer, and no clock goes on without one.
    Unanswered,
    /// The acquirer gave no answer about this refund, which stays pending and is submitted again later.
    Unsubmitted(RefundToken),
}

/// Until when somebody may have a call in hand whose claim planned the next try `pause` later: as long as any call
/// takes. The rest of the pause is rest.
pub fn leased_until(next_try: Timestamp, pause: TimeSpan) -> Timestamp {
    next_try - pause + SETTLE_AFTER
}

/// How long to wait for the next try of a call that got no answer: each pause is twice the one before. It also is how
/// long a try may take before another begins.
pub fn pause(tries: i32) -> TimeSpan {
    let doublings = u32::try_from(tries).unwrap_or_default().min(SETTLE_PAUSE_DOUBLINGS_MAX);
    TimeSpan::from_millis(SETTLE_AFTER.millis() << doublings)
}
