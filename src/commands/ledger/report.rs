//! The three output formats of `card-payments ledger report`. Postings are printed one by one as the database returns them.

use std::error::Error;
use std::io::{self, StdoutLock};

use card_payments::Store;
use card_payments::services::ledger::report::{BookRow, ReportFilter, ReportRow, report};
use csv::{Writer, WriterBuilder};
use entity::{AccountToken, Currency};
use serde::Serialize;
use tools::terminal::{self, HEAD, Output};

/// An output format of rows.
pub trait ReportFormat<R> {
    fn print_row(&mut self, row: &R) -> io::Result<()>;

    /// Prints the end.
    fn finish(self) -> io::Result<()>;
}

pub async fn print_report(
    store: &Store,
    extent: ReportFilter,
    mut format: impl ReportFormat<ReportRow>,
) -> Result<(), Box<dyn Error>> {
    let mut failed = None;
    let reported = report(store, extent, |row| {
        // The service returns an error of its own; this one says why.
        format.print_row(row).map_err(|error| {
            let stopped = io::Error::from(error.kind());
            failed = Some(error);
            stopped
        })
    });
    let reported = reported.await;
    match failed {
        Some(error) => Err(error.into()),
        None => reported.map_err(Into::into).and_then(|()| Ok(format.finish()?)),
    }
}

/// Prints a trial balance.
pub fn print_books(books: &[BookRow], mut format: impl ReportFormat<BookRow>) -> Result<(), Box<dyn Error>> {
    books.iter().try_for_each(|row| format.print_row(row))?;
    Ok(format.finish()?)
}

/// Comma-separated values, with a heading.
pub struct Csv(Writer<Output<StdoutLock<'static>>>);

impl Csv {
    /// Prints the heading.
    pub fn new(columns: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut out = WriterBuilder::new().has_headers(false).from_writer(terminal::stdout());
        out.write_record(columns)?;
        Ok(Self(out))
    }
}

impl<R: Serialize> ReportFormat<R> for Csv {
    fn print_row(&mut self, row: &R) -> io::Result<()> {
        self.0.serialize(row).map_err(|error| {
            let kind = error.into_kind();
            // A row of ours always serialises.
            if let csv::ErrorKind::Io(error) = kind { error } else { io::ErrorKind::InvalidData.into() }
        })
    }

    fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// One JSON object a row.
pub struct JsonLines;

impl<R: Serialize> ReportFormat<R> for JsonLines {
    fn print_row(&mut self, row: &R) -> io::Result<()> {
        terminal::print_json(row)
    }

    fn finish(self) -> io::Result<()> {
        Ok(())
    }
}

/// A table for a person, with a heading for each account and the number of postings at the end.
#[derive(Default)]
pub struct Table {
    account: Option<AccountToken>,
    postings: u64,
}

impl ReportFormat<ReportRow> for Table {
    fn print_row(&mut self, row: &ReportRow) -> io::Result<()> {
        let mut out = terminal::styled_stdout();
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

    fn finish(self) -> io::Result<()> {
        match self.postings {
            0 => writeln!(terminal::styled_stdout(), "No postings."),
            1 => writeln!(terminal::styled_stdout(), "\n1 posting."),
            many => writeln!(terminal::styled_stdout(), "\n{many} postings."),
        }
    }
}

/// A table of books for a person, with a heading for each account.
#[derive(Default)]
pub struct BookTable(Option<AccountToken>);

impl ReportFormat<BookRow> for BookTable {
    fn print_row(&mut self, row: &BookRow) -> io::Result<()> {
        let mut out = terminal::styled_stdout();
        if self.0 != Some(row.account) {
            let above = if self.0.is_some() { "\n" } else { "" };
            writeln!(out, "{above}{HEAD}{}{HEAD:#}", row.account)?;
            self.0 = Some(row.account);
        }
        writeln!(out, "{:<9}  {:>18}", row.book.code(), amount(row.amount, row.currency))
    }

    fn finish(self) -> io::Result<()> {
        if self.0.is_none() { writeln!(terminal::styled_stdout(), "No postings.") } else { Ok(()) }
    }
}

/// Formats an amount with its decimals and currency.
fn amount(cents: i64, currency: Currency) -> String {
    let (sign, cents) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
    format!("{sign}{}.{:02} {}", cents / 100, cents % 100, currency.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_with_their_cents() {
        for (cents, text) in [
            (0, "0.00 AUD"),
            (5, "0.05 AUD"),
            (-37, "-0.37 AUD"),
            (100_000_000, "1000000.00 AUD"),
            (i64::MIN, "-92233720368547758.08 AUD"),
        ] {
            assert_eq!(amount(cents, Currency::Aud), text);
        }
    }
}
