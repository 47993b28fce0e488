//! Searching transfers (specification, GET /transfers/search; decisions 8): words as a substring, the rest exact.

use entity::transfer::{self, Column};
use entity::{AccountToken, Owned, RecipientToken, Timestamp, TransferToken, recipient};
use sea_orm::sea_query::{Expr, ExprTrait, SelectStatement, SimpleExpr, UnionType};
use sea_orm::{ColumnTrait, DbBackend, QueryFilter, QuerySelect, QueryTrait};

use crate::error::Error;
use crate::params::Search;
use crate::services::context::{Account, Context};
use crate::services::page::{List, Page};
use crate::services::words;
use crate::views::transfer::Transfer;

/// What transfers can be sorted by.
pub const SORTS: &[&str] = &["paid_at"];

/// Search the account's transfers.
pub async fn search(ctx: &Context, account: &Account, search: Search) -> Result<Page<Transfer>, Error> {
    let mut rows = transfer::Entity::owned_by(account.id());
    if let Some(from) = search.from {
        rows = rows.filter(Column::CreatedAt.gte(Timestamp::from(from)));
    }
    if let Some(to) = search.to {
        rows = rows.filter(Column::CreatedAt.lt(Timestamp::from(to)));
    }
    if let Some(query) = &search.query {
        rows = rows.filter(Column::Id.in_subquery(found(ctx.store.backend(), account.id(), query)));
    }
    let list = List::sorted(account.id(), rows, Column::CreatedAt, search.ascending);
    Ok(list.ranged(ctx, search.paging).await?.map(Transfer::from))
}

/// The ids that each index finds: description, amount and token of transfers; name, e-mail address and token of
/// recipients as they are now.
fn found(backend: DbBackend, account: AccountToken, query: &str) -> SelectStatement {
    let of = |condition: SimpleExpr| {
        let transfers = transfer::Entity::owned_by(account).filter(condition);
        transfers.select_only().column(Column::Id).into_query()
    };
    let with_words = |text: SimpleExpr| words::contains(backend, text, query);
    let recipients = recipient::Entity::owned_by(account)
        .filter(with_words(recipient::Column::SearchText.into_expr()))
        .select_only()
        .column(recipient::Column::Id)
        .into_query();
    let mut found = of(with_words(Column::SearchText.into_expr()));
    let is = |column: Column, value: Option<SimpleExpr>| value.map(|value| Expr::col(column).eq(value));
    let exactly = [
        Some(Expr::col(Column::RecipientId).in_subquery(recipients)),
        is(Column::Amount, query.parse::<i64>().ok().map(Expr::value)),
        is(Column::Id, query.parse::<TransferToken>().ok().map(Expr::value)),
        is(Column::RecipientId, query.parse::<RecipientToken>().ok().map(Expr::value)),
    ];
    for condition in exactly.into_iter().flatten() {
        found.union(UnionType::Distinct, of(condition));
    }
    found
}
