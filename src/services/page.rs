//! Reads one page of a list and the list's size in one statement, so that both come from one snapshot.

mod deep;

use std::future::{Future, ready};
use std::marker::PhantomData;

use entity::counter::{self, Counted};
use entity::{AccountToken, Listed, Owned, Timestamp, account};
use sea_orm::sea_query::{
    Asterisk, Condition, DynIden, Expr, ExprTrait, IntoCondition, IntoIden, Order, Query, SelectStatement,
    SimpleExpr,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, Iterable, QueryFilter, QueryResult,
    QuerySelect, QueryTrait, Select, Statement, Value, Values,
};
use store::{CachedStatement, ColumnReader, FromColumns};

use super::by_key;
use super::context::Context;
use super::memory::arrivals::{Topic, Wanted};
use crate::error::Error;
use crate::limits::PER_PAGE_DEFAULT;
use crate::params::{Paging, Search, Waiting};

pub use deep::Growth;
use deep::WholeSize;

/// The records of one page, and the number of records on all pages.
#[derive(Debug)]
pub struct ListPage<T> {
    pub records: Vec<T>,
    /// The number of records on all pages.
    pub count: u64,
    pub paging: Paging,
}

impl<T> ListPage<T> {
    /// Converts the page's records.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> ListPage<U> {
        ListPage {
            records: self.records.into_iter().map(f).collect(),
            count: self.count,
            paging: self.paging,
        }
    }
}

/// Returns the condition that a time lies in the period of a search.
pub fn in_period(time: &SimpleExpr, search: &Search) -> Condition {
    let value = |instant| Expr::value(Timestamp::from(instant));
    Condition::all()
        .add_option(search.from.map(|from| time.clone().gte(value(from))))
        .add_option(search.to.map(|to| time.clone().lt(value(to))))
}

/// A list that clients may wait for.
pub trait AwaitedList: Sync {
    /// The listed record.
    type Record: Send;
    /// The kind of records that make the list grow.
    const TOPIC: Topic;

    /// Returns the account that owns the list.
    fn account(&self) -> AccountToken;

    /// Returns the number of records that a client waits for, and the time.
    fn waiting(&self) -> Waiting;

    /// Returns the labels that the awaited records have in common.
    fn wanted(&self) -> Wanted;

    /// Makes records visible that are committed by now, before the records are counted or read.
    fn prepare(&self, _ctx: &Context) -> impl Future<Output = Result<(), Error>> + Send {
        ready(Ok(()))
    }

    /// Counts the records.
    fn size(&self, ctx: &Context) -> impl Future<Output = Result<u64, Error>> + Send;

    fn page(&self, ctx: &Context) -> impl Future<Output = Result<ListPage<Self::Record>, Error>> + Send;
}

/// A list: its rows, their account and their order. `R` is the type read from each row.
pub struct List<E: Listed, R = <E as EntityTrait>::Model> {
    account: AccountToken,
    /// The rows of the list, or of the one of which it is a part.
    whole: Select<E>,
    /// The condition that selects the part.
    part: Option<Condition>,
    /// The source of the size of the whole list.
    size: Option<WholeSize>,
    /// Rows that a counter counts and the whole list does not show yet.
    hidden: Option<Select<E>>,
    order: Vec<(E::Column, Order)>,
    growth: Growth,
    /// Whether another condition selects the rows better than the order's index.
    selective: bool,
    columns: Vec<E::Column>,
    extra_columns: Option<ExtraColumns>,
    record: PhantomData<fn() -> R>,
}

/// Adds extra columns to a statement; the account's records go by this name.
pub type ExtraColumns = fn(&mut SelectStatement, DbBackend, AccountToken, &DynIden);

impl<E: Listed> List<E> {
    /// Creates a list of an account's rows, newest first.
    pub fn newest_first(account: AccountToken, rows: Select<E>) -> Self {
        Self::ordered(account, rows, vec![(E::ID, Order::Desc)], Growth::AtItsEnd)
    }

