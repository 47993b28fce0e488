//! Searches charges (specification, GET /charges/search; `docs/decisions.md`, 20): words as a substring, the rest
//! exact.

use entity::charge::{self, Column};
use entity::counter::Counted;
use entity::{
    AccountToken, CardToken, ChargeToken, Currency, CustomerToken, Owned, RefundToken, Timestamp, refund,
};
use sea_orm::sea_query::{
    Alias, Asterisk, Expr, ExprTrait, Func, Query, SelectStatement, SimpleExpr, UnionType,
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbBackend, QueryFilter, QuerySelect, QueryTrait, Select, Value,
};
use uuid::Uuid;

use super::find::shown_columns;
use crate::error::Error;
use crate::params::Search;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::search_text;
use crate::store::{Reader, WordTable};
use crate::views::charge::Charge;

/// The fields that charges can be sorted by.
pub const SORTS: &[&str] = &["created_at", "amount"];

/// Up to this many ids are found first and sorted afterwards. With more, a scan of the sort index fills a page soon.
const FEW: u64 = 1_000;

/// Searches the account's charges.
pub async fn search(ctx: &Context, account: &Account, search: Search) -> Result<ListPage<Charge>, Error> {
    let mut rows = charge::Entity::owned_by(account.id()).filter(charge::listed());
    if let Some(from) = search.from {
        rows = rows.filter(Column::CreatedAt.gte(Timestamp::from(from)));
    }
    if let Some(to) = search.to {
        rows = rows.filter(Column::CreatedAt.lt(Timestamp::from(to)));
    }
    let column = match search.sort {
        Some("amount") => Column::Amount,
        _ => Column::CreatedAt,
    };
    let list = |rows| shown_columns(List::sorted(account.id(), rows, column, search.ascending));
    let page = match &search.query {
        Some(query) => {
            let exactly = ExactMatches::new(query, refunded_by(ctx, account, query).await?);
            let SearchHits { rows, size, few } =
                matching_rows(ctx, account.id(), rows, query, &exactly).await?;
            let list = if few { list(rows).found_first() } else { list(rows) };
            match size {
                Some(size) => list.of_size(ctx, size, search.paging).await?,
                None => list.ranged(ctx, search.paging).await?,
            }
        }
        None if search.from.or(search.to).is_some() => list(rows).ranged(ctx, search.paging).await?,
        None => list(rows).counted(ctx, Counted::Charges, search.paging).await?,
    };
    Ok(page.map(|row| Charge::at(account.now, row)))
}

/// The result of a query.
struct SearchHits {
    rows: Select<charge::Entity>,
    /// The number of rows, if counted.
    size: Option<u64>,
    /// Whether there are at most [`FEW`].
    few: bool,
}

/// Filters the rows that a query matches: words as a substring, the rest exactly.
async fn matching_rows(
    ctx: &Context,
    account: AccountToken,
    rows: Select<charge::Entity>,
    query: &str,
    exactly: &ExactMatches,
) -> Result<SearchHits, Error> {
    let (db, backend) = (ctx.store.read(), ctx.store.backend());
    let is_postgres = backend == DbBackend::Postgres;
    let matches = Condition::any().add(search_text::contains(backend, Column::SearchText.into_expr(), query));
    let matches = exactly.conditions().into_iter().fold(matches, Condition::add);
    if has_trigrams(query) && exactly.by_index() {
        // The ids are read once for both size and page, because finding a word is the slow part.
        let mut looked_up = if is_postgres {
            rows.clone().filter(matches.clone()).select_only().column(Column::Id).into_query()
        } else {
            ids(account, &search_text::folded(query), exactly)
        };
        let ids = db.query_all(looked_up.limit(FEW + 1)).await?;
        let known = ids.len() as u64;
        if known <= FEW {
            let ids: Vec<Uuid> = ids.iter().map(|row| row.try_get("", "id")).collect::<Result<_, _>>()?;
            return Ok(SearchHits {
                rows: rows.filter(Column::Id.in_subquery(id_table(backend, &ids)?)),
                // SQLite's ids may be duplicates or outside the searched time.
                size: is_postgres.then_some(known),
                few: true,
            });
        }
    }
    let rows = rows.filter(matches);
    // A condition that any time meets makes SQLite use the index of times, which holds the words as well.
    let at_any_time = rows.clone().filter(Column::CreatedAt.gte(Timestamp::from_millis(i64::MIN)));
    let ids = at_any_time.clone().select_only().column(Column::Id).into_query();
    let size = count(db, &ids).await?;
    let few = size <= FEW;
    Ok(SearchHits { rows: if few { at_any_time } else { rows }, size: Some(size), few })
}

