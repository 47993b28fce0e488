//! Matches movements with lines, and finds their differences: pure functions.

use entity::reconciliation_exception::ExceptionKind;
use entity::{Currency, Day, TimeSpan, Timestamp};

use crate::limits::MIDNIGHT_TOLERANCE;

/// A side of a comparison: our movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LedgerSide {
    pub amount: i64,
    pub currency: Currency,
    pub at: Timestamp,
}

/// The other side: their line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatementSide {
    pub amount: i64,
    pub currency: Currency,
    pub day: Day,
    /// The span by which the zone of the day is ahead of UTC.
    pub utc_offset: TimeSpan,
}

/// Returns what differs between the two sides. Amounts of different currencies are not compared.
pub(super) fn differences(ours: LedgerSide, theirs: StatementSide) -> Vec<ExceptionKind> {
    let mut found = Vec::new();
    if ours.currency != theirs.currency {
        found.push(ExceptionKind::Currency);
    } else if ours.amount != theirs.amount {
        found.push(ExceptionKind::Amount);
    }
    if !is_on(theirs.day, ours.at + theirs.utc_offset) {
        found.push(ExceptionKind::Day);
    }
    found
}

/// Returns whether a movement may have the date of a day, by the clocks of its zone: near midnight it may have either.
fn is_on(day: Day, at: Timestamp) -> bool {
    (at - MIDNIGHT_TOLERANCE).day() <= day && day <= (at + MIDNIGHT_TOLERANCE).day()
}

/// Returns the candidate that differs least, and how it differs.
pub(super) fn nearest<C>(
    candidates: impl Iterator<Item = C>,
    differs: impl Fn(&C) -> Vec<ExceptionKind>,
) -> Option<(C, Vec<ExceptionKind>)> {
    candidates
        .map(|candidate| {
            let kinds = differs(&candidate);
            (candidate, kinds)
        })
        .min_by_key(|(_, kinds)| {
            let money = kinds.iter().any(|kind| *kind != ExceptionKind::Day);
            (money, kinds.len())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDNIGHT: Timestamp = Timestamp::from_millis(1_772_409_600_000);

    fn ours(amount: i64, millis: i64) -> LedgerSide {
        LedgerSide { amount, currency: Currency::Aud, at: MIDNIGHT + TimeSpan::from_millis(millis) }
    }

    fn theirs(amount: i64, currency: Currency, days: i32) -> StatementSide {
        StatementSide { amount, currency, day: MIDNIGHT.day().plus(days), utc_offset: TimeSpan::ZERO }
    }

    #[test]
    fn each_difference_is_found() {
        use ExceptionKind::{Amount, Currency as InCurrency, Day};

        let noon = 43_200_000;
        assert_eq!(differences(ours(4, noon), theirs(4, Currency::Aud, 0)), []);
        assert_eq!(differences(ours(4, noon), theirs(5, Currency::Aud, 0)), [Amount]);
        assert_eq!(differences(ours(4, noon), theirs(5, Currency::Usd, 1)), [InCurrency, Day]);
        assert_eq!(differences(ours(4, noon), theirs(4, Currency::Aud, -1)), [Day]);
    }

    #[test]
    fn near_midnight_a_movement_may_have_either_day() {
        let tolerance = MIDNIGHT_TOLERANCE.millis();
        for (millis, days, differs) in [
            (tolerance - 1, -1, false),
            (tolerance, -1, true),
            (-tolerance, 0, false),
            (-tolerance - 1, 0, true),
            (0, 0, false),
            (0, 1, true),
        ] {
            let found = differences(ours(4, millis), theirs(4, Currency::Aud, days));
            assert_eq!(!found.is_empty(), differs, "{millis} {days}");
        }
    }

    #[test]
    fn the_day_of_a_line_is_that_of_its_zone() {
        let tens = |hours: i64, days| StatementSide {
            utc_offset: TimeSpan::seconds(hours * 3600),
            ..theirs(4, Currency::Aud, days)
        };
        let six_in_the_evening = ours(4, 64_800_000);
        assert_eq!(differences(six_in_the_evening, tens(10, 1)), []);
        assert_eq!(differences(six_in_the_evening, tens(10, 0)), [ExceptionKind::Day]);
        assert_eq!(differences(ours(4, 3_600_000), tens(-5, -1)), []);
    }

    #[test]
    fn the_nearest_differs_in_its_day_rather_than_in_its_money() {
        let candidates =
            [theirs(5, Currency::Aud, 0), theirs(4, Currency::Aud, 3), theirs(4, Currency::Usd, 3)];
        let nearest = nearest(candidates.into_iter(), |theirs| differences(ours(4, 43_200_000), *theirs));
        assert_eq!(nearest, Some((candidates[1], vec![ExceptionKind::Day])));
    }
}
