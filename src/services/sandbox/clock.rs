//! The account's own clock (decisions 12 and 13). It is moved from one due thing to the next: each happens at its
//! instant, by the verb that a worker would have called, and its transaction sets the clock. So a move can end
//! anywhere, by a kill too, and what is asked for again goes on from there.

use std::collections::HashMap;

use entity::account::{self, Column};
use entity::{AccountToken, TimeSpan, Timestamp};
use futures::FutureExt;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tokio::time::{Instant, sleep};

use crate::error::{Error, ErrorCode};
use crate::limits::{
    CLOCK_DOUBLINGS_MAX, CLOCK_LEASE, CLOCK_LEASE_RENEWED, CLOCK_LOOKS_AGAIN, CLOCK_RAN_TOLD_MAX,
    CLOCK_REFUND_TRIES,
};
use crate::params::Params;
use crate::params::clock::{Move, MoveClock};
use crate::services::accounts::settings;
use crate::services::context::{Account, Context, Ctx};
use crate::services::due_work::registry::{self, Item};
use crate::services::due_work::work_time::{ClockUpdate, WorkTime};
use crate::services::due_work::{ClockMoveRange, WorkResult};
use crate::services::idempotency;
use crate::store::Tx;
use crate::views::clock::{Clock, MovedClock, RanItem};

/// What the account's clock shows.
pub fn show(account: &Account) -> Clock {
    Clock::new(account.now, account.offset())
}

/// Move the account's clock, and do on the way what is due. May take as long as a move may.
///
/// Refusals, first match wins: `invalid_resource`, `clock_moving`.
pub async fn advance(ctx: &Ctx, account: &Account, params: Params<MoveClock>) -> Result<MovedClock, Error> {
    let asked = params.spelled()?;
    asked.target(account.now, ctx.clock.now())?;
    let (task, account) = (Ctx::clone(ctx), account.clone());
    ctx.in_own_task(async move { ClockMoveRun::begin(&task, &account, asked).await?.run().await }).await
}

/// Let every clock go that a process was moving when it ended: for a server that knows to be the only one.
pub async fn make_due_now(ctx: &Context) -> Result<(), Error> {
    let unit = ctx.store.write((), |tx, ()| {
        async move {
            let moving = account::Entity::update_many()
                .col_expr(Column::MovingUntil, Expr::value(None::<i64>))
                .filter(Column::MovingUntil.is_not_null());
            Ok(moving.exec(tx).await.map(drop)?)
        }
        .boxed()
    });
    unit.await
}

/// A request to have the clock to itself.
struct BeginClockMoveUnit {
    account: AccountToken,
    asked: Move,
    wall: Timestamp,
}

impl BeginClockMoveUnit {
    /// The account with this move as its last one, and where the move goes.
    async fn record(&self, tx: &Tx) -> Result<(account::Model, Timestamp), Error> {
        let mut row = settings::held(tx, self.account).await?;
        if row.moving_until.is_some_and(|until| until > self.wall) {
            return Err(ErrorCode::ClockMoving.into());
        }
        // By the clock as it stands now: another move may have ended since the request came.
        let target = self.asked.target(self.wall + row.clock_offset, self.wall)?;
        let taken = account::Entity::update_many()
            .col_expr(Column::ClockMoves, Expr::value(row.clock_moves + 1))
            .col_expr(Column::MovingUntil, Expr::value((self.wall + CLOCK_LEASE).millis()))
            .filter(Column::Id.eq(row.id))
            .filter(Column::ClockMoves.eq(row.clock_moves));
        if taken.exec(tx).await?.rows_affected == 0 {
            return Err(ErrorCode::ClockMoving.into());
        }
        row.clock_moves += 1;
        Ok((row, target))
    }
}

/// A move under way.
struct ClockMoveRun<'a> {
    ctx: &'a Context,
    /// As the request brought it, with its Idempotency-Key.
    account: &'a Account,
    /// As it stood when the move began.
    row: account::Model,
    reach: ClockMoveRange,
    /// How far it came: what happens next does not happen before.
    reached: Timestamp,
    offset: TimeSpan,
    /// How far ahead the clock is at its target. One that was moved by a span has gone on meanwhile; one that was moved to a
    /// time shows it.
    ahead: TimeSpan,
    ran: Vec<RanItem>,
    ran_count: u64,
    /// By token: how often the acquirer did not answer this move.
    unanswered: HashMap<String, u32>,
    ends: Instant,
}

impl<'a> ClockMoveRun<'a> {
    async fn begin(ctx: &'a Context, account: &'a Account, asked: Move) -> Result<Self, Error> {
        let wall = ctx.clock.now();
        let is_span = !matches!(asked, Move::To(_));
        let beginning = BeginClockMoveUnit { account: account.id(), asked, wall };
        let (row, to) = ctx.store.write(beginning, |tx, beginning| beginning.record(tx).boxed()).await?;
        Ok(Self {
            ctx,
            account,
            reach: ClockMoveRange { account: row.id, to, began: wall, passed: None },
            reached: row.now(wall),
            offset: row.clock_offset,
            ahead: if is_span { to - wall } else { row.clock_offset },
            row,
            ran: Vec::new(),
            ran_count: 0,
            unanswered: HashMap::new(),
            ends: Instant::now() + ctx.clock_move,
        })
    }