/// Counts a query's rows. If it matches most of an account, a scan is faster than looking up row by row.
async fn count(db: &Reader, query: &SelectStatement) -> Result<u64, Error> {
    let count = Query::select()
        .expr_as(Expr::col(Asterisk).count(), "found")
        .from_subquery(query.clone(), "rows_found")
        .take();
    let count = db.one_planned(&count).await?.map(|row| row.try_get::<i64>("", "found")).transpose()?;
    Ok(u64::try_from(count.unwrap_or_default()).unwrap_or_default())
}

/// Returns the charge of the refund whose token is the query. Found beforehand, so that the search keeps to its
/// indexes.
async fn refunded_by(ctx: &Context, account: &Account, query: &str) -> Result<Option<ChargeToken>, Error> {
    let Ok(refund) = query.parse::<RefundToken>() else { return Ok(None) };
    let refund = refund::Entity::owned_by(account.id()).filter(refund::Column::Id.eq(refund));
    Ok(refund.one(ctx.store.read()).await?.map(|refund| refund.charge_id))
}

/// The amount, currency and tokens that the query can be.
struct ExactMatches {
    /// Indexed columns of charges.
    values: Vec<(Column, Value)>,
    currency: Option<Currency>,
}

impl ExactMatches {
    fn new(query: &str, refunded: Option<ChargeToken>) -> Self {
        let values = [
            (Column::Amount, query.parse::<i64>().ok().map(Value::from)),
            (Column::Id, query.parse::<ChargeToken>().ok().or(refunded).map(Value::from)),
            (Column::CardId, query.parse::<CardToken>().ok().map(Value::from)),
            (Column::CustomerId, query.parse::<CustomerToken>().ok().map(Value::from)),
        ];
        let values = values.into_iter().filter_map(|(column, value)| Some((column, value?))).collect();
        Self { values, currency: Currency::parse(query) }
    }

    /// Returns whether indexes find every match. A currency has many charges or none.
    fn by_index(&self) -> bool {
        self.currency.is_none()
    }

    fn conditions(&self) -> Vec<SimpleExpr> {
        let values = self.values.iter().map(|(column, value)| column.eq(value.clone()));
        let currency = self.currency.map(|currency| Column::Currency.eq(currency.code()));
        values.chain(currency).collect()
    }
}

/// Returns whether the trigram index can find the query: it needs three characters; shorter queries scan the account.
fn has_trigrams(query: &str) -> bool {
    query.chars().count() >= 3
}

/// Returns, for SQLite, the ids from the word table and from the charges' own indexes, with duplicates; one condition
/// with OR would scan the whole account.
fn ids(account: AccountToken, words: &str, exactly: &ExactMatches) -> SelectStatement {
    let phrase = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let both = format!("{} AND {}", phrase(&WordTable::account_code(account)), phrase(words));
    let mut found = Query::select();
    found
        .column(Alias::new("id"))
        .from(Alias::new(WordTable::Charges.name()))
        .and_where(Expr::cust_with_values("charges_search MATCH ?", [both]));
    for condition in exactly.conditions() {
        let exact = charge::Entity::owned_by(account).filter(charge::listed()).filter(condition);
        found.union(UnionType::All, exact.select_only().column(Column::Id).into_query());
    }
    found
}

/// Returns the ids as a table, in a statement whose text does not depend on their number.
fn id_table(backend: DbBackend, ids: &[Uuid]) -> Result<SelectStatement, Error> {
    if backend == DbBackend::Postgres {
        let ids: Vec<_> = ids.iter().map(Uuid::to_string).collect();
        let array = format!("{{{}}}", ids.join(","));
        return Ok(Query::select()
            .expr(Expr::cust_with_values("unnest(CAST($1 AS UUID[]))", [array]))
            .take());
    }
    let ids: Vec<_> = ids.iter().map(Uuid::as_simple).collect();
    let each = Func::cust("json_each").arg(serde_json::to_string(&ids)?);
    let id = Func::cust("unhex").arg(Expr::col("value"));
    Ok(Query::select().expr(id).from_function(each, "told").take())
}
