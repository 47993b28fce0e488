//! Sessions that keys have opened at the dashboard and their users have ended. Rows, so that no copy of the server takes their cookies
//! any more, and no later start (`docs/decisions.md`, 407). All times are by the wall clock.

use entity::Timestamp;
use entity::ended_session::{COLUMN, Column, Entity, Model};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, Select};
use vault::{Purpose, Vault};

use super::context::Context;
use crate::error::Error;

/// Ends a session, named by the secret of its forms, which would have ended at a time. It may have ended before.
pub async fn end(ctx: &Context, secret: &str, expires: Timestamp) -> Result<(), Error> {
    let row = Model { hash: hash_of(&ctx.vault, secret), ends_at: expires };
    let unit = ctx.store.write(row, async |tx, row| {
        let once = Entity::insert(row.clone().into_active_model())
            .on_conflict(OnConflict::new().do_nothing().to_owned());
        once.exec_without_returning(tx).await?;
        Ok(())
    });
    unit.await
}

/// Returns whether a session was ended.
pub async fn has_ended(ctx: &Context, secret: &str) -> Result<bool, Error> {
    let row = Entity::find_by_id(hash_of(&ctx.vault, secret)).one(ctx.store.read()).await?;
    Ok(row.is_some())
}

/// Selects the sessions that would have ended by now.
pub fn ended(wall: Timestamp) -> Select<Entity> {
    Entity::find().filter(COLUMN.ends_at.lte(wall)).order_by_asc(Column::EndsAt)
}

/// Deletes an expired session.
pub async fn forget(ctx: &Context, session: Model) -> Result<(), Error> {
    ctx.delete(Entity::delete_many().filter(Column::Hash.eq(session.hash))).await
}

fn hash_of(vault: &Vault, secret: &str) -> Vec<u8> {
    vault.keyed_hash(Purpose::Link, &[b"session of a key", secret.as_bytes()]).to_vec()
}
