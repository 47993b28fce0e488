//! Searching charges (specification, GET /charges/search; decisions 1): words as a substring, the rest exact.

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

use super::find::listed;
use crate::error::Error;
use crate::params::Search;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::search_text;
use crate::store::{Reader, WordTable};
use crate::views::charge::Charge;

/// What charges can be sorted by.
pub const SORTS: &[&str] = &["created_at", "amount"];

/// Up to so many are found first and sorted afterwards. Of more than these, a walk in the order's index soon has a page.
const FEW: u64 = 1_000;

/// Search the account's charges.
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
    let list = |rows| listed(List::sorted(account.id(), rows, column, search.ascending));
    let page = match &search.query {
        Some(query) => {
            let exactly = ExactMatches::new(query, refunded_by(ctx, account, query).await?);
            let SearchHits { rows, size, few } = found(ctx, account.id(), rows, query, &exactly).await?;
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

/// What a query has found.
struct SearchHits {
    rows: Select<charge::Entity>,
    /// How many these are, where they have been counted.
    size: Option<u64>,
    /// Whether they are at most [`FEW`].
    few: bool,
}

/// Those of the rows that a query matches: words as a substring, the rest exactly.
async fn found(
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
        // Looked up once, for the size and the page need them as well, and looking up a word is what takes time.
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
                rows: rows.filter(Column::Id.in_subquery(told(backend, &ids)?)),
                // SQLite's may be there twice, or at another time.
                size: is_postgres.then_some(known),
                few: true,
            });
        }
    }
    let rows = rows.filter(matches);
    // Any time: so SQLite looks in the index of times, which holds the words as well.
    let at_any_time = rows.clone().filter(Column::CreatedAt.gte(Timestamp::from_millis(i64::MIN)));
    let ids = at_any_time.clone().select_only().column(Column::Id).into_query();
    let size = count(db, &ids).await?;
    let few = size <= FEW;
    Ok(SearchHits { rows: if few { at_any_time } else { rows }, size: Some(size), few })
}

/// How many rows a query has. What most of an account holds is sooner read through than looked up, row by row.
async fn count(db: &Reader, query: &SelectStatement) -> Result<u64, Error> {
    let count = Query::select()
        .expr_as(Expr::col(Asterisk).count(), "found")
        .from_subquery(query.clone(), "rows_found")
        .take();
    let count = db.one_planned(&count).await?.map(|row| row.try_get::<i64>("", "found")).transpose()?;
    Ok(u64::try_from(count.unwrap_or_default()).unwrap_or_default())
}

/// The charge of the refund whose token the query is: looked up before, so that the search keeps to its indexes.
async fn refunded_by(ctx: &Context, account: &Account, query: &str) -> Result<Option<ChargeToken>, Error> {
    let Ok(refund) = query.parse::<RefundToken>() else { return Ok(None) };
    let refund = refund::Entity::owned_by(account.id()).filter(refund::Column::Id.eq(refund));
    Ok(refund.one(ctx.store.read()).await?.map(|refund| refund.charge_id))
}

/// Amount, currency and tokens, as far as the query can be one.
struct ExactMatches {
    /// By indexes of charges.
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

    /// Whether indexes find all of it. Of a currency there are many charges or none.
    fn by_index(&self) -> bool {
        self.currency.is_none()
    }

    fn conditions(&self) -> Vec<SimpleExpr> {
        let values = self.values.iter().map(|(column, value)| column.eq(value.clone()));
        let currency = self.currency.map(|currency| Column::Currency.eq(currency.code()));
        values.chain(currency).collect()
    }
}

/// Trigrams find three characters and more; fewer scan the account.
fn has_trigrams(query: &str) -> bool {
    query.chars().count() >= 3
}

/// SQLite: the ids that the words' table knows and those that the charges' own indexes know, some of them twice; one
/// condition with OR would walk the whole account.
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

/// Ids as a table, in a text that is the same however many they are.
fn told(backend: DbBackend, ids: &[Uuid]) -> Result<SelectStatement, Error> {
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
