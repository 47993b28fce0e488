//! `card-payments ledger report`, in its three forms: row by row as the database tells them, however many there are.

use std::error::Error;
use std::io::{self, StdoutLock, Write};

use card_payments::services::ledger::report::{COLUMNS, Extent, Row, report};
use card_payments::store::Store;
use csv::{Writer, WriterBuilder};
use entity::{AccountToken, Currency};

use crate::commands::terminal::{self, HEAD, Output};

/// A form.
pub trait Form {
    /// Tell a posting.
    fn row(&mut self, row: &Row) -> io::Result<()>;

    /// All are told.
    fn end(self) -> io::Result<()>;
}

/// Tell an extent in a form.
pub async fn told(store: &Store, extent: Extent, mut form: impl Form) -> Result<(), Box<dyn Error>> {
    let mut failed = None;
    let told = report(store, extent, |row| {
        // Why it was not told is kept: what comes back is the service's own error.
        form.row(row).map_err(|error| {
            let again = io::Error::from(error.kind());
            failed = Some(error);
            again
        })
    });
    let told = told.await;
    match failed {
        Some(error) => Err(error.into()),
        None => told.map_err(Into::into).and_then(|()| Ok(form.end()?)),
    }
}

/// Comma-separated values, with a heading.
pub struct Csv(Writer<Output<StdoutLock<'static>>>);

impl Csv {
    /// With its heading.
    pub fn begin() -> Result<Self, Box<dyn Error>> {
        let mut out = WriterBuilder::new().has_headers(false).from_writer(terminal::plain());
        out.write_record(COLUMNS)?;
        Ok(Self(out))
    }
}

impl Form for Csv {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        self.0.serialize(row).map_err(|error| {
            let kind = error.into_kind();
            // The row is ours, and any of them can be said.
            if let csv::ErrorKind::Io(error) = kind { error } else { io::ErrorKind::InvalidData.into() }
        })
    }

    fn end(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// One JSON object a posting.
pub struct Lines;

impl Form for Lines {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        writeln!(terminal::plain(), "{}", serde_json::to_string(row)?)
    }

    fn end(self) -> io::Result<()> {
        Ok(())
    }
}

/// For a person: an account after the other, its movements with both sides, and how much of it there was.
#[derive(Default)]
pub struct Table {
    account: Option<AccountToken>,
    postings: u64,
}

impl Form for Table {
    fn row(&mut self, row: &Row) -> io::Result<()> {
        let mut out = terminal::styled();
        if self.account != Some(row.account) {
            let above = if self.account.is_some() { "\n" } else { "" };
            writeln!(out, "{above}{HEAD}{}{HEAD:#}", row.account)?;
            let (when, what, record, book, amount) = ("when", "what", "record", "book", "amount");
            writeln!(
                out,
                "{HEAD}{when:<20}  {what:<20}  {record:<26}  {book:<9}  {amount:>18}  available{HEAD:#}"
            )?;
            self.account = Some(row.account);
        }
        self.postings += 1;
        writeln!(
            out,
            "{:<20}  {:<20}  {:<26}  {:<9}  {:>18}  {}",
            row.created_at.to_string(),
            row.kind.code(),
            row.source,
            row.book.code(),
            amount(row.amount, row.currency),
            row.available_on.date(),
        )
    }

    fn end(self) -> io::Result<()> {
        match self.postings {
            0 => writeln!(terminal::styled(), "No postings."),
            1 => writeln!(terminal::styled(), "\n1 posting."),
            many => writeln!(terminal::styled(), "\n{many} postings."),
        }
    }
}

/// As people write it.
fn amount(cents: i64, currency: Currency) -> String {
    let (sign, cents) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
    format!("{sign}{}.{:02} {}", cents / 100, cents % 100, currency.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_with_their_cents() {
        for (cents, said) in [
            (0, "0.00 AUD"),
            (5, "0.05 AUD"),
            (-37, "-0.37 AUD"),
            (100_000_000, "1000000.00 AUD"),
            (i64::MIN, "-92233720368547758.08 AUD"),
        ] {
            assert_eq!(amount(cents, Currency::Aud), said);
        }
    }
}
