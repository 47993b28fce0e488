//! Searches charges (specification, GET /charges/search; `docs/decisions.md`, 20): words as a substring, the rest
//! exact.

mod rarity;
mod sizes;

use std::sync::Arc;

use entity::charge::{self, COLUMN, Column};
use entity::counter::Counted;
use entity::{
    AccountToken, CardToken, ChargeToken, Currency, CustomerToken, Listed, Owned, RefundToken, Timestamp,
    refund,
};
use sea_orm::sea_query::{
    Alias, Asterisk, Expr, ExprTrait, Func, Query, SelectStatement, SimpleExpr, UnionType,
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbBackend, QueryFilter, QuerySelect, QueryTrait, Select, Value,
};
use store::Reader;
use uuid::Uuid;

use super::find::shown_columns;
use crate::error::Error;
use crate::params::Search;
use crate::services::by_key;
use crate::services::charges::view::Charge;
use crate::services::context::{Account, Context};
use crate::services::memory::charge_search::Sample;
use crate::services::page::{Growth, List, ListPage, in_period};
use crate::services::search_text;

/// The fields that charges can be sorted by.
pub const SORTS: &[&str] = &["created_at", "amount"];

/// Up to this many ids are found first and sorted afterwards. With more, a scan of the sort index fills a page soon.
const FEW: u64 = 1_000;

/// Searches the account's charges.
pub async fn search(ctx: &Context, account: &Account, search: Search) -> Result<ListPage<Charge>, Error> {
    let all = charge::Entity::owned_by(account.id()).filter(charge::listed());
    let dates = in_period(&Column::CreatedAt.into_expr(), &search);
    let is_dated = !dates.is_empty();
    let column = match search.sort {
        Some("amount") => (Column::Amount, Growth::Anywhere),
        _ => (Column::CreatedAt, Growth::AtItsEnd),
    };
    let list = shown_columns(List::sorted(account.id(), all.clone(), column, search.ascending));
    let page = match &search.query {
        Some(query) => {
            let exactly = ExactMatches::new(query, refunded_by(ctx, account, query).await?);
            let rows = all.filter(dates.clone());
            let SearchHits { ids, condition, size, few } =
                matching_rows(ctx, account, (rows, is_dated), query, &exactly).await?;
            let list = match ids {
                Some(ids) => {
                    let known = by_key::rows::<charge::Entity>(ctx.store.backend(), account.id(), ids);
                    shown_columns(List::sorted(
                        account.id(),
                        known.filter(charge::listed()),
                        column,
                        search.ascending,
                    ))
                }
                None => list,
            };
            let list = list.part_of(Counted::Charges, dates.add(condition));
            let list = if few { list.found_first() } else { list };
            match size {
                Some(size) => list.of_size(ctx, size, search.paging).await?,
                None => list.ranged(ctx, search.paging).await?,
            }
        }
        None if is_dated && search.sort == Some("amount") && ctx.store.backend() == DbBackend::Postgres => {
            let of_time = all.filter(dates.clone()).select_only().column(Column::Id).into_query();
            let size = count(ctx.store.read(), &of_time).await?;
            // Of many, the order's index soon fills a page; adding 0 hides the other index, by which all would be read and sorted.
            let list = if size <= FEW {
                list.part_of(Counted::Charges, dates).found_first()
            } else {
                list.part_of(Counted::Charges, in_period(&Column::CreatedAt.into_expr().add(0), &search))
            };
            list.of_size(ctx, size, search.paging).await?
        }
        None if is_dated => list.part_of(Counted::Charges, dates).ranged(ctx, search.paging).await?,
        None => list.counted(ctx, Counted::Charges, search.paging).await?,
    };
    Ok(page.map(|row| Charge::at(account.now, row)))
}

/// Returns a sample of the account's texts.
async fn sample(ctx: &Context, db: &Reader, account: AccountToken) -> Result<Arc<Sample>, Error> {
    if let Some(sample) = ctx.memory.charge_search.sample(account).await {
        return Ok(sample);
    }
    let sample = Arc::new(rarity::read_sample(db, account).await?);
    ctx.memory.charge_search.keep_sample(account, Arc::clone(&sample)).await;
    Ok(sample)
}

/// The result of a query.
struct SearchHits {
    /// The ids of the few rows among which the result is, if known.
    ids: Option<Vec<Uuid>>,
    /// The condition that selects the rows.
    condition: Condition,
    /// The number of rows, if counted.
    size: Option<u64>,
    /// Whether there are at most [`FEW`].
    few: bool,
}

