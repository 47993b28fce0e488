//! Statements as ISO 20022 camt.053, of which only these fields are read: `Stmt/Id`, `FrToDt`, `TxsSummry/TtlNtries/NbOfNtries`,
//! and of each `TxDtls` (or else of its `Ntry`) `Refs/EndToEndId`, `Amt` (or `AmtDtls/TxAmt/Amt`), `CdtDbtInd`, `BkTxCd/Prtry/Cd`
//! and `RltdDts/TxDtTm` (or `BookgDt`). `Sts`, if there is one, must say that the entry is booked. A field counts at its own place
//! only: `Intrst` has a `FrToDt`, too. Nothing outside of the file is loaded, and a document type is refused.

use std::io::{self, BufRead, Read};

use chrono::DateTime;
use entity::Currency;
use entity::reconciliation::Movement;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::allowance::{Allowance, PIECE_BYTES_MAX, too_long};
use super::check::{Faults, Tally, Written, check_name};
use super::period::{Period, Zone, ZonedTime};
use super::{Fault, Heading, Line};

/// The number of elements that may stand within each other.
const DEPTH_MAX: usize = 64;

/// The words of `CdtDbtInd`.
const CREDIT: &str = "CRDT";
const DEBIT: &str = "DBIT";

/// The word that banks write where a payment has no reference.
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
    /// The beginning and the end of the period that the statement names.
    period: [Option<ZonedTime>; 2],
    /// The number of entries that the statement promises, as it is written.
    promised: Option<String>,
    statements: usize,
    entries: i64,
    entry: Fields,
    details: Option<Fields>,
    tally: Tally,
    /// The ordinal number of the last transaction.
    number: u64,
    ended: bool,
}

/// The fields of a transaction, or of its entry.
#[derive(Default)]
struct Fields {
    reference: Option<String>,
    amount: Option<(String, String)>,
    indicator: Option<String>,
    kind: Option<String>,
    day: Option<String>,
    /// Of an entry: its transactions so far.
    details: Details,
}

/// The sums of an entry's transactions, in the same memory whatever their number.
#[derive(Default)]
struct Details {
    count: u64,
    /// Whether one of them has no amount of its own.
    lacks_amount: bool,
    /// The currency of the amounts so far.
    currency: Option<Currency>,
    /// Their sums: of those without a direction, of credits, and of debits.
    sums: [i128; 3],
    /// Whether they cannot be added up: they are of several currencies, or not all are amounts.
    is_mixed: bool,
    /// The direction of the last one.
    indicator: Option<String>,
}

