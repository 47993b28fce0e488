//! The time at which due work happens: an account at an instant of its clock. Workers use the running clock; a moved
//! clock stops at the instant of each item. Both call the same functions.

use std::time::Duration;

use entity::account::Column;
use entity::{AccountToken, TimeSpan, Timestamp, account};
use sea_orm::sea_query::{CaseStatement, Expr};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use store::{Tx, Unit};

use super::super::context::{Account, Context};
use crate::error::{Error, ErrorCode};
use crate::limits::{CLOCK_LEASE, CLOCK_MOVE_CALL_TIMEOUT};

/// An account at an instant of its clock.
#[derive(Debug, Clone)]
pub struct WorkTime {
    account: Account,
    stop: Option<ClockUpdate>,
    /// The wall clock that a running clock follows.
    wall: fn(&Context) -> Timestamp,
}

/// Sets a moved clock to an instant, in the commit of the work due then.
#[derive(Debug, Clone, Copy)]
pub struct ClockUpdate {
    /// The account whose clock moves.
    pub account: AccountToken,
    /// The number of the clock's move.
    pub number: i32,
    /// The span by which the clock is then ahead of the wall clock.
    pub offset: TimeSpan,
    /// The end of the move's lease on the clock; `None` releases it.
    pub moving_until: Option<Timestamp>,
}

impl WorkTime {
    /// Uses the account's running clock.
    pub fn on_running_clock(account: Account) -> Self {
        Self { account, stop: None, wall: |ctx| ctx.clock.now() }
    }

    /// Lets a running clock follow another wall clock.
    #[must_use]
    pub fn by(self, wall: fn(&Context) -> Timestamp) -> Self {
        Self { wall, ..self }
    }

    /// Uses an instant at which a moved clock stops; `wall` is the wall clock's now.
    pub fn stop(row: account::Model, number: i32, at: Timestamp, wall: Timestamp) -> Self {
        let stop = ClockUpdate {
            account: row.id,
            number,
            offset: at - wall,
            moving_until: Some(wall + CLOCK_LEASE),
        };
        let mut account = Account::new(row, wall);
        account.now = at;
        Self { stop: Some(stop), ..Self::on_running_clock(account) }
    }

    /// Returns whether the account's clock is running, not moved.
    pub fn is_on_running_clock(&self) -> bool {
        self.stop.is_none()
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Returns the account's time, which is stored and shown as now. A moved clock stands still during the work.
    pub fn now(&self, ctx: &Context) -> Timestamp {
        match self.stop {
            Some(_) => self.account.now,
            None => self.account.now_by((self.wall)(ctx)),
        }
    }

    /// Returns the earliest time that it may be, for work that destroys by age: a moved clock is believed.
    pub fn earliest(&self, ctx: &Context) -> Timestamp {
        match self.stop {
            Some(_) => self.account.now,
            None => self.account.now_by(ctx.trusted.earliest()),
        }
    }

    /// Returns the acquirer's time limit. A moved clock does not wait for an acquirer that answers at once or never,
    /// and only briefly for any other: its client waits, too (`docs/decisions.md`, 307).
    pub fn call_timeout(&self, ctx: &Context) -> Duration {
        match self.stop {
            None => ctx.settings.acquirer_timeout,
            Some(_) if ctx.acquirer.answers_at_once() => Duration::ZERO,
            Some(_) => ctx.settings.acquirer_timeout.min(CLOCK_MOVE_CALL_TIMEOUT),
        }
    }

    /// Commits a unit of the work. A clock that is being moved comes to the instant of the work in the same commit, written last. A
    /// unit that returns `None` has found nothing to do and has written nothing: then the clock stays.
    pub async fn write<D, T>(
        &self,
        ctx: &Context,
        data: D,
        unit: impl Unit<D, Option<T>, Error>,
    ) -> Result<Option<T>, Error>
    where
        D: Send + Sync + 'static,
        T: Send + 'static,
    {
        let unit = ctx.store.write((data, unit, self.stop), async |tx, (data, unit, stop)| {
            let done = unit.run(tx, data).await?;
            if let (Some(_), Some(stop)) = (&done, stop) {
                stop.set(tx).await?;
            }
            Ok(done)
        });
        unit.await
    }
}

impl ClockUpdate {
    /// Sets the clock, which never goes back. Refuses if the move has lost it to another one.
    pub async fn set(&self, tx: &Tx) -> Result<(), Error> {
        let grown = CaseStatement::new()
            .case(Column::ClockOffset.lt(self.offset), Expr::value(self.offset.millis()))
            .finally(Expr::col(Column::ClockOffset));
        let set = account::Entity::update_many()
            .col_expr(Column::ClockOffset, grown.into())
            .col_expr(Column::MovingUntil, Expr::value(self.moving_until.map(Timestamp::millis)))
            .filter(Column::Id.eq(self.account))
            .filter(Column::ClockMoves.eq(self.number));
        if !tx.compare_and_set(set).await? {
            return Err(ErrorCode::ClockMoving.into());
        }
        Ok(())
    }
}
