//! Reads one page of a list and the list's size in one statement, so that both come from one snapshot.

mod positions;

use std::future::{Future, ready};
use std::marker::PhantomData;

use entity::counter::{self, Counted};
use entity::{AccountToken, Listed, Owned, account};
use sea_orm::sea_query::{Asterisk, DynIden, Expr, ExprTrait, IntoIden, Order, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, Iterable, QueryFilter, QueryResult,
    QuerySelect, QueryTrait, Select, Statement, Value,
};
use uuid::Uuid;

use super::arrivals::{Topic, Wanted};
use super::context::Context;
use crate::error::Error;
use crate::limits::PER_PAGE_DEFAULT;
use crate::params::{Paging, Waiting};
use crate::store::{CachedStatement, ColumnReader, FromColumns};

pub use positions::Positions;
use positions::{ANCHOR_DEPTH, Anchored, DEEP, Found, ListPositions, Start};

/// The records of one page, and the number of records on all pages.
#[derive(Debug)]
pub struct ListPage<T> {
    /// The records of this page.
    pub records: Vec<T>,
    /// The number of records on all pages.
    pub count: u64,
    /// The requested page.
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

/// A list that clients may wait for.
pub trait AwaitedList: Sync {
    /// What it lists.
    type Record: Send;
    /// What makes it grow.
    const TOPIC: Topic;

    /// Whose list it is.
    fn account(&self) -> AccountToken;

    /// How many records are waited for, and how long.
    fn waiting(&self) -> Waiting;

    /// What the records have in common that are waited for.
    fn wanted(&self) -> Wanted;

    /// Makes visible what is committed by now, before the records are counted or read.
    fn prepare(&self, _ctx: &Context) -> impl Future<Output = Result<(), Error>> + Send {
        ready(Ok(()))
    }

    /// Counts the records.
    fn size(&self, ctx: &Context) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Reads the page.
    fn page(&self, ctx: &Context) -> impl Future<Output = Result<ListPage<Self::Record>, Error>> + Send;
}

/// A list: its rows, their account and their order. `R` is the type read from each row.
pub struct List<E: Listed, R = <E as EntityTrait>::Model> {
    account: AccountToken,
    rows: Select<E>,
    order: Vec<(E::Column, Order)>,
    /// Whether another condition selects the rows better than the order's index.
    selective: bool,
    columns: Vec<E::Column>,
    beside: ExtraColumns,
    record: PhantomData<fn() -> R>,
}

/// Adds extra columns to a statement; the account's records go by this name.
pub type ExtraColumns = fn(&mut SelectStatement, AccountToken, &DynIden);

impl<E: Listed> List<E> {
    /// Creates a list of an account's rows, newest first.
    pub fn newest_first(account: AccountToken, rows: Select<E>) -> Self {
        Self::ordered(account, rows, vec![(E::ID, Order::Desc)])
    }

    /// Creates a list of an account's rows in the order of a column, ties by id.
    pub fn sorted(account: AccountToken, rows: Select<E>, column: E::Column, ascending: bool) -> Self {
        let order = if ascending { Order::Asc } else { Order::Desc };
        Self::ordered(account, rows, vec![(column, order.clone()), (E::ID, order)])
    }

    fn ordered(account: AccountToken, rows: Select<E>, order: Vec<(E::Column, Order)>) -> Self {
        let columns = E::Column::iter().collect();
        Self { account, rows, order, selective: false, columns, beside: |_, _, _| (), record: PhantomData }
    }

