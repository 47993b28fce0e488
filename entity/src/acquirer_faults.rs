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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_is_a_decimal_from_0_to_1_in_any_spelling() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("0e9", "0"),
            ("1", "1"),
            ("1.000000000", "1"),
            ("0.25", "0.25"),
            ("+0.250", "0.25"),
            ("00.5", "0.5"),
            ("0.000001", "0.000001"),
            ("1e-6", "0.000001"),
            ("1E-5", "0.00001"),
            ("2.5e-1", "0.25"),
            ("10e-1", "1"),
            ("0.01e2", "1"),
        ] {
            assert_eq!(
                text.parse::<Probability>().map(|random| random.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_text_that_is_no_probability_is_told_why() {
        for (text, why) in [
            ("", InvalidProbability::NoNumber),
            ("half", InvalidProbability::NoNumber),
            (".5", InvalidProbability::NoNumber),
            ("1.", InvalidProbability::NoNumber),
            ("0,5", InvalidProbability::NoNumber),
            ("--1", InvalidProbability::NoNumber),
            ("1e", InvalidProbability::NoNumber),
            ("1e99999999999", InvalidProbability::NoNumber),
            ("-0.1", InvalidProbability::Negative),
            ("-1e300", InvalidProbability::Negative),
            ("1.000001", InvalidProbability::TooLarge),
            ("2", InvalidProbability::TooLarge),
            ("9e300", InvalidProbability::TooLarge),
            ("1e2147483647", InvalidProbability::TooLarge),
            ("0.0000001", InvalidProbability::TooFine),
            ("1e-7", InvalidProbability::TooFine),
            ("1e-2147483648", InvalidProbability::TooFine),
        ] {
            assert_eq!(text.parse::<Probability>(), Err(why), "{text}");
        }
    }

    #[test]
    fn faults_are_kept_as_they_are() {
        let faults = AcquirerFaults {
            latency_ms: 5,
            decline: Some(Decline::LostCard),
            gateway_error_rate: Probability(250_000),
            drop_rate: Probability(1_000_000),
            seed: 42,
        };
        let json =
            r#"{"latency_ms":5,"decline":"lost_card","gateway_error_rate":0.25,"drop_rate":1,"seed":42}"#;
        assert_eq!(serde_json::to_string(&faults).ok().as_deref(), Some(json));
        assert_eq!(serde_json::from_str::<AcquirerFaults>(json).ok(), Some(faults));
    }
}
