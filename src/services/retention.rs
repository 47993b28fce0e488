//! How long events and webhooks are kept (specification, Limits; decisions 11): a number of days, and then until the
//! account's next midnight.

use entity::account::Column;
use entity::counter::Counted;
use entity::{Listed, Owned, Span, Timestamp, account, event, webhook};
use futures::FutureExt;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select};

use super::context::Context;
use crate::error::Error;
use crate::limits::PURGE_BATCH;
use crate::store::Tx;

/// Accounts of which something may have been kept long enough, by their own clocks: two queries, for the reason that
/// [`super::clocks::due`] tells.
pub fn due(wall: Timestamp) -> [Select<account::Entity>; 2] {
    let everybody = account::Entity::find().filter(Column::PurgeAt.lte(wall));
    // Nothing is added but the certainty that the few accounts ahead are not looked for among all that are not due.
    let later = Column::PurgeAt.into_expr().add(0).gt(wall.millis());
    let own_clock = Expr::value(wall.millis()).add(Column::ClockOffset.into_expr());
    let ahead = account::Entity::find()
        .filter(Column::ClockOffset.gt(0))
        .filter(later)
        .filter(Column::PurgeAt.into_expr().lte(own_clock));
    [everybody, ahead]
}

/// Delete the oldest of what the account has kept long enough, at most a batch; once nothing is left of it, look
/// again at the first midnight at which something can be due.
pub async fn purge(ctx: &Context, account: account::Model) -> Result<(), Error> {
    let now = ctx.clock.now() + account.clock_offset;
    let purge = Purge { account, now, kept: ctx.retention };
    ctx.store.write(purge, |tx, purge| purge.record(tx).boxed()).await
}

struct Purge {
    account: account::Model,
    now: Timestamp,
    kept: Span,
}

impl Purge {
    async fn record(&self, tx: &Tx) -> Result<(), Error> {
        // Two copies that purge together would each take what it cannot delete for gone.
        tx.hold_account(self.account.id).await?;
        // Webhooks first: none outlives its event.
        let webhooks = self.delete_oldest::<webhook::Entity>(tx, webhook::Column::CreatedAt).await?;
        tx.count(self.account.id, Counted::Webhooks, -i64::try_from(webhooks).unwrap_or(i64::MAX));
        if webhooks == PURGE_BATCH {
            return Ok(());
        }
        let events = self.delete_oldest::<event::Entity>(tx, event::Column::CreatedAt).await?;
        tx.count(self.account.id, Counted::Events, -i64::try_from(events).unwrap_or(i64::MAX));
        if events == PURGE_BATCH {
            return Ok(());
        }
        let oldest: Option<Timestamp> = event::Entity::owned_by(self.account.id)
            .order_by_asc(event::Column::Id)
            .select_only()
            .column(event::Column::CreatedAt)
            .into_tuple()
            .one(tx)
            .await?;
        let next = (oldest.unwrap_or(self.now) + self.kept).next_midnight();
        let looked = account::Entity::update_many()
            .col_expr(Column::PurgeAt, Expr::value(next.millis()))
            .filter(Column::Id.eq(self.account.id))
            .filter(Column::PurgeAt.eq(self.account.purge_at));
        looked.exec(tx).await?;
        Ok(())
    }

    /// Ids are in the order of time, so the oldest rows are the first ones of the primary key.
    async fn delete_oldest<E: Listed>(&self, tx: &Tx, created_at: E::Column) -> Result<u64, Error> {
        let oldest = E::owned_by(self.account.id)
            .order_by_asc(E::ID)
            .limit(PURGE_BATCH)
            .select_only()
            .column(E::ID)
            .into_query();
        let long_ago = self.now.last_midnight() - self.kept;
        let gone = E::delete_many()
            .filter(E::ACCOUNT.eq(self.account.id))
            .filter(E::ID.in_subquery(oldest))
            .filter(created_at.lte(long_ago));
        Ok(gone.exec(tx).await?.rows_affected)
    }
}
