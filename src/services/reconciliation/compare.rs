//! Compares a statement with the books, in batches: first the movements look for lines, then the lines that are left for movements.

use std::collections::{HashMap, HashSet};

use acquirer::statement::Zone;
use base::progress::Progress;
use entity::reconciliation::Movement;
use entity::reconciliation_exception::{self as exception, Column, ExceptionKind};
use entity::statement::{self, Stage};
use entity::statement_line::{self, Column as OfLine};
use entity::{Day, ExceptionToken, Timestamp};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use store::Reader;

use super::batch::{Batch, Finding, MISSING};
use super::books::{BookMovement, Books};
use super::import::ReconcileError;
use super::matching::{LedgerSide, StatementSide, differences, nearest};
use crate::Store;
use crate::error::Error;
use crate::limits::RECONCILIATION_BATCH;

/// The number of days around the statement in which movements look for lines: the acquirer may have dated them otherwise.
const MARGIN_DAYS: i32 = 1;

/// The key that a movement and its line have in common.
type Key = (Movement, String);

/// Looks for the lines of the books' movements.
pub(super) async fn compare_books(
    store: &Store,
    seen: &mut statement::Model,
    now: Timestamp,
    progress: &dyn Progress,
) -> Result<(), ReconcileError> {
    let (first, last) = days_of(store, seen).await?;
    let (from, to) = (first.plus(-MARGIN_DAYS).begin(), last.plus(1 + MARGIN_DAYS).begin());
    let mut books = Books::after(store, (seen.account, seen.entry), from, to);
    let mut compared = 0;
    while let Some((movements, (account, entry))) = books.next().await? {
        compared += movements.len() as u64;
        let batch = find_lines(store.read(), seen, movements).await?;
        let next = statement::Model { account, entry, ..seen.clone() };
        batch.commit(store, seen, next, now).await?;
        progress.set_done(compared);
    }
    let rest = statement::Model { stage: Stage::Rest, ..seen.clone() };
    Batch::default().commit(store, seen, rest, now).await
}

/// Returns the days that movements of this statement's lines may have: its own, and those of late lines.
async fn days_of(store: &Store, seen: &statement::Model) -> Result<(Day, Day), Error> {
    let earliest = statement_line::Entity::find()
        .filter(OfLine::StatementId.eq(seen.id))
        .select_only()
        .column_as(OfLine::Day.min(), "earliest")
        .into_tuple::<Option<Day>>();
    let earliest = earliest.one(store.read()).await?.flatten().unwrap_or(seen.first_day);
    Ok((Ord::min(seen.first_day, earliest), seen.last_day))
}

async fn find_lines(
    db: &Reader,
    seen: &statement::Model,
    movements: Vec<BookMovement>,
) -> Result<Batch, Error> {
    let subjects: HashSet<&str> = movements.iter().map(|ours| ours.subject.as_str()).collect();
    let mut lines: HashMap<Key, Vec<statement_line::Model>> = HashMap::new();
    for line in lines_about(db, &subjects).await? {
        lines.entry((line.movement, line.subject.clone())).or_default().push(line);
    }
    let missing = missing_of(db, &subjects).await?;
    let missing: HashMap<_, _> = missing.into_iter().map(|row| (row.entry, row.id)).collect();
    let mut batch = Batch::default();
    for ours in movements {
        let known = missing.get(&Some(ours.entry)).copied();
        let key = (ours.movement, ours.subject.clone());
        let lines = lines.entry(key).or_default();
        if lines.iter().any(|line| line.entry == Some(ours.entry)) {
            continue;
        }
        let differs = |line: &statement_line::Model| differences(ours.side(), theirs(line));
        let is_free = |line: &statement_line::Model| line.entry.is_none();
        let found = match lines.iter().position(|line| is_free(line) && differs(line).is_empty()) {
            Some(at) => Some((at, Vec::new())),
            // A line of this statement may still be the exact one of another movement.
            None if lines.iter().any(|line| is_free(line) && line.statement_id == seen.id) => None,
            // A line of an earlier statement was not compared with this movement when it came.
            None => {
                nearest(lines.iter().enumerate().filter(|(_, line)| is_free(line)), |(_, line)| differs(line))
                    .map(|((at, _), kinds)| (at, kinds))
            }
        };
        if let Some((at, kinds)) = found {
            let line = &mut lines[at];
            (line.account, line.entry) = (Some(ours.account), Some(ours.entry));
            add_match(&mut batch, line, &kinds, ours.side());
            batch.settled.extend(known);
            if line.statement_id != seen.id {
                batch.settled.extend(exceptions_of(db, line).await?);
            }
            continue;
        }
        let is_expected = (seen.covers_from..seen.covers_until).contains(&ours.at);
        if known.is_none() && (is_expected || lines.iter().any(is_free)) {
            batch.found.push(Finding::missing(&ours));
        }
    }
    Ok(batch)
}

