//! Key rotation: issues a new pair and ends the former keys (`docs/decisions.md`, 73).

use base::secret::Secret;
use entity::api_key::{self, COLUMN, Column, KeyKind};
use entity::audit_entry::Action;
use entity::{AccountToken, TimeSpan, Timestamp};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, Select};
use serde_json::json;
use store::Tx;

use super::{ApiKeyPair, key_context, key_rows, settings};
use crate::error::Error;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::Context;
use crate::services::data_keys::reencrypt::SealedTable;
use crate::services::memory::key_uses::UsedKey;

/// Issues a new pair of keys; restricted keys stay as they are. Former keys work for `grace`, or until the end they already have,
/// whichever comes first. A running server may cache a key for a few seconds longer.
///
/// Refusals: `unauthorized` if there is no such account.
pub async fn rotate(ctx: &Context, account: AccountToken, grace: TimeSpan) -> Result<ApiKeyPair, Error> {
    let keys = ApiKeyPair::mint(&ctx.random);
    let until = ctx.end_after(grace);
    let named = |kind: KeyKind, key: &Secret| UsedKey::hashing(&ctx.vault, account, kind, key).name();
    let detail = json!({
        "secret_key": named(KeyKind::Secret, &keys.secret),
        "publishable_key": named(KeyKind::Publishable, &keys.publishable),
        "former_keys_end": until,
    });
    let act = OperatorAction::on(Action::AccountKeysRotated, account, detail);
    let unit = RotateKeysUnit { account, rows: key_rows(ctx, account, &keys), until, act };
    ctx.store.write(unit, async |tx, unit| unit.record(tx).await).await?;
    Ok(keys)
}

struct RotateKeysUnit {
    account: AccountToken,
    rows: [api_key::Model; 2],
    until: Timestamp,
    act: OperatorAction,
}

impl RotateKeysUnit {
    /// Records the rotation. Of two concurrent ones, the second ends the keys of the first.
    async fn record(&self, tx: &Tx) -> Result<(), Error> {
        settings::lock_account(tx, self.account).await?;
        let later = Condition::any().add(Column::ValidUntil.is_null()).add(COLUMN.valid_until.gt(self.until));
        let former = api_key::Entity::update_many()
            .col_expr(Column::ValidUntil, Expr::value(self.until.millis()))
            .filter(Column::AccountId.eq(self.account))
            .filter(Column::Kind.ne(KeyKind::Restricted))
            .filter(later);
        former.exec(tx).await?;
        for row in &self.rows {
            // Inserted at once: another rotation in the same batch must end this key.
            tx.insert(row).await?;
        }
        audit::record(tx, &self.act)
    }
}

/// Makes a key valid again, as if new, when it is configured after its end was set.
pub(super) async fn revive(tx: &Tx, row: &api_key::Model) -> Result<(), Error> {
    let revived = api_key::Entity::update_many()
        .col_expr(Column::ValidUntil, Expr::value(None::<i64>))
        .col_expr(Column::CreatedAt, Expr::value(row.created_at.millis()))
        .filter(Column::Hash.eq(row.hash.as_slice()));
    revived.exec(tx).await?;
    Ok(())
}

/// Selects the keys whose end has passed by the wall clock.
pub fn select_ended(wall: Timestamp) -> Select<api_key::Entity> {
    api_key::Entity::find().filter(COLUMN.valid_until.lte(wall)).order_by_asc(Column::ValidUntil)
}

/// Deletes an ended key, unless it was configured again meanwhile.
pub async fn forget(ctx: &Context, key: api_key::Model) -> Result<(), Error> {
    let unit = ctx.store.write(key, async |tx, key| {
        let same = Column::ValidUntil.eq(key.valid_until);
        let gone = api_key::Entity::delete_many().filter(Column::Hash.eq(key.hash.as_slice())).filter(same);
        gone.exec(tx).await?;
        Ok(())
    });
    unit.await
}

impl SealedTable for api_key::Entity {
    const SEALED_BY: Column = Column::SealedBy;
    const SEALED: &'static [Column] = &[Column::Sealed];

    fn context(row: &api_key::Model, _: Column) -> Vec<u8> {
        key_context(row.account_id, row.kind)
    }
}
