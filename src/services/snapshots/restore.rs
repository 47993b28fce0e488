//! Restores snapshots.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use entity::account::{self, Column};
use entity::{AccountToken, FileToken, Owned, Timestamp, charge, erasure, file, snapshot, snapshot_part};
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{ColumnTrait, DbBackend, Iterable, ModelTrait, QueryFilter, QueryOrder, QuerySelect};
use store::Tx;
use tokio::task::yield_now;

use super::{context, find, parts, refuse_payments};
use crate::error::{Error, ErrorCode};
use crate::services::accounts::snapshot_rows::{self, Rows};
use crate::services::accounts::{settings, wipe};
use crate::services::context::{Caller, Context, Ctx};
use crate::services::customers::delete::plan_erasure;
use crate::services::data_keys::unseal;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::snapshots::view::Snapshot;
use crate::services::{event_sequence, files, idempotency, search_text};

/// The error message for a snapshot of another schema.
pub const OTHER_RELEASE: &str =
    "The snapshot was made by another release of the server, and cannot be restored.";

/// Restores exactly what the account held when the snapshot was made. Its keys, its merchants and its snapshots stay as
/// they are.
///
/// Refusals, first match wins: `not_found`, `invalid_state` if a release with another schema made the snapshot,
/// `clock_moving`, `payments_under_way`.
pub async fn restore(ctx: &Ctx, caller: &Caller, token: &str) -> Result<Snapshot, Error> {
    let row = find::by_token(ctx, &caller.account, token).await?;
    if row.schema_steps != store::schema_steps() {
        return Err(Error::explained(ErrorCode::InvalidState, OTHER_RELEASE));
    }
    let permit = ctx.memory.snapshots.acquire(caller.account.id()).await?;
    // Events that go with the restore use up their numbers, however soon it comes.
    event_sequence::number(ctx, caller.account.id()).await?;
    let contents = read(ctx, &row).await?;
    let restored = if ctx.store.backend() == DbBackend::Sqlite {
        let (task, caller) = (Ctx::clone(ctx), caller.clone());
        let parts = async move {
            let _permit = permit;
            parts::restore(&task, &caller, row, contents).await
        };
        ctx.in_own_task(parts).await?
    } else {
        let unit = RestoreUnit { row, contents, claim: caller.claim.clone() };
        idempotency::write_exclusively(ctx, caller, unit, async |tx, unit| unit.record(tx).await).await?
    };
    // Restored webhooks may be due, by a clock that runs ahead again.
    ctx.memory.clocks_ahead.store(true, Ordering::Relaxed);
    ctx.memory.due_webhooks.notify_one();
    Ok(restored)
}

/// Reads the account's own row and all rows that it owns, re-encrypted with the current data key.
pub(super) async fn read(ctx: &Context, row: &snapshot::Model) -> Result<AccountContents, Error> {
    let parts = snapshot_part::Entity::owned_by(row.account_id)
        .filter(snapshot_part::Column::SnapshotId.eq(row.id))
        .order_by_asc(snapshot_part::Column::N);
    let (mut itself, mut rows) = (None, Vec::new());
    for part in parts.all(ctx.store.read()).await? {
        let context = context(part.account_id, part.snapshot_id, part.n);
        let page = unseal(ctx, &context, part.sealed_by, &part.rows_sealed).await?;
        let page = str::from_utf8(&page).map_err(|_| Error::internal("a page of a snapshot is no text"))?;
        let (table, keys) = (snapshot_rows::table_of(page)?, ctx.vault.data_keys());
        if let Some(copied) = wipe::copied().find(|copied| copied.name() == table) {
            rows.push(copied.read(page, &keys)?);
        } else {
            itself = snapshot_rows::read::<account::Entity>(page, &keys)?.pop();
        }
        // All pages at once would keep other requests from a thread of the runtime.
        yield_now().await;
    }
    // Also if another request has deleted the snapshot meanwhile.
    Ok(AccountContents { itself: itself.ok_or(ErrorCode::NotFound)?, rows, wall: ctx.clock.now() })
}

/// The tables that are replaced last: what becomes of blobs, and what is erased once more, follows from both their former rows and
/// those of the snapshot.
pub(super) const LAST: [&str; 2] = ["erasures", "files"];

struct RestoreUnit {
    row: snapshot::Model,
    contents: AccountContents,
    claim: Option<Arc<IdempotencyClaim>>,
}

/// The rows that an account is to hold.
pub(super) struct AccountContents {
    /// Its row.
    pub itself: account::Model,
    /// The rows that it owns.
    pub rows: Vec<Box<dyn Rows>>,
    /// The wall clock's time.
    pub wall: Timestamp,
}

/// Returns whether a restore keeps the column: it identifies the account, or the holder of its clock.
pub(super) fn is_kept(column: Column) -> bool {
    matches!(
        column,
        Column::Id
            | Column::BusinessName
            | Column::Email
            | Column::MadeBy
            | Column::ReferredBy
            | Column::Status
            | Column::ClockMoves
            | Column::MovingUntil
            | Column::ClosedAt
            | Column::WipeAt
    )
}

