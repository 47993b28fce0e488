//! Statements: what an acquirer says that it has moved, day by day, in files (docs/money.md).

mod allowance;
pub mod book;
mod camt;
mod check;
mod csv;
mod period;
mod reader;

use std::fmt;

use entity::reconciliation::Movement;
use entity::{Currency, Day};
use serde::Serialize;

pub use self::check::parse_day;
pub use self::period::{Period, Zone};
pub use self::reader::StatementReader;
use base::plain_text::OneLine;

/// One movement, as the acquirer knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The kind of movement.
    pub movement: Movement,
    /// The Idempotency-Key of the call that moved it; of a chargeback, of the call that had taken the money.
    pub reference: String,
    /// Above zero, in the base unit of the currency.
    pub amount: i64,
    /// The currency of the payment.
    pub currency: Currency,
    /// The day on which it moved, in the zone of the statement.
    pub day: Day,
    /// That zone.
    pub zone: Zone,
}

/// The heading of a statement: its name, its period and the number of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The acquirer's name of the statement, never given twice.
    pub name: String,
    /// The time that it covers.
    pub period: Period,
    /// The number of its lines.
    pub lines: i64,
}

/// Something in a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The line in the file, from 1.
    pub line: u64,
    /// The description of the fault.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, OneLine(&self.message))
    }
}
