//! Finds authorisations.

use entity::charge::{self, Column, Origin};
use entity::counter::Counted;
use entity::{AuthorisationToken, Listed, Owned};
use sea_orm::{ColumnTrait, QueryFilter};

use crate::error::{Error, ErrorCode};
use crate::params::Paging;
use crate::services::authorisations::view::Authorisation;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};

/// Returns one authorisation, failed ones included.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Authorisation, Error> {
    Ok(Authorisation::at(account.now, by_token(ctx, account, token).await?))
}

/// Lists the account's authorisations, newest first, failed ones included.
pub async fn list(
    ctx: &Context,
    account: &Account,
    paging: Paging,
) -> Result<ListPage<Authorisation>, Error> {
    let rows = charge::Entity::owned_by(account.id()).filter(charge::listed_authorisations());
    let page = List::newest_first(account.id(), rows).counted(ctx, Counted::Authorisations, paging).await?;
    Ok(page.map(|row| Authorisation::at(account.now, row)))
}

pub(super) async fn by_token(ctx: &Context, account: &Account, token: &str) -> Result<charge::Model, Error> {
    let id: AuthorisationToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = charge::Entity::at(account.id(), id.id())
        .filter(Column::Origin.eq(Origin::Authorisation))
        .one(ctx.store.read())
        .await?;
    row.ok_or_else(|| ErrorCode::NotFound.into())
}
