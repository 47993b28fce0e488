//! A sandbox snapshot holds everything that an account owns at one moment, table by table, and can be restored as a whole
//! (`docs/decisions.md`, 283 and 397).
//!
//! `accounts/wipe.rs`, where accounts are deleted, lists the tables, so that none is forgotten. The rows are stored as
//! encrypted pages, with the values that are encrypted in them in the clear, because a later data key can re-encrypt a
//! page like any other row. Files are held by name: their blobs stay, as they never change.

pub mod account_file;
pub mod create;
pub mod find;
pub mod parts;
pub mod remove;
pub mod restore;
pub mod view;

pub use create::create;
pub use find::list;
pub use remove::remove;
pub use restore::restore;

use entity::{AccountToken, Owned, SnapshotToken, charge, snapshot_part};
use sea_orm::{ColumnTrait, ConnectionTrait, PaginatorTrait, QueryFilter};

use super::data_keys::reencrypt::SealedTable;
use crate::error::{Error, ErrorCode};

/// Fails if a payment is with the acquirer: the acquirer is not rolled back, so the outcome would be lost, or happen
/// twice.
///
/// Refusals: `payments_under_way`.
async fn refuse_payments(db: &impl ConnectionTrait, account: AccountToken) -> Result<(), Error> {
    let in_flight = charge::Entity::owned_by(account).filter(charge::Column::SettleAfter.is_not_null());
    if in_flight.count(db).await? > 0 {
        return Err(ErrorCode::PaymentsUnderWay.into());
    }
    Ok(())
}

/// Returns the associated data that binds a page to its position.
fn context(account: AccountToken, snapshot: SnapshotToken, n: i32) -> Vec<u8> {
    format!("page {n} of {snapshot} of {account}").into_bytes()
}

impl SealedTable for snapshot_part::Entity {
    const SEALED_BY: snapshot_part::Column = snapshot_part::Column::SealedBy;
    const SEALED: &'static [snapshot_part::Column] = &[snapshot_part::Column::RowsSealed];

    fn context(row: &snapshot_part::Model, _: snapshot_part::Column) -> Vec<u8> {
        context(row.account_id, row.snapshot_id, row.n)
    }
}
