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
