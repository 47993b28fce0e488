//! One page of a list together with the list's size, in one statement: both from one snapshot.

use entity::counter::{self, Counted};
use entity::{AccountToken, Listed, Owned};
use sea_orm::sea_query::{Alias, Asterisk, Expr, ExprTrait, JoinType, Order, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};

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

/// A list: its rows, whose they are and how they are ordered.
pub struct List<E: Listed> {
    account: AccountToken,
    rows: Select<E>,
    order: Vec<(E::Column, Order)>,
    /// Whether the rows are found by something more selective than the order's index.
    selective: bool,
}

impl<E: Listed> List<E> {
    /// Rows of an account, newest first.
    pub fn newest_first(account: AccountToken, rows: Select<E>) -> Self {
        Self { account, rows, order: vec![(E::ID, Order::Desc)], selective: false }
    }

    /// Rows of an account in the order of a column, ties by id.
    pub fn sorted(account: AccountToken, rows: Select<E>, column: E::Column, ascending: bool) -> Self {
        let order = if ascending { Order::Asc } else { Order::Desc };
        Self { account, rows, order: vec![(column, order.clone()), (E::ID, order)], selective: false }
    }

    /// The same list, found first and sorted afterwards: SQLite would rather walk the whole account in the order's
    /// index and ask of each row whether it was found.
    #[must_use]
    pub fn found_first(mut self) -> Self {
        self.selective = true;
        self
    }

    /// A page of the whole list, whose size is kept in a counter.
    pub async fn counted(
        self,
        ctx: &Context,
        what: Counted,
        paging: Paging,
    ) -> Result<Page<E::Model>, Error> {
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
    pub async fn ranged(self, ctx: &Context, paging: Paging) -> Result<Page<E::Model>, Error> {
        let size = self.rows.clone().select_only().column_as(Expr::col(Asterisk).count(), TOTAL).into_query();
        self.fetch(ctx, size, paging).await
    }

    async fn fetch(
        self,
        ctx: &Context,
        size: SelectStatement,
        paging: Paging,
    ) -> Result<Page<E::Model>, Error> {
        let (sizes, records) = (Alias::new("sizes"), Alias::new("records"));
        // The outermost order counts: SQLite drops the one of a subquery that has no limit.
        let mut statement = Query::select()
            .column((sizes.clone(), Alias::new(TOTAL)))
            .column((records.clone(), Asterisk))
            .from_subquery(size, sizes)
            .join_subquery(JoinType::LeftJoin, self.page(paging), records.clone(), Expr::cust("TRUE"))
            .take();
        for (column, order) in &self.order {
            statement.order_by((records.clone(), *column), order.clone());
        }
        let rows = ctx.store.read().query_all(&statement).await?;
        let count = rows.first().map(|row| row.try_get::<i64>("", TOTAL)).transpose()?.unwrap_or_default();
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            // Past the end there is one row, with the size alone.
            if let Some(record) = E::Model::from_query_result_optional(row, "")? {
                found.push(record);
            }
        }
        Ok(Page { records: found, count: u64::try_from(count).unwrap_or_default(), paging })
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
        if paging.offset() == 0 {
            return chosen.into_query();
        }
        let ids = chosen.select_only().column(E::ID).into_query();
        E::owned_by(self.account).filter(E::ID.in_subquery(ids)).into_query()
    }
}

const TOTAL: &str = "total_records";