    async fn run(mut self) -> Result<MovedClock, Error> {
        let (ctx, lease) = (self.ctx, Lease { account: self.row.id, number: self.row.clock_moves });
        let complete = match lease.kept(ctx, self.go()).await {
            Ok(complete) => complete,
            Err(error) => {
                lease.let_go(ctx).await;
                return Err(error);
            }
        };
        let moved = self.end(complete).await;
        // Webhooks that wait for a later try may be due by now.
        ctx.due_webhooks.notify_one();
        moved
    }

    /// Do what is due up to the target. Says whether that was all.
    async fn go(&mut self) -> Result<bool, Error> {
        // However little time there is, a move gets on.
        let mut moved = false;
        loop {
            let Some(item) = registry::first(self.ctx, self.reach).await? else { return Ok(true) };
            if (moved && Instant::now() >= self.ends) || self.ctx.tasks.is_closed() {
                return Ok(false);
            }
            if self.is_held(&item) {
                if Instant::now() >= self.ends {
                    return Ok(false);
                }
                sleep(CLOCK_LOOKS_AGAIN).await;
            } else {
                self.stop_at(item).await?;
                moved = true;
            }
        }
    }

    /// Whether somebody else has it in hand. What this move was not answered it has in hand itself.
    fn is_held(&self, item: &Item) -> bool {
        let held_until =
            item.subject.leased_until.filter(|_| !self.unanswered.contains_key(&item.subject.token));
        held_until.is_some_and(|until| until > self.ctx.clock.now())
    }

    async fn stop_at(&mut self, item: Item) -> Result<(), Error> {
        let wall = self.ctx.clock.now();
        let at = Ord::max(item.subject.at, self.reached);
        let moment = WorkTime::stop(self.row.clone(), self.row.clock_moves, at, wall);
        let (kind, token, item_at) = (item.kind, item.subject.token.clone(), item.subject.at);
        let ran = item.work(self.ctx, &moment).await?;
        self.reached = at;
        self.offset = Ord::max(self.offset, at - wall);
        let what = match ran {
            WorkResult::Event(event) => event.code(),
            WorkResult::Silent => kind,
            WorkResult::Skipped => return Ok(()),
            WorkResult::Unanswered => {
                self.pause(token).await;
                return Ok(());
            }
            // Once one was asked about in vain so often, an acquirer that does not answer need be asked once about each.
            WorkResult::Unsubmitted(refund) => {
                if self.reach.passed.is_some() || self.pause(token).await >= CLOCK_REFUND_TRIES {
                    self.reach.passed = Some((item_at, refund));
                }
                return Ok(());
            }
        };
        self.ran_count += 1;
        if self.ran.len() < CLOCK_RAN_TOLD_MAX {
            self.ran.push(RanItem { at, what, token });
        }
        Ok(())
    }

    /// Wait before the acquirer is asked again about what it has not answered. Says how often that was.
    async fn pause(&mut self, token: String) -> u32 {
        let times = self.unanswered.entry(token).or_default();
        *times += 1;
        let pause = CLOCK_LOOKS_AGAIN * 2_u32.pow(Ord::min(*times, CLOCK_DOUBLINGS_MAX));
        sleep(Ord::min(pause, self.ends.saturating_duration_since(Instant::now()))).await;
        *times
    }

    /// The last transaction: the clock comes to its target, or stays where it is, and is let go.
    async fn end(self, complete: bool) -> Result<MovedClock, Error> {
        let wall = self.ctx.clock.now();
        let offset =
            if complete { self.offset.max(self.ahead).max(self.reach.to - wall) } else { self.offset };
        let stop =
            ClockUpdate { account: self.row.id, number: self.row.clock_moves, offset, moving_until: None };
        let moved = MovedClock::new(
            Clock::new(if complete { self.reach.to } else { wall + offset }, offset),
            self.reach.to,
            complete,
            self.ran_count,
            self.ran,
        );
        let unit = idempotency::write(self.ctx, self.account, (stop, moved), |tx, (stop, moved)| {
            async move {
                stop.set(tx).await?;
                Ok(moved.clone())
            }
            .boxed()
        });
        unit.await
    }
}

/// A move's hold on the clock.
#[derive(Clone, Copy)]
struct Lease {
    account: AccountToken,
    number: i32,
}

impl Lease {
    /// Work, and say again and again that the move still lives: a step may take longer than its lease.
    async fn kept<T>(self, ctx: &Context, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        // Both go on together: work that stood still meanwhile might keep a connection that the renewal waits for.
        tokio::select! {
            done = work => done,
            lost = self.renewed(ctx) => Err(lost),
        }
    }

    /// Nobody is to wait for the lease of a move that has failed; where it is another one's or cannot be let go, it runs out.
    async fn let_go(self, ctx: &Context) {
        let stop = ClockUpdate {
            account: self.account,
            number: self.number,
            offset: TimeSpan::ZERO,
            moving_until: None,
        };
        let _ = ctx.store.write(stop, |tx, stop| stop.set(tx).boxed()).await;
    }

    /// Ends when the lease is lost.
    async fn renewed(self, ctx: &Context) -> Error {
        loop {
            sleep(CLOCK_LEASE_RENEWED).await;
            let until = ctx.clock.now() + CLOCK_LEASE;
            // The clock itself is not touched: no offset is behind the one it has.
            let stop = ClockUpdate {
                account: self.account,
                number: self.number,
                offset: TimeSpan::ZERO,
                moving_until: Some(until),
            };
            if let Err(lost) = ctx.store.write(stop, |tx, stop| stop.set(tx).boxed()).await {
                return lost;
            }
        }
    }
}