    /// Returns the same list, reading only these columns (which include the id and those of the order) and the extra
    /// columns.
    pub fn reading<R>(self, columns: &[E::Column], beside: ExtraColumns) -> List<E, R> {
        let Self { account, rows, order, selective, .. } = self;
        List { account, rows, order, selective, columns: columns.to_vec(), beside, record: PhantomData }
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

    /// Reads a page of the whole list, whose size a counter holds.
    pub async fn counted(self, ctx: &Context, what: Counted, paging: Paging) -> Result<ListPage<R>, Error> {
        if paging.offset() >= DEEP
            && what.only_grows()
            && self.is_newest_first()
            && let Some(page) = self.deep(ctx, what, paging).await?
        {
            return Ok(page);
        }
        let size = counter(self.account, what);
        self.fetch(ctx, size, paging).await
    }

    /// Reads a page of a list whose first page is requested most: that page's statement is built once. `values` are the
    /// statement's parameters after those of the list's size.
    pub async fn counted_first(
        ctx: &Context,
        (account, what): (AccountToken, Counted),
        paging: Paging,
        (worded, values): (&'static CachedStatement, Vec<Value>),
        list: impl Fn() -> Self,
    ) -> Result<ListPage<R>, Error> {
        if is_first(paging) {
            let mut all = vec![account.into(), what.into()];
            all.extend(values);
            let backend = ctx.store.backend();
            let build = || list().build(backend, counter(account, what), paging);
            let rows = ctx.store.read().records(worded.statement(all, backend, build)).await?;
            if let Some(page) = ListPage::of(rows, paging) {
                return Ok(page);
            }
        }
        list().counted(ctx, what, paging).await
    }

    /// Reads a page of a part of the list and counts the part's range of an index.
    pub async fn ranged(self, ctx: &Context, paging: Paging) -> Result<ListPage<R>, Error> {
        let size = self.rows.clone().select_only().column_as(Expr::col(Asterisk).count(), TOTAL).into_query();
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
        let db = ctx.store.read();
        let statement = self.build(ctx.store.backend(), size.clone(), paging);
        // Past the end no row holds the size. If the separate count then says that the page has rows, another request
        // inserted them meanwhile: read the page again.
        let mut count = 0;
        for _ in 0..2 {
            if let Some(page) = ListPage::of(db.records(statement.clone()).await?, paging) {
                return Ok(page);
            }
            count = db.query_one(&size).await?.as_ref().map(total).transpose()?.unwrap_or_default();
            if count <= paging.offset() {
                break;
            }
        }
        Ok(ListPage { records: Vec::new(), count, paging })
    }

    /// Returns whether the list has the order of ids, newest first.
    fn is_newest_first(&self) -> bool {
        matches!(self.order[..], [(_, Order::Desc)])
    }

    /// Reads a page far back from the nearest known position, and learns the position of its first row. Returns `None` if the
    /// list changes too fast, or the page is not deep in it.
    async fn deep(&self, ctx: &Context, what: Counted, paging: Paging) -> Result<Option<ListPage<R>>, Error> {
        let known = ctx.positions.of(self.account, what).await;
        // The first try supposes that the list is as another request saw it. Once this request has read the size, it reads the
        // page as of that moment.
        let (mut seen, mut is_current) = (known.last(), false);
        for _ in 0..3 {
            let list = match seen.filter(Anchored::is_near) {
                Some(list) => list,
                None => match self.anchor(ctx, what, &known).await? {
                    Some(list) => list,
                    None => return Ok(None),
                },
            };
            is_current |= Some(list) != seen;
            let Some(start) = known.start(list, paging.offset(), paging.per_page) else { return Ok(None) };
            let statement = ctx.store.backend().build(&self.deep_statement(what, list.anchor, start));
            let rows: Vec<PositionedRow<R>> = ctx.store.read().records(statement).await?;
            let Some(first) = rows.first().filter(|first| list.holds(first.found)) else {
                known.forget();
                seen = None;
                continue;
            };
            let now = Anchored { size: first.found.size, ..list };
            known.update(Some(list), now);
            known.add(now, start.older, first.id);
            if is_current || now == list {
                let records = rows.into_iter().map(|row| row.record).collect();
                return Ok(Some(ListPage { records, count: list.size, paging }));
            }
            (seen, is_current) = (Some(now), true);
        }
        Ok(None)
    }

    /// Chooses an anchor. Keeps the positions that hold.
    async fn anchor(
        &self,
        ctx: &Context,
        what: Counted,
        known: &ListPositions,
    ) -> Result<Option<Anchored>, Error> {
        let before = known.last();
        let mut statement = self.ids(ANCHOR_DEPTH, 1, &Order::Desc);
        // No row is newer than the largest id.
        let former = before.map_or(Uuid::max(), |before| before.anchor);
        self.add_found(&mut statement, what, former);
        let statement = ctx.store.backend().build(&statement);
        let Some(AnchorRow { id, found }) = ctx.store.read().records(statement).await?.pop() else {
            return Ok(None);
        };
        let Some(older) = found.size.checked_sub(ANCHOR_DEPTH + 1) else { return Ok(None) };
        let now = Anchored { size: found.size, anchor: id, older, clock_moves: found.clock_moves };
        known.update(before.filter(|before| before.holds(found)), now);
        Ok(Some(now))
    }

    /// Selects the ids of some rows in the order of ids.
    fn ids(&self, offset: u64, limit: u64, order: &Order) -> SelectStatement {
        let mut ids = self.rows.clone().select_only().into_query();
        ids.expr_as(Expr::col((E::default(), E::ID)), ROW_ID).order_by((E::default(), E::ID), order.clone());
        ids.limit(limit).offset(offset);
        ids
    }

    /// Adds what [`Found`] reads.
    fn add_found(&self, statement: &mut SelectStatement, what: Counted, anchor: Uuid) {
        let count = Expr::col(Asterisk).count().cast_as("BIGINT");
        let newer = self.rows.clone().filter(E::ID.gt(anchor)).select_only();
        statement
            .expr_as(counter(self.account, what), TOTAL)
            .expr_as(newer.column_as(count, NEWER).into_query(), NEWER)
            .expr_as(clock_moves(self.account), MOVES);
    }

    /// Builds the statement of a deep page: what tells whether the positions hold, and the rows with their ids.
    fn deep_statement(&self, what: Counted, anchor: Uuid, start: Start) -> SelectStatement {
        let order = if start.backwards { Order::Desc } else { Order::Asc };
        let mut ids = self.ids(start.skipped, start.rows, &order);
        if let Some(row) = start.row {
            let id = Expr::col((E::default(), E::ID));
            ids.and_where(if start.backwards { id.lte(row) } else { id.gte(row) });
        }
        let mut page = self.chosen(ids);
        page.expr_as(Expr::col((E::default(), E::ID)), ROW_ID);
        self.add_found(&mut page, what, anchor);
        self.add_columns(&mut page);
        page
    }

    /// Builds the statement: the size of the whole list, the page's rows and their extra columns.
    fn build(&self, backend: DbBackend, size: SelectStatement, paging: Paging) -> Statement {
        let mut statement = self.page(paging);
        statement.expr_as(size, TOTAL);
        self.add_columns(&mut statement);
        let statement = backend.build(&statement);
        if is_first(paging) { with_limit_in_text(statement, paging) } else { statement }
    }

    /// Adds the columns of a record.
    fn add_columns(&self, statement: &mut SelectStatement) {
        statement.columns(self.columns.iter().map(|column| (E::default(), *column)));
        (self.beside)(statement, self.account, &E::default().into_iden());
    }

    /// Selects the page's rows. A deep page first finds its ids by the index alone, then reads only those rows.
    fn page(&self, paging: Paging) -> SelectStatement {
        let mut chosen = self.rows.clone().select_only().into_query();
        for (n, (column, order)) in self.order.iter().enumerate() {
            // Adding 0 makes the first column an expression that no index holds.
            let key = Expr::col((E::default(), *column));
            let key = if self.selective && n == 0 { key.add(0) } else { key };
            chosen.order_by_expr(key, order.clone());
        }
        chosen.limit(paging.per_page).offset(paging.offset());
        if paging.offset() == 0 {
            return chosen;
        }
        self.chosen(chosen.column((E::default(), E::ID)).take())
    }

    /// Selects the rows with these ids, in the order of the list.
    fn chosen(&self, ids: SelectStatement) -> SelectStatement {
        let mut page = E::owned_by(self.account).filter(E::ID.in_subquery(ids)).select_only().into_query();
        for (column, order) in &self.order {
            page.order_by((E::default(), *column), order.clone());
        }
        page
    }
}

/// Returns whether this is the page that is requested most.
fn is_first(paging: Paging) -> bool {
    paging == Paging { page: 1, per_page: PER_PAGE_DEFAULT }
}

/// Writes the last two parameters, LIMIT and OFFSET, into the text. A plan for any number of rows supposes a tenth of the list,
/// so PostgreSQL would plan the statement each time, which takes it longer than to run it.
fn with_limit_in_text(mut statement: Statement, paging: Paging) -> Statement {
    if let (Some((text, _)), Some(values)) = (statement.sql.rsplit_once(" LIMIT "), &mut statement.values) {
        statement.sql = format!("{text} LIMIT {} OFFSET {}", paging.per_page, paging.offset());
        values.0.truncate(values.0.len() - 2);
    }
    statement
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

impl Found {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        let mut count = |name| row.next::<i64>(name);
        let (size, newer, clock_moves) = (count(TOTAL)?, count(NEWER)?, count(MOVES)?);
        let [size, newer] = [size, newer].map(|n| u64::try_from(n).unwrap_or_default());
        Ok(Self { size, newer, clock_moves })
    }
}

/// A row of a deep page.
struct PositionedRow<R> {
    id: Uuid,
    found: Found,
    record: R,
}

impl<R: FromColumns> FromColumns for PositionedRow<R> {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        Ok(Self { id: row.next(ROW_ID)?, found: Found::read(row)?, record: R::read(row)? })
    }
}

/// A row that becomes the anchor.
struct AnchorRow {
    id: Uuid,
    found: Found,
}

impl FromColumns for AnchorRow {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        Ok(Self { id: row.next(ROW_ID)?, found: Found::read(row)? })
    }
}

impl<R> ListPage<R> {
    /// Creates the page from a statement's rows, or `None` if there are none.
    fn of(rows: Vec<CountedRow<R>>, paging: Paging) -> Option<Self> {
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
const ROW_ID: &str = "row_id";
const NEWER: &str = "newer_records";
const MOVES: &str = "account_clock_moves";
