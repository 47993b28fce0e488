//! Deletes events, webhooks and logged requests after their retention (specification, Limits; `docs/decisions.md`,
//! 259): a number of days, and then until the account's next midnight. Requests age by the wall clock: a tester who
//! moves an account's clock still wants to read the requests made before the move. A wall clock that is doubted deletes nothing
//! (404).

use std::time::Duration;

use entity::account::Column;
use entity::counter::Counted;
use entity::{Listed, Owned, TimeSpan, Timestamp, account, event, logged_request, webhook};
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select};
use store::Tx;

use super::context::Context;
use super::due_work::clocks;
use super::due_work::work_time::WorkTime;
use super::due_work::{DueRow, DueWork, WorkResult};
use crate::error::Error;
use crate::limits::{PURGE_BATCH, TIDY_REST};
use crate::services::counts;

/// Deletes an account's expired rows: the oldest first, at most a batch. Once none is left, the account is due again at
/// the first midnight at which a row can expire.
pub struct RetentionWork;

impl DueWork for RetentionWork {
    type Entity = account::Entity;
    const NAME: &'static str = "retention";
    const DESTROYS: bool = true;
    const REST: Duration = TIDY_REST;
    const AT: Column = Column::PurgeAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<account::Entity>> {
        clocks::accounts(Column::PurgeAt, wall).into()
    }

    fn subject(row: &account::Model) -> DueRow {
        DueRow::new(row.id, row.purge_at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: account::Model) -> Result<WorkResult, Error> {
        let (now, wall) = (time.earliest(ctx), ctx.trusted.earliest());
        // A day more: until the midnight at which they would have gone.
        let dated_behind = ctx.trusted.dated_behind(ctx.settings.retention + TimeSpan::days(1));
        let batch = PurgeUnit { account: row, now, wall, kept: ctx.settings.retention, dated_behind };
        let gone = time.write(ctx, batch, async |tx, batch| batch.record(tx).await.map(Some)).await?;
        Ok(if gone > Some(0) { WorkResult::Silent } else { WorkResult::Skipped })
    }
}

struct PurgeUnit {
    account: account::Model,
    now: Timestamp,
    wall: Timestamp,
    kept: TimeSpan,
    /// The dates, by the wall clock, of rows that may be younger.
    dated_behind: Option<(Timestamp, Timestamp)>,
}

impl PurgeUnit {
    /// Deletes a batch and returns the number of its rows.
    async fn record(&self, tx: &Tx) -> Result<u64, Error> {
        // Two servers that purge together would each count rows that the other one deletes.
        tx.lock::<account::Entity>(self.account.id).await?;
        // Webhooks first: no webhook outlives its event.
        let webhooks = self.delete_oldest::<webhook::Entity>(tx, webhook::Column::CreatedAt).await?;
        counts::subtract(tx, self.account.id, Counted::Webhooks, webhooks);
        // Others may have deleted a part of the batch, with their endpoint.
        let oldest = self.oldest::<webhook::Entity>(webhook::Column::CreatedAt);
        let oldest = oldest.select_only().column(webhook::Column::CreatedAt).into_tuple::<Timestamp>();
        let has_old_webhook = oldest.one(tx).await?.is_some_and(|oldest| oldest <= self.long_ago());
        let events = if has_old_webhook {
            0
        } else {
            self.delete_oldest::<event::Entity>(tx, event::Column::CreatedAt).await?
        };
        counts::subtract(tx, self.account.id, Counted::Events, events);
        self.delete_logged(tx).await?;
        if !has_old_webhook && events < PURGE_BATCH {
            self.reschedule(tx).await?;
        }
        Ok(webhooks + events)
    }

    async fn reschedule(&self, tx: &Tx) -> Result<(), Error> {
        let oldest = self.find_oldest::<event::Entity>(tx, event::Column::CreatedAt).await?;
        let of_log = self.find_oldest::<logged_request::Entity>(tx, logged_request::Column::LoggedAt).await?;
        let ahead = self.now - self.wall;
        let of_log = of_log.map_or(self.now, |logged_at| logged_at + ahead);
        let next = (Ord::min(oldest.unwrap_or(self.now), of_log) + self.kept).next_midnight();
        // What is left may be old by its date only.
        let next = Ord::max(next, (self.now + TimeSpan::from_millis(1)).next_midnight());
        let looked = account::Model { purge_at: next, ..self.account.clone() };
        tx.compare_and_swap(&self.account, &looked, &[Column::PurgeAt]).await?;
        Ok(())
    }

    /// Returns the time of the account's oldest row: ids are in the order of time.
    async fn find_oldest<E: Listed>(&self, tx: &Tx, time: E::Column) -> Result<Option<Timestamp>, Error> {
        let oldest = E::owned_by(self.account.id).order_by_asc(E::ID).select_only().column(time);
        Ok(oldest.into_tuple::<Timestamp>().one(tx).await?)
    }

    /// Deletes expired requests. A log is never longer than a batch.
    async fn delete_logged(&self, tx: &Tx) -> Result<(), Error> {
        let gone = logged_request::Entity::delete_of(self.account.id)
            .filter(logged_request::COLUMN.logged_at.lte(self.wall - self.kept));
        gone.exec(tx).await?;
        Ok(())
    }

    /// Deletes a batch of the oldest rows.
    async fn delete_oldest<E: Listed>(&self, tx: &Tx, created_at: E::Column) -> Result<u64, Error> {
        let oldest = self.oldest::<E>(created_at).limit(PURGE_BATCH).select_only().column(E::ID).into_query();
        let gone = E::delete_of(self.account.id).filter(E::ID.in_subquery(oldest));
        Ok(gone.filter(created_at.lte(self.long_ago())).exec(tx).await?.rows_affected)
    }

    /// Selects the rows that may go, the oldest first. Ids are in the order of time, so these are the first ones of the primary key.
    fn oldest<E: Listed>(&self, created_at: E::Column) -> Select<E> {
        let offset = self.account.clock_offset;
        let rows = E::owned_by(self.account.id).apply_if(self.dated_behind, |rows, (from, to)| {
            rows.filter(created_at.between(from + offset, to + offset).not())
        });
        rows.order_by_asc(E::ID)
    }

    /// Returns the date up to which rows are deleted.
    fn long_ago(&self) -> Timestamp {
        self.now.last_midnight() - self.kept
    }
}
