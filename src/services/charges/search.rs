//! Searching charges (specification, GET /charges/search; decisions 1): words as a substring, the rest exact.

use entity::charge::{self, Column};
use entity::{AccountToken, CardToken, ChargeToken, Currency, CustomerToken, Owned, Timestamp};
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query, SimpleExpr};
use sea_orm::{ColumnTrait, Condition, DbBackend, QueryFilter};

use crate::error::Error;
use crate::params::Search;
use crate::params::charge::NewCharge;
use crate::services::context::{Account, Context};
use crate::services::page::{List, Page};
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
        rows = rows.filter(matches(ctx.store.backend(), account.id(), query));
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
    Ok(page.map(|row| Charge::at(account.now, row)))
}

/// The text that a charge's words are looked up in: description, e-mail, metadata values, cardholder name.
/// A line each, so that no query finds the end of one and the beginning of the next.
pub(super) fn text(charge: &NewCharge, cardholder: Option<&str>, metadata: &[(String, String)]) -> String {
    let values = metadata.iter().map(|(_, value)| value.as_str());
    let texts = [charge.description.as_str(), &charge.email].into_iter().chain(values).chain(cardholder);
    texts.map(|text| fold(&text.replace('\n', " "))).collect::<Vec<_>>().join("\n")
}

fn fold(text: &str) -> String {
    text.to_lowercase()
}

fn matches(backend: DbBackend, account: AccountToken, query: &str) -> Condition {
    let exact = |condition: Condition, column: Column, value: Option<SimpleExpr>| match value {
        Some(value) => condition.add(Expr::col(column).eq(value)),
        None => condition,
    };
    let mut any = Condition::any().add(words(backend, account, &fold(&query.replace('\n', " "))));
    any = exact(any, Column::Amount, query.parse::<i64>().ok().map(Expr::value));
    any = exact(any, Column::Currency, Currency::parse(query).map(|currency| Expr::value(currency.code())));
    any = exact(any, Column::Id, query.parse::<ChargeToken>().ok().map(Expr::value));
    any = exact(any, Column::CardId, query.parse::<CardToken>().ok().map(Expr::value));
    exact(any, Column::CustomerId, query.parse::<CustomerToken>().ok().map(Expr::value))
}

fn has_trigrams(query: &str) -> bool {
    query.chars().count() >= 3
}

/// The folded query as a substring. Trigrams find three characters and more; fewer scan the account.
fn words(backend: DbBackend, account: AccountToken, query: &str) -> SimpleExpr {
    if backend == DbBackend::Postgres {
        // The index is on the column itself; percent, underscore and backslash are letters like any other here.
        let escaped = query.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        return Expr::col(Column::SearchText).like(format!("%{escaped}%"));
    }
    if !has_trigrams(query) {
        return Expr::cust_with_values("instr(search_text, ?) > 0", [query]);
    }
    let phrase = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let both = format!("{} AND {}", phrase(&WordTable::account_code(account)), phrase(query));
    let found = Query::select()
        .column(Alias::new("id"))
        .from(Alias::new(WordTable::Charges.name()))
        .and_where(Expr::cust_with_values("charges_search MATCH ?", [both]))
        .take();
    Column::Id.in_subquery(found)
}
