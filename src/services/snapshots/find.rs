//! Finds snapshots.

use entity::{AccountToken, Owned, snapshot};
use sea_orm::sea_query::SimpleExpr;
use sea_orm::{ColumnTrait, QueryFilter, Select};

use crate::error::{Error, ErrorCode};
use crate::params::Paging;
use crate::services::by_key;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::snapshots::view::Snapshot;

/// Returns whether a row is a snapshot. One without bytes is none: it is being written, or removed.
pub(super) fn is_one() -> SimpleExpr {
    snapshot::Column::Bytes.gt(0)
}

pub(super) fn those_of(account: AccountToken) -> Select<snapshot::Entity> {
    snapshot::Entity::owned_by(account).filter(is_one())
}

/// Lists the account's snapshots, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Snapshot>, Error> {
    let rows = List::newest_first(account.id(), those_of(account.id()));
    Ok(rows.ranged(ctx, paging).await?.map(Snapshot::from))
}

/// Finds the row of a snapshot.
///
/// Refusals: `not_found`.
pub(super) async fn by_token(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<snapshot::Model, Error> {
    let row = by_key::find_among(ctx.store.read(), those_of(account.id()), token).await?;
    row.ok_or_else(|| ErrorCode::NotFound.into())
}
