//! Due work: each kind, in the module of its noun, says which rows are due and implements the one function that does
//! the work, for workers and for moved clocks.

pub mod clocks;
pub mod work_time;

use std::fmt::Display;
use std::time::Duration;

use entity::event::EventType;
use entity::{AccountToken, Owned, RefundToken, TimeSpan, Timestamp};
use sea_orm::{DeleteMany, EntityTrait, ModelTrait, Select};

use self::work_time::WorkTime;
use super::context::Context;
use crate::config::Environment;
use crate::error::Error;
use crate::limits::{DOUBTED_AHEAD_MAX, DUE_REST, SETTLE_AFTER, SETTLE_PAUSE_DOUBLINGS_MAX};

/// A kind of due work of accounts.
pub trait DueWork: 'static {
    /// The table whose rows become due.
    type Entity: Owned<Model: ModelTrait + Send + Sync>;

    /// The name, for metrics and for the client that moves a clock.
    const NAME: &'static str;

    /// Whether the work destroys by age data that nothing restores: it then goes by the earliest time that may be now.
    const DESTROYS: bool = false;

    /// Whether the work moves money, or ends what is paid for, and nobody brings it back: in live, a doubted clock makes it a day early at
    /// most.
    const IS_FINAL: bool = false;

    /// How long a worker rests after a poll that has found nothing, or has failed.
    const REST: Duration = DUE_REST;

    /// Returns the time of the wall clock that workers go by.
    fn wall(ctx: &Context) -> Timestamp {
        if Self::DESTROYS {
            ctx.trusted.earliest()
        } else if Self::IS_FINAL && ctx.environment == Environment::Live {
            ctx.trusted.within(DOUBTED_AHEAD_MAX)
        } else {
            ctx.clock.now()
        }
    }

    /// Selects the rows due for any worker at an instant of the wall clock; if the kind goes by the account's clock,
    /// without the accounts whose clock is moving. A second query selects those of clocks that run ahead.
    fn due(wall: Timestamp) -> Vec<Select<Self::Entity>> {
        clocks::due(&Self::Entity::find(), Self::AT, wall).into()
    }

    /// The column with the due time, by the account's clock.
    const AT: <Self::Entity as EntityTrait>::Column;

    /// The column that orders rows due at the same instant.
    const ID: <Self::Entity as EntityTrait>::Column;

    /// Selects one account's rows of this kind, due now or later: those that a moved clock can reach.
    fn of_account(range: &ClockMoveRange) -> Select<Self::Entity> {
        Self::Entity::owned_by(range.account)
    }

    /// Describes a due row.
    fn subject(row: &<Self::Entity as EntityTrait>::Model) -> DueRow;

    /// Does the work. Doing it twice is harmless.
    fn work(
        ctx: &Context,
        time: &WorkTime,
        row: <Self::Entity as EntityTrait>::Model,
    ) -> impl Future<Output = Result<WorkResult, Error>> + Send;
}

#[derive(Debug, Clone, Copy)]
pub struct ClockMoveRange {
    /// The account whose clock moves.
    pub account: AccountToken,
    /// The last instant, by the account's clock.
    pub to: Timestamp,
    /// The time at which the move began, by the wall clock.
    pub began: Timestamp,
    /// The last refund that the move has passed, and the time of its creation: the acquirer answered none up to it.
    pub passed: Option<(Timestamp, RefundToken)>,
}

#[derive(Debug, Clone)]
pub struct DueRow {
    /// The account that owns the row.
    pub account: AccountToken,
    /// The time at which it is due, by the account's clock.
    pub at: Timestamp,
    pub token: String,
    /// The end of a possible lease, by the wall clock.
    pub leased_until: Option<Timestamp>,
}

impl DueRow {
    /// Describes a row that no call leases.
    pub fn new(account: AccountToken, at: Timestamp, token: impl Display) -> Self {
        Self { account, at, token: token.to_string(), leased_until: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkResult {
    Event(EventType),
    /// Done, without an event.
    Silent,
    /// Nothing was left to do, or another worker does it.
    Skipped,
    /// The acquirer gave no answer; the clock cannot go on without one.
    Unanswered,
    /// The acquirer gave no answer about this refund, which stays pending and is submitted again later.
    Unsubmitted(RefundToken),
}

/// Nothing to do is skipped.
impl From<Option<WorkResult>> for WorkResult {
    fn from(done: Option<WorkResult>) -> Self {
        done.unwrap_or(Self::Skipped)
    }
}

/// Deletes a due row. Skips one that was used in time, which the statement does not find.
pub async fn delete<E: EntityTrait>(
    ctx: &Context,
    time: &WorkTime,
    row: DeleteMany<E>,
) -> Result<WorkResult, Error> {
    let unit = time.write(ctx, row, async |tx, row| {
        let gone = row.clone().exec(tx).await?.rows_affected;
        Ok((gone > 0).then_some(WorkResult::Silent))
    });
    unit.await.map(WorkResult::from)
}

/// Returns the end of the lease of a call whose claim planned the next try `pause` later: as long as any call takes. No
/// one works during the rest of the pause.
pub fn leased_until(next_try: Timestamp, pause: TimeSpan) -> Timestamp {
    next_try - pause + SETTLE_AFTER
}

/// Returns the pause before the next try of a call without an answer; each is twice the one before. It also limits how
/// long a try may take before the next begins.
pub fn pause(tries: i32) -> TimeSpan {
    let doublings = u32::try_from(tries).unwrap_or_default().min(SETTLE_PAUSE_DOUBLINGS_MAX);
    TimeSpan::from_millis(SETTLE_AFTER.millis() << doublings)
}
