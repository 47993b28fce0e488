//! One page of a list together with the list's size, in one statement: both from one snapshot.

use std::marker::PhantomData;

use entity::counter::{self, Counted};
use entity::{AccountToken, Listed, Owned};
use sea_orm::sea_query::{
    Alias, Asterisk, DynIden, Expr, ExprTrait, IntoIden, JoinType, Order, Query, SelectStatement,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, FromQueryResult, IdenStatic, Iterable, QueryFilter,
    QueryOrder, QueryResult, QuerySelect, QueryTrait, Select,
};
use uuid::Uuid;

use super::context::Context;
use crate::error::Error;
use crate::params::Paging;

/// Records of one page, and how many there are on all of them.
#[derive(Debug)]
pub struct Page<T> {
    /// This page's.
    pub records: Vec<T>,
    /// On all pages.
    pub count: u64,
    /// Which page was asked for.
    pub paging: Paging,
}

impl<T> Page<T> {
    /// The same page of something else.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Page<U> {
        Page { records: self.records.into_iter().map(f).collect(), count: self.count, paging: self.paging }
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
    beside: Beside,
    record: PhantomData<fn() -> R>,
}

/// Adds to a statement what stands beside an account's records, which go by this name.
pub type Beside = fn(&mut SelectStatement, AccountToken, &DynIden);

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
    pub fn reading<R>(self, columns: &[E::Column], beside: Beside) -> List<E, R> {
        let Self { account, rows, order, selective, .. } = self;
        List { account, rows, order, selective, columns: columns.to_vec(), beside, record: PhantomData }
    }
}

impl<E: Listed, R: FromQueryResult> List<E, R> {
    /// The same list, found first and sorted afterwards: both databases would rather walk the account in the order's
    /// index and ask of each row whether it was found, and of few they find the last one at the end.
    #[must_use]
    pub fn found_first(mut self) -> Self {
        self.selective = true;
        self
    }

    /// A page of the whole list, whose size is kept in a counter.
    pub async fn counted(self, ctx: &Context, what: Counted, paging: Paging) -> Result<Page<R>, Error> {
        // PostgreSQL sums BIGINT to NUMERIC.
        let total = Expr::col(counter::Column::N).sum().if_null(0).cast_as("BIGINT");
        let size = counter::Entity::owned_by(self.account)
            .filter(counter::Column::Kind.eq(what))
            .select_only()
            .column_as(total, TOTAL)
            .into_query();
        self.fetch(ctx, size, paging).await
    }

    /// A page of a part of the list: its range of an index is counted.
    pub async fn ranged(self, ctx: &Context, paging: Paging) -> Result<Page<R>, Error> {
        let size = self.rows.clone().select_only().column_as(Expr::col(Asterisk).count(), TOTAL).into_query();
        self.fetch(ctx, size, paging).await
    }

    /// A page of a part of the list whose size is known.
    pub async fn of_size(self, ctx: &Context, size: u64, paging: Paging) -> Result<Page<R>, Error> {
        if size <= paging.offset() {
            return Ok(Page { records: Vec::new(), count: size, paging });
        }
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        self.fetch(ctx, Query::select().expr_as(Expr::value(size).cast_as("BIGINT"), TOTAL).take(), paging)
            .await
    }

    async fn fetch(self, ctx: &Context, size: SelectStatement, paging: Paging) -> Result<Page<R>, Error> {
        let (sizes, records) = (Alias::new("sizes"), Alias::new("records").into_iden());
        // The outermost order counts: SQLite drops the one of a subquery that has no limit.
        let mut statement = Query::select()
            .column((sizes.clone(), Alias::new(TOTAL)))
            .column((records.clone(), Asterisk))
            .from_subquery(size, sizes)
            .join_subquery(JoinType::LeftJoin, self.page(paging), records.clone(), Expr::cust("TRUE"))
            .take();
        (self.beside)(&mut statement, self.account, &records);
        for (column, order) in &self.order {
            statement.order_by((records.clone(), *column), order.clone());
        }
        let rows = ctx.store.read().query_all(&statement).await?;
        let count = rows.first().map(|row| row.try_get::<i64>("", TOTAL)).transpose()?.unwrap_or_default();
        let records = rows.iter().filter_map(|row| Self::record(row).transpose());
        let records = records.collect::<Result<_, DbErr>>()?;
        Ok(Page { records, count: u64::try_from(count).unwrap_or_default(), paging })
    }

    /// Past the end there is one row, with the size alone.
    fn record(row: &QueryResult) -> Result<Option<R>, DbErr> {
        let id = row.try_get::<Option<Uuid>>("", E::ID.as_str())?;
        id.map(|_| R::from_query_result(row, "")).transpose()
    }

    /// Deep pages choose their ids by the index alone and look at the chosen rows only.
    fn page(&self, paging: Paging) -> SelectStatement {
        let mut ordered = self.rows.clone();
        for (n, (column, order)) in self.order.iter().enumerate() {
            // Nothing is added to the first column but the certainty that no index holds it.
            let key = Expr::col(*column);
            let key = if self.selective && n == 0 { key.add(0) } else { key };
            ordered = ordered.order_by(key, order.clone());
        }
        let chosen = ordered.limit(paging.per_page).offset(paging.offset());
        let page = if paging.offset() == 0 {
            chosen
        } else {
            let ids = chosen.select_only().column(E::ID).into_query();
            E::owned_by(self.account).filter(E::ID.in_subquery(ids))
        };
        page.select_only().columns(self.columns.iter().copied()).into_query()
    }
}

const TOTAL: &str = "total_records";
