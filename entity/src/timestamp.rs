//! Instants, spans and days.

use std::fmt;
use std::ops::{Add, Sub};

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, SecondsFormat, Utc};
use sea_orm::DeriveValueType;
use sea_orm::sea_query::{DateTimeLikeValue, TimeLikeValue};
use serde::{Serialize, Serializer};

/// An instant in whole milliseconds since the epoch: SQLite would keep nanoseconds and PostgreSQL
/// microseconds, and an account's clock is `now + offset` in SQL too. Shown as `YYYY-MM-DDTHH:MM:SSZ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, DeriveValueType)]
pub struct Timestamp(i64);

/// A span in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, DeriveValueType)]
pub struct TimeSpan(i64);

/// A day of the UTC calendar, counted from the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, DeriveValueType)]
pub struct Day(i32);

const MILLISECONDS_A_DAY: i64 = 86_400_000;

impl Timestamp {
    /// Creates an instant from milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the seconds since the epoch, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Returns the UTC day of the instant.
    pub fn day(self) -> Day {
        Day(i32::try_from(self.0.div_euclid(MILLISECONDS_A_DAY)).unwrap_or(i32::MAX))
    }

    /// Returns the midnight of UTC at which the instant's day began.
    #[must_use]
    pub const fn last_midnight(self) -> Self {
        Self(self.0.saturating_sub(self.0.rem_euclid(MILLISECONDS_A_DAY)))
    }

    /// Returns the first midnight of UTC that is not before this instant.
    #[must_use]
    pub fn next_midnight(self) -> Self {
        let began = self.last_midnight();
        if began == self { self } else { began + TimeSpan::days(1) }
    }

    /// Returns the instant rounded down to a whole second.
    #[must_use]
    pub const fn last_second(self) -> Self {
        Self(self.0.saturating_sub(self.0.rem_euclid(1000)))
    }

    /// Returns the last millisecond of the instant's second. Times are shown in whole seconds.
    #[must_use]
    pub const fn end_of_second(self) -> Self {
        Self(self.last_second().0.saturating_add(999))
    }

    /// Returns the first whole second that is not before this instant.
    #[must_use]
    pub const fn next_second(self) -> Self {
        let over = self.0.rem_euclid(1000);
        if over == 0 { self } else { Self(self.0.saturating_add(1000 - over)) }
    }

    /// Returns the same day and time `months` calendar months later, or the last day of a shorter month. Past the end of the
    /// calendar: its end.
    #[must_use]
    pub fn plus_months(self, months: u32) -> Self {
        let later = self.datetime().checked_add_months(Months::new(months));
        Self(later.unwrap_or(DateTime::<Utc>::MAX_UTC).timestamp_millis())
    }

    /// Returns the calendar year and month.
    pub fn year_and_month(self) -> (i32, u32) {
        let time = self.datetime();
        (time.year(), time.month())
    }

    fn datetime(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or(if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        })
    }
}

impl TimeSpan {
    /// The empty span.
    pub const ZERO: Self = Self(0);

    /// Creates a span from milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Creates a span from seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Creates a span from days of 24 hours.
    pub const fn days(days: i64) -> Self {
        Self(days.saturating_mul(MILLISECONDS_A_DAY))
    }

    /// Returns the milliseconds.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the seconds, rounded down.
    pub const fn whole_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

impl Day {
    /// Returns the days since the epoch.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// Returns the day a number of days later.
    #[must_use]
    pub const fn plus(self, days: i32) -> Self {
        Self(self.0.saturating_add(days))
    }

    /// Returns the first instant of the day.
    pub const fn begin(self) -> Timestamp {
        Timestamp(MILLISECONDS_A_DAY.saturating_mul(self.0 as i64))
    }

    /// Returns the calendar date.
    pub fn date(self) -> NaiveDate {
        let epoch = DateTime::<Utc>::UNIX_EPOCH.date_naive();
        epoch.checked_add_days(Days::new(u64::try_from(self.0).unwrap_or(0))).unwrap_or(NaiveDate::MAX)
    }
}

/// Columns of instants are compared with a [`Timestamp`]: `COLUMN.created_at.lt(now)`.
impl DateTimeLikeValue for Timestamp {}

/// Columns of spans are compared with a [`TimeSpan`].
impl TimeLikeValue for TimeSpan {}

/// A part of a millisecond counts as a whole one, so that what came before the time stays before it.
impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        let is_whole = time.timestamp_subsec_nanos().is_multiple_of(1_000_000);
        Self(time.timestamp_millis().saturating_add((!is_whole).into()))
    }
}

impl Add<TimeSpan> for Timestamp {
    type Output = Self;
    fn add(self, span: TimeSpan) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add for TimeSpan {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<TimeSpan> for Timestamp {
    type Output = Self;
    fn sub(self, span: TimeSpan) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Timestamp {
    type Output = TimeSpan;
    fn sub(self, earlier: Self) -> TimeSpan {
        TimeSpan(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.datetime().to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Formats the calendar date.
impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.date())
    }
}
