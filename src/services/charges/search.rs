//! Searching charges (specification, GET /charges/search; decisions 1): words as a substring, the rest exact.

use entity::charge::{self, Column};
use entity::{
    AccountToken, CardToken, ChargeToken, Currency, CustomerToken, Owned, RefundToken, Timestamp, refund,
};
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query, SimpleExpr, UnionType};
use sea_orm::{ColumnTrait, Condition, DbBackend, QueryFilter, QuerySelect, QueryTrait};

use super::find::shown_page;
use crate::error::Error;
use crate::params::Search;
use crate::services::context::{Account, Context};
use crate::services::page::{List, Page};
use crate::services::words;
use crate::store::WordTable;
use crate::views::charge::Charge;

/// What charges can be sorted by.
pub const SORTS: &[&str] = &["created_at", "amount"];

/// Search the account's charges.
pub async fn search(ctx: &Context, account: &Account, search: Search) -> Result<Page<Charge>, Error> {
    let mut rows = charge::Entity::owned_by(account.id()).filter(charge::listed());
    if let Some(from) = search.from {
        rows = rows.filter(Column::CreatedAt.gte(Timestamp::from(from)));
    }
    if let Some(to) = search.to {
        rows = rows.filter(Column::CreatedAt.lt(Timestamp::from(to)));
    }
    if let Some(query) = &search.query {
        let refunded = refunded_by(ctx, account, query).await?;
        rows = rows.filter(matches(ctx.store.backend(), account.id(), query, refunded));
    }
    let column = match search.sort {
        Some("amount") => Column::Amount,
        _ => Column::CreatedAt,
    };
    let mut list = List::sorted(account.id(), rows, column, search.ascending);
    if ctx.store.backend() != DbBackend::Postgres && search.query.as_deref().is_some_and(has_trigrams) {
        list = list.found_first();
    }
    let page = list.ranged(ctx, search.paging).await?;
    shown_page(ctx, account, page).await
}

/// The charge of the refund whose token the query is: looked up before, so that the search keeps to its indexes.
async fn refunded_by(ctx: &Context, account: &Account, query: &str) -> Result<Option<ChargeToken>, Error> {
    let Ok(refund) = query.parse::<RefundToken>() else { return Ok(None) };
    let refund = refund::Entity::owned_by(account.id()).filter(refund::Column::Id.eq(refund));
    Ok(refund.one(ctx.store.read()).await?.map(|refund| refund.charge_id))
}

/// What a query matches: words as a substring, the rest exactly.
fn matches(
    backend: DbBackend,
    account: AccountToken,
    query: &str,
    refunded: Option<ChargeToken>,
) -> Condition {
    let exactly = exactly(query, refunded);
    if backend != DbBackend::Postgres && has_trigrams(query) {
        return found_by_id(account, &words::folded(query), exactly);
    }
    let words = words::contains(backend, Column::SearchText.into_expr(), query);
    exactly.into_iter().fold(Condition::any().add(words), Condition::add)
}

/// Amount, currency and tokens, as far as the query can be one.
fn exactly(query: &str, refunded: Option<ChargeToken>) -> Vec<SimpleExpr> {
    let is = |column: Column, value: Option<SimpleExpr>| value.map(|value| Expr::col(column).eq(value));
    let conditions = [
        is(Column::Amount, query.parse::<i64>().ok().map(Expr::value)),
        is(Column::Currency, Currency::parse(query).map(|currency| Expr::value(currency.code()))),
        is(Column::Id, query.parse::<ChargeToken>().ok().or(refunded).map(Expr::value)),
        is(Column::CardId, query.parse::<CardToken>().ok().map(Expr::value)),
        is(Column::CustomerId, query.parse::<CustomerToken>().ok().map(Expr::value)),
    ];
    conditions.into_iter().flatten().collect()
}

/// Trigrams find three characters and more; fewer scan the account.
fn has_trigrams(query: &str) -> bool {
    query.chars().count() >= 3
}

/// SQLite: the ids that the words' table knows and those that the charges' own indexes know, so that each finds by
/// its own index; one condition with OR would walk the whole account.
fn found_by_id(account: AccountToken, words: &str, exactly: Vec<SimpleExpr>) -> Condition {
    let phrase = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let both = format!("{} AND {}", phrase(&WordTable::account_code(account)), phrase(words));
    let mut found = Query::select();
    found
        .column(Alias::new("id"))
        .from(Alias::new(WordTable::Charges.name()))
        .and_where(Expr::cust_with_values("charges_search MATCH ?", [both]));
    for condition in exactly {
        let exact = charge::Entity::owned_by(account).filter(charge::listed()).filter(condition);
        found.union(UnionType::Distinct, exact.select_only().column(Column::Id).into_query());
    }
    Condition::all().add(Column::Id.in_subquery(found))
}
