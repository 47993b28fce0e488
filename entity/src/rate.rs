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
