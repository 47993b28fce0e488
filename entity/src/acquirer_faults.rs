//! The faults that the sandbox can order of an account's acquirer (`docs/decisions.md`, 272 and 273).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::failure::Decline;

/// Faults of one account's acquirer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcquirerFaults {
    /// The delay of its answers.
    pub latency_ms: i64,
    /// Its answer to every attempt on a card.
    pub decline: Option<Decline>,
    /// The share of calls that fail before anything happens.
    pub gateway_error_rate: Probability,
    /// The share of calls that are done and whose answers are lost.
    pub drop_rate: Probability,
    /// The seed of the draws: the same seed gives the same run.
    pub seed: i64,
}

/// A probability, in millionths. In JSON it is a number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probability(u32);

impl Probability {
    const DECIMALS_MAX: i32 = 6;
    /// One in millionths.
    pub const ONE: u32 = 1_000_000;

    /// Returns whether a roll of 0 to 999,999 hits.
    pub const fn takes(self, roll: u32) -> bool {
        roll < self.0
    }

    /// Returns whether no roll hits.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// The error of a text that is no probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProbability {
    /// The text is no number.
    #[error("is not a number")]
    NoNumber,
    /// Below zero.
    #[error("must be greater than or equal to 0")]
    Negative,
    /// Above one.
    #[error("must be at most 1")]
    TooLarge,
    /// Finer than millionths.
    #[error("must have at most 6 decimals")]
    TooFine,
}

impl FromStr for Probability {
    type Err = InvalidProbability;

    fn from_str(text: &str) -> Result<Self, InvalidProbability> {
        // JSON writes very small numbers with an exponent.
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().map_err(|_| InvalidProbability::NoNumber)?;
        let negative = number.starts_with('-');
        let number = number.strip_prefix(['-', '+']).unwrap_or(number);
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(decimals) {
            return Err(InvalidProbability::NoNumber);
        }
        let all = format!("{whole}{decimals}");
        let digits = all.trim_start_matches('0').trim_end_matches('0');
        if digits.is_empty() {
            return Ok(Self(0));
        }
        if negative {
            return Err(InvalidProbability::Negative);
        }
        let count = |digits: &str| i32::try_from(digits.len()).map_err(|_| InvalidProbability::TooFine);
        let trailing_zeros = count(&all)? - count(all.trim_end_matches('0'))?;
        let zeros =
            exponent.saturating_add(Self::DECIMALS_MAX + trailing_zeros).saturating_sub(count(decimals)?);
        if zeros.saturating_add(count(digits)?) > Self::DECIMALS_MAX + 1 {
            return Err(InvalidProbability::TooLarge);
        }
        let zeros = usize::try_from(zeros).map_err(|_| InvalidProbability::TooFine)?;
        match format!("{digits}{}", "0".repeat(zeros)).parse() {
            Ok(millionths) if millionths <= Self::ONE => Ok(Self(millionths)),
            Ok(_) | Err(_) => Err(InvalidProbability::TooLarge),
        }
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.0 / Self::ONE, self.0 % Self::ONE);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = <&RawValue>::deserialize(deserializer)?;
        number.get().parse().map_err(serde::de::Error::custom)
    }
}
