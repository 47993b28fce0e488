//! Creates snapshots.

use entity::{AccountToken, FileToken, Owned, account, file, snapshot, snapshot_file, snapshot_part};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, PaginatorTrait, QuerySelect};

use super::{acquire_permit, context, refuse_payments};
use crate::error::{Error, ErrorCode};
use crate::limits::{SNAPSHOT_KEPT, SNAPSHOTS_MAX};
use crate::services::accounts::snapshot_rows::{AccountTable, Pages, SnapshotTable};
use crate::services::accounts::{settings, wipe};
use crate::services::context::{Account, Caller, Context};
use crate::services::snapshots::view::Snapshot;
use crate::services::{data_keys, idempotency};
use crate::store::{self, Tx};

/// Copies the account's own row, which is not among the rows it owns.
pub(super) static ITSELF: AccountTable<account::Entity> =
    AccountTable::those(|account| sea_orm::Condition::all().add(account::Column::Id.eq(account)));

/// Stores what the account holds at this moment.
///
/// Refusals, first match wins: `payments_under_way`, `snapshot_too_large`, `limit_reached`, `service_unavailable` if a
/// file is deleted at the same moment.
pub async fn create(ctx: &Context, caller: &Caller) -> Result<Snapshot, Error> {
    let _permit = acquire_permit().await?;
    let unit = copy(ctx, &caller.account).await?;
    idempotency::write(ctx, caller, unit, async |tx, unit| unit.record(tx).await).await
}

/// A snapshot that is not recorded yet.
struct CreateSnapshotUnit {
    row: snapshot::Model,
    parts: Vec<snapshot_part::Model>,
    files: Vec<FileToken>,
}

/// Copies the account's rows, all as of one moment.
async fn copy(ctx: &Context, account: &Account) -> Result<CreateSnapshotUnit, Error> {
    let (owner, id) = (account.id(), ctx.ids.token());
    let instant = ctx.store.snapshot().await?;
    refuse_payments(&instant, owner).await?;
    // After this, every data key that encrypts a row of that moment is known.
    data_keys::reload(ctx).await?;
    let keys = ctx.vault.data_keys();
    let mut pages = Pages::new(keys.clone());
    ITSELF.copy(&instant, owner, &mut pages).await?;
    for table in wipe::copied() {
        table.copy(&instant, owner, &mut pages).await?;
    }
    let files = file::Entity::owned_by(owner).select_only().column(file::Column::Id);
    let files = files.into_tuple().all(&instant).await?;
    let parts = pages.texts.iter().zip(0..).map(|(page, n)| {
        let sealed = keys.seal(&context(owner, id, n), page.as_bytes());
        let (rows_sealed, sealed_by) = (sealed.bytes, sealed.key);
        snapshot_part::Model { account_id: owner, snapshot_id: id, n, rows_sealed, sealed_by }
    });
    let row = snapshot::Model {
        account_id: owner,
        id,
        schema_steps: store::schema_steps(),
        row_count: i64::try_from(pages.rows).unwrap_or(i64::MAX),
        bytes: i64::try_from(pages.bytes).unwrap_or(i64::MAX),
        remove_at: ctx.clock.now() + SNAPSHOT_KEPT,
        created_at: account.now,
    };
    Ok(CreateSnapshotUnit { row, parts: parts.collect(), files })
}

/// Returns the error message for an account at its limit of snapshots.
pub fn full() -> String {
    format!("An account may have {SNAPSHOTS_MAX} snapshots. Delete one before you make another.")
}

impl CreateSnapshotUnit {
    async fn record(&self, tx: &Tx) -> Result<Snapshot, Error> {
        let owner = self.row.account_id;
        // The lock serialises the count: two concurrent units would both find capacity.
        settings::lock_account(tx, owner).await?;
        if snapshot::Entity::owned_by(owner).count(tx).await? >= SNAPSHOTS_MAX {
            return Err(Error::explained(ErrorCode::LimitReached, full()));
        }
        self.hold_files(tx, owner).await?;
        // Insert immediately: another unit of the same batch may count.
        tx.insert(&self.row).await?;
        for part in &self.parts {
            tx.append(part);
        }
        for &file_id in &self.files {
            tx.append(&snapshot_file::Model { account_id: owner, file_id, snapshot_id: self.row.id });
        }
        Ok(self.row.clone().into())
    }

    /// Locks the snapshot's files: from this commit on their blobs stay. A file deleted earlier may have lost its blob
    /// already.
    async fn hold_files(&self, tx: &Tx, owner: AccountToken) -> Result<(), Error> {
        if self.files.is_empty() {
            return Ok(());
        }
        let there = file::Entity::owned_by(owner).select_only().column(file::Column::Id);
        let there: Vec<FileToken> = there.lock(LockType::KeyShare).into_tuple().all(tx).await?;
        let there: std::collections::HashSet<_> = there.into_iter().collect();
        if self.files.iter().all(|file| there.contains(file)) {
            Ok(())
        } else {
            Err(ErrorCode::ServiceUnavailable.into())
        }
    }
}
