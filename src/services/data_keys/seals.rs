//! Counts how often data keys seal. A process counts in memory, so that no payment writes an extra row; a worker adds
//! the counts to the table every few seconds, and a server once more when it ends. A killed process loses its counts
//! since: a few seconds of years.

use entity::vault_key::{self, Column};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use store::Tx;
use uuid::Uuid;

use crate::error::Error;
use crate::services::context::Context;

/// Adds the counts to the table. Counts that the database rejects stay counted.
pub async fn write(ctx: &Context) -> Result<(), Error> {
    let keys = ctx.vault.data_keys();
    let taken = keys.seals().take();
    if taken.is_empty() {
        return Ok(());
    }
    let written = ctx.store.write(taken.clone(), async |tx, taken| add(tx, taken).await).await;
    if written.is_err() {
        for (key, n) in taken {
            keys.seals().add(key, n);
        }
    }
    written
}

async fn add(tx: &Tx, taken: &[(Uuid, u64)]) -> Result<(), Error> {
    for (key, n) in taken {
        let more = i64::try_from(*n).unwrap_or(i64::MAX);
        let added = vault_key::Entity::update_many()
            .col_expr(Column::Seals, Expr::col(Column::Seals).add(more))
            .filter(Column::Id.eq(*key));
        added.exec(tx).await?;
    }
    Ok(())
}

/// Returns how often the current data key has sealed, as far as this process knows.
pub async fn by_current_key(ctx: &Context) -> Result<u64, Error> {
    let keys = ctx.vault.data_keys();
    let written = vault_key::Entity::find_by_id(keys.current()).select_only().column(Column::Seals);
    let written = written.into_tuple::<i64>().one(ctx.store.read()).await?.unwrap_or_default();
    Ok(u64::try_from(written).unwrap_or_default() + keys.seals().count(keys.current()))
}
