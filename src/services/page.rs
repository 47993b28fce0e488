//! One page of a list together with the list's size, in one statement: both from one snapshot.

use std::marker::PhantomData;

use entity::counter::{self, Counted};
use entity::{AccountToken, Listed, Owned};
use sea_orm::sea_query::{Asterisk, DynIden, Expr, ExprTrait, IntoIden, Order, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, Iterable, QueryFilter, QueryResult, QuerySelect,
    QueryTrait, Select, Value,
};

use super::context::Context;
use crate::error::Error;
use crate::params::Paging;
use crate::store::{CachedStatement, ColumnReader, FromColumns};

/// Records of one page, and how many there are on all of them.
#[derive(Debug)]
pub struct ListPage<T> {
    /// This page's.
    pub records: Vec<T>,
    /// On all pages.
    pub count: u64,
    /// Which page was asked for.
    pub paging: Paging,
}

impl<T> ListPage<T> {
    /// The same page of something else.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> ListPage<U> {
        ListPage {
            records: self.records.into_iter().map(f).collect(),
            count: self.count,
            paging: self.paging,
        }
    }
}

/// A list: its rows, whose they are and how they are ordered. `R` is what is read of each of them.
pub struct List<E: Listed, R = <E as EntityTrait>::Model> {
    account: AccountToken,
    rows: Select<E>,
    order: Vec<(E::Column, Order)>,
    /// Whether the rows are found by something more selective than the order's index.
    selective: bool,
    columns: Vec<E::Column>,
    beside: ExtraColumns,
    record: PhantomData<fn() -> R>,
}

/// Adds to a statement what stands beside an account's records, which go by this name.
pub type ExtraColumns = fn(&mut SelectStatement, AccountToken, &DynIden);

impl<E: Listed> List<E> {
    /// Rows of an account, newest first.
    pub fn newest_first(account: AccountToken, rows: Select<E>) -> Self {
        Self::ordered(account, rows, vec![(E::ID, Order::Desc)])
    }

    /// Rows of an account in the order of a column, ties by id.
    pub fn sorted(account: AccountToken, rows: Select<E>, column: E::Column, ascending: bool) -> Self {
        let order = if ascending { Order::Asc } else { Order::Desc };
        Self::ordered(account, rows, vec![(column, order.clone()), (E::ID, order)])
    }

    fn ordered(account: AccountToken, rows: Select<E>, order: Vec<(E::Column, Order)>) -> Self {
        let columns = E::Column::iter().collect();
        Self { account, rows, order, selective: false, columns, beside: |_, _, _| (), record: PhantomData }
    }

    /// The same list, of whose rows no more is read than these columns, the id and those of the order among them, and
    /// what stands beside.
    pub fn reading<R>(self, columns: &[E::Column], beside: ExtraColumns) -> List<E, R> {
        let Self { account, rows, order, selective, .. } = self;
        List { account, rows, order, selective, columns: columns.to_vec(), beside, record: PhantomData }
    }
}

impl<E: Listed, R: FromColumns> List<E, R> {
    /// The same list, found first and sorted afterwards: both databases would rather walk the account in the order's
    /// index and ask of each row whether it was found, and of few they find the last one at the end.
    #[must_use]
    pub fn found_first(mut self) -> Self {
        self.selective = true;
        self
    }

    /// A page of the whole list, whose size is kept in a counter.
    pub async fn counted(self, ctx: &Context, what: Counted, paging: Paging) -> Result<ListPage<R>, Error> {
        let size = counter(self.account, what);
        self.fetch(ctx, size, paging).await
    }

    /// The same, for a list of which nearly always the first page is wanted: that one's statement is worded once. The
    /// values are what it says between those of the list's size and those of the page.
    pub async fn counted_first(
        ctx: &Context,
        (account, what): (AccountToken, Counted),
        paging: Paging,
        (worded, values): (&'static CachedStatement, Vec<Value>),
        list: impl Fn() -> Self,
    ) -> Result<ListPage<R>, Error> {
        if paging.offset() == 0 {
            let mut all = vec![account.into(), what.into()];
            all.extend(values);
            all.extend([paging.per_page.into(), paging.offset().into()]);
            let word = || list().statement(counter(account, what), paging);
            let rows = ctx.store.read().records(worded.statement(ctx.store.backend(), all, word)).await?;
            if let Some(page) = ListPage::of(rows, paging) {
                return Ok(page);
            }
        }
        list().counted(ctx, what, paging).await
    }

    /// A page of a part of the list: its range of an index is counted.
    pub async fn ranged(self, ctx: &Context, paging: Paging) -> Result<ListPage<R>, Error> {
        let size = self.rows.clone().select_only().column_as(Expr::col(Asterisk).count(), TOTAL).into_query();
        self.fetch(ctx, size, paging).await
    }

    /// A page of a part of the list whose size is known.
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
        let statement = ctx.store.backend().build(&self.statement(size.clone(), paging));
        // Past the end there is no row that tells the size. Where it then says that there is one, somebody has been
        // quicker.
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

    /// The size of the whole list, the page's rows, and what stands beside them.
    fn statement(&self, size: SelectStatement, paging: Paging) -> SelectStatement {
        let mut statement = self.page(paging);
        statement.expr_as(size, TOTAL).columns(self.columns.iter().map(|column| (E::default(), *column)));
        (self.beside)(&mut statement, self.account, &E::default().into_iden());
        statement
    }

    /// Deep pages choose their ids by the index alone and look at the chosen rows only.
    fn page(&self, paging: Paging) -> SelectStatement {
        let mut chosen = self.rows.clone().select_only().into_query();
        for (n, (column, order)) in self.order.iter().enumerate() {
            // Nothing is added to the first column but the certainty that no index holds it.
            let key = Expr::col((E::default(), *column));
            let key = if self.selective && n == 0 { key.add(0) } else { key };
            chosen.order_by_expr(key, order.clone());
        }
        chosen.limit(paging.per_page).offset(paging.offset());
        if paging.offset() == 0 {
            return chosen;
        }
        let ids = chosen.column((E::default(), E::ID)).take();
        let mut page = E::owned_by(self.account).filter(E::ID.in_subquery(ids)).select_only().into_query();
        for (column, order) in &self.order {
            page.order_by((E::default(), *column), order.clone());
        }
        page
    }
}

/// How many records a counter has counted.
fn counter(account: AccountToken, what: Counted) -> SelectStatement {
    // PostgreSQL sums BIGINT to NUMERIC.
    let total = Expr::col(counter::Column::N).sum().if_null(Expr::cust("0")).cast_as("BIGINT");
    counter::Entity::owned_by(account)
        .filter(counter::Column::Kind.eq(what))
        .select_only()
        .column_as(total, TOTAL)
        .into_query()
}

/// One of many: each row says how many there are on all pages, too.
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
    /// What the rows of a statement say; nothing, where there are none.
    fn of(rows: Vec<CountedRow<R>>, paging: Paging) -> Option<Self> {
        let count = u64::try_from(rows.first()?.all).unwrap_or_default();
        Some(Self { records: rows.into_iter().map(|row| row.record).collect(), count, paging })
    }
}

/// How many records there are on all pages, as a row tells it.
fn total(row: &QueryResult) -> Result<u64, DbErr> {
    let total = row.try_get::<i64>("", TOTAL)?;
    Ok(u64::try_from(total).unwrap_or_default())
}

const TOTAL: &str = "total_records";
