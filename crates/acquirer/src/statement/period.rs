//! The time that a statement covers, in the zone in which its bank writes.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
use entity::{Day, TimeSpan, Timestamp};

use super::check::Faults;

/// A time of a file with the offset of its zone; one without a zone is in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ZonedTime {
    at: Timestamp,
    utc_offset: TimeSpan,
    /// Whether it names a whole day, not an instant.
    is_day: bool,
}

impl ZonedTime {
    /// Parses a time as ISO 20022 writes it, or a day, which begins at midnight.
    pub fn parse(text: &str, faults: &mut Faults) -> Option<Self> {
        let read = || {
            if let Ok(time) = DateTime::parse_from_rfc3339(text) {
                let utc_offset = TimeSpan::seconds(time.offset().local_minus_utc().into());
                return Some(Self { at: time.to_utc().into(), utc_offset, is_day: false });
            }
            let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok();
            let day = || Some(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_time(NaiveTime::MIN));
            let is_day = time.is_none();
            let at = Timestamp::from(time.or_else(day)?.and_utc());
            Some(Self { at, utc_offset: TimeSpan::ZERO, is_day })
        };
        let time = read().filter(|time| time.at.millis() >= 0);
        if time.is_none() {
            faults.add("the time must be YYYY-MM-DDTHH:MM:SS, from 1970 on");
        }
        time
    }

    /// Returns the day that the zone's clocks show at an instant.
    fn day_at(self, at: Timestamp) -> Day {
        (at + self.utc_offset).day()
    }

    /// Returns the first instant after a period that began at another time and ends with this one. A last second, as in 23:59:59,
    /// and a day are covered whole, and so is a day whose midnight is both beginning and end.
    fn end_after(self, from: Self) -> Timestamp {
        let local = self.at + self.utc_offset;
        if self.is_day || (self.at == from.at && local == local.last_midnight()) {
            return self.at + TimeSpan::days(1);
        }
        let is_last_second = local.seconds().rem_euclid(60) == 59;
        if is_last_second { self.at.last_second() + TimeSpan::seconds(1) } else { self.at }
    }
}

/// How far the zone of a statement is ahead of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// When the statement begins.
    pub utc_offset: TimeSpan,
    /// When it ends, if that differs: clocks are changed in between, and a statement does not say on which day.
    pub later_utc_offset: Option<TimeSpan>,
}

impl Zone {
    /// UTC itself.
    pub const UTC: Self = Self { utc_offset: TimeSpan::ZERO, later_utc_offset: None };

    /// Returns the zone of a statement between two times.
    pub(super) fn between(from: ZonedTime, to: ZonedTime) -> Self {
        let later_utc_offset = Some(to.utc_offset).filter(|later| *later != from.utc_offset);
        Self { utc_offset: from.utc_offset, later_utc_offset }
    }

    /// Returns how far it is ahead when the statement ends.
    pub(super) fn at_end(self) -> TimeSpan {
        self.later_utc_offset.unwrap_or(self.utc_offset)
    }

    /// Returns whether its clocks may show a day at an instant, or so near to it that a span of tolerance makes the difference.
    pub fn may_show(self, day: Day, at: Timestamp, tolerance: TimeSpan) -> bool {
        [Some(self.utc_offset), self.later_utc_offset].into_iter().flatten().any(|utc_offset| {
            let local = at + utc_offset;
            (local - tolerance).day() <= day && day <= (local + tolerance).day()
        })
    }
}

/// The time that a statement covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The first day, in the zone of the statement.
    pub first_day: Day,
    /// The last day.
    pub last_day: Day,
    /// The first instant.
    pub from: Timestamp,
    /// The first instant after it.
    pub until: Timestamp,
}

impl Period {
    /// Returns the period of whole days of UTC.
    pub fn of_days(first_day: Day, last_day: Day) -> Self {
        Self { first_day, last_day, from: first_day.begin(), until: last_day.plus(1).begin() }
    }

    /// Returns the period between two times.
    pub(super) fn between(from: ZonedTime, to: ZonedTime) -> Self {
        let until = to.end_after(from);
        let last = until - TimeSpan::from_millis(1);
        Self { first_day: from.day_at(from.at), last_day: to.day_at(last), from: from.at, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the days, and the covered time in minutes from the beginning of the year and in length.
    fn period(from: &str, to: &str) -> (String, String, i64, i64) {
        let mut faults = Faults::at(1);
        let [from, to] = [from, to].map(|text| ZonedTime::parse(text, &mut faults).unwrap());
        let Period { first_day, last_day, from, until } = Period::between(from, to);
        let minutes = |span: TimeSpan| span.whole_seconds() / 60;
        let year = Timestamp::from_millis(1_767_225_600_000);
        (
            first_day.date().to_string(),
            last_day.date().to_string(),
            minutes(from - year),
            minutes(until - from),
        )
    }

    #[test]
    fn a_period_covers_what_it_names_in_its_own_zone() {
        const DAY: i64 = 1440;
        for (from, to, days, begin, length) in [
            ("2026-01-01T00:00:00", "2026-01-01T23:59:59", ["2026-01-01", "2026-01-01"], 0, DAY),
            ("2026-01-01T00:00:00Z", "2026-01-01T23:59:59.999Z", ["2026-01-01", "2026-01-01"], 0, DAY),
            ("2026-01-01T00:00:00", "2026-01-02T00:00:00", ["2026-01-01", "2026-01-01"], 0, DAY),
            ("2026-01-01T00:00:00", "2026-01-01T00:00:00", ["2026-01-01", "2026-01-01"], 0, DAY),
            ("2026-01-01", "2026-01-02", ["2026-01-01", "2026-01-02"], 0, 2 * DAY),
            (
                "2026-01-02T00:00:00+10:00",
                "2026-01-02T23:59:59+10:00",
                ["2026-01-02", "2026-01-02"],
                840,
                DAY,
            ),
            (
                "2026-01-01T00:00:00-05:00",
                "2026-01-02T00:00:00-05:00",
                ["2026-01-01", "2026-01-01"],
                300,
                DAY,
            ),
            ("2026-01-01T06:30:00", "2026-01-01T18:00:00", ["2026-01-01", "2026-01-01"], 390, 690),
            ("2026-01-01T18:00:00", "2026-01-02T18:00:00", ["2026-01-01", "2026-01-02"], 1080, DAY),
        ] {
            assert_eq!(period(from, to), (days[0].into(), days[1].into(), begin, length), "{from} {to}");
        }
    }

    #[test]
    fn a_text_that_is_no_time_is_a_fault() {
        for text in ["", "yesterday", "2026-01-32T00:00:00", "1969-12-31T23:59:59", "2026-01-01 00:00:00"] {
            let mut faults = Faults::at(1);
            assert_eq!(ZonedTime::parse(text, &mut faults), None, "{text}");
            assert_eq!(faults.found.len(), 1);
        }
    }
}
