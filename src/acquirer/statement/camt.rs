//! Statements as ISO 20022 camt.053, of which only these fields are read: `Stmt/Id`, `FrToDt`, `TxsSummry/TtlNtries/NbOfNtries`, and of
//! each `TxDtls` (or else of its `Ntry`) `Refs/EndToEndId`, `Amt` (or `AmtDtls/TxAmt/Amt`), `CdtDbtInd`, `BkTxCd/Prtry/Cd` and
//! `RltdDts/TxDtTm` (or `BookgDt`). `Sts`, if there is one, must say that the entry is booked. Nothing outside of the file is loaded,
//! and a document type is refused.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use chrono::DateTime;
use entity::reconciliation::Movement;
use entity::{Currency, Day};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::check::{Faults, Tally, Written, check_day, check_name};
use super::{Fault, Heading, Line};

/// How many elements may stand within each other.
const DEPTH_MAX: usize = 64;

/// What banks write where a payment has no reference.
const NO_REFERENCE: &str = "NOTPROVIDED";

/// Reads a statement transaction by transaction.
pub(super) struct CamtReader<R: Read> {
    xml: Reader<CountedLines<R>>,
    buffer: Vec<u8>,
    /// The names of the open elements.
    path: Vec<String>,
    /// The text of the innermost element.
    text: String,
    /// The currency of the last amount that was begun.
    currency: String,
    name: Option<String>,
    days: [Option<Day>; 2],
    /// The number of entries that the statement promises.
    promised: Option<i64>,
    statements: usize,
    entries: i64,
    entry: Fields,
    details: Option<Fields>,
    tally: Tally,
    /// The ordinal number of the last transaction.
    number: u64,
    ended: bool,
}

/// What a transaction, or its entry, says.
#[derive(Default)]
struct Fields {
    reference: Option<String>,
    amount: Option<(String, String)>,
    indicator: Option<String>,
    kind: Option<String>,
    day: Option<String>,
    /// Of an entry: its transactions so far.
    details: Vec<Details>,
}

/// What counts when the amounts of an entry's transactions are added up.
struct Details {
    amount: Option<(String, String)>,
    indicator: Option<String>,
}

impl<R: Read> CamtReader<R> {
    /// Begins to read.
    pub fn new(input: R) -> Self {
        Self {
            xml: Reader::from_reader(CountedLines { input: io::BufReader::new(input), line: 1 }),
            buffer: Vec::new(),
            path: Vec::new(),
            text: String::new(),
            currency: String::new(),
            name: None,
            days: [None; 2],
            promised: None,
            statements: 0,
            entries: 0,
            entry: Fields::default(),
            details: None,
            tally: Tally::default(),
            number: 0,
            ended: false,
        }
    }

    /// Returns the next movement with its ordinal number, or everything that is wrong with it; `None` at the end.
    pub fn next_line(&mut self) -> Option<Result<(u64, Line), Vec<Fault>>> {
        while !self.ended {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let event = self.xml.read_event_into(&mut buffer);
            let mut faults = Faults::at(self.xml.get_ref().line);
            let line = match event {
                Ok(event) => self.take(&event, &mut faults),
                Err(error) => {
                    self.ended = true;
                    faults.add(format!("cannot be read: {error}"));
                    None
                }
            };
            self.buffer = buffer;
            if !faults.found.is_empty() {
                return Some(Err(faults.found));
            }
            if let Some(line) = line {
                return Some(Ok((self.number, line)));
            }
        }
        None
    }

