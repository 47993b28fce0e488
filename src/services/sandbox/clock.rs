//! The account's own clock. A move goes from one due item to the next: each happens at its instant, by the function that a
//! worker would call, and its transaction sets the clock. So a move can end anywhere, also by a kill, and the next request
//! continues from there.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::mutants::{self, Mutant};
use base::request_permits::release_permit;
use entity::account::{self, Column};
use entity::{AccountToken, TimeSpan, Timestamp};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use store::Tx;
use tokio::time::{Instant, sleep};

use crate::error::{Error, ErrorCode};
use crate::limits::{
    CLOCK_DOUBLINGS_MAX, CLOCK_LEASE, CLOCK_LEASE_RENEW_INTERVAL, CLOCK_POLL_INTERVAL,
    CLOCK_RAN_REPORTED_MAX, CLOCK_REFUND_TRIES,
};
use crate::params::Params;
use crate::services::accounts::settings;
use crate::services::context::{Account, Caller, Context, Ctx};
use crate::services::due_work::work_time::{ClockUpdate, WorkTime};
use crate::services::due_work::{ClockMoveRange, WorkResult};
use crate::services::due_work_registry::{self, Item};
use crate::services::idempotency;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::sandbox::clock_params::{MoveClock, RequestedMove};
use crate::services::sandbox::clock_view::{Clock, MovedClock, RanItem};

/// Returns the time of the account's clock.
pub fn show(account: &Account) -> Clock {
    Clock::new(account.now, account.offset())
}

/// Moves the account's clock and does the work that is due on the way. May take as long as a move may.
///
/// Refusals, first match wins: `invalid_resource`, `clock_moving`.
pub async fn advance(ctx: &Ctx, caller: &Caller, params: Params<MoveClock>) -> Result<MovedClock, Error> {
    let requested = params.parse()?;
    requested.target(caller.account.now, ctx.clock.now())?;
    let (task, caller) = (Ctx::clone(ctx), caller.clone());
    let moving = async move {
        let run = ClockMoveRun::begin(&task, &caller, requested).await?;
        // An account has one at a time, and most of it may be waiting for what others hold.
        release_permit();
        run.run().await
    };
    ctx.in_own_task(moving).await
}

/// Releases the clocks that an ended process was moving. Only for a server that knows it is the only one.
pub async fn make_due_now(ctx: &Context) -> Result<(), Error> {
    let moving = account::Entity::update_many()
        .col_expr(Column::MovingUntil, Expr::value(None::<i64>))
        .filter(Column::MovingUntil.is_not_null());
    ctx.update(moving).await.map(drop)
}

/// A request for the lease on the clock.
struct BeginClockMoveUnit {
    account: AccountToken,
    requested: RequestedMove,
    wall: Timestamp,
    claim: Option<Arc<IdempotencyClaim>>,
}

impl BeginClockMoveUnit {
    /// Takes the lease. Returns the account with this move as its last one, and the target.
    async fn record(&self, tx: &Tx) -> Result<(account::Model, Timestamp), Error> {
        // The claim of a move that ends in this very batch would not be seen.
        tx.require_unbuffered()?;
        let row = settings::lock_account(tx, self.account).await?;
        if row.moving_until.is_some_and(|until| until > self.wall) {
            return Err(ErrorCode::ClockMoving.into());
        }
        // A move under the same key may have ended since the request came: this one would do its work once more.
        idempotency::require_free(tx, row.id, self.claim.as_deref()).await?;
        // By the clock's current time: another move may have ended since the request came.
        let target = self.requested.target(self.wall + row.clock_offset, self.wall)?;
        let moving = account::Model {
            clock_moves: row.clock_moves + 1,
            moving_until: Some(self.wall + CLOCK_LEASE),
            ..row.clone()
        };
        tx.update(&row, &moving).await?;
        Ok((moving, target))
    }
}

/// A move in progress.
struct ClockMoveRun<'a> {
    ctx: &'a Context,
    caller: &'a Caller,
    /// The account's row when the move began.
    row: account::Model,
    range: ClockMoveRange,
    /// The instant that the move has reached: the next item does not happen before it.
    reached: Timestamp,
    offset: TimeSpan,
    /// The clock's offset at the target. A clock moved by a span has run on meanwhile; a clock moved to a time shows that
    /// time.
    ahead: TimeSpan,
    ran: Vec<RanItem>,
    ran_count: u64,
    /// By token: the number of calls of this move that the acquirer did not answer.
    unanswered: HashMap<String, u32>,
    ends: Instant,
}

impl<'a> ClockMoveRun<'a> {
    async fn begin(ctx: &'a Context, caller: &'a Caller, requested: RequestedMove) -> Result<Self, Error> {
        let wall = ctx.clock.now();
        let is_span = !matches!(requested, RequestedMove::To(_));
        let (account, claim) = (caller.account.id(), caller.claim.clone());
        let beginning = BeginClockMoveUnit { account, requested, wall, claim };
        let (row, to) = ctx.store.write(beginning, async |tx, beginning| beginning.record(tx).await).await?;
        Ok(Self {
            ctx,
            caller,
            range: ClockMoveRange { account: row.id, to, began: wall, passed: None },
            reached: row.now(wall),
            offset: row.clock_offset,
            ahead: if is_span { to - wall } else { row.clock_offset },
            row,
            ran: Vec::new(),
            ran_count: 0,
            unanswered: HashMap::new(),
            ends: Instant::now() + ctx.settings.clock_move_timeout,
        })
    }

