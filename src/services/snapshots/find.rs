//! Finds snapshots.

use entity::{Owned, snapshot};

use crate::error::Error;
use crate::params::Paging;
use crate::services::by_key;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::snapshots::view::Snapshot;

/// Lists the account's snapshots, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Snapshot>, Error> {
    let rows = List::newest_first(account.id(), snapshot::Entity::owned_by(account.id()));
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
    by_key::find::<snapshot::Entity>(ctx.store.read(), account, token).await
}
