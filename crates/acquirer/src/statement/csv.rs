//! Statements as comma-separated values: a row is a movement, the first one names the statement, and the last one proves that
//! nothing is cut off.

use std::io::{self, Read, Write};

use csv::{ByteRecord, Reader, ReaderBuilder, Writer};
use entity::reconciliation::Movement;
use entity::{Currency, Day};

use super::allowance::Allowance;
use super::check::{Faults, Tally, Written, check_day, check_name, parse_day};
use super::{Fault, Heading, Line, Period, Zone};

const COLUMNS: [&str; 5] = ["type", "reference", "amount", "currency", "day"];
const BEGIN: &str = "statement";
const END: &str = "end";

/// Reads a statement row by row.
pub(super) struct CsvReader<R> {
    rows: Reader<Allowance<R>>,
    row: ByteRecord,
    /// The line of the row before.
    line: u64,
    /// Whether the header has been read.
    headed: bool,
    begin: Option<(String, Option<Day>)>,
    end: Option<Heading>,
    tally: Tally,
    /// Without the header, or after an error of the file, no other row can be understood.
    ended: bool,
}

impl<R: Read> CsvReader<R> {
    /// Begins to read.
    pub fn new(input: R) -> Self {
        let rows = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(Allowance::new(input));
        let (row, begin, end, tally) = (ByteRecord::new(), None, None, Tally::default());
        Self { rows, row, line: 0, headed: false, begin, end, tally, ended: false }
    }

    /// Returns the next movement with its line in the file, or everything that is wrong with it; `None` at the end.
    pub fn next_line(&mut self) -> Option<Result<(u64, Line), Vec<Fault>>> {
        loop {
            let row = match self.next_row()? {
                Ok(row) => row,
                Err(fault) => return Some(Err(vec![fault])),
            };
            // The reader counts line feeds, but ends a row at a carriage return, too.
            let line = row.position().map_or(0, csv::Position::line).max(self.line + 1);
            self.line = line;
            let mut faults = Faults::at(line);
            let is_header = !std::mem::replace(&mut self.headed, true);
            let movement = match fields(&row) {
                Some(fields) if is_header => {
                    self.ended = fields != COLUMNS;
                    if self.ended {
                        faults.add(format!("must be {}", COLUMNS.join(",")));
                    }
                    None
                }
                Some(fields) => self.read(fields, &mut faults),
                None => {
                    self.ended = is_header;
                    faults.add(format!("must have {} fields, in UTF-8", COLUMNS.len()));
                    None
                }
            };
            self.row = row;
            match movement {
                _ if !faults.found.is_empty() => return Some(Err(faults.found)),
                Some(movement) => return Some(Ok((line, movement))),
                None => {}
            }
        }
    }

    /// Reads the next row, into the memory of the one before.
    fn next_row(&mut self) -> Option<Result<ByteRecord, Fault>> {
        if self.ended {
            return None;
        }
        self.rows.get_mut().renew();
        match self.rows.read_byte_record(&mut self.row) {
            Ok(true) => Some(Ok(std::mem::take(&mut self.row))),
            Ok(false) => None,
            Err(error) => {
                self.ended = true;
                let line = self.rows.position().line();
                Some(Err(Fault { line, message: format!("cannot be read: {error}") }))
            }
        }
    }

    fn read(&mut self, fields: [&str; 5], faults: &mut Faults) -> Option<Line> {
        let [kind, reference, amount, currency, day] = fields;
        if self.end.is_some() {
            faults.add("follows the end of the statement");
            return None;
        }
        match kind {
            BEGIN => self.begin(reference, day, faults),
            END => self.end(reference, amount, day, faults),
            _ => {
                if self.begin.is_none() {
                    faults.add("stands before the row that begins the statement");
                }
                let amount = parse_amount(amount);
                return self
                    .tally
                    .count(&Written { kind, reference, amount, currency, day, zone: Zone::UTC }, faults);
            }
        }
        None
    }

    fn begin(&mut self, name: &str, day: &str, faults: &mut Faults) {
        if self.begin.is_some() {
            faults.add("begins another statement: a file has one");
            return;
        }
        check_name(name, faults);
        self.begin = Some((name.to_owned(), check_day(day, faults)));
    }

    fn end(&mut self, name: &str, lines: &str, day: &str, faults: &mut Faults) {
        if lines.parse() != Ok(self.tally.lines) {
            faults.add(format!("amount must be the number of movements, which is {}", self.tally.lines));
        }
        let last_day = check_day(day, faults);
        let Some((begun, first_day)) = &self.begin else { return };
        if begun != name {
            faults.add(format!("ends another statement than {begun}"));
        }
        if let (Some(first_day), Some(last_day)) = (first_day, last_day) {
            self.end = Some(self.tally.heading(name, Period::of_days(*first_day, last_day), faults));
        }
    }

    /// Returns what the statement says about itself, after its last row.
    pub fn heading(self) -> Result<Heading, Vec<Fault>> {
        let line = self.rows.position().line();
        match self.end {
            Some(heading) => Ok(heading),
            None if self.ended => Err(Vec::new()),
            None => {
                let message =
                    "the file has no row that ends the statement as it began: it may be cut off".into();
                Err(vec![Fault { line, message }])
            }
        }
    }
}

fn fields(row: &ByteRecord) -> Option<[&str; 5]> {
    let texts: Option<Vec<_>> = row.iter().map(|field| std::str::from_utf8(field).ok()).collect();
    texts?.try_into().ok()
}

