//! Records used payloads: each pays for one payment source. A record is kept until its payload would be too old anyway.

use entity::wallet_payload::{self, COLUMN, Column};
use entity::{AccountToken, Owned, Timestamp};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, Select};
use sha2::{Digest as _, Sha256};
use store::Tx;

use crate::error::Error;
use crate::services::context::Context;

/// Returns the record of a payload's use; `payment` is the id that reveals a second use.
pub fn used(account: AccountToken, wallet: &str, payment: &[u8], until: Timestamp) -> wallet_payload::Model {
    let hash = Sha256::new().chain_update(wallet).chain_update([0]).chain_update(payment).finalize();
    wallet_payload::Model { account_id: account, hash: hash.to_vec(), expires_at: until }
}

/// Records a use. Returns false if the payload was already used; of two concurrent uses, one is first.
pub async fn record_use(tx: &Tx, used: &wallet_payload::Model) -> Result<bool, Error> {
    let insert = wallet_payload::Entity::insert(used.clone().into_active_model());
    let insert = insert.on_conflict(OnConflict::new().do_nothing().to_owned());
    Ok(insert.exec_without_returning(tx).await? > 0)
}

/// Selects the uses of payloads that are too old by now, by the wall clock.
pub fn due(wall: Timestamp) -> Select<wallet_payload::Entity> {
    wallet_payload::Entity::find().filter(COLUMN.expires_at.lt(wall))
}

/// Deletes a use.
pub async fn forget(ctx: &Context, used: wallet_payload::Model) -> Result<(), Error> {
    ctx.delete(wallet_payload::Entity::delete_of(used.account_id).filter(Column::Hash.eq(used.hash))).await
}
