//! The checks of every form of a statement.

use chrono::NaiveDate;
use entity::reconciliation::Movement;
use entity::{Currency, Day, Timestamp};
use recording::has_card_number;

use super::{Fault, Heading, Line, Period, Zone};
use crate::limits::{STATEMENT_AMOUNT_MAX, STATEMENT_DAYS_MAX, STATEMENT_TEXT_MAX};

/// The faults found at a place.
pub(super) struct Faults {
    line: u64,
    pub found: Vec<Fault>,
}

impl Faults {
    /// Begins without any, at a line of the file.
    pub fn at(line: u64) -> Self {
        Self { line, found: Vec::new() }
    }

    /// Adds one.
    pub fn add(&mut self, message: impl Into<String>) {
        self.found.push(Fault { line: self.line, message: message.into() });
    }
}

/// A movement as a file writes it.
pub(super) struct Written<'t> {
    pub kind: &'t str,
    pub reference: &'t str,
    /// In the base unit of the currency, if it can be read so.
    pub amount: Option<i64>,
    pub currency: &'t str,
    pub day: &'t str,
    /// The zone of the day.
    pub zone: Zone,
}

/// The number and the days of the lines so far.
#[derive(Default)]
pub(super) struct Tally {
    pub lines: i64,
    /// The earliest day of a line.
    earliest: Option<Day>,
    /// The latest day of a line.
    latest: Option<Day>,
    /// The latest beginning of a line's day, and where it is.
    last: Option<(Timestamp, u64)>,
}

impl Tally {
    /// Counts a movement, and returns it if nothing is wrong with it.
    pub fn count(&mut self, written: &Written<'_>, faults: &mut Faults) -> Option<Line> {
        self.lines += 1;
        check_name(written.reference, faults);
        let movement = Movement::from_code(written.kind);
        if movement.is_none() {
            let kinds: Vec<_> = Movement::ALL.iter().map(|kind| kind.code()).collect();
            faults.add(format!("type must be {}", kinds.join(", ")));
        }
        let amount = written.amount.filter(|amount| (1..=STATEMENT_AMOUNT_MAX).contains(amount));
        if amount.is_none() {
            faults.add(
                "amount must be above zero and at most 10^12, without parts of the currency's base unit",
            );
        }
        let currency = Currency::from_code(written.currency);
        if currency.is_none() {
            faults.add("currency must be one that can be charged, as ISO 4217 writes it");
        }
        let day = check_day(written.day, faults)?;
        self.earliest = Some(self.earliest.map_or(day, |earliest| Ord::min(earliest, day)));
        self.latest = Ord::max(self.latest, Some(day));
        let begins = day.begin() - written.zone.at_end();
        if self.last.is_none_or(|(last, _)| last < begins) {
            self.last = Some((begins, faults.line));
        }
        let reference = written.reference.to_owned();
        Some(Line {
            movement: movement?,
            reference,
            amount: amount?,
            currency: currency?,
            day,
            zone: written.zone,
        })
    }

    /// Returns the first and the last day of these lines, if there is one.
    pub fn days(&self) -> Option<(Day, Day)> {
        Some((self.earliest?, self.latest?))
    }

    /// Returns the heading of these lines.
    pub fn heading(&self, name: &str, period: Period, faults: &mut Faults) -> Heading {
        let Period { first_day, last_day, from, until } = period;
        if until <= from {
            faults.add("a statement ends after it begins");
        } else if !(0..STATEMENT_DAYS_MAX).contains(&(last_day.number() - first_day.number())) {
            faults.add(format!("a statement covers 1 to {STATEMENT_DAYS_MAX} days"));
        }
        if let Some((_, line)) = self.last.filter(|(last, _)| *last >= until) {
            faults.found.push(Fault { line, message: "day is after the last day of the statement".into() });
        }
        Heading { name: name.to_owned(), period, lines: self.lines }
    }
}

pub(super) fn check_name(text: &str, faults: &mut Faults) {
    let is_name = (1..=STATEMENT_TEXT_MAX).contains(&text.chars().count());
    if text.trim().is_empty() || !is_name || text.chars().any(char::is_control) {
        faults.add(format!("reference must be 1 to {STATEMENT_TEXT_MAX} characters of one line"));
    } else if has_card_number(text) {
        faults.add("reference must not hold a card number");
    }
}

pub(super) fn check_day(text: &str, faults: &mut Faults) -> Option<Day> {
    let day = parse_day(text);
    if day.is_none() {
        faults.add("day must be YYYY-MM-DD");
    }
    day
}

/// Parses a day as `YYYY-MM-DD`, from 1970 on.
pub fn parse_day(text: &str) -> Option<Day> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    let time = Timestamp::from(date.and_time(chrono::NaiveTime::MIN).and_utc());
    (text.len() == 10 && time.millis() >= 0).then(|| time.day())
}
