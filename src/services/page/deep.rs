//! Reads pages far back from known positions (`memory/positions.rs`).

use entity::counter::Counted;
use entity::{Listed, Owned, account};
use sea_orm::sea_query::{BinOper, Expr, ExprTrait, Order, Query, SelectStatement, SimpleExpr};
use sea_orm::{DbErr, QueryFilter, QueryResult, QuerySelect, QueryTrait, Select, Statement};
use store::{ColumnReader, FromColumns};
use uuid::Uuid;

use super::{List, ListPage, MOVES, TOTAL, clock_moves, count, counter, rows_counted, with_limits_in_text};
use crate::error::Error;
use crate::params::Paging;
use crate::services::context::Context;
use crate::services::memory::positions::{
    ANCHOR_DEPTH, Anchored, BEYOND_MAX, DEEP, Found, Key, ListPositions, Start, State,
};

/// The changes that may happen to the order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// New rows come last, but for some. No row moves.
    AtItsEnd,
    /// New rows come anywhere. No row moves.
    Anywhere,
    /// Rows may move. Such a list has no positions.
    Changing,
}

/// The source of the size of the whole list.
#[derive(Debug, Clone, Copy)]
pub(super) enum WholeSize {
    Counter(Counted),
    /// Its rows, of which none ever vanishes.
    Rows,
}

impl<E: Listed, R: FromColumns> List<E, R> {
    /// Reads a page far back from the nearest known position, and learns the rank of its first row. Returns `None` if the page is
    /// not deep in the list, or the list has no positions or changes too fast.
    pub(super) async fn deep(&self, ctx: &Context, paging: Paging) -> Result<Option<ListPage<R>>, Error> {
        if paging.offset() < DEEP || self.size.is_none() || self.growth == Growth::Changing || self.selective
        {
            return Ok(None);
        }
        let known = ctx.memory.positions.get(self.identity(ctx)).await;
        let is_ascending = self.is_ascending();
        // The first try supposes that the list is as another request saw it. Once this request has read the size, it reads the
        // page as of that moment.
        let (mut seen, mut is_current) = (known.last(), false);
        for _ in 0..3 {
            let list = match seen.filter(Anchored::is_near) {
                Some(list) => list,
                None => match self.anchor(ctx, &known).await? {
                    Some(list) => list,
                    None => return Ok(None),
                },
            };
            is_current |= Some(list) != seen;
            let Some(start) = known.start(list, is_ascending, paging) else {
                // Past the end of what the list is now there is nothing to step over.
                if is_current {
                    return Ok(Some(ListPage { records: Vec::new(), count: list.size(), paging }));
                }
                seen = None;
                continue;
            };
            let statement = self.deep_statement(ctx, list.anchor, start);
            let mut rows: Vec<PositionedRow<R>> = ctx.store.read().records(statement).await?;
            if start.is_direct() && start.descending == is_ascending {
                rows.reverse();
            }
            let first = rows.first().map(|first| (first.key, Anchored { found: first.found, ..list }));
            let Some((key, now)) = first.filter(|(_, now)| now.is_near() && list.holds(now.found)) else {
                // If many rows came, the positions may still hold.
                if first.is_none_or(|(_, now)| now.is_near()) {
                    known.forget();
                }
                seen = None;
                continue;
            };
            known.update(Some(list), now);
            known.add(now, start.rank, key);
            // From the oldest row on, a page is where it was, however the list grows.
            let shown = if is_ascending { now } else { list };
            if is_current || shown.size() == now.size() {
                let records = rows.into_iter().map(|row| row.record).collect();
                return Ok(Some(ListPage { records, count: shown.size(), paging }));
            }
            (seen, is_current) = (Some(now), true);
        }
        Ok(None)
    }

