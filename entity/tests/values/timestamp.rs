//! Times.

use chrono::{DateTime, Utc};
use entity::{TimeSpan, Timestamp};

#[test]
fn a_time_is_shown_in_whole_seconds_of_utc() {
    assert_eq!(Timestamp::from_millis(1_753_999_999_999).to_string(), "2025-07-31T22:13:19Z");
}

#[test]
fn what_came_before_a_part_of_a_millisecond_stays_before_it() {
    let time = |text: &str| Timestamp::from(text.parse::<DateTime<Utc>>().unwrap());
    let whole = time("2025-07-31T22:13:19.001Z");
    assert_eq!(whole, Timestamp::from_millis(1_753_999_999_001));
    assert_eq!(time("2025-07-31T22:13:19.001000001Z"), whole + TimeSpan::from_millis(1));
    assert_eq!(time("1969-12-31T23:59:59.9995Z"), Timestamp::from_millis(0));
}

#[test]
fn a_month_later_is_the_same_day_or_the_last_of_a_shorter_month() {
    let january_31 = Timestamp::from_millis(1_769_817_600_000);
    assert_eq!(january_31.to_string(), "2026-01-31T00:00:00Z");
    assert_eq!(january_31.plus_months(1).to_string(), "2026-02-28T00:00:00Z");
    assert_eq!(january_31.plus_months(2).to_string(), "2026-03-31T00:00:00Z");
}

#[test]
fn a_midnight_is_its_own_and_every_other_instant_lies_between_two() {
    let midnight = Timestamp::from_millis(1_769_817_600_000);
    assert_eq!((midnight.last_midnight(), midnight.next_midnight()), (midnight, midnight));
    let (before, after) = (midnight - TimeSpan::from_millis(1), midnight + TimeSpan::from_millis(1));
    assert_eq!((before.next_midnight(), after.last_midnight()), (midnight, midnight));
    assert_eq!(after.next_midnight(), midnight + TimeSpan::days(1));
}

#[test]
fn the_ends_of_time_do_not_panic() {
    for millis in [i64::MIN, i64::MAX] {
        let time = Timestamp::from_millis(millis);
        let _ = (time.to_string(), time.day(), time.plus_months(1), time + TimeSpan::days(i64::MAX));
        let _ = (time.last_midnight(), time.next_midnight(), time - TimeSpan::days(i64::MAX));
    }
}