/// Filters the rows that a query matches: words as a substring, the rest exactly.
async fn matching_rows(
    ctx: &Context,
    account: &Account,
    (rows, is_dated): (Select<charge::Entity>, bool),
    query: &str,
    exactly: &ExactMatches,
) -> Result<SearchHits, Error> {
    let (db, backend) = (ctx.store.read(), ctx.store.backend());
    let is_postgres = backend == DbBackend::Postgres;
    let words = search_text::folded(query);
    let matches = Condition::any().add(search_text::contains(backend, Column::SearchText.into_expr(), query));
    let matches = exactly.conditions().into_iter().fold(matches, Condition::add);
    let kept = if is_dated { None } else { ctx.memory.charge_search.sizes.kept(account.id(), &words).await };
    let is_broad = kept.is_some_and(|kept| u64::try_from(kept.matching).unwrap_or_default() > FEW);
    if has_trigrams(query) && exactly.by_index() && !is_broad {
        let sample = sample(ctx, db, account.id()).await?;
        let part = sample.rarest_part(&words);
        // The ids are read once for both size and page, because finding a word is the slow part.
        let mut looked_up = if is_postgres && part.is_none() {
            rows.clone().filter(matches.clone()).select_only().column(Column::Id).into_query()
        } else {
            let mut ids = ids_of_words(backend, account.id(), (part, &words), sample.has_most);
            exactly.add_ids(account.id(), &mut ids);
            ids
        };
        let ids = db.query_all(looked_up.limit(FEW + 1)).await?;
        if ids.len() as u64 <= FEW {
            let mut ids: Vec<Uuid> = ids.iter().map(|row| row.try_get("", "id")).collect::<Result<_, _>>()?;
            ids.sort_unstable();
            ids.dedup();
            let known = ids.len() as u64;
            return Ok(SearchHits {
                ids: Some(ids),
                condition: Condition::all(),
                // They may be outside the searched time; SQLite's may be another account's.
                size: (is_postgres && !is_dated).then_some(known),
                few: true,
            });
        }
    }
    // A condition that any time meets makes SQLite use the index of times, which holds the words as well.
    let at_any_time =
        Condition::all().add(matches.clone()).add(COLUMN.created_at.gte(Timestamp::from_millis(i64::MIN)));
    let size = if is_dated {
        let rows = rows.filter(at_any_time.clone());
        count(db, &rows.select_only().column(Column::Id).into_query()).await?
    } else {
        sizes::count_matches(
            &ctx.memory.charge_search.sizes,
            db,
            account,
            (&words, matches.clone().into()),
            kept,
        )
        .await?
    };
    let few = size <= FEW;
    // So many are soon found in their order, so an index of words would only make all of them be sorted.
    let walked = Condition::any().add(search_text::holds(backend, Column::SearchText.into_expr(), &words));
    let walked = exactly.conditions().into_iter().fold(walked, Condition::add);
    Ok(SearchHits { ids: None, condition: if few { at_any_time } else { walked }, size: Some(size), few })
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
pub(super) async fn refunded_by(
    ctx: &Context,
    account: &Account,
    query: &str,
) -> Result<Option<ChargeToken>, Error> {
    let Ok(refund) = query.parse::<RefundToken>() else { return Ok(None) };
    let refund = refund::Entity::at(account.id(), refund);
    Ok(refund.one(ctx.store.read()).await?.map(|refund| refund.charge_id))
}

/// The amount, currency and tokens that the query can be.
pub(super) struct ExactMatches {
    /// Indexed columns of charges.
    values: Vec<(Column, Value)>,
    currency: Option<Currency>,
}

impl ExactMatches {
    pub(super) fn new(query: &str, refunded: Option<ChargeToken>) -> Self {
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

    /// Adds the ids that the charges' own indexes find; one condition with OR would scan the whole account.
    fn add_ids(&self, account: AccountToken, found: &mut SelectStatement) {
        for condition in self.conditions() {
            let exact = charge::Entity::owned_by(account).filter(charge::listed()).filter(condition);
            found.union(UnionType::All, exact.select_only().column(Column::Id).into_query());
        }
    }

    pub(super) fn conditions(&self) -> Vec<SimpleExpr> {
        let values = self.values.iter().map(|(column, value)| column.eq(value.clone()));
        let currency = self.currency.map(|currency| Column::Currency.eq(currency.code()));
        values.chain(currency).collect()
    }
}

/// Returns whether the trigram index can find the query: it needs three characters; shorter queries scan the account.
fn has_trigrams(query: &str) -> bool {
    query.chars().count() >= 3
}

/// Returns the ids of charges with these words, found by the index of words: by their rare part, if they have one, else by all of
/// them.
fn ids_of_words(
    backend: DbBackend,
    account: AccountToken,
    (part, words): (Option<&str>, &str),
    has_most: bool,
) -> SelectStatement {
    // Each text has its account, so looking for that costs more than it spares if the account has most texts.
    let by_account = part.is_none() || !has_most;
    let mut found = Query::select();
    found.column(Alias::new("id"));
    if backend == DbBackend::Postgres {
        let own = Column::AccountId.into_expr();
        let own = if by_account { own } else { Func::coalesce([own]).into() };
        // The planner does not see the pattern, so that one plan serves all: planning takes longer than running.
        let pattern = Query::select().expr(Expr::val(search_text::pattern(part.unwrap_or(words)))).take();
        let pattern = SimpleExpr::SubQuery(None, Box::new(pattern.into()));
        found
            .from(charge::Entity)
            .and_where(own.eq(account))
            .and_where(charge::listed())
            .and_where(Expr::cust_with_exprs("$1 LIKE $2", [Column::SearchText.into_expr(), pattern]))
            .and_where(search_text::holds(backend, Column::SearchText.into_expr(), words));
        return found;
    }
    let phrase = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut looked_up = phrase(part.unwrap_or(words));
    if by_account {
        looked_up = format!("{} AND {looked_up}", phrase(&search_text::account_code(account)));
    }
    found
        .from(Alias::new(search_text::TABLE))
        .and_where(Expr::cust_with_values("charges_search MATCH ?", [looked_up]))
        // The index has folds of its own.
        .and_where(search_text::holds(backend, Expr::col(Alias::new("text")), words));
    found
}
