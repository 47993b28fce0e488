//! Finds charges.

use entity::charge::{self, Column, Origin};
use entity::counter::Counted;
use entity::{AccountToken, ChargeToken, Listed, Owned};
use sea_orm::sea_query::{Expr, ExprTrait, IntoIden, LockType, SelectStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, QueryFilter, QuerySelect, Value};
use store::{CachedStatement, Tx};

use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::accounts::{self, AccountJoin, IS_PRESENT};
use crate::services::by_key;
use crate::services::charges::view::{Charge, ShownCharge};
use crate::services::context::{Account, Context};
use crate::services::customers;
use crate::services::ledger::lines;
use crate::services::page::{List, ListPage};

/// Locks a charge until the commit, so that each of several concurrent refunds and disputes sees what is left of it.
///
/// Refusals: `not_found`.
pub(in crate::services) async fn lock(
    tx: &Tx,
    account: AccountToken,
    id: ChargeToken,
) -> Result<charge::Model, Error> {
    let row = charge::Entity::at(account, id).lock(LockType::NoKeyUpdate).one(tx).await?;
    row.ok_or_else(|| ErrorCode::NotFound.into())
}

/// A charge requested by its token, failed and pending ones included.
pub struct ChargeByToken(ChargeToken);

impl AccountJoin for ChargeByToken {
    type Record = ShownCharge;

    fn parse(token: &str) -> Option<Self> {
        token.parse().ok().map(Self)
    }

    fn statement() -> &'static CachedStatement {
        static WITH_ACCOUNT: CachedStatement = CachedStatement::new();
        &WITH_ACCOUNT
    }

    fn join(&self, backend: DbBackend, account: AccountToken, statement: &mut SelectStatement) {
        let charge = |column: Column| Expr::col((charge::Entity, column));
        let named = charge(Column::AccountId).eq(account).and(charge(Column::Id).eq(self.0));
        let named = named.and(charge(Column::Origin).ne(Origin::Authorisation));
        statement
            .left_join(charge::Entity, named)
            .expr_as(charge(Column::Id).is_not_null(), IS_PRESENT)
            .columns(ShownCharge::COLUMNS.map(|column| (charge::Entity, column)));
        lines::with_transfer(statement, backend, account, &charge::Entity.into_iden());
    }

    fn values(&self, backend: DbBackend, account: AccountToken) -> Vec<Value> {
        let of_charge = [account.into(), self.0.into(), Origin::Authorisation.into()];
        let of_transfer = lines::values_with_transfer(backend, account);
        let limit = (backend == DbBackend::Postgres).then(|| 1_u64.into());
        of_charge.into_iter().chain(of_transfer).chain(limit).collect()
    }
}

/// Returns the requested charge.
///
/// Refusals: `not_found`.
pub fn shown(account: &Account, found: Option<ShownCharge>) -> Result<Charge, Error> {
    Ok(Charge::at(account.now, found.ok_or(ErrorCode::NotFound)?))
}

/// Finds the charge with this token, for a caller that has authenticated before.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Charge, Error> {
    let lookup = ChargeByToken::parse(token).ok_or(ErrorCode::NotFound)?;
    shown(account, accounts::find_with_account(ctx, account.id(), &lookup).await?)
}

/// Reads a list of charges with only the columns that responses show.
pub(super) fn shown_columns(list: List<charge::Entity>) -> List<charge::Entity, ShownCharge> {
    list.reading(&ShownCharge::COLUMNS, lines::with_transfer)
}

pub(in crate::services) async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<charge::Model, Error> {
    let row = by_key::find::<charge::Entity>(db, account, token).await?;
    if row.is_authorisation() { Err(ErrorCode::NotFound.into()) } else { Ok(row) }
}

/// Lists the account's charges, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Charge>, Error> {
    static FIRST: CachedStatement = CachedStatement::new();
    let owner = account.id();
    let list =
        || shown_columns(List::newest_first(owner, charge::Entity::owned_by(owner).filter(charge::listed())));
    let mut values = vec![owner.into()];
    values.extend(lines::values_with_transfer(ctx.store.backend(), owner));
    let whole = (owner, Counted::Charges);
    let page = List::counted_first(ctx, whole, paging, (&FIRST, values), list).await?;
    Ok(page.map(|row| Charge::at(account.now, row)))
}

/// Lists a customer's charges, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_customer(
    ctx: &Context,
    account: &Account,
    customer: &str,
    paging: Params<Paging>,
) -> Result<ListPage<Charge>, Error> {
    let customer = customers::find::by_token(ctx.store.read(), account, customer).await?;
    let all = charge::Entity::owned_by(account.id()).filter(charge::listed());
    let list =
        List::newest_first(account.id(), all).part_of(Counted::Charges, Column::CustomerId.eq(customer.id));
    let page = shown_columns(list).ranged(ctx, paging.valid()?).await?;
    Ok(page.map(|row| Charge::at(account.now, row)))
}