    async fn run(mut self) -> Result<MovedClock, Error> {
        let ctx = self.ctx;
        let lease = ClockLease { account: self.row.id, number: self.row.clock_moves };
        let complete = match lease.with_lease(ctx, self.run_due_items()).await {
            Ok(complete) => complete,
            Err(error) => {
                lease.release(ctx).await;
                return Err(error);
            }
        };
        let moved = self.end(complete).await;
        if moved.is_err() {
            lease.release(ctx).await;
        }
        // Webhooks that wait for their next attempt may be due by now.
        ctx.memory.clocks_ahead.store(true, Ordering::Relaxed);
        ctx.memory.due_webhooks.notify_one();
        moved
    }

    /// Does the work that is due up to the target. Returns whether that was all.
    async fn run_due_items(&mut self) -> Result<bool, Error> {
        // However little time there is, a move makes progress.
        let mut moved = false;
        loop {
            let Some(item) = due_work_registry::first(self.ctx, self.range).await? else { return Ok(true) };
            if (moved && Instant::now() >= self.ends) || self.ctx.tasks.is_closed() {
                return Ok(false);
            }
            if self.is_held(&item) {
                if Instant::now() >= self.ends {
                    return Ok(false);
                }
                sleep(CLOCK_POLL_INTERVAL).await;
            } else {
                self.stop_at(item).await?;
                moved = true;
            }
        }
    }

    /// Returns whether another process has leased the item. Items of this move without an answer are leased by itself.
    fn is_held(&self, item: &Item) -> bool {
        let held_until =
            item.subject.leased_until.filter(|_| !self.unanswered.contains_key(&item.subject.token));
        held_until.is_some_and(|until| until > self.ctx.clock.now()) && !mutants::is(Mutant::HeldWorkTaken)
    }

    async fn stop_at(&mut self, item: Item) -> Result<(), Error> {
        let wall = self.ctx.clock.now();
        let at = Ord::max(item.subject.at, self.reached);
        let time = WorkTime::stop(self.row.clone(), self.row.clock_moves, at, wall);
        let (kind, token, item_at) = (item.kind, item.subject.token.clone(), item.subject.at);
        let ran = item.work(self.ctx, &time).await?;
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
            // After so many unanswered calls about one item, one call about each further item is enough.
            WorkResult::Unsubmitted(refund) => {
                if self.range.passed.is_some() || self.pause(token).await >= CLOCK_REFUND_TRIES {
                    self.range.passed = Some((item_at, refund));
                }
                return Ok(());
            }
        };
        self.ran_count += 1;
        if self.ran.len() < CLOCK_RAN_REPORTED_MAX {
            self.ran.push(RanItem { at, what, token });
        }
        Ok(())
    }

    /// Waits before the next call to an acquirer that has not answered. Returns the number of calls so far.
    async fn pause(&mut self, token: String) -> u32 {
        let times = self.unanswered.entry(token).or_default();
        *times += 1;
        let pause = CLOCK_POLL_INTERVAL * 2_u32.pow(Ord::min(*times, CLOCK_DOUBLINGS_MAX));
        sleep(Ord::min(pause, self.ends.saturating_duration_since(Instant::now()))).await;
        *times
    }

    /// Runs the last transaction: sets the clock to its target, or leaves it, and releases the lease.
    async fn end(self, complete: bool) -> Result<MovedClock, Error> {
        let wall = self.ctx.clock.now();
        let offset =
            if complete { self.offset.max(self.ahead).max(self.range.to - wall) } else { self.offset };
        let stop =
            ClockUpdate { account: self.row.id, number: self.row.clock_moves, offset, moving_until: None };
        let moved = MovedClock::new(
            Clock::new(if complete { self.range.to } else { wall + offset }, offset),
            self.range.to,
            complete,
            self.ran_count,
            self.ran,
        );
        let unit = idempotency::write(self.ctx, self.caller, (stop, moved), async |tx, (stop, moved)| {
            stop.set(tx).await?;
            Ok(moved.clone())
        });
        unit.await
    }
}

#[derive(Clone, Copy)]
struct ClockLease {
    account: AccountToken,
    number: i32,
}

impl ClockLease {
    /// Does the work and keeps renewing the lease: a step may take longer than the lease.
    async fn with_lease<T>(
        self,
        ctx: &Context,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        // Both run concurrently: work that paused for the renewal might keep the connection that the renewal waits for.
        tokio::select! {
            done = work => done,
            lost = self.renew_lease(ctx) => Err(lost),
        }
    }

    /// Releases the lease of a failed move, so that no request waits for it. If that is impossible, the lease expires.
    async fn release(self, ctx: &Context) {
        let _ = self.write(ctx, None).await;
    }

    /// Renews the lease until it is lost.
    async fn renew_lease(self, ctx: &Context) -> Error {
        loop {
            sleep(CLOCK_LEASE_RENEW_INTERVAL).await;
            if let Err(lost) = self.write(ctx, Some(ctx.clock.now() + CLOCK_LEASE)).await {
                return lost;
            }
        }
    }

    /// Writes the end of the lease. The clock itself stays: no offset is less than its current one.
    async fn write(self, ctx: &Context, moving_until: Option<Timestamp>) -> Result<(), Error> {
        let Self { account, number } = self;
        let update = ClockUpdate { account, number, offset: TimeSpan::ZERO, moving_until };
        ctx.store.write(update, async |tx, update| update.set(tx).await).await
    }
}