    /// Chooses an anchor. Keeps the positions that hold. Returns `None` if the list is too short.
    async fn anchor(&self, ctx: &Context, known: &ListPositions) -> Result<Option<Anchored>, Error> {
        let db = ctx.store.read();
        let mut anchor = None;
        if self.growth == Growth::AtItsEnd {
            let mut chosen = self.whole.clone().select_only().into_query();
            self.add_key(&mut chosen);
            self.sort(&mut chosen, &Order::Desc);
            chosen.limit(1).offset(ANCHOR_DEPTH);
            anchor = db.records::<Key>(ctx.store.backend().build(&chosen)).await?.pop();
            if anchor.is_none() {
                return Ok(None);
            }
        }
        let former = known.last();
        if let Some(former) = former {
            // What is found of both anchors is of one moment.
            let mut statement = self.found(anchor);
            self.add_beyond(&mut statement, former.anchor, None, OF_FORMER);
            let row = db.one_planned(&statement).await?.ok_or_else(no_account)?;
            let (found, of_former) = (Found::from_row(&row, OF_ANCHOR)?, Found::from_row(&row, OF_FORMER)?);
            let ranked = (former.ranked + of_former.beyond).checked_sub(found.beyond);
            if let Some(ranked) = ranked.filter(|_| former.holds(of_former)) {
                let now = Anchored { anchor, ranked, found };
                known.update(Some(former), now);
                return Ok(Some(now));
            }
        }
        let mut statement = self.found(anchor);
        statement.expr_as(if self.part.is_some() { count(&self.rows()) } else { self.whole_size() }, SIZE);
        let row = db.one_planned(&statement).await?.ok_or_else(no_account)?;
        let found = Found::from_row(&row, OF_ANCHOR)?;
        let Some(ranked) = number(row.try_get("", SIZE)?).checked_sub(found.beyond) else { return Ok(None) };
        let now = Anchored { anchor, ranked, found };
        known.update(None, now);
        Ok(Some(now))
    }

    /// Returns the list's rows and order as a text.
    fn identity(&self, ctx: &Context) -> String {
        let mut rows = self.rows().select_only().into_query();
        self.add_key(&mut rows);
        self.sort(&mut rows, &self.direction());
        ctx.store.backend().build(&rows).to_string()
    }

    fn is_ascending(&self) -> bool {
        self.direction() == Order::Asc
    }

    /// Adds the key of a row.
    fn add_key(&self, statement: &mut SelectStatement) {
        let value = match self.order[..] {
            [(column, _), _] => Expr::col((E::default(), column)),
            _ => Expr::cust("CAST(0 AS BIGINT)"),
        };
        statement.expr_as(value, ROW_VALUE).expr_as(Expr::col((E::default(), E::ID)), ROW_ID);
    }

    /// Compares the keys of rows with a known one.
    fn compared(&self, operator: BinOper, key: Key) -> SimpleExpr {
        let columns = self.order.iter().map(|(column, _)| Expr::col((E::default(), *column)));
        match self.order[..] {
            [_, _] => {
                let key = Expr::tuple([Expr::value(key.value), Expr::value(key.id)]);
                Expr::tuple(columns).binary(operator, key)
            }
            _ => Expr::col((E::default(), E::ID)).binary(operator, Expr::value(key.id)),
        }
    }

    /// Selects what [`Found`] reads, of the account's row.
    fn found(&self, anchor: Option<Key>) -> SelectStatement {
        let mut found = account::Entity::owned_by(self.account).select_only().into_query();
        self.add_whole(&mut found);
        self.add_beyond(&mut found, anchor, None, OF_ANCHOR);
        found
    }

    /// Adds the size of the whole list, and the numbers that show whether rows have vanished.
    fn add_whole(&self, statement: &mut SelectStatement) {
        statement.expr_as(self.whole_size(), TOTAL);
        let lost = match self.size {
            Some(WholeSize::Counter(what)) => what.lost(),
            Some(WholeSize::Rows) | None => None,
        };
        statement.expr_as(lost.map_or_else(nothing, |lost| counter(self.account, lost)), LOST);
        statement.expr_as(clock_moves(self.account), MOVES);
    }

