//! Stray blobs, which belong to no file, and their removal.

use std::collections::HashSet;

use entity::stray_blob::{self, COLUMN, Column};
use entity::{AccountToken, FileToken, Listed, Owned, Timestamp, file, snapshot_file};
use outbound::blobs::BlobName;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, Select};
use store::Tx;

use crate::error::{Error, ErrorCode};
use crate::limits::{STRAY_BLOB_AFTER, STRAY_BLOBS_AT_ONCE};
use crate::services::context::Context;

/// Records that a blob is about to be written: unless its file's row follows in time, a worker removes the blob.
pub(super) async fn announce(
    ctx: &Context,
    account: AccountToken,
    file: FileToken,
) -> Result<stray_blob::Model, Error> {
    let row = stray_row(account, file, ctx.clock.now() + STRAY_BLOB_AFTER);
    let unit = ctx.store.write(row, async |tx, row| {
        tx.append(row);
        Ok(row.clone())
    });
    unit.await
}

/// Records it for a file whose token is not new: an earlier try to write it may have ended before its row followed.
pub(super) async fn announce_again(
    ctx: &Context,
    account: AccountToken,
    file: FileToken,
) -> Result<(), Error> {
    let row = stray_row(account, file, ctx.clock.now() + STRAY_BLOB_AFTER);
    let unit = ctx.store.write(row, async |tx, row| {
        let later =
            OnConflict::columns([Column::AccountId, Column::Id]).update_column(Column::RemoveAt).to_owned();
        let announced = stray_blob::Entity::insert(row.clone().into_active_model()).on_conflict(later);
        announced.exec_without_returning(tx).await?;
        Ok(())
    });
    unit.await
}

/// Removes the record of a blob whose file's row is in the same commit.
///
/// Refusals: `service_unavailable` if that is too late and the blob may be gone.
pub(super) async fn named(tx: &Tx, announced: &stray_blob::Model) -> Result<(), Error> {
    let named = stray_blob::Entity::delete_at(announced.account_id, announced.id)
        .filter(Column::RemoveAt.eq(announced.remove_at));
    if named.exec(tx).await?.rows_affected == 0 {
        return Err(ErrorCode::ServiceUnavailable.into());
    }
    Ok(())
}

/// Makes a blob due now: its file's row will not follow.
pub(super) async fn make_due_now(ctx: &Context, announced: stray_blob::Model) -> Result<(), Error> {
    postpone(ctx, announced, ctx.clock.now()).await.map(drop)
}

/// Changes the time of a blob's removal; returns false if another process was faster.
async fn postpone(ctx: &Context, seen: stray_blob::Model, to: Timestamp) -> Result<bool, Error> {
    let unit = ctx.store.write((seen, to), async |tx, (seen, to)| {
        let later = stray_blob::Model { remove_at: *to, ..seen.clone() };
        Ok(tx.compare_and_swap(seen, &later, &[Column::RemoveAt]).await?)
    });
    unit.await
}

/// Deletes a file's row; a worker removes its blob afterwards.
pub(in crate::services) async fn remove(
    tx: &Tx,
    account: AccountToken,
    id: FileToken,
    wall: Timestamp,
) -> Result<(), Error> {
    let file = file::Entity::delete_of(account);
    file.filter(file::Column::Id.eq(id)).exec(tx).await?;
    tx.append(&stray_row(account, id, wall));
    Ok(())
}

/// Updates the stray blobs after a restore: the blobs of files that are gone become due, those of files that are back
/// stay.
pub(in crate::services) async fn replaced(
    tx: &Tx,
    account: AccountToken,
    before: &[FileToken],
    now: &[FileToken],
    wall: Timestamp,
) -> Result<(), Error> {
    let kept: HashSet<_> = now.iter().collect();
    for &id in before.iter().filter(|id| !kept.contains(id)) {
        tx.append(&stray_row(account, id, wall));
    }
    for some in now.chunks(STRAY_BLOBS_AT_ONCE) {
        let back = stray_blob::Entity::delete_of(account);
        back.filter(Column::Id.is_in(some.iter().copied())).exec(tx).await?;
    }
    Ok(())
}

fn stray_row(account_id: AccountToken, id: FileToken, remove_at: Timestamp) -> stray_blob::Model {
    stray_blob::Model { account_id, id, remove_at }
}

/// Selects the blobs that are due by the wall clock, except those that a sandbox snapshot still holds.
pub fn due(wall: Timestamp) -> Select<stray_blob::Entity> {
    use snapshot_file::Column as Held;

    let same = |held: Held, stray: Column| {
        Expr::col((snapshot_file::Entity, held)).equals((stray_blob::Entity, stray))
    };
    let held = Query::select()
        .expr(Expr::value(1))
        .from(snapshot_file::Entity)
        .and_where(same(Held::AccountId, Column::AccountId))
        .and_where(same(Held::FileId, Column::Id))
        .take();
    stray_blob::Entity::find()
        .filter(COLUMN.remove_at.lte(wall))
        .filter(Expr::exists(held).not())
        .order_by_asc(Column::RemoveAt)
}

/// Removes a blob. First claims it by setting the time of the next try, so that an upload that took an hour can no
/// longer add its file's row.
pub async fn sweep(ctx: &Context, row: stray_blob::Model) -> Result<(), Error> {
    let (account, id) = (row.account_id, row.id);
    if !postpone(ctx, row, ctx.clock.now() + STRAY_BLOB_AFTER).await? {
        return Ok(());
    }
    if let Err(error) = ctx.blobs.remove(BlobName::new(account, id)).await {
        tracing::error!(%error, "a blob cannot be deleted; the worker will retry");
        return Ok(());
    }
    ctx.delete(stray_blob::Entity::delete_of(account).filter(Column::Id.eq(id))).await
}
