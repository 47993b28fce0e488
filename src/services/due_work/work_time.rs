//! When due work happens: an account at an instant of its clock. Workers come by as the clock goes; a clock that is
//! moved stops at the instant of each item, and the verbs of both are the same.

use std::time::Duration;

use entity::account::Column;
use entity::{AccountToken, TimeSpan, Timestamp, account};
use sea_orm::sea_query::{CaseStatement, Expr};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::super::context::{Account, Context};
use crate::error::{Error, ErrorCode};
use crate::limits::{CLOCK_ANSWER, CLOCK_LEASE};
use crate::store::Tx;

/// An account at an instant.
#[derive(Debug, Clone)]
pub struct WorkTime {
    account: Account,
    stop: Option<ClockUpdate>,
}

/// A moved clock comes to an instant, by the commit of what is due then.
#[derive(Debug, Clone, Copy)]
pub struct ClockUpdate {
    /// Whose clock.
    pub account: AccountToken,
    /// Which of its moves.
    pub number: i32,
    /// How far ahead of the wall clock it is then.
    pub offset: TimeSpan,
    /// Until when the move has the clock to itself from then on; `None` lets it go.
    pub moving_until: Option<Timestamp>,
}

impl WorkTime {
    /// Now, while the account's clock goes as it does.
    pub fn on_running_clock(account: Account) -> Self {
        Self { account, stop: None }
    }

    /// An instant at which a moved clock stops; `wall` is the wall clock's now.
    pub fn stop(row: account::Model, number: i32, at: Timestamp, wall: Timestamp) -> Self {
        let stop = ClockUpdate {
            account: row.id,
            number,
            offset: at - wall,
            moving_until: Some(wall + CLOCK_LEASE),
        };
        let mut account = Account::new(row, wall);
        account.now = at;
        Self { account, stop: Some(stop) }
    }

    /// Whether the account's clock goes as it does.
    pub fn is_on_running_clock(&self) -> bool {
        self.stop.is_none()
    }

    /// Whose.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// By the account's clock, what is stored and shown as now. A clock that is moved stands still meanwhile.
    pub fn now(&self, ctx: &Context) -> Timestamp {
        match self.stop {
            Some(_) => self.account.now,
            None => self.account.now_by(ctx.clock.now()),
        }
    }

    /// How long the acquirer may take to answer. A clock that is moved waits for nobody who answers at once or never, and
    /// not long for anybody else: who moved it waits, too.
    pub fn call_timeout(&self, ctx: &Context) -> Duration {
        match self.stop {
            None => ctx.acquirer_answer,
            Some(_) if ctx.acquirer.answers_at_once() => Duration::ZERO,
            Some(_) => ctx.acquirer_answer.min(CLOCK_ANSWER),
        }
    }

    /// What the transaction that does the work, or claims it before a call, writes last.
    pub fn clock_update(&self) -> OptionalClockUpdate {
        OptionalClockUpdate(self.stop)
    }
}

/// Sets the clock, if it is being moved.
#[derive(Debug, Clone, Copy)]
pub struct OptionalClockUpdate(Option<ClockUpdate>);

impl OptionalClockUpdate {
    /// Of work that is done while the account's clock goes as it does.
    pub const fn on_running_clock() -> Self {
        Self(None)
    }

    /// Refuses where the move has lost the clock to another one: then nothing of this transaction has happened.
    pub async fn set(&self, tx: &Tx) -> Result<(), Error> {
        match &self.0 {
            Some(stop) => stop.set(tx).await,
            None => Ok(()),
        }
    }
}

impl ClockUpdate {
    /// Set the clock, which never goes back. Refuses where the move has lost it to another one.
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