/// Parses an amount: digits only.
fn parse_amount(text: &str) -> Option<i64> {
    let is_plain = text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// Writes a statement; `lines` passes each line to the function that it gets.
pub(super) fn write<W: Write>(
    out: W,
    name: &str,
    (first_day, last_day): (Day, Day),
    lines: impl FnOnce(&mut dyn FnMut(&Line) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let mut rows = Writer::from_writer(out);
    rows.write_record(COLUMNS)?;
    rows.write_record([BEGIN, name, "", "", &first_day.date().to_string()])?;
    let mut written: i64 = 0;
    lines(&mut |line| {
        written += 1;
        Ok(rows.write_record(row(line))?)
    })?;
    rows.write_record([END, name, &written.to_string(), "", &last_day.date().to_string()])?;
    rows.flush()
}

/// Returns a line's fields.
pub(super) fn row(line: &Line) -> [String; 5] {
    let Line { movement, reference, amount, currency, day, .. } = line;
    [
        movement.code().into(),
        reference.clone(),
        amount.to_string(),
        currency.code().into(),
        day.date().to_string(),
    ]
}

/// Parses a row that [`row`] has made.
pub(super) fn parse_row(row: &ByteRecord) -> Option<Line> {
    let [movement, reference, amount, currency, day] = fields(row)?;
    Some(Line {
        movement: Movement::from_code(movement)?,
        reference: reference.to_owned(),
        amount: parse_amount(amount).filter(|amount| *amount > 0)?,
        currency: Currency::from_code(currency)?,
        day: parse_day(day)?,
        zone: Zone::UTC,
    })
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;

    use super::super::reader::read_all;
    use super::*;

    fn read(text: &str) -> (Vec<Line>, Vec<String>, Option<Heading>) {
        let (lines, faults, heading) = read_all(text);
        (
            lines,
            faults.into_iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect(),
            heading,
        )
    }

    fn day(number: i32) -> Day {
        Timestamp::from_millis(0).day().plus(number)
    }

    #[test]
    fn a_written_statement_is_read() {
        let line = |movement: Movement, amount: i64| Line {
            movement,
            reference: format!("ch_1,\"{amount}\":charge"),
            amount,
            currency: Currency::Jpy,
            day: day(20_000),
            zone: Zone::UTC,
        };
        let lines: Vec<_> = Movement::ALL.iter().zip(1..).map(|(kind, amount)| line(*kind, amount)).collect();
        let mut file = Vec::new();
        write(&mut file, "2024-10-04", (day(19_999), day(20_000)), |next| lines.iter().try_for_each(next))
            .unwrap();
        let (read, faults, heading) = read(std::str::from_utf8(&file).unwrap());
        assert_eq!((read, faults), (lines, Vec::new()));
        let heading = heading.unwrap();
        assert_eq!((heading.name.as_str(), heading.lines), ("2024-10-04", 6));
        assert_eq!((heading.period.first_day, heading.period.last_day), (day(19_999), day(20_000)));
    }

    #[test]
    fn every_fault_is_found_with_its_line() {
        let text = "type,reference,amount,currency,day\n\
            capture,early,1,AUD,2026-01-01\n\
            statement,s1,,,2026-01-01\n\
            capture,ch_1:charge,1.5,AUD,2026-01-01\n\
            payment,,-1,aud,2026-1-1\n\
            capture,ch_1:charge,400,AUD\n\
            capture,4200000000000000,400,AUD,2026-01-01\n\
            capture,ch_2:charge,400,AUD,2026-01-03\n\
            statement,s2,,,2026-01-01\n\
            end,s2,4,,2026-01-02\n\
            capture,late,1,AUD,2026-01-01\n";
        let (_, faults, _) = read(text);
        let lines: Vec<_> = faults.iter().map(|fault| fault.split_once(':').unwrap().0).collect();
        let expected = ["2", "4", "5", "5", "5", "5", "5", "6", "7", "9", "10", "10", "8", "11"];
        assert_eq!(lines, expected, "{faults:#?}");
    }

    #[test]
    fn each_line_has_its_own_number_however_lines_end() {
        let text = "type,reference,amount,currency,day\nstatement,s1,,,2026-01-01\ncapture,ch_1:charge,1.5,AUD,2026-01-01\n\
            capture,ch_2:charge,2.5,AUD,2026-01-01\nend,s1,2,,2026-01-01\n";
        for end in ["\n", "\r\n", "\r"] {
            let (_, faults, _) = read(&text.replace('\n', end));
            let lines: Vec<_> = faults.iter().map(|fault| fault.split_once(':').unwrap().0).collect();
            assert_eq!(lines, ["3", "4"], "{end:?}: {faults:#?}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_is_refused() {
        let whole = "type,reference,amount,currency,day\n\
            statement,s1,,,2026-01-01\ncapture,ch_1:charge,400,AUD,2026-01-01\nend,s1,1,,2026-01-01\n";
        assert_eq!(read(whole).1, Vec::<String>::new());
        for cut in 0..whole.len() - 1 {
            assert!(!read(&whole[..cut]).1.is_empty(), "{cut}");
        }
        let shorter = whole.replace("capture,ch_1:charge,400,AUD,2026-01-01\n", "");
        assert_eq!(read(&shorter).1, ["3: amount must be the number of movements, which is 0"]);
    }
}