impl<R: Read> CamtReader<R> {
    /// Begins to read.
    pub fn new(input: R) -> Self {
        Self {
            xml: Reader::from_reader(CountedLines {
                input: io::BufReader::new(Allowance::new(input)),
                line: 1,
            }),
            buffer: Vec::new(),
            path: Vec::new(),
            text: String::new(),
            currency: String::new(),
            name: None,
            period: [None; 2],
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
            self.xml.get_mut().input.get_mut().renew();
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
            Event::Text(text) => self.read(text.decode().ok().as_deref(), "is not text in UTF-8", faults),
            Event::CData(text) => self.read(text.decode().ok().as_deref(), "is not text in UTF-8", faults),
            Event::GeneralRef(reference) => {
                self.read(character(reference).as_deref(), "names something that is not in the file", faults);
            }
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

    /// Adds to the text of the innermost element, which may come in many parts.
    fn read(&mut self, part: Option<&str>, otherwise: &str, faults: &mut Faults) {
        match part {
            Some(part) if self.text.len() + part.len() > PIECE_BYTES_MAX => {
                self.ended = true;
                faults.add(too_long());
            }
            Some(part) => self.text.push_str(part),
            None => faults.add(otherwise),
        }
    }

    fn open(&mut self, start: &BytesStart<'_>, faults: &mut Faults) {
        let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
        self.path.push(name);
        self.text.clear();
        match place(&self.path)[..] {
            [] if self.path.last().is_some_and(|name| name == STATEMENT) => {
                self.statements += 1;
                if self.statements > 1 {
                    faults.add("begins another statement: a file has one");
                }
            }
            ["Ntry"] => self.entry = Fields::default(),
            ["Ntry", "NtryDtls", "TxDtls"] => self.details = Some(Fields::default()),
            [.., "Amt"] => {
                let currency = start.try_get_attribute("Ccy").ok().flatten();
                self.currency = currency.map_or_else(String::new, |currency| {
                    String::from_utf8_lossy(&currency.value).into_owned()
                });
            }
            _ => {}
        }
        if self.path.len() > DEPTH_MAX {
            self.ended = true;
            faults.add(format!("is nested deeper than {DEPTH_MAX} elements"));
        }
    }

    fn close(&mut self, faults: &mut Faults) -> Option<Line> {
        let text = std::mem::take(&mut self.text).trim().to_owned();
        let place = place(&self.path);
        match place[..] {
            ["Id"] => {
                check_name(&text, faults);
                self.name = Some(text);
            }
            ["FrToDt", "FrDtTm"] => self.period[0] = ZonedTime::parse(&text, faults),
            ["FrToDt", "ToDtTm"] => self.period[1] = ZonedTime::parse(&text, faults),
            ["TxsSummry", "TtlNtries", "NbOfNtries"] => self.promised = Some(text),
            // A code of its own, or before the eighth version the text itself.
            ["Ntry", "Sts"] | ["Ntry", "Sts", "Cd"] if !matches!(text.as_str(), "" | "BOOK") => {
                faults.add("Sts must be BOOK: an entry that is not booked has moved nothing");
            }
            ["Ntry", "NtryDtls", "TxDtls"] => {
                self.path.pop();
                let details = self.details.take().unwrap_or_default();
                self.entry.details.add(&details);
                return self.line(&details, faults);
            }
            ["Ntry", "NtryDtls", "TxDtls", ref field @ ..] => {
                self.details.get_or_insert_default().set(field, text, &self.currency);
            }
            ["Ntry"] => {
                self.path.pop();
                self.entries += 1;
                if self.entry.details.count == 0 {
                    return self.line(&Fields::default(), faults);
                }
                self.entry.check_amounts(faults);
                return None;
            }
            ["Ntry", ref field @ ..] => self.entry.set(field, text, &self.currency),
            _ => {}
        }
        self.path.pop();
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
        let (day, zone) = self.day_of(said(|fields| fields.day.as_deref()));
        let amount = details.amount.as_ref().or(entry.amount.as_ref());
        let (amount, currency) = amount.map_or(("", ""), |(amount, currency)| (amount, currency));
        let written = Written {
            kind,
            reference: said(|fields| fields.reference.as_deref()),
            amount: Currency::from_code(currency).and_then(|currency| base_units(amount, currency)),
            currency,
            day: &day,
            zone,
        };
        self.tally.count(&written, faults)
    }

    /// Returns the day of a time with an offset in UTC, and that of any other in the zone of the statement, with that zone.
    fn day_of(&self, text: &str) -> (String, Zone) {
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return (time.to_utc().date_naive().to_string(), Zone::UTC);
        }
        let day = text.get(..10).unwrap_or(text).to_owned();
        let zone = match self.period {
            [Some(from), Some(to)] => Zone::between(from, to),
            [_, _] => Zone::UTC,
        };
        (day, zone)
    }

    /// Returns what the statement says about itself, after its last transaction.
    pub fn heading(self) -> Result<Heading, Vec<Fault>> {
        let mut faults = Faults::at(self.xml.get_ref().line);
        if self.promised.is_some_and(|promised| promised.parse() != Ok(self.entries)) {
            faults.add(format!("NbOfNtries must be the number of entries, which is {}", self.entries));
        }
        let period = match self.period {
            [Some(from), Some(to)] => Some(Period::between(from, to)),
            // A statement that does not say so covers the days of its entries.
            [None, None] => self.tally.days().map(|(first, last)| Period::of_days(first, last)),
            [_, _] => None,
        };
        let heading = match (&self.name, period) {
            (Some(name), Some(period)) => Some(self.tally.heading(name, period, &mut faults)),
            (None, _) => {
                faults.add("the statement must have Id");
                None
            }
            (_, None) => {
                faults.add("the statement must have both times of FrToDt, or entries and no FrToDt");
                None
            }
        };
        heading.filter(|_| faults.found.is_empty()).ok_or(faults.found)
    }
}

const STATEMENT: &str = "Stmt";

/// Returns where an element stands in its statement: the names from below it on.
fn place(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).skip_while(|name| *name != STATEMENT).skip(1).collect()
}