    /// Creates a list of an account's rows in the order of a column, ties by id. Unless rows may move in the list, the column
    /// holds whole numbers.
    pub fn sorted(
        account: AccountToken,
        rows: Select<E>,
        (column, growth): (E::Column, Growth),
        ascending: bool,
    ) -> Self {
        let order = if ascending { Order::Asc } else { Order::Desc };
        Self::ordered(account, rows, vec![(column, order.clone()), (E::ID, order)], growth)
    }

    fn ordered(
        account: AccountToken,
        rows: Select<E>,
        order: Vec<(E::Column, Order)>,
        growth: Growth,
    ) -> Self {
        Self {
            account,
            whole: rows,
            part: None,
            size: None,
            hidden: None,
            order,
            growth,
            selective: false,
            columns: E::Column::iter().collect(),
            extra_columns: None,
            record: PhantomData,
        }
    }

    /// Returns the same list, reading only these columns (which include the id and those of the order) and the extra
    /// columns.
    pub fn reading<R>(self, columns: &[E::Column], extra_columns: ExtraColumns) -> List<E, R> {
        let Self { account, whole, part, size, hidden, order, growth, selective, .. } = self;
        let (columns, extra_columns, record) = (columns.to_vec(), Some(extra_columns), PhantomData);
        List { account, whole, part, size, hidden, order, growth, selective, columns, extra_columns, record }
    }
}

impl<E: Listed, R: FromColumns> List<E, R> {
    /// Returns the same list, filtered first and sorted afterwards. Otherwise both databases prefer to walk the account
    /// in the order's index and test each row, and of a few matches they find the last one at the end.
    #[must_use]
    pub fn found_first(mut self) -> Self {
        self.selective = true;
        self
    }

    /// Returns the part of the list that a condition selects. A counter holds the size of the whole list. If rows do not move in
    /// the list, rows come to meet the condition, or cease to, only by what [`Counted::lost`] counts.
    #[must_use]
    pub fn part_of(mut self, what: Counted, condition: impl IntoCondition) -> Self {
        (self.size, self.part) = (Some(WholeSize::Counter(what)), Some(condition.into_condition()));
        self
    }

    fn rows(&self) -> Select<E> {
        self.part_of_rows(self.whole.clone())
    }

    /// Selects those of some rows of the whole list that are in this one.
    fn part_of_rows(&self, rows: Select<E>) -> Select<E> {
        match &self.part {
            Some(condition) => rows.filter(condition.clone()),
            None => rows,
        }
    }

    /// Returns the same list, none of whose rows ever vanishes.
    #[must_use]
    pub fn never_shrinking(mut self) -> Self {
        self.size = Some(WholeSize::Rows);
        self
    }

    /// Returns the same list, without rows that its counter counts.
    #[must_use]
    pub fn without(mut self, hidden: Select<E>) -> Self {
        self.hidden = Some(hidden);
        self
    }

    /// Reads a page of the whole list, whose size a counter holds.
    pub async fn counted(
        mut self,
        ctx: &Context,
        what: Counted,
        paging: Paging,
    ) -> Result<ListPage<R>, Error> {
        self.size = Some(WholeSize::Counter(what));
        let size = self.whole_size();
        self.fetch(ctx, size, paging).await
    }

