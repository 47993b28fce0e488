//! The fees of charges.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::currency::Currency;
use crate::rounding::quotient_rounded_half_up;
use crate::scheme::Scheme;

/// The country whose cards are domestic.
const DOMESTIC_COUNTRY: &str = "AU";
/// The currency that is domestic, and in which all fees are.
const DOMESTIC_CURRENCY: Currency = Currency::Aud;

/// A merchant's fees, one row for each kind of charge, in the specification's names and order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pricing {
    /// AUD, a card issued in Australia.
    pub domestic_currency_domestic_card_core: PricingRow,
    /// The same for a premium scheme.
    pub domestic_currency_domestic_card_premium: PricingRow,
    /// AUD, a card issued elsewhere.
    pub domestic_currency_foreign_card_core: PricingRow,
    /// The same for a premium scheme.
    pub domestic_currency_foreign_card_premium: PricingRow,
    /// Another currency, wherever the card was issued.
    pub foreign_currency_core: PricingRow,
    /// The same for a premium scheme.
    pub foreign_currency_premium: PricingRow,
}

/// The fee of one kind of charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricingRow {
    /// AUD cents per charge.
    pub fixed_fee: i64,
    /// The share of the settlement amount.
    pub percentage_fee: Percentage,
}

impl Pricing {
    /// Returns the fee of a settlement amount, both in AUD cents: never more than the amount.
    pub fn fee_rounded_half_up(
        &self,
        settlement_amount: i64,
        currency: Currency,
        issuing_country: &str,
        scheme: Scheme,
    ) -> i64 {
        let row = self.row(currency, issuing_country, scheme);
        let fee = row.fixed_fee.saturating_add(row.percentage_fee.share_rounded_half_up(settlement_amount));
        fee.min(settlement_amount)
    }

    /// Returns all rows.
    pub const fn rows(&self) -> [&PricingRow; 6] {
        [
            &self.domestic_currency_domestic_card_core,
            &self.domestic_currency_domestic_card_premium,
            &self.domestic_currency_foreign_card_core,
            &self.domestic_currency_foreign_card_premium,
            &self.foreign_currency_core,
            &self.foreign_currency_premium,
        ]
    }

    /// Sets the fixed fee of every kind of charge, in AUD cents.
    pub fn set_fixed_fee(&mut self, cents: i64) {
        self.domestic_currency_domestic_card_core.fixed_fee = cents;
        self.domestic_currency_domestic_card_premium.fixed_fee = cents;
        for row in self.foreign() {
            row.fixed_fee = cents;
        }
    }

    /// Sets the percentage of every charge that is not domestic.
    pub fn set_foreign_percentage(&mut self, percentage: Percentage) {
        for row in self.foreign() {
            row.percentage_fee = percentage;
        }
    }

    const fn foreign(&mut self) -> [&mut PricingRow; 4] {
        [
            &mut self.domestic_currency_foreign_card_core,
            &mut self.domestic_currency_foreign_card_premium,
            &mut self.foreign_currency_core,
            &mut self.foreign_currency_premium,
        ]
    }

    fn row(&self, currency: Currency, issuing_country: &str, scheme: Scheme) -> &PricingRow {
        let domestic_currency = currency == DOMESTIC_CURRENCY;
        let domestic_card = issuing_country == DOMESTIC_COUNTRY;
        match (domestic_currency, domestic_card, is_premium(scheme)) {
            (true, true, false) => &self.domestic_currency_domestic_card_core,
            (true, true, true) => &self.domestic_currency_domestic_card_premium,
            (true, false, false) => &self.domestic_currency_foreign_card_core,
            (true, false, true) => &self.domestic_currency_foreign_card_premium,
            (false, _, false) => &self.foreign_currency_core,
            (false, _, true) => &self.foreign_currency_premium,
        }
    }
}

