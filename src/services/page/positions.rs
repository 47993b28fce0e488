//! Remembers where some rows of a list stand, so that a deep page steps over few rows.
//!
//! A position is a row and the number of older rows. New rows leave it as it is, because lists grow at their newest end. Lists
//! from which rows vanish have none. A payment that is approved after later ones changes how many rows are not newer than the
//! anchor, a row near the newest end. The statement that reads a page counts the rows that are newer than the anchor, so it also
//! says whether the positions still hold. A restored snapshot changes the account's number of clock moves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use entity::AccountToken;
use entity::counter::Counted;
use moka::future::Cache;
use uuid::Uuid;

use crate::runtime::mutex::lock;

/// A page with at least so many newer rows uses positions.
pub const DEEP: u64 = 1_000;
/// The anchor is chosen so many rows from the newest, below what requests in flight may still add.
pub const ANCHOR_DEPTH: u64 = 200;
/// With more newer rows, another anchor is chosen. So each deep page lies below it.
const NEWER_MAX: u64 = DEEP;
/// So many positions of a list are kept; then the list begins again.
const POSITIONS_MAX: usize = 4_096;
/// So many lists are remembered, while they are read.
const LISTS_MAX: u64 = 256;
const LIFETIME: Duration = Duration::from_hours(1);

/// The positions of all lists that were read lately.
#[derive(Debug)]
pub struct Positions(Cache<(AccountToken, Counted), Arc<ListPositions>>);

impl Default for Positions {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(LISTS_MAX).time_to_idle(LIFETIME).build())
    }
}

impl Positions {
    /// Returns the positions of a list.
    pub(super) async fn of(&self, account: AccountToken, list: Counted) -> Arc<ListPositions> {
        self.0.get_with((account, list), async { Arc::default() }).await
    }
}

/// The positions of one list.
#[derive(Debug, Default)]
pub(super) struct ListPositions(Mutex<Option<Known>>);

/// A list as it was when its size was read last.
#[derive(Debug, Clone)]
struct Known {
    list: Anchored,
    /// Ids by the number of older rows.
    rows: BTreeMap<u64, Uuid>,
}

/// The size of a list, and a row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anchored {
    pub size: u64,
    pub anchor: Uuid,
    /// The number of rows that are older than the anchor.
    pub older: u64,
    pub clock_moves: i64,
}

/// What a statement has found: the list's size, the rows newer than the anchor, and the account's clock moves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub size: u64,
    pub newer: u64,
    pub clock_moves: i64,
}

/// Where to begin a page: at a row, if there is one, else at the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    pub row: Option<Uuid>,
    /// Whether the page lies towards the oldest row.
    pub backwards: bool,
    /// The number of rows to step over.
    pub skipped: u64,
    /// The number of rows on the page.
    pub rows: u64,
    /// The number of rows that are older than the page's first.
    pub older: u64,
}

impl Anchored {
    /// Returns whether the positions below the anchor still hold.
    pub fn holds(&self, found: Found) -> bool {
        self.clock_moves == found.clock_moves && found.size == self.older + 1 + found.newer
    }

    /// Returns whether both have the same anchor, so that the same positions hold.
    fn has_anchor_of(&self, other: Self) -> bool {
        Self { size: other.size, ..*self } == other
    }

    /// Returns whether the anchor is so near to the newest row that counting the newer ones is quick.
    pub fn is_near(&self) -> bool {
        self.size - self.older <= NEWER_MAX
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
            Some(known) if before.is_some_and(|before| known.list.has_anchor_of(before)) => known.list = now,
            _ => *known = Some(Known { list: now, rows: BTreeMap::new() }),
        }
    }

    /// Forgets the positions.
    pub fn forget(&self) {
        *self.known() = None;
    }

    /// Records the row with this number of older rows.
    pub fn add(&self, list: Anchored, older: u64, row: Uuid) {
        if let Some(known) = &mut *self.known()
            && known.list.has_anchor_of(list)
            && older <= list.older
        {
            if known.rows.len() >= POSITIONS_MAX {
                known.rows.clear();
            }
            known.rows.insert(older, row);
        }
    }

    /// Returns the nearest start of a page of `list`, or `None` if it lies before the anchor or past the end.
    pub fn start(&self, list: Anchored, offset: u64, per_page: u64) -> Option<Start> {
        let first = list.size.checked_sub(offset + 1)?;
        let oldest = (first + 1).saturating_sub(per_page);
        if first > list.older {
            return None;
        }
        let known = self.known();
        let rows = known.as_ref().filter(|known| known.list.has_anchor_of(list)).map(|known| &known.rows);
        let newer = rows.and_then(|rows| rows.range(first..).next()).map_or((list.older, list.anchor), of);
        let older = rows.and_then(|rows| rows.range(..=oldest).next_back()).map(of);
        let start =
            Start { row: None, backwards: false, skipped: oldest, rows: first + 1 - oldest, older: first };
        let forwards =
            older.map_or(start, |(older, row)| Start { row: Some(row), skipped: oldest - older, ..start });
        let backwards = Start { row: Some(newer.1), backwards: true, skipped: newer.0 - first, ..start };
        Some(if forwards.skipped < backwards.skipped { forwards } else { backwards })
    }
}

fn of((older, row): (&u64, &Uuid)) -> (u64, Uuid) {
    (*older, *row)
}