    /// Adds the numbers of rows beyond an anchor: in the whole list, and in this one if it is a part.
    fn add_beyond(
        &self,
        statement: &mut SelectStatement,
        anchor: Option<Key>,
        max: Option<u64>,
        [whole, part]: [&'static str; 2],
    ) {
        let beyond =
            anchor.map(|anchor| self.whole.clone().filter(self.compared(BinOper::GreaterThan, anchor)));
        let number = |rows: Select<E>| {
            let mut beyond = rows.select_only().column(E::ID).into_query();
            if let Some(max) = max {
                self.sort(&mut beyond, &Order::Desc);
                beyond.limit(max);
            }
            Query::select().expr(rows_counted()).from_subquery(beyond, "rows_beyond").take()
        };
        statement.expr_as(beyond.clone().map_or_else(nothing, number), whole);
        match beyond.filter(|_| self.part.is_some()) {
            Some(beyond) => statement.expr_as(number(self.part_of_rows(beyond)), part),
            None => statement.expr_as(Expr::cust("CAST(NULL AS BIGINT)"), part),
        };
    }

    /// Builds the statement of a deep page: the numbers that show whether the positions hold, and the rows with their keys.
    fn deep_statement(&self, ctx: &Context, anchor: Option<Key>, start: Start) -> Statement {
        let backend = ctx.store.backend();
        // Of two conditions for an index, SQLite uses the first.
        let rows = self.whole.clone();
        let rows = match start.bound {
            Some((operator, key)) => rows.filter(self.compared(operator, key)),
            None => rows,
        };
        let mut page = self.part_of_rows(rows).select_only().into_query();
        let order = if start.descending { Order::Desc } else { Order::Asc };
        self.sort(&mut page, &order);
        page.limit(start.rows).offset(start.skipped);
        page = if start.is_direct() {
            self.read_first(backend, page, &order)
        } else {
            // Steps over rows by the index alone.
            self.chosen(backend, page.column((E::default(), E::ID)).take())
        };
        self.add_key(&mut page);
        self.add_whole(&mut page);
        self.add_beyond(&mut page, anchor, Some(BEYOND_MAX + 1), OF_ANCHOR);
        self.add_columns(backend, &mut page);
        with_limits_in_text(backend.build(&page))
    }
}

impl Start {
    /// Returns whether so few rows are stepped over that it does not matter to read them.
    fn is_direct(self) -> bool {
        self.skipped <= self.rows
    }
}

impl FromColumns for Key {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        Ok(Self { value: row.next(ROW_VALUE)?, id: row.next::<Uuid>(ROW_ID)? })
    }
}

impl Found {
    fn new([total, lost, clock_moves, whole_beyond]: [i64; 4], beyond: Option<i64>) -> Self {
        let state = State { whole: total - whole_beyond, lost, clock_moves };
        Self { state, whole_beyond: number(whole_beyond), beyond: number(beyond.unwrap_or(whole_beyond)) }
    }

    /// Reads the numbers that a statement has found for an anchor.
    fn from_row(row: &QueryResult, [whole, part]: [&str; 2]) -> Result<Self, DbErr> {
        let count = |name| row.try_get::<i64>("", name);
        Ok(Self::new([count(TOTAL)?, count(LOST)?, count(MOVES)?, count(whole)?], row.try_get("", part)?))
    }
}

impl FromColumns for Found {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        let [whole, part] = OF_ANCHOR;
        let counts = [row.next(TOTAL)?, row.next(LOST)?, row.next(MOVES)?, row.next(whole)?];
        Ok(Self::new(counts, row.next(part)?))
    }
}

struct PositionedRow<R> {
    key: Key,
    found: Found,
    record: R,
}

impl<R: FromColumns> FromColumns for PositionedRow<R> {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        Ok(Self { key: Key::read(row)?, found: Found::read(row)?, record: R::read(row)? })
    }
}

/// Returns the query of the number of no rows.
fn nothing() -> SelectStatement {
    Query::select().expr(Expr::cust("CAST(0 AS BIGINT)")).take()
}

fn number(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

fn no_account() -> Error {
    Error::internal("an account without its row")
}

const ROW_VALUE: &str = "row_value";
const ROW_ID: &str = "row_id";
const LOST: &str = "lost_records";
const SIZE: &str = "list_records";
const OF_ANCHOR: [&str; 2] = ["whole_beyond", "beyond"];
const OF_FORMER: [&str; 2] = ["former_whole_beyond", "former_beyond"];
