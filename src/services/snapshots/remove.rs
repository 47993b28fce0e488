//! Deletes snapshots, on request or after their time.

use entity::{AccountToken, Owned, SnapshotToken, Timestamp, snapshot, snapshot_file, snapshot_part};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Select};

use crate::error::{Error, ErrorCode};
use crate::services::context::{Caller, Context};
use crate::services::idempotency;
use crate::store::Tx;

/// Deletes a snapshot.
///
/// Refusals: `not_found`.
pub async fn remove(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let id: SnapshotToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let unit = idempotency::write(ctx, caller, (caller.account.id(), id), async |tx, (account, id)| {
        if delete_row(tx, *account, *id).await? { Ok(()) } else { Err(ErrorCode::NotFound.into()) }
    });
    unit.await
}

/// Selects the snapshots that were kept long enough, by the wall clock.
pub fn due(wall: Timestamp) -> Select<snapshot::Entity> {
    snapshot::Entity::find()
        .filter(snapshot::Column::RemoveAt.lte(wall))
        .order_by_asc(snapshot::Column::RemoveAt)
}

/// Deletes an expired snapshot.
pub async fn expire(ctx: &Context, row: snapshot::Model) -> Result<(), Error> {
    let unit = ctx.store.write((row.account_id, row.id), async |tx, (account, id)| {
        delete_row(tx, *account, *id).await.map(drop)
    });
    unit.await
}

/// Deletes a snapshot. Returns whether it existed.
async fn delete_row(tx: &Tx, account: AccountToken, id: SnapshotToken) -> Result<bool, Error> {
    let row = snapshot::Entity::delete_of(account);
    if row.filter(snapshot::Column::Id.eq(id)).exec(tx).await?.rows_affected == 0 {
        return Ok(false);
    }
    let parts = snapshot_part::Entity::delete_of(account);
    parts.filter(snapshot_part::Column::SnapshotId.eq(id)).exec(tx).await?;
    let files = snapshot_file::Entity::delete_of(account);
    files.filter(snapshot_file::Column::SnapshotId.eq(id)).exec(tx).await?;
    Ok(true)
}
