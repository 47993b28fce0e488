//! The row of a payment in a unit of work.

use entity::Listed;
use entity::charge::{self, Column};
use store::Tx;

use crate::error::Error;
use crate::services::accounts::wipe::deleted;

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
    let row = charge::Entity::at(seen.account_id, seen.id).one(tx).await?;
    row.ok_or_else(deleted)
}
