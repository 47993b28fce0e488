//! Finding charges.

use entity::charge::{self, ChargeState, Column};
use entity::counter::Counted;
use entity::{ChargeToken, Owned};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};

use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::context::{Account, Context};
use crate::services::page::{List, Page};
use crate::services::{customers, ledger};
use crate::views::charge::Charge;

/// One charge, failed and pending ones included.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Charge, Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    Ok(shown(ctx, account, vec![row]).await?.remove(0))
}

/// Charges as they stand, with the transfers that have paid them out.
pub(in crate::services) async fn shown(
    ctx: &Context,
    account: &Account,
    rows: Vec<charge::Model>,
) -> Result<Vec<Charge>, Error> {
    let captured = rows.iter().filter(|row| row.state == ChargeState::Captured).map(|row| row.id);
    let transfers = ledger::lines::transfers_of(ctx.store.read(), account.id(), captured).await?;
    let shown = |row: charge::Model| {
        let transfer = transfers.get(&row.id);
        Charge::at(account.now, row).paid_out_by(transfer)
    };
    Ok(rows.into_iter().map(shown).collect())
}

/// A page of them.
pub(super) async fn shown_page(
    ctx: &Context,
    account: &Account,
    page: Page<charge::Model>,
) -> Result<Page<Charge>, Error> {
    let Page { records, count, paging } = page;
    Ok(Page { records: shown(ctx, account, records).await?, count, paging })
}

/// The row a token names.
pub(in crate::services) async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<charge::Model, Error> {
    let id: ChargeToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = charge::Entity::owned_by(account.id()).filter(Column::Id.eq(id)).one(db).await?;
    let row = row.filter(|row| !row.is_authorisation());
    row.ok_or_else(|| ErrorCode::NotFound.into())
}

/// The account's charges, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<Page<Charge>, Error> {
    let rows = charge::Entity::owned_by(account.id()).filter(charge::listed());
    let page = List::newest_first(account.id(), rows).counted(ctx, Counted::Charges, paging).await?;
    shown_page(ctx, account, page).await
}

/// A customer's charges, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_customer(
    ctx: &Context,
    account: &Account,
    customer: &str,
    paging: Params<Paging>,
) -> Result<Page<Charge>, Error> {
    let customer = customers::find::by_token(ctx.store.read(), account, customer).await?;
    let rows = charge::Entity::owned_by(account.id())
        .filter(Column::CustomerId.eq(customer.id))
        .filter(charge::listed());
    let page = List::newest_first(account.id(), rows).ranged(ctx, paging.valid()?).await?;
    shown_page(ctx, account, page).await
}