impl RestoreUnit {
    async fn record(&self, tx: &Tx) -> Result<Snapshot, Error> {
        tx.disable_timeouts().await?;
        let owner = refuse(tx, &self.row, self.contents.wall, self.claim.as_deref()).await?;
        self.contents.put(tx, &owner).await?;
        Ok(self.row.clone().into())
    }
}

/// Locks the account and returns its current row, or an error if the snapshot cannot be restored now, or was restored meanwhile by a
/// request under the same Idempotency-Key.
pub(super) async fn refuse(
    tx: &Tx,
    row: &snapshot::Model,
    wall: Timestamp,
    claim: Option<&IdempotencyClaim>,
) -> Result<account::Model, Error> {
    let owner = settings::lock_account(tx, row.account_id).await?;
    idempotency::require_free(tx, owner.id, claim).await?;
    if owner.moving_until.is_some_and(|until| until > wall) {
        return Err(ErrorCode::ClockMoving.into());
    }
    refuse_payments(tx, owner.id).await?;
    let snapshot = find::those_of(owner.id).filter(snapshot::Column::Id.eq(row.id));
    // Its bytes stay until it is restored, and with them what holds its files.
    match snapshot.lock(LockType::Share).one(tx).await? {
        Some(_) => Ok(owner),
        None => Err(ErrorCode::NotFound.into()),
    }
}

impl AccountContents {
    /// Replaces the account's rows with these, in a unit that runs alone and holds the account's lock.
    pub async fn put(&self, tx: &Tx, owner: &account::Model) -> Result<(), Error> {
        let (life, owner) = (life(tx, owner).await?, owner.id);
        for table in wipe::copied().filter(|table| !LAST.contains(&table.name())) {
            table.clear(tx, owner).await?;
        }
        for rows in self.rows.iter().filter(|rows| !LAST.contains(&rows.table())) {
            rows.put(tx).await?;
        }
        search_text::rebuild::rebuild(tx, owner).await?;
        let charges = charge::Entity::update_of(owner);
        charges.col_expr(charge::Column::Attempt, Expr::value(life)).exec(tx).await?;
        self.finish(tx, owner, life).await
    }

    /// Replaces what depends on what the account has held, and the account's own row.
    pub async fn finish(&self, tx: &Tx, owner: AccountToken, life: i32) -> Result<(), Error> {
        let before = file_tokens(tx, owner).await?;
        // Also those whose last pass is still to come.
        let begun = Expr::col(erasure::Column::DueAt).lte(Expr::col(erasure::Column::QuietAt));
        let begun = begun.or(erasure::Column::ErasedAt.is_not_null());
        let erased = erasure::Entity::owned_by(owner).filter(begun).all(tx).await?;
        for table in wipe::copied().filter(|table| LAST.contains(&table.name())) {
            table.clear(tx, owner).await?;
        }
        for rows in self.rows.iter().filter(|rows| LAST.contains(&rows.table())) {
            rows.put(tx).await?;
        }
        let now = file_tokens(tx, owner).await?;
        files::replaced(tx, owner, &before, &now, self.wall).await?;
        for row in erased {
            // What was erased since is back, but not for long. However that goes, and however often the snapshot is restored, the
            // erasure stays one that had begun.
            let at = self.wall;
            plan_erasure(tx, (owner, row.id), row.cards, (at, at), Some(at)).await?;
        }
        let itself = Column::iter()
            .filter(|column| !is_kept(*column))
            .fold(settings::update_of(owner), |itself, column| {
                itself.col_expr(column, Expr::value(self.itself.get(column)))
            })
            .col_expr(Column::ClockMoves, Expr::value(life))
            .col_expr(Column::MovingUntil, Expr::value(None::<i64>));
        itself.exec(tx).await?;
        Ok(())
    }
}

/// Returns the first number of the restored account's clock moves and charge attempts: above all earlier ones. So a
/// clock mover that was presumed dead does not find its own number again, and no call reaches the acquirer, which is
/// not rolled back, under a key that it knows from before.
pub(super) async fn life(tx: &Tx, owner: &account::Model) -> Result<i32, Error> {
    // SQLite types an expression only by a cast.
    let highest = ExprTrait::cast_as(charge::Column::Attempt.max(), "BIGINT");
    let charges = charge::Entity::owned_by(owner.id).select_only().expr(highest);
    let highest: Option<Option<i64>> = charges.into_tuple().one(tx).await?;
    let highest = i32::try_from(highest.flatten().unwrap_or_default()).unwrap_or(i32::MAX);
    Ok(Ord::max(owner.clock_moves, highest).saturating_add(1))
}

async fn file_tokens(tx: &Tx, owner: AccountToken) -> Result<Vec<FileToken>, Error> {
    let files = file::Entity::owned_by(owner).select_only().column(file::Column::Id);
    Ok(files.into_tuple().all(tx).await?)
}
