//! Reconciliations as operators see them (`docs/decisions.md`, 383).

use std::fmt;

use base::plain_text::OneLine;
use entity::reconciliation::Movement;
use entity::reconciliation_exception::{self as exception, ExceptionKind, ExceptionState};
use entity::{AccountToken, Currency, Day, ExceptionToken, JournalEntryToken, Timestamp};
use serde::Serialize;

/// What came of a statement.
#[derive(Debug, Clone, Serialize)]
pub struct Reconciled {
    /// The acquirer's name of the statement.
    pub statement: String,
    /// The first day that it covers.
    pub from: Day,
    /// The last one.
    pub to: Day,
    /// The number of its lines.
    pub lines: i64,
    /// The number of lines that have a movement in the books.
    pub matched: u64,
    /// The exceptions that it has caused, resolved ones too.
    pub exceptions: Vec<Count>,
    /// The number of exceptions of earlier statements that it has resolved.
    pub resolved: u64,
    /// The acquirer's own fees, which the books do not have.
    pub fees: Vec<Sum>,
    /// Whether it was imported before, so that nothing has changed now.
    pub imported_before: bool,
}

/// How many exceptions there are of a kind.
#[derive(Debug, Clone, Serialize)]
pub struct Count {
    pub kind: ExceptionKind,
    pub n: i64,
}

/// An amount of a currency.
#[derive(Debug, Clone, Serialize)]
pub struct Sum {
    /// ISO 4217.
    pub currency: Currency,
    /// In the base unit.
    pub amount: i64,
}

impl fmt::Display for Reconciled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { statement, from, to, lines, matched, exceptions, resolved, fees, imported_before } = self;
        write!(f, "{}, {}", OneLine(statement), from.date())?;
        if from != to {
            write!(f, " to {}", to.date())?;
        }
        write!(f, ": {lines} lines, {matched} matched")?;
        for Count { kind, n } in exceptions {
            write!(f, ", {n} {}", kind.code())?;
        }
        if *resolved > 0 {
            write!(f, "; earlier exceptions resolved: {resolved}")?;
        }
        for Sum { currency, amount } in fees {
            write!(f, "; fees {}", currency.in_words(*amount))?;
        }
        if *imported_before {
            f.write_str(". It was imported before: nothing has changed")?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct ExceptionRecord {
    token: ExceptionToken,
    kind: ExceptionKind,
    state: ExceptionState,
    movement: Movement,
    reference: String,
    statement: String,
    line: Option<i64>,
    account: Option<AccountToken>,
    entry: Option<JournalEntryToken>,
    ours: Option<Side>,
    theirs: Option<Side>,
    note: Option<String>,
    author: Option<String>,
    resolved_by: Option<String>,
    created_at: Timestamp,
    changed_at: Timestamp,
}

/// What one side says.
#[derive(Debug, Clone, Serialize)]
struct Side {
    amount: i64,
    currency: Currency,
    day: Day,
}

impl ExceptionRecord {
    /// Makes the record of a row, with the names of its statements.
    pub fn new(row: exception::Model, statement: String, resolved_by: Option<String>) -> Self {
        let side = |amount: Option<i64>, currency: Option<Currency>, day: Option<Day>| {
            Some(Side { amount: amount?, currency: currency?, day: day? })
        };
        Self {
            token: row.id,
            kind: row.kind,
            state: row.state,
            movement: row.movement,
            reference: row.reference,
            statement,
            line: row.line,
            account: row.account,
            entry: row.entry,
            ours: side(row.our_amount, row.our_currency, row.our_time.map(Timestamp::day)),
            theirs: side(row.their_amount, row.their_currency, row.their_day),
            note: row.note,
            author: row.author,
            resolved_by,
            created_at: row.created_at,
            changed_at: row.changed_at,
        }
    }
}

impl fmt::Display for ExceptionRecord {
    /// Formats a line for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, kind, state, movement, reference, statement, .. } = self;
        let reference = OneLine(reference);
        write!(f, "{token} {} {}: {} {reference}", state.code(), kind.code(), movement.code())?;
        for (whose, side) in [("ours", &self.ours), ("theirs", &self.theirs)] {
            if let Some(Side { amount, currency, day }) = side {
                write!(f, ", {whose} {} on {}", currency.in_words(*amount), day.date())?;
            }
        }
        write!(f, " ({}", OneLine(statement))?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        f.write_str(")")?;
        if let Some(note) = &self.note {
            write!(f, ": {}", OneLine(note))?;
        }
        if let Some(author) = &self.author {
            write!(f, " - {}", OneLine(author))?;
        }
        if let Some(resolved_by) = &self.resolved_by {
            write!(f, "; resolved by {}", OneLine(resolved_by))?;
        }
        Ok(())
    }
}