    /// Reads a page of a list whose first page is requested most: that page's statement is built once. `values` are the
    /// statement's parameters after those of the list's size.
    pub async fn counted_first(
        ctx: &Context,
        (account, what): (AccountToken, Counted),
        paging: Paging,
        (first, values): (&'static CachedStatement, Vec<Value>),
        list: impl Fn() -> Self,
    ) -> Result<ListPage<R>, Error> {
        if is_first(paging) {
            let mut all = vec![account.into(), what.into()];
            all.extend(values);
            let backend = ctx.store.backend();
            let build = || list().build(backend, counter(account, what), paging);
            let rows = ctx.store.read().records(first.statement(all, backend, build)).await?;
            if let Some(page) = ListPage::from_rows(rows, paging) {
                return Ok(page);
            }
        }
        list().counted(ctx, what, paging).await
    }

    /// Reads a page of a part of the list and counts the part's range of an index.
    pub async fn ranged(self, ctx: &Context, paging: Paging) -> Result<ListPage<R>, Error> {
        let size = count(&self.rows());
        self.fetch(ctx, size, paging).await
    }

    /// Reads a page of a part of the list whose size is known.
    pub async fn of_size(self, ctx: &Context, size: u64, paging: Paging) -> Result<ListPage<R>, Error> {
        if size <= paging.offset() {
            return Ok(ListPage { records: Vec::new(), count: size, paging });
        }
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        self.fetch(ctx, Query::select().expr_as(Expr::value(size).cast_as("BIGINT"), TOTAL).take(), paging)
            .await
    }

    async fn fetch(self, ctx: &Context, size: SelectStatement, paging: Paging) -> Result<ListPage<R>, Error> {
        if let Some(page) = self.deep(ctx, paging).await? {
            return Ok(page);
        }
        let db = ctx.store.read();
        let statement = self.build(ctx.store.backend(), size.clone(), paging);
        // Past the end no row holds the size. If the separate count then says that the page has rows, another request
        // inserted them meanwhile: read the page again.
        let mut count = 0;
        for _ in 0..2 {
            if let Some(page) = ListPage::from_rows(db.records(statement.clone()).await?, paging) {
                return Ok(page);
            }
            count = db.query_one(&size).await?.as_ref().map(total).transpose()?.unwrap_or_default();
            if count <= paging.offset() {
                break;
            }
        }
        Ok(ListPage { records: Vec::new(), count, paging })
    }

    /// Builds the statement: the size of the whole list, the page's rows and their extra columns.
    fn build(&self, backend: DbBackend, size: SelectStatement, paging: Paging) -> Statement {
        let mut statement = self.page(backend, paging);
        statement.expr_as(size, TOTAL);
        self.add_columns(backend, &mut statement);
        let statement = backend.build(&statement);
        if is_first(paging) { with_limits_in_text(statement) } else { statement }
    }

    /// Returns the query of the size of the whole list.
    fn whole_size(&self) -> SelectStatement {
        let size = match self.size {
            Some(WholeSize::Counter(what)) => counter(self.account, what),
            Some(WholeSize::Rows) | None => count(&self.whole),
        };
        let Some(hidden) = &self.hidden else { return size };
        let number = |query: SelectStatement| SimpleExpr::SubQuery(None, Box::new(query.into()));
        Query::select().expr_as(number(size).sub(number(count(hidden))), TOTAL).take()
    }

    fn add_columns(&self, backend: DbBackend, statement: &mut SelectStatement) {
        statement.columns(self.columns.iter().map(|column| (E::default(), *column)));
        if let Some(add) = self.extra_columns {
            add(statement, backend, self.account, &E::default().into_iden());
        }
    }

    /// Selects the page's rows. A deep page first finds its ids by the index alone, then reads only those rows.
    fn page(&self, backend: DbBackend, paging: Paging) -> SelectStatement {
        let mut chosen = self.rows().select_only().into_query();
        for (n, (column, order)) in self.order.iter().enumerate() {
            // Adding 0 makes the first column an expression that no index holds.
            let key = Expr::col((E::default(), *column));
            let key = if self.selective && n == 0 { key.add(0) } else { key };
            chosen.order_by_expr(key, order.clone());
        }
        chosen.limit(paging.per_page).offset(paging.offset());
        if paging.offset() == 0 {
            return self.read_first(backend, chosen, &self.direction());
        }
        self.chosen(backend, chosen.column((E::default(), E::ID)).take())
    }

    /// Has PostgreSQL read a page's rows before it looks for what is beside them: it would otherwise do so for all rows that it may
    /// have to sort.
    fn read_first(&self, backend: DbBackend, mut page: SelectStatement, order: &Order) -> SelectStatement {
        if backend != DbBackend::Postgres || self.extra_columns.is_none() {
            return page;
        }
        page.columns(self.columns.iter().map(|column| (E::default(), *column)));
        let mut read = Query::select().from_subquery(page, E::default()).take();
        self.sort(&mut read, order);
        read
    }

    /// Selects the rows with these ids, in the order of the list.
    fn chosen(&self, backend: DbBackend, ids: SelectStatement) -> SelectStatement {
        let mut page = by_key::rows_of::<E>(backend, self.account, ids).select_only().into_query();
        self.sort(&mut page, &self.direction());
        page
    }

    /// Sorts rows by their keys.
    fn sort(&self, statement: &mut SelectStatement, order: &Order) {
        for (column, _) in &self.order {
            statement.order_by((E::default(), *column), order.clone());
        }
    }

    fn direction(&self) -> Order {
        self.order.first().map_or(Order::Asc, |(_, order)| order.clone())
    }
}

/// Returns whether this is the page that is requested most.
fn is_first(paging: Paging) -> bool {
    paging == Paging { page: 1, per_page: PER_PAGE_DEFAULT }
}

/// Writes each LIMIT, and each OFFSET of 0, into the text. For a parameter, PostgreSQL supposes a tenth of the list in a plan for any
/// values, so it would plan the statement each time, which takes it longer than to run it.
fn with_limits_in_text(mut statement: Statement) -> Statement {
    let is_postgres = statement.db_backend == DbBackend::Postgres;
    let values = statement.values.take().unwrap_or_else(|| Values(Vec::new()));
    let (mut text, mut kept) = (String::with_capacity(statement.sql.len()), Vec::new());
    let mut rest = statement.sql.as_str();
    for value in values {
        let Some((before, after)) = rest.split_once(if is_postgres { '$' } else { '?' }) else { break };
        text.push_str(before);
        rest =
            if is_postgres { after.trim_start_matches(|digit: char| digit.is_ascii_digit()) } else { after };
        if let Value::BigUnsigned(Some(n)) = value
            && (text.ends_with(" LIMIT ") || (n == 0 && text.ends_with(" OFFSET ")))
        {
            text.push_str(&n.to_string());
            continue;
        }
        kept.push(value);
        text.push(if is_postgres { '$' } else { '?' });
        if is_postgres {
            text.push_str(&kept.len().to_string());
        }
    }
    text.push_str(rest);
    (statement.sql, statement.values) = (text, Some(Values(kept)));
    statement
}

/// Returns the query of the number of some rows.
fn count<E: EntityTrait>(rows: &Select<E>) -> SelectStatement {
    rows.clone().select_only().column_as(rows_counted(), TOTAL).into_query()
}

fn rows_counted() -> SimpleExpr {
    Expr::col(Asterisk).count().cast_as("BIGINT")
}

/// Returns the query of a counter's total.
pub(super) fn counter(account: AccountToken, what: Counted) -> SelectStatement {
    // PostgreSQL sums BIGINT to NUMERIC.
    let total = Expr::col(counter::Column::N).sum().if_null(Expr::cust("0")).cast_as("BIGINT");
    counter::Entity::owned_by(account)
        .filter(counter::Column::Kind.eq(what))
        .select_only()
        .column_as(total, TOTAL)
        .into_query()
}

/// Returns the query of the number of an account's clock moves, which is another one after a snapshot has been restored.
pub(super) fn clock_moves(account: AccountToken) -> SelectStatement {
    let moves = Expr::col(account::Column::ClockMoves).cast_as("BIGINT");
    account::Entity::owned_by(account).select_only().column_as(moves, MOVES).into_query()
}

/// A row that also holds the number of records on all pages.
struct CountedRow<R> {
    all: i64,
    record: R,
}

impl<R: FromColumns> FromColumns for CountedRow<R> {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        Ok(Self { all: row.next(TOTAL)?, record: R::read(row)? })
    }
}

impl<R> ListPage<R> {
    /// Creates the page from a statement's rows, or `None` if there are none.
    fn from_rows(rows: Vec<CountedRow<R>>, paging: Paging) -> Option<Self> {
        let count = u64::try_from(rows.first()?.all).unwrap_or_default();
        Some(Self { records: rows.into_iter().map(|row| row.record).collect(), count, paging })
    }
}

/// Reads the number of records on all pages from a row.
fn total(row: &QueryResult) -> Result<u64, DbErr> {
    let total = row.try_get::<i64>("", TOTAL)?;
    Ok(u64::try_from(total).unwrap_or_default())
}

const TOTAL: &str = "total_records";
const MOVES: &str = "account_clock_moves";
