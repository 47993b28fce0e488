//! Matches movements with lines, and finds their differences: pure functions.

use acquirer::statement::Zone;
use entity::reconciliation_exception::ExceptionKind;
use entity::{Currency, Day, Timestamp};

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
    /// The zone of the day.
    pub zone: Zone,
}

/// Returns what differs between the two sides. Amounts of different currencies are not compared.
pub(super) fn differences(ours: LedgerSide, theirs: StatementSide) -> Vec<ExceptionKind> {
    let mut found = Vec::new();
    if ours.currency != theirs.currency {
        found.push(ExceptionKind::Currency);
    } else if ours.amount != theirs.amount {
        found.push(ExceptionKind::Amount);
    }
    // Near midnight it may have either date.
    if !theirs.zone.may_show(theirs.day, ours.at, MIDNIGHT_TOLERANCE) {
        found.push(ExceptionKind::Day);
    }
    found
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
    use entity::TimeSpan;

    use super::*;

    const MIDNIGHT: Timestamp = Timestamp::from_millis(1_772_409_600_000);

    fn ours(amount: i64, millis: i64) -> LedgerSide {
        LedgerSide { amount, currency: Currency::Aud, at: MIDNIGHT + TimeSpan::from_millis(millis) }
    }

    fn theirs(amount: i64, currency: Currency, days: i32) -> StatementSide {
        StatementSide { amount, currency, day: MIDNIGHT.day().plus(days), zone: Zone::UTC }
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
            zone: Zone { utc_offset: TimeSpan::seconds(hours * 3600), later_utc_offset: None },
            ..theirs(4, Currency::Aud, days)
        };
        let six_in_the_evening = ours(4, 64_800_000);
        assert_eq!(differences(six_in_the_evening, tens(10, 1)), []);
        assert_eq!(differences(six_in_the_evening, tens(10, 0)), [ExceptionKind::Day]);
        assert_eq!(differences(ours(4, 3_600_000), tens(-5, -1)), []);
    }

    #[test]
    fn a_line_of_a_statement_whose_clocks_are_changed_may_have_the_day_of_either_offset() {
        let [ten, eleven] = [10, 11].map(|hours| TimeSpan::seconds(hours * 3600));
        let in_spring = |days| StatementSide {
            zone: Zone { utc_offset: ten, later_utc_offset: Some(eleven) },
            ..theirs(4, Currency::Aud, days)
        };
        // Half past eleven by the one clock, half past twelve by the other.
        let between = ours(4, 48_600_000);
        for (days, found) in
            [(-1, vec![ExceptionKind::Day]), (0, vec![]), (1, vec![]), (2, vec![ExceptionKind::Day])]
        {
            assert_eq!(differences(between, in_spring(days)), found, "{days}");
        }
        let noon = ours(4, 43_200_000);
        assert_eq!(differences(noon, in_spring(1)), [ExceptionKind::Day]);
    }

    #[test]
    fn the_nearest_differs_in_its_day_rather_than_in_its_money() {
        let candidates =
            [theirs(5, Currency::Aud, 0), theirs(4, Currency::Aud, 3), theirs(4, Currency::Usd, 3)];
        let nearest = nearest(candidates.into_iter(), |theirs| differences(ours(4, 43_200_000), *theirs));
        assert_eq!(nearest, Some((candidates[1], vec![ExceptionKind::Day])));
    }
}
