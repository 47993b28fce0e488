//! Schedules of settlements.

use entity::account::TransfersSchedule;
use entity::{TimeSpan, Timestamp};

#[test]
fn settlement_is_due_at_the_next_midnight_or_the_next_monday() {
    // 2026-03-02 is a Monday.
    let monday = Timestamp::from_millis(1_772_409_600_000);
    assert_eq!(monday.to_string(), "2026-03-02T00:00:00Z");
    let second = TimeSpan::seconds(1);
    for (schedule, now, due) in [
        (TransfersSchedule::Daily, monday, Some(monday + TimeSpan::days(1))),
        (TransfersSchedule::Daily, monday - second, Some(monday)),
        (TransfersSchedule::Weekly, monday, Some(monday + TimeSpan::days(7))),
        (TransfersSchedule::Weekly, monday + second, Some(monday + TimeSpan::days(7))),
        (TransfersSchedule::Weekly, monday - second, Some(monday)),
        (TransfersSchedule::Weekly, monday - TimeSpan::days(6), Some(monday)),
        (
            TransfersSchedule::Weekly,
            Timestamp::from_millis(0),
            Some(Timestamp::from_millis(0) + TimeSpan::days(4)),
        ),
        (TransfersSchedule::Manual, monday, None),
    ] {
        assert_eq!(schedule.next_after(now), due, "{schedule:?} {now}");
    }
}
