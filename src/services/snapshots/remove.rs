//! Deletes snapshots, on request or after their time: one commit takes away its bytes, so that it is none any more, and others its
//! parts, so that no account waits for the deletion of another one's.

use entity::{AccountToken, Owned, SnapshotToken, Timestamp, snapshot, snapshot_file, snapshot_part};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select};
use store::Tx;

use super::find;
use crate::error::{Error, ErrorCode};
use crate::limits::SNAPSHOT_PARTS_AT_ONCE;
use crate::services::context::{Caller, Context};
use crate::services::idempotency;

/// Deletes a snapshot.
///
/// Refusals: `not_found`.
pub async fn remove(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let id: SnapshotToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let owner = caller.account.id();
    let unit =
        idempotency::write(ctx, caller, (owner, id, ctx.clock.now()), async |tx, (account, id, wall)| {
            if hide(tx, *account, *id, *wall).await? { Ok(()) } else { Err(ErrorCode::NotFound.into()) }
        });
    unit.await?;
    clear_later_if_failed(ctx, owner, id).await;
    Ok(())
}

/// Selects the snapshots that were kept long enough, by the wall clock.
pub fn due(wall: Timestamp) -> Select<snapshot::Entity> {
    snapshot::Entity::find()
        .filter(snapshot::COLUMN.remove_at.lte(wall))
        .order_by_asc(snapshot::Column::RemoveAt)
}

/// Deletes an expired snapshot, or the rest of one.
pub async fn expire(ctx: &Context, row: snapshot::Model) -> Result<(), Error> {
    let unit = ctx.store.write((row.account_id, row.id, row.remove_at), async |tx, (account, id, at)| {
        hide(tx, *account, *id, *at).await.map(drop)
    });
    unit.await?;
    clear(ctx, row.account_id, row.id).await
}

/// Deletes what is left of a snapshot without bytes. If that fails, a worker does it.
pub(super) async fn clear_later_if_failed(ctx: &Context, account: AccountToken, id: SnapshotToken) {
    if let Err(error) = clear(ctx, account, id).await {
        tracing::warn!(%error, %account, snapshot = %id, "a snapshot is not deleted yet; a worker will go on");
    }
}

/// Takes a snapshot's bytes. Returns whether it had any.
async fn hide(tx: &Tx, account: AccountToken, id: SnapshotToken, wall: Timestamp) -> Result<bool, Error> {
    let hidden = snapshot::Entity::update_of(account)
        .filter(snapshot::Column::Id.eq(id))
        .filter(find::is_one())
        .col_expr(snapshot::Column::Bytes, Expr::value(0_i64))
        .col_expr(snapshot::Column::RemoveAt, Expr::value(wall.millis()));
    Ok(hidden.exec(tx).await?.rows_affected > 0)
}

/// Deletes what is left of a snapshot without bytes.
async fn clear(ctx: &Context, account: AccountToken, id: SnapshotToken) -> Result<(), Error> {
    let some =
        || ctx.store.write((account, id), async |tx, (account, id)| clear_parts(tx, *account, *id).await);
    while some().await? > 0 {}
    let rest = ctx.store.write((account, id), async |tx, (account, id)| {
        let files = snapshot_file::Entity::delete_of(*account);
        files.filter(snapshot_file::Column::SnapshotId.eq(*id)).exec(tx).await?;
        let row = snapshot::Entity::delete_of(*account);
        row.filter(snapshot::Column::Id.eq(*id)).exec(tx).await?;
        Ok(())
    });
    rest.await
}

/// Deletes some parts and returns how many.
async fn clear_parts(tx: &Tx, account: AccountToken, id: SnapshotToken) -> Result<u64, Error> {
    use snapshot_part::Column;

    // Of two that delete the same parts, one would find none gone, and delete the snapshot before the rest of them.
    tx.lock::<snapshot::Entity>((account, id)).await?;
    let some = snapshot_part::Entity::owned_by(account)
        .filter(Column::SnapshotId.eq(id))
        .limit(SNAPSHOT_PARTS_AT_ONCE as u64)
        .select_only()
        .column(Column::N)
        .into_query();
    let parts = snapshot_part::Entity::delete_of(account).filter(Column::SnapshotId.eq(id));
    Ok(parts.filter(Column::N.in_subquery(some)).exec(tx).await?.rows_affected)
}
