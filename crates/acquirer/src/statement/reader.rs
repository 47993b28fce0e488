//! A statement in either form.

use std::io::{self, Cursor, Read};

use super::allowance::PIECE_BYTES_MAX;
use super::camt::CamtReader;
use super::csv::CsvReader;
use super::{Fault, Heading, Line};

/// Reads a statement movement by movement, in constant memory. After the last one, [`Self::heading`] says which statement it was.
pub struct StatementReader<R: Read>(Form<R>);

/// The input, with what was read of it to find its form.
type Input<R> = io::Chain<Cursor<Vec<u8>>, R>;

enum Form<R: Read> {
    Csv(Box<CsvReader<Input<R>>>),
    Camt(Box<CamtReader<Input<R>>>),
}

impl<R: Read> StatementReader<R> {
    /// Begins to read. A file whose first letter is `<` is camt.053, any other is CSV.
    pub fn new(mut input: R) -> io::Result<Self> {
        let (mut read, mut byte) = (Vec::new(), [0]);
        // A byte order mark and spaces may stand before it.
        while read.len() < PIECE_BYTES_MAX && input.read(&mut byte)? == 1 {
            read.push(byte[0]);
            if !b"\xEF\xBB\xBF \t\r\n".contains(&byte[0]) {
                break;
            }
        }
        let is_xml = read.last() == Some(&b'<');
        let input = Cursor::new(read).chain(input);
        Ok(Self(if is_xml {
            Form::Camt(Box::new(CamtReader::new(input)))
        } else {
            Form::Csv(Box::new(CsvReader::new(input)))
        }))
    }

    /// Returns the next movement with its line in the file (in camt.053, with the number of its transaction), or everything that is
    /// wrong with it; `None` at the end.
    pub fn next_line(&mut self) -> Option<Result<(u64, Line), Vec<Fault>>> {
        match &mut self.0 {
            Form::Csv(reader) => reader.next_line(),
            Form::Camt(reader) => reader.next_line(),
        }
    }

    /// Returns what the statement says about itself, after its last line.
    pub fn heading(self) -> Result<Heading, Vec<Fault>> {
        match self.0 {
            Form::Csv(reader) => reader.heading(),
            Form::Camt(reader) => reader.heading(),
        }
    }
}

/// Reads a statement to its end.
#[cfg(test)]
pub(super) fn read_all(text: &str) -> (Vec<Line>, Vec<Fault>, Option<Heading>) {
    let mut reader = StatementReader::new(text.as_bytes()).unwrap();
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    while let Some(next) = reader.next_line() {
        match next {
            Ok((_, line)) => lines.push(line),
            Err(found) => faults.extend(found),
        }
    }
    let heading = reader.heading().map_err(|found| faults.extend(found)).ok();
    (lines, faults, heading)
}
