//! The simulator's own book: a file to which it appends what it moves, so that a statement says what the acquirer knows, and not
//! what a server thinks. It outlives the process.

use std::collections::HashSet;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::Clock;
use csv::{ByteRecord, Reader, ReaderBuilder, WriterBuilder};
use entity::reconciliation::Movement;
use entity::{Currency, Day};

use super::{Line, Zone, csv as format};
use crate::CallKey;

/// The word of a row that undoes all movements under its key.
const REVERSED: &str = "reversed";

/// A book that is being written. A row is written by one call, so that a killed process leaves part of the last row at most, and a full
/// disk none.
pub struct Book {
    file: File,
    path: PathBuf,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Book {
    /// Opens a book, or begins one. The part of a row that a killed process has left is removed: its call was not answered.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut end = file.metadata()?.len();
        let mut byte = [0];
        while end > 0 {
            file.seek(SeekFrom::Start(end - 1))?;
            file.read_exact(&mut byte)?;
            if byte == *b"\n" {
                break;
            }
            end -= 1;
        }
        cut(path, end)?;
        Ok(Self { file, path: path.to_owned(), clock })
    }

    /// Appends what a call has moved, today.
    pub fn moved(
        &mut self,
        key: &CallKey,
        movements: &[Movement],
        amount: i64,
        currency: Currency,
    ) -> io::Result<()> {
        let day = self.clock.now().day();
        let (reference, zone) = (key.to_string(), Zone::UTC);
        let line = |movement| Line { movement, reference: reference.clone(), amount, currency, day, zone };
        self.append(movements.iter().map(|movement| format::row(&line(*movement))))
    }

    /// Appends that everything under a key is undone.
    pub fn reversed(&mut self, key: &CallKey) -> io::Result<()> {
        let empty = String::new;
        self.append([[REVERSED.into(), key.to_string(), empty(), empty(), empty()]])
    }

    fn append(&mut self, rows: impl IntoIterator<Item = [String; 5]>) -> io::Result<()> {
        let mut text = WriterBuilder::new().from_writer(Vec::new());
        for row in rows {
            text.write_record(row)?;
        }
        let end = self.file.metadata()?.len();
        let rows = text.into_inner().map_err(csv::IntoInnerError::into_error)?;
        self.file.write_all(&rows).inspect_err(|_| {
            // The next row must not continue a part of this one. If this fails, too, the reader says which line is damaged.
            let _ = cut(&self.path, end);
        })
    }
}

/// Takes away what a file has after its first bytes: who may only append may not do that on all systems.
fn cut(path: &Path, end: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(end)
}

/// Writes the statement of a day from a book. What was undone by now is not in it.
pub fn write_statement(book: &Path, day: Day, out: impl Write) -> io::Result<()> {
    let undone = undone(book)?;
    let name = format!("simulator-{}", day.date());
    format::write(out, &name, (day, day), |write| {
        let mut rows = rows(book)?;
        let mut row = ByteRecord::new();
        while rows.read_byte_record(&mut row)? {
            if is_reversal(&row) {
                continue;
            }
            let line = format::parse_row(&row).ok_or_else(|| unreadable(&row))?;
            if line.day == day && !undone.contains(line.reference.as_bytes()) {
                write(&line)?;
            }
        }
        Ok(())
    })
}

/// Returns the keys that were reversed.
fn undone(book: &Path) -> io::Result<HashSet<Vec<u8>>> {
    let mut undone = HashSet::new();
    for row in rows(book)?.into_byte_records() {
        let row = row?;
        if is_reversal(&row) {
            undone.extend(row.get(1).map(<[u8]>::to_vec));
        }
    }
    Ok(undone)
}

fn is_reversal(row: &ByteRecord) -> bool {
    row.get(0) == Some(REVERSED.as_bytes())
}

fn rows(book: &Path) -> io::Result<Reader<File>> {
    Ok(ReaderBuilder::new().has_headers(false).flexible(true).from_reader(File::open(book)?))
}

fn unreadable(row: &ByteRecord) -> io::Error {
    let line = row.position().map_or(0, csv::Position::line);
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line} of the book cannot be read"))
}

#[cfg(test)]
mod tests {
    use base::clock::FixedClock;

    use super::*;

    fn book(path: &Path) -> Book {
        Book::open(path, Arc::new(FixedClock::SEEDED)).unwrap()
    }

    fn statement(path: &Path, day: Day) -> String {
        let mut text = Vec::new();
        write_statement(path, day, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_statement_has_the_movements_of_its_day_that_stand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.csv");
        let key = |name: &str| CallKey::new(name, "charge");
        let mut written = book(&path);
        for name in ["ch_1", "ch_2"] {
            written
                .moved(&key(name), &[Movement::Capture, Movement::Chargeback], 400, Currency::Aud)
                .unwrap();
        }
        written.reversed(&key("ch_1")).unwrap();
        drop(written);
        let today = FixedClock::SEEDED.now().day();
        let expected = "type,reference,amount,currency,day\nstatement,simulator-2026-01-01,,,2026-01-01\n\
            capture,ch_2:charge,400,AUD,2026-01-01\nchargeback,ch_2:charge,400,AUD,2026-01-01\n\
            end,simulator-2026-01-01,2,,2026-01-01\n";
        assert_eq!(statement(&path, today), expected);
        // A killed process has left half a row.
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"capture,ch_3:ch").unwrap();
        book(&path).moved(&key("ch_4"), &[Movement::Capture], 1, Currency::Aud).unwrap();
        let lines = statement(&path, today);
        assert!(lines.contains("ch_4") && !lines.contains("ch_3"), "{lines}");
        assert_eq!(statement(&path, today.plus(1)).lines().count(), 3, "a day without movements");
    }
}
