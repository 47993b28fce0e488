//! Statements as comma-separated values: a line is a movement, the first one names the statement, and the last one proves that
//! nothing is cut off.

use std::io::{self, Read, Write};

use chrono::NaiveDate;
use csv::{ByteRecord, Reader, ReaderBuilder, Writer};
use entity::reconciliation::Movement;
use entity::{Currency, Day, Timestamp};

use super::{Fault, Heading, Line};
use crate::limits::{STATEMENT_DAYS_MAX, STATEMENT_TEXT_MAX};
use crate::recording::without_card_numbers;

const COLUMNS: [&str; 5] = ["type", "reference", "amount", "currency", "day"];
const BEGIN: &str = "statement";
const END: &str = "end";

/// Reads a statement line by line. After the last line, [`Self::heading`] says which statement it was.
pub struct StatementReader<R> {
    rows: Reader<R>,
    row: ByteRecord,
    begin: Option<(String, Day)>,
    end: Option<Heading>,
    lines: i64,
    /// The latest day of a line, and where it is.
    latest: Option<(Day, u64)>,
    /// Whether the header has been read.
    headed: bool,
    /// Without the header, or after an error of the file, no other row can be understood.
    ended: bool,
}

impl<R: Read> StatementReader<R> {
    /// Begins to read.
    pub fn new(input: R) -> Self {
        let rows = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input);
        let (row, begin, end, latest) = (ByteRecord::new(), None, None, None);
        Self { rows, row, begin, end, lines: 0, latest, headed: false, ended: false }
    }

    /// Returns the next movement with its line in the file, or everything that is wrong with it; `None` at the end.
    pub fn next_line(&mut self) -> Option<Result<(u64, Line), Vec<Fault>>> {
        loop {
            let is_header = !std::mem::replace(&mut self.headed, true);
            let line = match self.next_row()? {
                Ok(line) => line,
                Err(fault) => return Some(Err(vec![fault])),
            };
            let mut faults = Faults { line, found: Vec::new() };
            let row = std::mem::take(&mut self.row);
            let movement = match (fields(&row), is_header) {
                (Some(fields), true) => {
                    self.ended = fields != COLUMNS;
                    if self.ended {
                        faults.add(format!("must be {}", COLUMNS.join(",")));
                    }
                    None
                }
                (Some(fields), false) => self.read(fields, &mut faults),
                (None, _) => {
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

    /// Reads the next row and returns its line.
    fn next_row(&mut self) -> Option<Result<u64, Fault>> {
        if self.ended {
            return None;
        }
        match self.rows.read_byte_record(&mut self.row) {
            Ok(true) => Some(Ok(self.row.position().map_or(0, csv::Position::line))),
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
            faults.add("follows the end of the statement".into());
            return None;
        }
        if reference.trim().is_empty()
            || reference.chars().count() > STATEMENT_TEXT_MAX
            || reference.chars().any(char::is_control)
        {
            faults.add(format!("reference must be 1 to {STATEMENT_TEXT_MAX} characters of one line"));
        } else if without_card_numbers(reference) != reference {
            faults.add("reference must not hold a card number".into());
        }
        let at = parse_day(day);
        if at.is_none() {
            faults.add("day must be YYYY-MM-DD".into());
        }
        match kind {
            BEGIN => self.begin(reference, at, faults),
            END => self.end(reference, amount, at, faults),
            _ => return self.movement(kind, reference, amount, currency, at, faults),
        }
        None
    }

    fn begin(&mut self, name: &str, day: Option<Day>, faults: &mut Faults) {
        if self.begin.is_some() || self.lines > 0 {
            faults.add("begins another statement: a file has one".into());
        }
        self.begin = day.map(|day| (name.to_owned(), day));
    }

    fn end(&mut self, name: &str, lines: &str, last_day: Option<Day>, faults: &mut Faults) {
        if lines.parse() != Ok(self.lines) {
            faults.add(format!("amount must be the number of lines, which is {}", self.lines));
        }
        let Some((begun, first_day)) = &self.begin else { return };
        if begun != name {
            faults.add(format!("ends another statement than {begun}"));
        }
        let Some(last_day) = last_day else { return };
        if !(0..STATEMENT_DAYS_MAX).contains(&(last_day.number() - first_day.number())) {
            faults.add(format!("day must be the last of 1 to {STATEMENT_DAYS_MAX} days"));
        }
        if let Some((_, line)) = self.latest.filter(|(latest, _)| *latest > last_day) {
            faults.found.push(Fault { line, message: "day is after the last day of the statement".into() });
        }
        self.end = Some(Heading {
            name: begun.clone(),
            first_day: *first_day,
            last_day,
            lines: self.lines,
        });
    }

    fn movement(
        &mut self,
        kind: &str,
        reference: &str,
        amount: &str,
        currency: &str,
        day: Option<Day>,
        faults: &mut Faults,
    ) -> Option<Line> {
        if self.begin.is_none() && self.lines == 0 {
            faults.add("stands before the line that begins the statement".into());
        }
        self.lines += 1;
        let movement = Movement::from_code(kind);
        if movement.is_none() {
            let kinds: Vec<_> = Movement::ALL.iter().map(|kind| kind.code()).collect();
            faults.add(format!("type must be {BEGIN}, {} or {END}", kinds.join(", ")));
        }
        let amount = parse_amount(amount);
        if amount.is_none() {
            faults.add("amount must be a whole number above zero, in the currency's base unit".into());
        }
        let currency = Currency::from_code(currency);
        if currency.is_none() {
            faults.add("currency must be one that can be charged, as ISO 4217 writes it".into());
        }
        let (day, reference) = (day?, reference.to_owned());
        if self.latest.is_none_or(|(latest, _)| latest < day) {
            self.latest = Some((day, faults.line));
        }
        Some(Line { movement: movement?, reference, amount: amount?, currency: currency?, day })
    }

    /// Returns what the statement says about itself, after its last line.
    pub fn heading(self) -> Result<Heading, Vec<Fault>> {
        let line = self.rows.position().line();
        let fault = |message: &str| vec![Fault { line, message: message.into() }];
        match self.end {
            Some(heading) => Ok(heading),
            None if self.ended => Err(Vec::new()),
            None => Err(fault("the file has no line that ends the statement: it is cut off")),
        }
    }
}

/// The faults of a line.
struct Faults {
    line: u64,
    found: Vec<Fault>,
}

impl Faults {
    fn add(&mut self, message: String) {
        self.found.push(Fault { line: self.line, message });
    }
}

fn fields(row: &ByteRecord) -> Option<[&str; 5]> {
    let texts: Option<Vec<_>> = row.iter().map(|field| std::str::from_utf8(field).ok()).collect();
    texts?.try_into().ok()
}

/// Parses an amount: digits only, above zero.
fn parse_amount(text: &str) -> Option<i64> {
    let is_plain = text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|amount| is_plain && *amount > 0)
}

/// Parses a day as `YYYY-MM-DD`, from 1970 on.
pub fn parse_day(text: &str) -> Option<Day> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    let time = Timestamp::from(date.and_time(chrono::NaiveTime::MIN).and_utc());
    (text.len() == 10 && time.millis() >= 0).then(|| time.day())
}

/// Writes a statement; `lines` passes each line to the function that it gets.
pub fn write<W: Write>(
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
    let Line { movement, reference, amount, currency, day } = line;
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
        amount: parse_amount(amount)?,
        currency: Currency::from_code(currency)?,
        day: parse_day(day)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Line>, Vec<String>, Option<Heading>) {
        let mut reader = StatementReader::new(text.as_bytes());
        let (mut lines, mut faults) = (Vec::new(), Vec::new());
        while let Some(next) = reader.next_line() {
            match next {
                Ok((_, line)) => lines.push(line),
                Err(found) => faults.extend(found),
            }
        }
        let heading = reader.heading().map_err(|found| faults.extend(found)).ok();
        (lines, faults.into_iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect(), heading)
    }

    fn day(number: i32) -> Day {
        Timestamp::from_millis(0).day().plus(number)
    }

    #[test]
    fn what_is_written_is_read() {
        let line = |movement: Movement, amount: i64| Line {
            movement,
            reference: format!("ch_1,\"{amount}\":charge"),
            amount,
            currency: Currency::Jpy,
            day: day(20_000),
        };
        let lines: Vec<_> = Movement::ALL.iter().zip(1..).map(|(kind, amount)| line(*kind, amount)).collect();
        let mut file = Vec::new();
        write(&mut file, "2024-10-04", (day(19_999), day(20_000)), |next| lines.iter().try_for_each(next)).unwrap();
        let (read, faults, heading) = read(std::str::from_utf8(&file).unwrap());
        assert_eq!((read, faults), (lines, Vec::new()));
        let heading = heading.unwrap();
        assert_eq!((heading.name.as_str(), heading.lines), ("2024-10-04", 6));
        assert_eq!((heading.first_day, heading.last_day), (day(19_999), day(20_000)));
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
        assert_eq!(lines, ["2", "3", "4", "5", "5", "5", "5", "5", "6", "7", "9", "10", "8", "11"], "{faults:#?}");
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
        assert_eq!(read(&shorter).1, ["3: amount must be the number of lines, which is 0"]);
    }
}
