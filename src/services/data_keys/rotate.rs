//! Rotates the data key and deletes former ones.

use std::fmt;

use base::crash_points;
use base::progress::Progress;
use entity::audit_entry::Action;
use entity::{Timestamp, vault_key};
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use serde::Serialize;
use serde_json::json;
use store::Tx;
use uuid::Uuid;
use vault::{Key, OperatorKeys};

use super::{DATA, context, fresh, reencrypt, reload, seals, unwrapped};
use crate::error::Error;
use crate::limits::DATA_KEY_RETENTION;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::Context;

#[derive(Debug, Serialize)]
pub struct RotationReport {
    /// The data key that seals from now on.
    pub data_key: Uuid,
    /// Rows that were encrypted again.
    pub rows: u64,
    /// Rows that no key opens: they are damaged and stay as they are.
    pub damaged: u64,
    /// Former data keys deleted because no row needs them any more.
    pub removed: u64,
    /// Former data keys that are still needed.
    pub kept: u64,
}

impl fmt::Display for RotationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data_key, rows, damaged, removed, kept } = self;
        write!(f, "data key {data_key}: {rows} rows re-encrypted, {damaged} damaged; ")?;
        write!(f, "former data keys: {removed} removed, {kept} kept")
    }
}

/// Makes a new data key, wraps every key with the operator's first one, and encrypts again the rows that older keys
/// sealed. A kill at any time leaves all rows readable; a later rotation, or a server's worker, does the rest.
pub async fn rotate(ctx: &Context) -> Result<RotationReport, Error> {
    rotate_watched(ctx, &()).await
}

/// Does the same and reports its progress.
pub async fn rotate_watched(ctx: &Context, progress: &dyn Progress) -> Result<RotationReport, Error> {
    let wall = ctx.clock.now();
    let key = fresh(&ctx.operator, ctx.ids.next(), (DATA, &Key::random()), wall);
    let remove_at = ctx.trusted.latest() + DATA_KEY_RETENTION;
    let new = NewDataKeyUnit { operator: ctx.operator.clone(), key, remove_at };
    let data_key = new.key.id;
    ctx.store.write(new, async |tx, new| new.record(tx).await).await?;
    crash_points::point("vault", "key.after");
    // Read before the keys: a key retired by now seals nothing afterwards, even if another rotation comes between.
    let retired = retired().all(ctx.store.read()).await?;
    reload(ctx).await?;
    let mut rotation = RotationReport { data_key, rows: 0, damaged: 0, removed: 0, kept: 0 };
    let mut sealed = 0;
    for row in &retired {
        sealed += reencrypt::count(ctx, row.id).await?;
    }
    progress.set_total(sealed);
    for row in retired {
        let due = row.remove_at.is_some_and(|at| at <= ctx.trusted.earliest());
        let before = rotation.rows;
        let report = reencrypt::reencrypt(ctx, row.id, |rows| progress.set_done(before + rows)).await?;
        rotation.rows += report.reencrypted;
        rotation.damaged += report.damaged;
        if due && delete_unused(ctx, row, report).await? {
            rotation.removed += 1;
        } else {
            rotation.kept += 1;
        }
    }
    seals::write(ctx).await?;
    Ok(rotation)
}

struct NewDataKeyUnit {
    operator: OperatorKeys,
    key: vault_key::Model,
    /// The time from which the former key may be deleted.
    remove_at: Timestamp,
}

impl NewDataKeyUnit {
    /// Records the new key. Of two concurrent rotations, the second finds the key of the first and retires it.
    async fn record(&self, tx: &Tx) -> Result<(), Error> {
        // In one order, so that rotations wait for each other and never deadlock.
        let keys = vault_key::Entity::find().order_by_asc(vault_key::Column::Id);
        let keys = keys.lock(LockType::Update).all(tx).await?;
        for row in keys.iter().filter(|row| row.wrapped_by != self.operator.wrapping_id()) {
            let wrapped =
                self.operator.wrap(&context(row.id, &row.purpose), &unwrapped(&self.operator, row)?);
            let key = vault_key::Model { wrapped_by: wrapped.by, wrapped: wrapped.bytes, ..row.clone() };
            tx.update(row, &key).await?;
        }
        let former = vault_key::Entity::update_many()
            .col_expr(vault_key::Column::RemoveAt, Expr::value(self.remove_at.millis()))
            .filter(vault_key::Column::Purpose.eq(DATA))
            .filter(vault_key::Column::RemoveAt.is_null());
        former.exec(tx).await?;
        // Inserted at once: another rotation in the same batch looks for it.
        tx.insert(&self.key).await?;
        audit::record(tx, &self.act())
    }

    fn act(&self) -> OperatorAction {
        let detail = json!({ "wrapped_by": self.operator.wrapping_id() });
        OperatorAction {
            action: Action::VaultRotated,
            account: None,
            subject: self.key.id.to_string(),
            detail,
        }
    }
}

fn retired() -> Select<vault_key::Entity> {
    vault_key::Entity::find().filter(vault_key::Column::RemoveAt.is_not_null())
}

/// Selects former data keys that are due for deletion, by the wall clock.
pub fn due(wall: Timestamp) -> Select<vault_key::Entity> {
    retired().filter(vault_key::COLUMN.remove_at.lte(wall))
}

/// Encrypts again all rows that a former data key still seals, then deletes the key.
pub async fn retire(ctx: &Context, row: vault_key::Model) -> Result<(), Error> {
    // No process may seal with it meanwhile, not even this one.
    reload(ctx).await?;
    let report = reencrypt::reencrypt(ctx, row.id, |_| ()).await?;
    delete_unused(ctx, row, report).await.map(drop)
}

/// Deletes a key that seals no row, as a scan after its time has found. A needed one stays and is checked again after
/// the same time.
async fn delete_unused(
    ctx: &Context,
    row: vault_key::Model,
    report: reencrypt::ReencryptionReport,
) -> Result<bool, Error> {
    if report.damaged > 0 {
        tracing::error!(key = %row.id, rows = report.damaged, "a former data key is kept: damaged rows name it");
    }
    let later = (report.damaged > 0).then(|| ctx.trusted.latest() + DATA_KEY_RETENTION);
    let unit = ctx.store.write((row, later), async |tx, (row, later)| {
        use vault_key::Column;
        if let Some(later) = later {
            let kept = vault_key::Model { remove_at: Some(*later), ..row.clone() };
            tx.compare_and_swap(row, &kept, &[Column::RemoveAt]).await?;
            return Ok(false);
        }
        let gone = vault_key::Entity::delete_by_id(row.id).filter(Column::RemoveAt.eq(row.remove_at));
        Ok(gone.exec(tx).await?.rows_affected > 0)
    });
    unit.await
}