/// Adds a match of a line, whose account and entry are set, and an exception for each difference.
fn add_match(batch: &mut Batch, line: &statement_line::Model, kinds: &[ExceptionKind], ours: LedgerSide) {
    let (Some(account), Some(entry)) = (line.account, line.entry) else { return };
    batch.matches.push(line.clone());
    let about = |kind: &ExceptionKind| Finding::about(*kind, line, Some((account, entry)), Some(ours));
    batch.found.extend(kinds.iter().map(about));
}

/// The lines that are left look for movements that are missing, of this or an earlier statement.
pub(super) async fn compare_rest(
    store: &Store,
    seen: &mut statement::Model,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    loop {
        let lines = statement_line::Entity::find()
            .filter(OfLine::StatementId.eq(seen.id))
            .filter(OfLine::Number.gt(seen.line))
            .filter(OfLine::Entry.is_null())
            .filter(OfLine::Movement.ne(Movement::Fee))
            .order_by_asc(OfLine::Number)
            .limit(RECONCILIATION_BATCH as u64);
        let lines = lines.all(store.read()).await.map_err(Error::from)?;
        let Some(last) = lines.last().map(|line| line.number) else { return Ok(()) };
        let batch = find_movements(store.read(), seen, lines).await?;
        let next = statement::Model { line: last, ..seen.clone() };
        batch.commit(store, seen, next, now).await?;
    }
}

async fn find_movements(
    db: &Reader,
    seen: &statement::Model,
    lines: Vec<statement_line::Model>,
) -> Result<Batch, Error> {
    let subjects: HashSet<&str> = lines.iter().map(|line| line.subject.as_str()).collect();
    let mut missing: HashMap<Key, Vec<exception::Model>> = HashMap::new();
    for row in missing_of(db, &subjects).await? {
        missing.entry((row.movement, row.subject.clone())).or_default().push(row);
    }
    let others = lines_about(db, &subjects).await?.into_iter().filter(|line| line.entry.is_some());
    let mut matched: HashSet<Key> = others.map(|line| (line.movement, line.subject)).collect();
    let mut batch = Batch::default();
    for mut line in lines {
        let key = (line.movement, line.subject.clone());
        let candidates = missing.entry(key.clone()).or_default();
        let differs = |(_, ours): &(usize, LedgerSide)| differences(*ours, theirs(&line));
        let sides = candidates.iter().enumerate().filter_map(|(at, row)| Some((at, side_of(row)?)));
        if let Some(((at, ours), kinds)) = nearest(sides, differs) {
            let row = candidates.swap_remove(at);
            (line.account, line.entry) = (row.account, row.entry);
            add_match(&mut batch, &line, &kinds, ours);
            if row.statement_id == seen.id {
                batch.removed.push(row.id);
            } else {
                batch.settled.push(row.id);
            }
            matched.insert(key);
            continue;
        }
        let kind = if matched.contains(&key) { ExceptionKind::Doubled } else { ExceptionKind::Foreign };
        batch.found.push(Finding::about(kind, &line, None, None));
    }
    Ok(batch)
}

/// Returns the lines of all statements about subjects.
async fn lines_about(db: &Reader, subjects: &HashSet<&str>) -> Result<Vec<statement_line::Model>, Error> {
    let lines = statement_line::Entity::find().filter(OfLine::Subject.is_in(subjects.iter().copied()));
    Ok(lines.all(db).await?)
}

/// Returns what is missing about subjects.
async fn missing_of(db: &Reader, subjects: &HashSet<&str>) -> Result<Vec<exception::Model>, Error> {
    let missing = exception::Entity::find()
        .filter(Expr::cust(MISSING))
        .filter(Column::Subject.is_in(subjects.iter().copied()));
    Ok(missing.all(db).await?)
}

/// Returns the exceptions about a line that had no movement.
async fn exceptions_of(db: &Reader, line: &statement_line::Model) -> Result<Vec<ExceptionToken>, Error> {
    let rows = exception::Entity::find()
        .filter(Column::StatementId.eq(line.statement_id))
        .filter(Column::Line.eq(line.number))
        .filter(Column::Kind.is_in([ExceptionKind::Foreign, ExceptionKind::Doubled]))
        .filter(Column::ResolvedBy.is_null());
    Ok(rows.select_only().column(Column::Id).into_tuple().all(db).await?)
}

fn theirs(line: &statement_line::Model) -> StatementSide {
    let zone = Zone { utc_offset: line.utc_offset, later_utc_offset: line.later_utc_offset };
    StatementSide { amount: line.amount, currency: line.currency, day: line.day, zone }
}

fn side_of(row: &exception::Model) -> Option<LedgerSide> {
    Some(LedgerSide { amount: row.our_amount?, currency: row.our_currency?, at: row.our_time? })
}
