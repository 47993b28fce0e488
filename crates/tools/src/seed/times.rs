//! Lengths of time from the beginning of a run.

use base::limits::CLOCK_AHEAD_MAX_MONTHS;
use entity::{TimeSpan, Timestamp};

/// The spelling of a length of time, for messages.
pub const LENGTHS: &str = "such as 3 days, 1 month or 2 hours, of at most a hundred years";

/// A sum of lengths of time; months follow the calendar.
#[derive(Debug, Clone, Default)]
pub struct TimeOffset(Vec<Length>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    pub number: u32,
    pub unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    const ALL: [(&str, Self); 6] = [
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
        ("year", Self::Year),
    ];

    /// Returns its name in the API.
    pub fn code(self) -> &'static str {
        Self::ALL.iter().find(|(_, unit)| *unit == self).map_or("", |(code, _)| code)
    }
}

impl Length {
    /// Parses `3 days`, `1 month`, `week`.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(' ').unwrap_or(("1", text.trim()));
        let unit = unit.trim().strip_suffix('s').unwrap_or(unit.trim());
        let (_, unit) = Unit::ALL.into_iter().find(|(code, _)| *code == unit)?;
        let length = Self { number: number.parse().ok()?, unit };
        (length.number > 0 && length.months_at_most() <= u64::from(CLOCK_AHEAD_MAX_MONTHS)).then_some(length)
    }

    /// Returns an upper bound in months, so that sums stay within the calendar.
    fn months_at_most(self) -> u64 {
        let number = u64::from(self.number);
        match self.unit {
            Unit::Minute => number / (28 * 24 * 60),
            Unit::Hour => number / (28 * 24),
            Unit::Day => number / 28,
            Unit::Week => number / 4,
            Unit::Month => number,
            Unit::Year => number * 12,
        }
    }

    fn after(self, time: Timestamp) -> Timestamp {
        let minutes = |minutes: i64| time + TimeSpan::seconds(60 * minutes * i64::from(self.number));
        match self.unit {
            Unit::Minute => minutes(1),
            Unit::Hour => minutes(60),
            Unit::Day => minutes(24 * 60),
            Unit::Week => minutes(7 * 24 * 60),
            Unit::Month => time.plus_months(self.number),
            Unit::Year => time.plus_months(12 * self.number),
        }
    }
}

impl TimeOffset {
    /// Returns the instant, if the run begins at `start`.
    pub fn at(&self, start: Timestamp) -> Timestamp {
        self.0.iter().fold(start, |time, length| length.after(time))
    }

    /// Returns the sum with another length.
    pub fn later(&self, length: Option<Length>) -> Self {
        Self(self.0.iter().copied().chain(length).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_a_number_and_a_unit() {
        let length = |number, unit| Some(Length { number, unit });
        for (text, expected) in [
            ("3 days", length(3, Unit::Day)),
            ("1 day", length(1, Unit::Day)),
            ("month", length(1, Unit::Month)),
            (" 90 minutes ", length(90, Unit::Minute)),
            ("2 hours", length(2, Unit::Hour)),
            ("100 years", length(100, Unit::Year)),
            ("101 years", None),
            ("4294967295 minutes", None),
            ("0 days", None),
            ("-1 day", None),
            ("1.5 days", None),
            ("3 fortnights", None),
            ("3", None),
            ("", None),
        ] {
            assert_eq!(Length::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn months_go_by_the_calendar_wherever_the_story_begins() {
        // 2026-01-31T10:00:00Z.
        let start = Timestamp::from_millis(1_769_853_600_000);
        let when = |texts: &[&str]| {
            texts
                .iter()
                .fold(TimeOffset::default(), |when, text| when.later(Length::parse(text)))
                .at(start)
                .to_string()
        };
        assert_eq!(when(&["1 month"]), "2026-02-28T10:00:00Z");
        assert_eq!(when(&["1 year", "2 weeks"]), "2027-02-14T10:00:00Z");
        assert_eq!(when(&[]), "2026-01-31T10:00:00Z");
    }
}