impl Fields {
    /// Takes a field by its place in the entry, or in the details.
    fn set(&mut self, place: &[&str], text: String, currency: &str) {
        match place {
            ["Refs", "EndToEndId"] => self.reference = Some(text).filter(|text| text != NO_REFERENCE),
            ["Amt"] => self.amount = Some((text, currency.to_owned())),
            ["AmtDtls", "TxAmt", "Amt"] => {
                self.amount = self.amount.take().or(Some((text, currency.to_owned())));
            }
            ["CdtDbtInd"] => self.indicator = Some(text),
            ["BkTxCd", "Prtry", "Cd"] => self.kind = Some(text),
            ["BookgDt", "Dt" | "DtTm"] | ["RltdDts", "TxDtTm"] => self.day = Some(text),
            _ => {}
        }
    }

    /// Checks that the amounts of an entry's transactions add up to its own, where all are in its currency.
    fn check_amounts(&self, faults: &mut Faults) {
        let details = &self.details;
        if details.count > 1 && details.lacks_amount {
            faults.add("each of several transactions must have an amount");
            return;
        }
        let Some((amount, code)) = &self.amount else { return };
        let Some(currency) = Currency::from_code(code) else { return };
        let total = base_units(amount, currency).map(i128::from);
        let indicator = self.indicator.as_deref();
        let adds_up = if details.lacks_amount {
            details.indicator.is_none() || details.indicator.as_deref() == indicator
        } else {
            details.sum(currency, indicator).is_none_or(|sum| Some(sum) == total)
        };
        if !adds_up {
            faults.add("the amounts of its transactions must add up to that of the entry");
        }
    }
}

impl Details {
    /// Adds a transaction.
    fn add(&mut self, details: &Fields) {
        self.count += 1;
        self.indicator.clone_from(&details.indicator);
        let Some((amount, code)) = &details.amount else {
            self.lacks_amount = true;
            return;
        };
        let direction = match self.indicator.as_deref() {
            None => Some(0),
            Some(CREDIT) => Some(1),
            Some(DEBIT) => Some(2),
            Some(_) => None,
        };
        let currency = Currency::from_code(code);
        let amount = currency.and_then(|currency| base_units(amount, currency));
        match (direction, amount) {
            (Some(direction), Some(amount)) if self.currency.is_none() || self.currency == currency => {
                self.currency = currency;
                self.sums[direction] += i128::from(amount);
            }
            _ => self.is_mixed = true,
        }
    }

    /// Returns the sum in the direction of the entry, if all amounts are in its currency.
    fn sum(&self, currency: Currency, indicator: Option<&str>) -> Option<i128> {
        let [plain, credits, debits] = self.sums;
        let sum = match indicator {
            Some(CREDIT) => plain + credits - debits,
            Some(DEBIT) => plain + debits - credits,
            Some(_) | None => plain - credits - debits,
        };
        (!self.is_mixed && self.currency == Some(currency)).then_some(sum)
    }
}

/// Returns the direction of a movement on the account with the acquirer.
const fn direction(movement: Movement) -> &'static str {
    match movement {
        Movement::Capture | Movement::RefundReturn | Movement::ChargebackReturn => CREDIT,
        Movement::Refund | Movement::Chargeback | Movement::Fee => DEBIT,
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
    input: io::BufReader<Allowance<R>>,
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
