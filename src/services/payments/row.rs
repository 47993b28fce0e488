//! The row of a payment in a unit of work.

use entity::Owned;
use entity::charge::{self, Column};
use sea_orm::{ColumnTrait, QueryFilter};

use crate::error::Error;
use crate::services::accounts::wipe::deleted;
use crate::store::Tx;

/// Changes the row while state and attempt are as seen, and returns whether it did: of several workers or requests, the
/// one that raised the attempt last succeeds.
pub(in crate::services) async fn advance(
    tx: &Tx,
    seen: &charge::Model,
    row: &charge::Model,
) -> Result<bool, Error> {
    Ok(tx.compare_and_swap(seen, row, &[Column::State, Column::Attempt]).await?)
}

/// Reads the row again.
pub(super) async fn reload(tx: &Tx, seen: &charge::Model) -> Result<charge::Model, Error> {
    let row = charge::Entity::owned_by(seen.account_id).filter(Column::Id.eq(seen.id)).one(tx).await?;
    row.ok_or_else(deleted)
}
