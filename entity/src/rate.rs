//! The worth of currencies in AUD.

use sea_orm::DeriveValueType;

use crate::currency::Currency;
use crate::rounding::{quotient_rounded_half_up, saturated};

const MILLION: i128 = 1_000_000;

/// Millionths of an AUD for one currency unit (a dollar, a yen), never below zero. A charge keeps the rate it was made at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, DeriveValueType)]
pub struct Rate(i64);

impl Rate {
    /// The rate of AUD.
    pub const AUD: Self = Self(1_000_000);

    /// # Panics
    /// On a rate below zero, which no currency has.
    pub const fn from_millionths(millionths: i64) -> Self {
        assert!(millionths >= 0, "a rate is never below zero");
        Self(millionths)
    }

    /// Returns the millionths of an AUD for one currency unit.
    pub const fn millionths(self) -> i64 {
        self.0
    }

    /// Returns the settlement amount, in AUD cents, of an amount in base units of `currency`.
    pub fn settle_rounded_half_up(self, amount: i64, currency: Currency) -> i64 {
        quotient_rounded_half_up(self.cent_millionths(currency).saturating_mul(amount.into()), MILLION)
    }

    /// Returns the largest amount that settles for at most `cents_max`: amount x rate stays below `cents_max` and a half.
    pub fn amount_max(self, currency: Currency, cents_max: i64) -> i64 {
        let below = i128::from(cents_max) * MILLION + MILLION / 2;
        match self.cent_millionths(currency) {
            0 => i64::MAX,
            rate => saturated((below - 1).div_euclid(rate)),
        }
    }

    /// Returns the millionths of an AUD cent for one base unit, which is a whole unit if the currency has no minor one.
    fn cent_millionths(self, currency: Currency) -> i128 {
        let cents_per_aud_places = Currency::Aud.minor_units();
        i128::from(self.0) * 10_i128.pow(cents_per_aud_places - currency.minor_units())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currencies() -> impl Strategy<Value = Currency> {
        proptest::sample::select(Currency::ALL)
    }

    #[test]
    fn an_amount_in_aud_settles_for_itself() {
        for amount in [0, 1, 100, i64::MAX] {
            assert_eq!(Rate::AUD.settle_rounded_half_up(amount, Currency::Aud), amount);
        }
    }

    #[test]
    fn half_a_cent_goes_up() {
        let dollar_fifty = Rate::from_millionths(1_500_000);
        assert_eq!(dollar_fifty.settle_rounded_half_up(1, Currency::Usd), 2);
        assert_eq!(dollar_fifty.settle_rounded_half_up(101, Currency::Usd), 152);
        let baht = Rate::from_millionths(45_000);
        assert_eq!(baht.settle_rounded_half_up(2_010, Currency::Thb), 90);
        assert_eq!(baht.settle_rounded_half_up(2_011, Currency::Thb), 90);
        assert_eq!(baht.settle_rounded_half_up(2_012, Currency::Thb), 91);
    }

    #[test]
    fn a_yen_is_a_whole_unit() {
        assert_eq!(Rate::from_millionths(10_000).settle_rounded_half_up(100, Currency::Jpy), 100);
    }

    #[test]
    fn an_amount_that_is_too_large_saturates_and_never_wraps() {
        let dear = Rate::from_millionths(i64::MAX);
        assert_eq!(dear.settle_rounded_half_up(i64::MAX, Currency::Jpy), i64::MAX);
        assert_eq!(Rate::from_millionths(0).amount_max(Currency::Idr, 1), i64::MAX);
    }

    proptest! {
        #[test]
        fn the_largest_amount_settles_within_the_maximum_and_the_next_does_not(
            millionths in 1_i64..10_000_000,
            currency in currencies(),
            cents_max in 0_i64..1_000_000_000,
        ) {
            let rate = Rate::from_millionths(millionths);
            let amount = rate.amount_max(currency, cents_max);
            prop_assert!(rate.settle_rounded_half_up(amount, currency) <= cents_max);
            prop_assert!(rate.settle_rounded_half_up(amount + 1, currency) > cents_max);
        }

        #[test]
        fn a_larger_amount_never_settles_for_less(
            millionths in 0_i64..i64::MAX,
            currency in currencies(),
            amounts in (0_i64..i64::MAX, 0_i64..i64::MAX),
        ) {
            let rate = Rate::from_millionths(millionths);
            let (small, large) = (amounts.0.min(amounts.1), amounts.0.max(amounts.1));
            prop_assert!(rate.settle_rounded_half_up(small, currency) <= rate.settle_rounded_half_up(large, currency));
        }
    }
}
