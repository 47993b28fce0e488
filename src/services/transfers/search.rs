//! Searches transfers: text by substring, everything else exactly (specification, GET /transfers/search;
//! `docs/decisions.md`, 204).

use entity::counter::Counted;
use entity::transfer::{self, Column};
use entity::{AccountToken, Owned, RecipientToken, TransferToken, recipient};
use sea_orm::sea_query::{Expr, ExprTrait, SelectStatement, SimpleExpr, UnionType};
use sea_orm::{ColumnTrait, Condition, DbBackend, QueryFilter, QuerySelect, QueryTrait};

use crate::error::Error;
use crate::params::Search;
use crate::services::context::{Account, Context};
use crate::services::page::{Growth, List, ListPage, in_period};
use crate::services::search_text;
use crate::services::transfers::view::Transfer;

/// The keys that transfers can be sorted by.
pub const SORTS: &[&str] = &["paid_at"];

pub async fn search(ctx: &Context, account: &Account, search: Search) -> Result<ListPage<Transfer>, Error> {
    let mut found = in_period(&Column::CreatedAt.into_expr(), &search);
    if let Some(query) = &search.query {
        let backend = ctx.store.backend();
        found = found.add(if backend == DbBackend::Postgres {
            Condition::all().add(Column::Id.in_subquery(matching_ids(account.id(), query)))
        } else {
            matching(backend, account.id(), query).into_iter().fold(Condition::any(), Condition::add)
        });
    }
    // A recipient may get another name, so what a query finds may change.
    let by_time =
        (Column::CreatedAt, if search.query.is_some() { Growth::Changing } else { Growth::AtItsEnd });
    let all = transfer::Entity::owned_by(account.id());
    let list = List::sorted(account.id(), all, by_time, search.ascending).part_of(Counted::Transfers, found);
    Ok(list.ranged(ctx, search.paging).await?.map(Transfer::from))
}

/// Returns the conditions: description, amount and token of transfers, and the current name, e-mail address and token
/// of recipients.
fn matching(backend: DbBackend, account: AccountToken, query: &str) -> Vec<SimpleExpr> {
    let with_words = |text: SimpleExpr| search_text::contains(backend, text, query);
    let recipients = recipient::Entity::owned_by(account)
        .filter(with_words(recipient::Column::SearchText.into_expr()))
        .select_only()
        .column(recipient::Column::Id)
        .into_query();
    let is = |column: Column, value: Option<SimpleExpr>| value.map(|value| Expr::col(column).eq(value));
    let conditions = [
        Some(with_words(Column::SearchText.into_expr())),
        Some(Expr::col(Column::RecipientId).in_subquery(recipients)),
        is(Column::Amount, query.parse::<i64>().ok().map(Expr::value)),
        is(Column::Id, query.parse::<TransferToken>().ok().map(Expr::value)),
        is(Column::RecipientId, query.parse::<RecipientToken>().ok().map(Expr::value)),
    ];
    conditions.into_iter().flatten().collect()
}

/// Returns the ids that each index finds, on PostgreSQL. SQLite instead scans the index of times, which covers the
/// compared columns.
fn matching_ids(account: AccountToken, query: &str) -> SelectStatement {
    let of = |condition: SimpleExpr| {
        let transfers = transfer::Entity::owned_by(account).filter(condition);
        transfers.select_only().column(Column::Id).into_query()
    };
    let mut conditions = matching(DbBackend::Postgres, account, query).into_iter();
    let mut found = conditions.next().map(of).unwrap_or_default();
    for condition in conditions {
        found.union(UnionType::Distinct, of(condition));
    }
    found
}