impl Default for Pricing {
    fn default() -> Self {
        let row =
            |parts_per_million| PricingRow { fixed_fee: 30, percentage_fee: Percentage(parts_per_million) };
        let (domestic, foreign) = (row(17_500), row(29_000));
        Self {
            domestic_currency_domestic_card_core: domestic,
            domestic_currency_domestic_card_premium: domestic,
            domestic_currency_foreign_card_core: foreign,
            domestic_currency_foreign_card_premium: foreign,
            foreign_currency_core: foreign,
            foreign_currency_premium: foreign,
        }
    }
}

const fn is_premium(scheme: Scheme) -> bool {
    match scheme {
        Scheme::AmericanExpress => true,
        Scheme::Visa | Scheme::Master | Scheme::DinersClub | Scheme::Discover | Scheme::Jcb => false,
    }
}

/// A percentage from 0 to 100, in millionths of the whole. In texts it is a decimal ("1.75").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Percentage(u32);

impl Percentage {
    /// Parts per million of one per cent, and the decimal places that they allow.
    const ONE: u32 = 10_000;
    const DECIMALS_MAX: usize = 4;

    /// Returns this percentage of an amount.
    pub fn share_rounded_half_up(self, amount: i64) -> i64 {
        quotient_rounded_half_up(i128::from(amount) * i128::from(self.0), 1_000_000)
    }
}

/// The error of a text that is no percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a decimal from 0 to 100 with at most four decimals")]
pub struct NotAPercentage;

impl FromStr for Percentage {
    type Err = NotAPercentage;

    fn from_str(text: &str) -> Result<Self, NotAPercentage> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || whole.len() > 3 || !is_digits(decimals) || decimals.len() > Self::DECIMALS_MAX
        {
            return Err(NotAPercentage);
        }
        // "1.75" is "1" and "7500": the digits of parts per million.
        let digits = format!("{whole}{decimals:0<width$}", width = Self::DECIMALS_MAX);
        match digits.parse() {
            Ok(parts_per_million) if parts_per_million <= 100 * Self::ONE => Ok(Self(parts_per_million)),
            Ok(_) | Err(_) => Err(NotAPercentage),
        }
    }
}

impl fmt::Display for Percentage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / Self::ONE, self.0 % Self::ONE);
        let text = format!("{whole}.{decimals:0width$}", width = Self::DECIMALS_MAX);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl From<Percentage> for String {
    fn from(percentage: Percentage) -> Self {
        percentage.to_string()
    }
}

impl TryFrom<String> for Percentage {
    type Error = NotAPercentage;

    fn try_from(text: String) -> Result<Self, NotAPercentage> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn default_fee(amount: i64, currency: Currency, issuing_country: &str) -> i64 {
        Pricing::default().fee_rounded_half_up(amount, currency, issuing_country, Scheme::Visa)
    }

    #[test]
    fn a_domestic_charge_costs_thirty_cents_and_1_75_per_cent() {
        for (amount, fee) in [(100, 32), (2_000, 65), (3_550, 92), (50_000, 905)] {
            assert_eq!(default_fee(amount, Currency::Aud, "AU"), fee, "of {amount}");
        }
    }

    #[test]
    fn a_foreign_card_or_currency_costs_thirty_cents_and_2_9_per_cent() {
        assert_eq!(default_fee(10_000, Currency::Aud, "NZ"), 320);
        assert_eq!(default_fee(10_000, Currency::Usd, "AU"), 320);
        assert_eq!(default_fee(10_000, Currency::Usd, "US"), 320);
    }

    #[test]
    fn each_kind_of_charge_has_its_own_row() {
        let row = |fixed_fee| PricingRow { fixed_fee, percentage_fee: Percentage(0) };
        let pricing = Pricing {
            domestic_currency_domestic_card_core: row(1),
            domestic_currency_domestic_card_premium: row(2),
            domestic_currency_foreign_card_core: row(3),
            domestic_currency_foreign_card_premium: row(4),
            foreign_currency_core: row(5),
            foreign_currency_premium: row(6),
        };
        let mut fees = Vec::new();
        for (currency, country) in
            [(Currency::Aud, "AU"), (Currency::Aud, "US"), (Currency::Jpy, "AU"), (Currency::Jpy, "US")]
        {
            for scheme in [Scheme::Jcb, Scheme::AmericanExpress] {
                fees.push(pricing.fee_rounded_half_up(9_999, currency, country, scheme));
            }
        }
        assert_eq!(fees, [1, 2, 3, 4, 5, 6, 5, 6]);
    }

