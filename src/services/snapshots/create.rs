//! Creates snapshots.

use entity::snapshot::{self, Column};
use entity::{
    AccountToken, FileToken, Owned, SnapshotToken, TimeSpan, account, file, snapshot_file, snapshot_part,
};
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter, QuerySelect};
use store::Tx;

use super::{context, find, refuse_payments, remove};
use crate::error::{Error, ErrorCode};
use crate::limits::{SNAPSHOT_PARTS_AT_ONCE, SNAPSHOT_RETENTION, SNAPSHOTS_MAX};
use crate::services::accounts::snapshot_rows::{AccountTable, Pages, SnapshotTable};
use crate::services::accounts::{settings, wipe};
use crate::services::context::{Account, Caller, Context};
use crate::services::snapshots::view::Snapshot;
use crate::services::{data_keys, event_sequence, idempotency};

/// The time after which an unfinished snapshot is deleted: its server was stopped.
const UNFINISHED_KEPT: TimeSpan = TimeSpan::seconds(3600);

/// Copies the account's own row, which is not among the rows it owns.
pub(super) static ITSELF: AccountTable<account::Entity> =
    AccountTable::those(|account| sea_orm::Condition::all().add(account::Column::Id.eq(account)));

/// Stores what the account holds at this moment.
///
/// Refusals, first match wins: `payments_under_way`, `snapshot_too_large`, `limit_reached`, `service_unavailable` if a
/// file is deleted at the same moment.
pub async fn create(ctx: &Context, caller: &Caller) -> Result<Snapshot, Error> {
    let owner = caller.account.id();
    let _permit = ctx.memory.snapshots.acquire(owner).await?;
    let unit = copy(ctx, &caller.account).await?.begin(ctx).await?;
    let (id, is_begun) = (unit.row.id, unit.is_begun);
    let created = idempotency::write(ctx, caller, unit, async |tx, unit| unit.record(tx).await).await;
    if is_begun && created.is_err() && is_unfinished(ctx, owner, id).await {
        remove::clear_later_if_failed(ctx, owner, id).await;
    }
    created
}

/// Returns whether a snapshot has certainly failed: without an answer its commit may have succeeded, and its token may have been kept for
/// the next request under the same key.
async fn is_unfinished(ctx: &Context, account: AccountToken, id: SnapshotToken) -> bool {
    let whole = ctx.store.write((account, id), async |tx, (account, id)| {
        // A commit that is still on its way holds the row.
        tx.lock::<snapshot::Entity>((*account, *id)).await?;
        Ok::<_, Error>(find::those_of(*account).filter(Column::Id.eq(*id)).count(tx).await?)
    });
    matches!(whole.await, Ok(0))
}

/// A snapshot that is not recorded yet.
struct CreateSnapshotUnit {
    row: snapshot::Model,
    /// Whether its row is there already, without bytes: a large snapshot is written in several commits.
    is_begun: bool,
    /// The parts that are not written yet.
    parts: Vec<snapshot_part::Model>,
    files: Vec<FileToken>,
}

/// Copies the account's rows, all as of one moment.
async fn copy(ctx: &Context, account: &Account) -> Result<CreateSnapshotUnit, Error> {
    let (owner, id) = (account.id(), ctx.ids.token());
    // A restored event has the number that it had, unless it was committed in between.
    event_sequence::number(ctx, owner).await?;
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
        remove_at: ctx.trusted.latest() + SNAPSHOT_RETENTION,
        created_at: account.now,
    };
    Ok(CreateSnapshotUnit { row, is_begun: false, parts: parts.collect(), files })
}

/// Returns the error message for an account at its limit of snapshots.
pub fn full() -> String {
    format!("An account may have {SNAPSHOTS_MAX} snapshots. Delete one before you make another.")
}

/// Fails if the account is at its limit. The lock serialises the count: two concurrent units would both find capacity.
async fn refuse_full(tx: &Tx, owner: AccountToken) -> Result<(), Error> {
    settings::lock_account(tx, owner).await?;
    if find::those_of(owner).count(tx).await? >= SNAPSHOTS_MAX {
        return Err(Error::explained(ErrorCode::LimitReached, full()));
    }
    Ok(())
}

impl CreateSnapshotUnit {
    /// Writes all parts but the last ones. Until the last commit the snapshot has no bytes, and is none.
    async fn begin(mut self, ctx: &Context) -> Result<Self, Error> {
        if self.parts.len() <= SNAPSHOT_PARTS_AT_ONCE {
            return Ok(self);
        }
        let remove_at = ctx.clock.now() + UNFINISHED_KEPT;
        let unfinished = snapshot::Model { bytes: 0, remove_at, ..self.row.clone() };
        let unit = ctx.store.write(unfinished, async |tx, unfinished| {
            refuse_full(tx, unfinished.account_id).await?;
            tx.append(unfinished);
            Ok(())
        });
        unit.await?;
        self.is_begun = true;
        while self.parts.len() > SNAPSHOT_PARTS_AT_ONCE {
            let rest = self.parts.split_off(SNAPSHOT_PARTS_AT_ONCE);
            let some = std::mem::replace(&mut self.parts, rest);
            let unit = ctx.store.write(some, async |tx, some| {
                for part in some {
                    tx.append(part);
                }
                Ok(())
            });
            if let Err(error) = unit.await {
                remove::clear_later_if_failed(ctx, self.row.account_id, self.row.id).await;
                return Err(error);
            }
        }
        Ok(self)
    }

    /// Records the snapshot, or the rest of it.
    async fn record(&self, tx: &Tx) -> Result<Snapshot, Error> {
        let owner = self.row.account_id;
        refuse_full(tx, owner).await?;
        self.hold_files(tx, owner).await?;
        // Immediately: another unit of the same batch may count.
        if self.is_begun {
            self.finish(tx).await?;
        } else {
            tx.insert(&self.row).await?;
        }
        for part in &self.parts {
            tx.append(part);
        }
        for &file_id in &self.files {
            tx.append(&snapshot_file::Model { account_id: owner, file_id, snapshot_id: self.row.id });
        }
        Ok(self.row.clone().into())
    }

    /// Gives the snapshot its bytes.
    async fn finish(&self, tx: &Tx) -> Result<(), Error> {
        let whole = snapshot::Entity::update_of(self.row.account_id)
            .filter(Column::Id.eq(self.row.id))
            .col_expr(Column::Bytes, Expr::value(self.row.bytes))
            .col_expr(Column::RemoveAt, Expr::value(self.row.remove_at.millis()));
        match whole.exec(tx).await?.rows_affected {
            // It took so long that a worker has removed it.
            0 => Err(ErrorCode::ServiceUnavailable.into()),
            _ => Ok(()),
        }
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
