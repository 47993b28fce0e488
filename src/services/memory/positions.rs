//! Remembers the ranks of some rows of a list, so that a deep page steps over few rows.
//!
//! A row's rank is the number of the list's rows before it in ascending order. Of a list that grows at its end, new rows leave the
//! ranks as they are; a payment that is approved after later ones does not. So the statement that reads a page counts the rows of
//! the whole list that are beyond an anchor, a row near the end. While the others, up to the anchor, are as many as before, and
//! nothing was lost, they are the same rows. That holds for each part of the whole list, too, if rows do not change between parts.
//! In an order in which rows may be added anywhere, there is no anchor, so any new row ends the positions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base::mutex::lock;
use moka::future::Cache;
use sea_orm::sea_query::BinOper;
use uuid::Uuid;

use crate::params::Paging;

/// A page with at least so many rows before it uses positions.
pub const DEEP: u64 = 1_000;
/// The anchor is chosen so many rows from the end, below what requests in flight may still add.
pub const ANCHOR_DEPTH: u64 = 200;
/// With more rows beyond it, another anchor is chosen.
pub const BEYOND_MAX: u64 = 500;
/// So many positions of a list are kept; then the list begins again.
const POSITIONS_MAX: usize = 2_048;
/// So many lists are remembered, while they are read.
const LISTS_MAX: u64 = 256;
const LIFETIME: Duration = Duration::from_hours(1);

/// The positions of all lists that were read lately, by the lists' statements.
#[derive(Debug)]
pub struct Positions(Cache<String, Arc<ListPositions>>);

impl Default for Positions {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(LISTS_MAX).time_to_idle(LIFETIME).build())
    }
}

impl Positions {
    /// Returns the positions of a list.
    pub(in crate::services) async fn get(&self, list: String) -> Arc<ListPositions> {
        self.0.get_with(list, async { Arc::default() }).await
    }
}

#[derive(Debug, Default)]
pub(in crate::services) struct ListPositions(Mutex<Option<Known>>);

/// A list as it was when it was read last.
#[derive(Debug, Clone)]
struct Known {
    list: Anchored,
    /// Rows by their ranks.
    rows: BTreeMap<u64, Key>,
}

/// The sort key of a row: the value of the column that sorts the list, 0 if ids alone do, and the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::services) struct Key {
    pub value: i64,
    pub id: Uuid,
}

/// While this is the same, ranks up to the anchor hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::services) struct State {
    /// The number of rows of the whole list up to the anchor.
    pub whole: i64,
    /// The number of rows that the whole list has lost ([`entity::counter::Counted::lost`]).
    pub lost: i64,
    /// The number of the account's clock moves, which a restored snapshot changes.
    pub clock_moves: i64,
}

/// The numbers that a statement has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::services) struct Found {
    pub state: State,
    /// The number of rows of the whole list that are beyond the anchor, at most one more than [`BEYOND_MAX`].
    pub whole_beyond: u64,
    /// The number of rows of the list among them.
    pub beyond: u64,
}

/// A list as a statement has found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::services) struct Anchored {
    /// `None` if rows may be added anywhere.
    pub anchor: Option<Key>,
    /// The number of the list's rows up to the anchor.
    pub ranked: u64,
    pub found: Found,
}

/// The start of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::services) struct Start {
    /// The comparison of the rows' keys with a known one; `None` to begin at an end of the list.
    pub bound: Option<(BinOper, Key)>,
    /// Whether the rows are read in descending order.
    pub descending: bool,
    /// The number of rows to step over.
    pub skipped: u64,
    /// The number of rows on the page.
    pub rows: u64,
    /// The rank of the page's first row.
    pub rank: u64,
}

impl Anchored {
    /// Returns the number of rows of the list.
    pub fn size(&self) -> u64 {
        self.ranked + self.found.beyond
    }

    /// Returns whether the ranks up to the anchor still hold.
    pub fn holds(&self, found: Found) -> bool {
        self.found.state == found.state
    }

    /// Returns whether the anchor is so near to the end that counting the rows beyond it is quick.
    pub fn is_near(&self) -> bool {
        self.found.whole_beyond <= BEYOND_MAX
    }

    /// Returns whether both have the same ranks.
    fn has_ranks_of(&self, other: Self) -> bool {
        (self.anchor, self.ranked, self.found.state) == (other.anchor, other.ranked, other.found.state)
    }
}

impl ListPositions {
    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        lock(&self.0)
    }

    /// Returns the list as it was last.
    pub fn last(&self) -> Option<Anchored> {
        self.known().as_ref().map(|known| known.list)
    }

    /// Records what the list is now. The positions are kept if they are those of `before`, which was found to hold.
    pub fn update(&self, before: Option<Anchored>, now: Anchored) {
        let mut known = self.known();
        match &mut *known {
            Some(known) if before.is_some_and(|before| known.list.has_ranks_of(before)) => known.list = now,
            _ => *known = Some(Known { list: now, rows: BTreeMap::new() }),
        }
    }

    pub fn forget(&self) {
        *self.known() = None;
    }

    /// Records a row with its rank.
    pub fn add(&self, list: Anchored, rank: u64, row: Key) {
        if let Some(known) = &mut *self.known()
            && known.list.has_ranks_of(list)
            && rank < list.ranked
        {
            if known.rows.len() >= POSITIONS_MAX {
                known.rows.clear();
            }
            known.rows.insert(rank, row);
        }
    }

    /// Returns the nearest start of a page of `list`, or `None` if it is past the end.
    pub fn start(&self, list: Anchored, is_ascending: bool, paging: Paging) -> Option<Start> {
        let (offset, per_page) = (paging.offset(), paging.per_page);
        let top = list.size().checked_sub(offset)?.checked_sub(1)?;
        let (low, high) = if is_ascending {
            // The list may have grown since, so the page may be full now.
            (offset, offset + per_page - 1)
        } else {
            ((top + 1).saturating_sub(per_page), top)
        };
        let rank = if is_ascending { low } else { high };
        let known = self.known();
        let rows = known.as_ref().filter(|known| known.list.has_ranks_of(list)).map(|known| &known.rows);
        let start = Start { bound: None, descending: false, skipped: low, rows: high + 1 - low, rank };
        let bound = |oper| move |key| (oper, key);
        let forwards = if low >= list.ranked {
            let bound = list.anchor.map(bound(BinOper::GreaterThan));
            Start { bound, skipped: low - list.ranked, ..start }
        } else if let Some((rank, row)) = rows.and_then(|rows| rows.range(..=low).next_back()) {
            let bound = Some((BinOper::GreaterThanOrEqual, *row));
            Start { bound, skipped: low - rank, ..start }
        } else {
            start
        };
        if high >= list.ranked {
            return Some(forwards);
        }
        let up_to = bound(BinOper::SmallerThanOrEqual);
        let (bound, from) = match rows.and_then(|rows| rows.range(high..).next()) {
            Some((rank, row)) => (Some(up_to(*row)), *rank),
            None => (list.anchor.map(up_to), list.ranked - 1),
        };
        let backwards = Start { bound, descending: true, skipped: from - high, ..start };
        Some(if forwards.skipped < backwards.skipped { forwards } else { backwards })
    }
}