    #[test]
    fn pricing_has_the_shape_of_the_specification() {
        let json = serde_json::to_string(&Pricing::default()).expect("pricing is JSON");
        assert!(json.starts_with(
            r#"{"domestic_currency_domestic_card_core":{"fixed_fee":30,"percentage_fee":"1.75"},"#
        ));
        assert!(json.ends_with(r#""foreign_currency_premium":{"fixed_fee":30,"percentage_fee":"2.9"}}"#));
        assert_eq!(serde_json::from_str::<Pricing>(&json).ok(), Some(Pricing::default()));
    }

    #[test]
    fn a_percentage_is_written_without_needless_zeros() {
        for (text, written) in [
            ("1.75", "1.75"),
            ("2.90", "2.9"),
            ("3.0", "3"),
            ("0", "0"),
            ("100", "100"),
            ("0.0001", "0.0001"),
        ] {
            assert_eq!(
                text.parse::<Percentage>().map(|percentage| percentage.to_string()),
                Ok(written.to_owned())
            );
        }
    }

    #[test]
    fn a_text_that_is_no_percentage_is_refused() {
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1,75", "1.75%", "1e1", "100.0001", "101", "1.00001", "1.2.3",
            " 1", "٣",
        ] {
            assert_eq!(text.parse::<Percentage>(), Err(NotAPercentage), "{text:?}");
        }
    }

    prop_compose! {
        fn percentages()(parts_per_million in 0_u32..=1_000_000) -> Percentage {
            Percentage(parts_per_million)
        }
    }

    fn fee(amount: i64, fixed_fee: i64, percentage_fee: Percentage) -> i64 {
        let row = PricingRow { fixed_fee, percentage_fee };
        Pricing { domestic_currency_domestic_card_core: row, ..Pricing::default() }.fee_rounded_half_up(
            amount,
            Currency::Aud,
            "AU",
            Scheme::Visa,
        )
    }

    proptest! {
        #[test]
        fn a_percentage_reads_what_it_writes(percentage in percentages()) {
            prop_assert_eq!(percentage.to_string().parse(), Ok(percentage));
        }

        #[test]
        fn a_larger_amount_never_costs_less(
            percentage in percentages(),
            amounts in (0_i64..1_000_000_000_000, 0_i64..1_000_000_000_000),
        ) {
            let (small, large) = (amounts.0.min(amounts.1), amounts.0.max(amounts.1));
            prop_assert!(fee(small, 30, percentage) <= fee(large, 30, percentage));
        }

        #[test]
        fn a_fee_never_exceeds_its_share_by_a_whole_cent(
            percentage in percentages(),
            amount in 0_i64..1_000_000_000_000,
            fixed_fee in 0_i64..10_000,
        ) {
            let share = i128::from(amount) * i128::from(percentage.0) / 1_000_000;
            prop_assert!(i128::from(fee(amount, fixed_fee, percentage)) <= share + 1 + i128::from(fixed_fee));
        }

        /// The exact share lies at most half a cent above the rounded one, and less than half a cent below.
        #[test]
        fn a_fee_is_the_nearest_cent_to_the_exact_share(
            percentage in percentages(),
            amount in 0_i64..1_000_000_000_000,
        ) {
            let exact_millionths = i128::from(amount) * i128::from(percentage.0);
            let rounded_millionths = i128::from(fee(amount, 0, percentage)) * 1_000_000;
            let error = rounded_millionths - exact_millionths;
            prop_assert!(-500_000 < error && error <= 500_000, "off by {} millionths of a cent", error);
        }
    }
}
