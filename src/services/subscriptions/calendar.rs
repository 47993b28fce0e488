//! The beginnings and ends of intervals. All are counted from one anchor, so a month without a 31st does not change the day of later ones.

use entity::plan::{Interval, IntervalUnit};
use entity::{TimeSpan, Timestamp};

use crate::limits::RENEWAL_RETRIED_FROM;

const DAYS_A_WEEK: i64 = 7;
const MONTHS_A_YEAR: i64 = 12;

/// Returns the instant `count` intervals after `anchor`, or the end of the calendar.
pub fn after(anchor: Timestamp, interval: Interval, count: i32) -> Timestamp {
    let units = i64::from(interval.length) * i64::from(count);
    let months = |months: i64| anchor.plus_months(u32::try_from(months).unwrap_or(u32::MAX));
    match interval.unit {
        IntervalUnit::Day => anchor + TimeSpan::days(units),
        IntervalUnit::Week => anchor + TimeSpan::days(units * DAYS_A_WEEK),
        IntervalUnit::Month => months(units),
        IntervalUnit::Year => months(units * MONTHS_A_YEAR),
    }
}

/// Returns whether an interval is long enough to try a failed bill again.
pub fn is_retried(interval: Interval) -> bool {
    let epoch = Timestamp::from_millis(0);
    after(epoch, interval, 1) - epoch >= RENEWAL_RETRIED_FROM
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse::<DateTime<Utc>>().unwrap().into()
    }

    fn every(length: i32, unit: IntervalUnit) -> Interval {
        Interval { length, unit }
    }

    fn days(anchor: &str, interval: Interval, counts: impl IntoIterator<Item = i32>) -> Vec<String> {
        let day = |count| after(at(anchor), interval, count).to_string()[..10].to_owned();
        counts.into_iter().map(day).collect()
    }

    #[test]
    fn a_month_keeps_the_day_on_which_it_all_began() {
        let monthly = every(1, IntervalUnit::Month);
        assert_eq!(
            days("2027-01-31T09:30:00Z", monthly, 0..=5),
            ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31", "2027-06-30"]
        );
        assert_eq!(
            days("2027-11-30T00:00:00Z", monthly, 1..=4),
            ["2027-12-30", "2028-01-30", "2028-02-29", "2028-03-30"]
        );
        assert_eq!(after(at("2027-01-31T09:30:00Z"), monthly, 1), at("2027-02-28T09:30:00Z"));
    }

    #[test]
    fn the_29th_of_february_comes_back_in_leap_years() {
        let yearly = every(1, IntervalUnit::Year);
        assert_eq!(
            days("2028-02-29T12:00:00Z", yearly, [1, 2, 3, 4, 72]),
            // 2100 is not a leap year.
            ["2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29", "2100-02-28"]
        );
    }

    #[test]
    fn days_and_weeks_pass_over_the_ends_of_months_and_years() {
        assert_eq!(
            days("2027-12-30T00:00:00Z", every(1, IntervalUnit::Day), 1..=3),
            ["2027-12-31", "2028-01-01", "2028-01-02"]
        );
        assert_eq!(
            days("2028-02-22T00:00:00Z", every(1, IntervalUnit::Week), 1..=2),
            ["2028-02-29", "2028-03-07"]
        );
    }

    #[test]
    fn the_longest_intervals_come_to_an_end() {
        for unit in IntervalUnit::ALL {
            let longest = every(1000, *unit);
            let ends: Vec<_> =
                [1, 10_000, i32::MAX].map(|count| after(at("2126-12-31T23:59:59Z"), longest, count)).into();
            assert!(ends.is_sorted() && ends[0] > at("2126-12-31T23:59:59Z"), "{ends:?}");
            assert!(!ends[2].to_string().is_empty());
        }
        assert_eq!(
            after(at("2126-12-31T23:59:59Z"), every(1000, IntervalUnit::Year), 1),
            at("3126-12-31T23:59:59Z")
        );
    }

    #[test]
    fn a_bill_is_tried_again_where_an_interval_has_a_week() {
        use IntervalUnit::{Day, Month, Week, Year};
        for (length, unit, retried) in [
            (1, Day, false),
            (6, Day, false),
            (7, Day, true),
            (1, Week, true),
            (1, Month, true),
            (1, Year, true),
        ] {
            assert_eq!(is_retried(every(length, unit)), retried, "{length} {unit:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::properties())]

        #[test]
        fn intervals_follow_one_another_without_a_gap_of_more_than_their_length(
            day in 0_u64..40_000, length in 1_i32..=1000, unit in 0..IntervalUnit::ALL.len(), count in 0_i32..200,
        ) {
            let anchor = NaiveDate::from_ymd_opt(2020, 1, 1).unwrap().checked_add_days(Days::new(day)).unwrap();
            let anchor: Timestamp = anchor.and_hms_opt(23, 59, 59).unwrap().and_utc().into();
            let interval = every(length, IntervalUnit::ALL[unit]);
            let (from, to) = (after(anchor, interval, count), after(anchor, interval, count + 1));
            let longest = match interval.unit {
                IntervalUnit::Day => 1,
                IntervalUnit::Week => 7,
                IntervalUnit::Month => 31,
                IntervalUnit::Year => 366,
            };
            prop_assert!(from < to && (to - from) <= TimeSpan::days(longest * i64::from(length)));
        }

        #[test]
        fn a_month_is_the_same_day_or_the_last_one(day in 0_u64..40_000, months in 0_i32..2400) {
            let date = NaiveDate::from_ymd_opt(2020, 1, 1).unwrap().checked_add_days(Days::new(day)).unwrap();
            let anchor: Timestamp = date.and_hms_opt(0, 0, 0).unwrap().and_utc().into();
            let later = after(anchor, every(1, IntervalUnit::Month), months).day().date();
            let number = date.year() * 12 + i32::try_from(date.month0()).unwrap() + months;
            prop_assert_eq!(later.year() * 12 + i32::try_from(later.month0()).unwrap(), number);
            prop_assert!(later.day() == date.day() || (later.day() < date.day() && later.succ_opt().unwrap().day() == 1));
        }
    }
}
