//! A batch of a reconciliation: what it has found, and the marker behind it, in one unit of work.

use base::crash_points;
use entity::audit_entry::Action;
use entity::reconciliation::Movement;
use entity::reconciliation_exception::{self as exception, COLUMN, Column, ExceptionKind, ExceptionState};
use entity::statement::{self, Column as Of, Stage};
use entity::statement_line::{self, Column as OfLine};
use entity::{AccountToken, Currency, Day, ExceptionToken, JournalEntryToken, Timestamp};
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, IdenStatic, Iterable, ModelTrait, QueryFilter,
};
use serde_json::json;
use store::{Tx, about};
use uuid::Uuid;

use super::books::BookMovement;
use super::import::ReconcileError;
use super::matching::LedgerSide;
use crate::Store;
use crate::error::Error;
use crate::services::audit::{self, OperatorAction};

/// An exception to record.
pub(super) struct Finding {
    kind: ExceptionKind,
    line: Option<i64>,
    book: Option<(AccountToken, JournalEntryToken)>,
    movement: Movement,
    reference: String,
    subject: String,
    ours: Option<LedgerSide>,
    theirs: Option<(i64, Currency, Day)>,
}

impl Finding {
    /// Records a movement of the books without a line.
    pub fn missing(ours: &BookMovement) -> Self {
        let (subject, movement) = (ours.subject.clone(), ours.movement);
        Self {
            kind: ExceptionKind::Missing,
            line: None,
            book: Some((ours.account, ours.entry)),
            movement,
            reference: subject.clone(),
            subject,
            ours: Some(ours.side()),
            theirs: None,
        }
    }

    /// Records something about a line, and the movement that it is compared with, if there is one.
    pub fn about(
        kind: ExceptionKind,
        line: &statement_line::Model,
        book: Option<(AccountToken, JournalEntryToken)>,
        ours: Option<LedgerSide>,
    ) -> Self {
        Self {
            kind,
            line: Some(line.number),
            book,
            movement: line.movement,
            reference: line.reference.clone(),
            subject: line.subject.clone(),
            ours,
            theirs: Some((line.amount, line.currency, line.day)),
        }
    }

    fn row(&self, tx: &Tx, statement_id: Uuid, now: Timestamp) -> exception::Model {
        exception::Model {
            id: tx.token(),
            kind: self.kind,
            state: ExceptionState::Open,
            statement_id,
            line: self.line,
            account: self.book.map(|(account, _)| account),
            entry: self.book.map(|(_, entry)| entry),
            movement: self.movement,
            reference: self.reference.clone(),
            subject: self.subject.clone(),
            our_amount: self.ours.map(|ours| ours.amount),
            our_currency: self.ours.map(|ours| ours.currency),
            our_time: self.ours.map(|ours| ours.at),
            their_amount: self.theirs.map(|(amount, ..)| amount),
            their_currency: self.theirs.map(|(_, currency, _)| currency),
            their_day: self.theirs.map(|(.., day)| day),
            note: None,
            author: None,
            resolved_by: None,
            created_at: now,
            changed_at: now,
        }
    }
}

/// Word for word the condition of the index.
pub(super) const MISSING: &str = "kind = 'missing' AND resolved_by IS NULL";

/// The records that a batch writes.
#[derive(Default)]
pub(super) struct Batch {
    pub lines: Vec<statement_line::Model>,
    /// Lines that are matched, with their journal entries.
    pub matches: Vec<statement_line::Model>,
    /// New exceptions.
    pub found: Vec<Finding>,
    /// Exceptions that the statement resolves.
    pub settled: Vec<ExceptionToken>,
    /// Missing movements of this import that have found a line, which differs.
    pub removed: Vec<ExceptionToken>,
}

impl Batch {
    /// Commits the batch with the statement's next marker. Refuses if another process has moved it.
    pub async fn commit(
        self,
        store: &Store,
        seen: &mut statement::Model,
        next: statement::Model,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        let unit = store
            .write((seen.clone(), next.clone(), self, now), async |tx, (seen, next, batch, now)| {
                batch.record(tx, seen, next, *now).await
            });
        if !unit.await? {
            let name = seen.name.clone();
            // Only the process that has added a statement stores its lines.
            return Err(match seen.stage {
                Stage::Lines => ReconcileError::Dropped(name),
                Stage::Books | Stage::Rest | Stage::Done => ReconcileError::Taken(name),
            });
        }
        *seen = next;
        crash_points::point("reconcile", seen.stage.code());
        Ok(())
    }

    async fn record(
        &self,
        tx: &Tx,
        seen: &statement::Model,
        next: &statement::Model,
        now: Timestamp,
    ) -> Result<bool, Error> {
        if !tx.compare_and_swap(seen, next, &[Of::Stage, Of::Line, Of::Account, Of::Entry]).await? {
            return Ok(false);
        }
        for line in &self.lines {
            tx.append(line);
        }
        for finding in &self.found {
            tx.append(&finding.row(tx, seen.id, now));
        }
        if !self.matches.is_empty() {
            let columns: Vec<_> = OfLine::iter().map(|column| IdenStatic::as_str(&column)).collect();
            let row = |line: &statement_line::Model| OfLine::iter().map(|column| line.get(column)).collect();
            let rows = self.matches.iter().map(row).collect();
            let named = columns.join(", ");
            let upsert =
                format!("INSERT INTO statement_lines ({named}) SELECT {named} FROM v WHERE TRUE {MATCH}");
            tx.execute_raw(about(tx.get_database_backend(), &columns, rows, &upsert)).await?;
        }
        if !self.settled.is_empty() {
            // `state::next` leads there from each state.
            let settled = exception::Entity::update_many()
                .filter(Column::Id.is_in(self.settled.iter().copied()))
                .col_expr(Column::State, Expr::value(ExceptionState::Resolved.code()))
                .col_expr(Column::ResolvedBy, Expr::value(seen.id))
                .col_expr(Column::ChangedAt, Expr::value(now.millis()));
            settled.exec(tx).await?;
        }
        if !self.removed.is_empty() {
            let removed = Column::Id.is_in(self.removed.iter().copied());
            exception::Entity::delete_many().filter(removed).exec(tx).await?;
        }
        if next.stage == Stage::Done {
            exception::Entity::delete_many().filter(outside(seen)).exec(tx).await?;
            let detail = json!({ "digest": seen.digest, "lines": seen.lines });
            let (action, subject) = (Action::StatementImported, seen.name.clone());
            audit::record(tx, &OperatorAction { action, account: None, subject, detail })?;
        }
        Ok(true)
    }
}

/// Returns the condition of what the import of a statement has found missing outside of its period: while a line was left that
/// might have been of it.
fn outside(seen: &statement::Model) -> Condition {
    Condition::all().add(Expr::cust(MISSING)).add(Column::StatementId.eq(seen.id)).add(
        Condition::any()
            .add(COLUMN.our_time.lt(seen.covers_from))
            .add(COLUMN.our_time.gte(seen.covers_until)),
    )
}

/// The lines are there already. As an upsert it finds each by its primary key; of `UPDATE ... FROM`, SQLite makes a scan of all.
const MATCH: &str =
    "ON CONFLICT (statement_id, number) DO UPDATE SET account = excluded.account, entry = excluded.entry";