    fn take(&mut self, event: &Event<'_>, faults: &mut Faults) -> Option<Line> {
        match event {
            Event::Start(start) => self.open(start, faults),
            Event::Empty(start) => {
                self.open(start, faults);
                return self.close(faults);
            }
            Event::End(_) => return self.close(faults),
            Event::Text(text) => self.read(text.decode().ok(), faults),
            Event::CData(text) => self.read(text.decode().ok(), faults),
            Event::GeneralRef(reference) => match character(reference) {
                Some(text) => self.text.push_str(&text),
                None => faults.add("names something that is not in the file"),
            },
            Event::DocType(_) => {
                self.ended = true;
                faults.add("a document type is not read");
            }
            Event::Eof => {
                self.ended = true;
                if !self.path.is_empty() {
                    faults.add("the file is cut off");
                }
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
        None
    }

    fn read(&mut self, text: Option<Cow<'_, str>>, faults: &mut Faults) {
        match text {
            Some(text) => self.text.push_str(&text),
            None => faults.add("is not text in UTF-8"),
        }
    }

    fn open(&mut self, start: &BytesStart<'_>, faults: &mut Faults) {
        let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
        match name.as_str() {
            "Stmt" => {
                self.statements += 1;
                if self.statements > 1 {
                    faults.add("begins another statement: a file has one");
                }
            }
            "Ntry" => self.entry = Fields::default(),
            "TxDtls" => self.details = Some(Fields::default()),
            "Amt" => {
                let currency = start.try_get_attribute("Ccy").ok().flatten();
                self.currency = currency.map_or_else(String::new, |currency| {
                    String::from_utf8_lossy(&currency.value).into_owned()
                });
            }
            _ => {}
        }
        self.path.push(name);
        self.text.clear();
        if self.path.len() > DEPTH_MAX {
            self.ended = true;
            faults.add(format!("is nested deeper than {DEPTH_MAX} elements"));
        }
    }

    fn close(&mut self, faults: &mut Faults) -> Option<Line> {
        let name = self.path.pop()?;
        let text = std::mem::take(&mut self.text).trim().to_owned();
        let mut outer = self.path.iter().rev().map(String::as_str);
        let (parent, grandparent) = (outer.next().unwrap_or_default(), outer.next().unwrap_or_default());
        let fields = self.details.as_mut().unwrap_or(&mut self.entry);
        match (grandparent, parent, name.as_str()) {
            (_, "Stmt", "Id") => {
                check_name(&text, faults);
                self.name = Some(text);
            }
            (_, "FrToDt", "FrDtTm") => self.days[0] = check_day(&day_of(&text), faults),
            (_, "FrToDt", "ToDtTm") => self.days[1] = check_day(&day_of(&text), faults),
            (_, "TtlNtries", "NbOfNtries") => self.promised = text.parse().ok(),
            (_, "Refs", "EndToEndId") => fields.reference = Some(text).filter(|text| text != NO_REFERENCE),
            // A code of its own, or before the eighth version the text itself.
            ("Ntry", "Sts", "Cd") | (_, "Ntry", "Sts") if !matches!(text.as_str(), "" | "BOOK") => {
                faults.add("Sts must be BOOK: an entry that is not booked has moved nothing");
            }
            (_, "Ntry" | "TxDtls", "Amt") => fields.amount = Some((text, self.currency.clone())),
            (_, "TxAmt", "Amt") => {
                fields.amount = fields.amount.take().or(Some((text, self.currency.clone())));
            }
            (_, "Ntry" | "TxDtls", "CdtDbtInd") => fields.indicator = Some(text),
            ("BkTxCd", "Prtry", "Cd") => fields.kind = Some(text),
            (_, "BookgDt", "Dt" | "DtTm") | (_, "RltdDts", "TxDtTm") => fields.day = Some(day_of(&text)),
            (_, _, "TxDtls") => {
                let details = self.details.take().unwrap_or_default();
                let (amount, indicator) = (details.amount.clone(), details.indicator.clone());
                self.entry.details.push(Details { amount, indicator });
                return self.line(&details, faults);
            }
            (_, _, "Ntry") => {
                self.entries += 1;
                if self.entry.details.is_empty() {
                    return self.line(&Fields::default(), faults);
                }
                self.entry.check_amounts(faults);
            }
            _ => {}
        }
        None
    }

    /// Returns the line of a transaction. What its details do not say, its entry does.
    fn line(&mut self, details: &Fields, faults: &mut Faults) -> Option<Line> {
        self.number += 1;
        let entry = &self.entry;
        let said = |field: fn(&Fields) -> Option<&str>| field(details).or(field(entry)).unwrap_or_default();
        let kind = said(|fields| fields.kind.as_deref());
        let indicator = said(|fields| fields.indicator.as_deref());
        if Movement::from_code(kind).is_some_and(|movement| indicator != direction(movement)) {
            faults.add("CdtDbtInd is not that of the type");
        }
        let amount = details.amount.as_ref().or(entry.amount.as_ref());
        let (amount, currency) = amount.map_or(("", ""), |(amount, currency)| (amount, currency));
        let written = Written {
            kind,
            reference: said(|fields| fields.reference.as_deref()),
            amount: Currency::from_code(currency).and_then(|currency| base_units(amount, currency)),
            currency,
            day: said(|fields| fields.day.as_deref()),
        };
        self.tally.count(&written, faults)
    }

    /// Returns what the statement says about itself, after its last transaction.
    pub fn heading(self) -> Result<Heading, Vec<Fault>> {
        let mut faults = Faults::at(self.xml.get_ref().line);
        if self.promised != Some(self.entries) {
            faults.add(format!("NbOfNtries must be the number of entries, which is {}", self.entries));
        }
        let heading = if let (Some(name), [Some(first), Some(last)]) = (&self.name, self.days) {
            Some(self.tally.heading(name, first, last, &mut faults))
        } else {
            faults.add("the statement must have Id and FrToDt");
            None
        };
        heading.filter(|_| faults.found.is_empty()).ok_or(faults.found)
    }
}

impl Fields {
    /// Checks that the amounts of an entry's transactions add up to its own, where all are in its currency.
    fn check_amounts(&self, faults: &mut Faults) {
        if let [_, _, ..] = self.details[..]
            && self.details.iter().any(|details| details.amount.is_none())
        {
            faults.add("each of several transactions must have an amount");
            return;
        }
        let Some(total @ (total_amount, code)) = &self.amount else { return };
        let Some(currency) = Currency::from_code(code) else { return };
        let of_details = |details: &Details| {
            let (amount, own) = details.amount.as_ref().unwrap_or(total);
            let amount = base_units(amount, currency).filter(|_| own == code)?;
            let is_same = details.indicator.is_none() || details.indicator == self.indicator;
            Some(if is_same { i128::from(amount) } else { -i128::from(amount) })
        };
        let sum = self.details.iter().map(of_details).sum::<Option<i128>>();
        if sum.is_some() && sum != base_units(total_amount, currency).map(i128::from) {
            faults.add("the amounts of its transactions must add up to that of the entry");
        }
    }
}

/// Returns the day in UTC of a date, or of a time with or without an offset.
fn day_of(text: &str) -> String {
    match DateTime::parse_from_rfc3339(text) {
        Ok(time) => time.to_utc().date_naive().to_string(),
        Err(_) => text.get(..10).unwrap_or(text).to_owned(),
    }
}

/// Returns the direction of a movement on the account with the acquirer.
const fn direction(movement: Movement) -> &'static str {
    match movement {
        Movement::Capture | Movement::RefundReturn | Movement::ChargebackReturn => "CRDT",
        Movement::Refund | Movement::Chargeback | Movement::Fee => "DBIT",
    }
}

/// Returns the character that a reference stands for: one by number, or one of the five names of XML.
fn character(reference: &BytesRef<'_>) -> Option<String> {
    if let Ok(Some(letter)) = reference.resolve_char_ref() {
        return Some(letter.to_string());
    }
    resolve_predefined_entity(&reference.decode().ok()?).map(str::to_owned)
}

/// Parses a decimal amount into base units, exactly.
fn base_units(text: &str, currency: Currency) -> Option<i64> {
    let places = usize::try_from(currency.minor_units()).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let is_plain = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !is_plain(whole) || !is_plain(part) || part.len() > places {
        return None;
    }
    format!("{whole}{part:0<places$}").parse().ok()
}

/// A reader that counts the lines that were taken from it.
struct CountedLines<R> {
    input: io::BufReader<R>,
    line: u64,
}

impl<R: Read> Read for CountedLines<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: Read> BufRead for CountedLines<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        let taken = self.input.buffer().get(..n).unwrap_or_default();
        self.line += taken.split(|byte| *byte == b'\n').skip(1).count() as u64;
        self.input.consume(n);
    }
}

#[cfg(test)]
mod tests;
