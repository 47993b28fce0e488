//! What the sandbox can order of an account's acquirer (decisions 12).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::failure::Decline;

/// Faults of one account's acquirer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcquirerFaults {
    /// How much later than usual it answers.
    pub latency_ms: i64,
    /// What it answers to every attempt on a card.
    pub decline: Option<Decline>,
    /// How many of its calls fail before anything happens.
    pub gateway_error_rate: Chance,
    /// How many of its calls are done, and their answers lost.
    pub drop_rate: Chance,
    /// The same seed gives the same run.
    pub seed: i64,
}

/// 0 to 1 in millionths. Outside, a JSON number; inside of a request, its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chance(u32);

impl Chance {
    const DECIMALS_MAX: i32 = 6;
    /// One in millionths.
    pub const ONE: u32 = 1_000_000;

    /// Whether a roll of 0 to 999,999 is among those that it takes.
    pub const fn takes(self, roll: u32) -> bool {
        roll < self.0
    }

    /// Whether it takes none.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// The text is no chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChance {
    /// Nor any number.
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

impl FromStr for Chance {
    type Err = NoChance;

    fn from_str(text: &str) -> Result<Self, NoChance> {
        // JSON writes very small numbers with an exponent.
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().map_err(|_| NoChance::NoNumber)?;
        let negative = number.starts_with('-');
        let number = number.strip_prefix(['-', '+']).unwrap_or(number);
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(decimals) {
            return Err(NoChance::NoNumber);
        }
        let all = format!("{whole}{decimals}");
        let digits = all.trim_start_matches('0').trim_end_matches('0');
        if digits.is_empty() {
            return Ok(Self(0));
        }
        if negative {
            return Err(NoChance::Negative);
        }
        let count = |digits: &str| i32::try_from(digits.len()).map_err(|_| NoChance::TooFine);
        let trailing_zeros = count(&all)? - count(all.trim_end_matches('0'))?;
        let zeros =
            exponent.saturating_add(Self::DECIMALS_MAX + trailing_zeros).saturating_sub(count(decimals)?);
        if zeros.saturating_add(count(digits)?) > Self::DECIMALS_MAX + 1 {
            return Err(NoChance::TooLarge);
        }
        let zeros = usize::try_from(zeros).map_err(|_| NoChance::TooFine)?;
        match format!("{digits}{}", "0".repeat(zeros)).parse() {
            Ok(millionths) if millionths <= Self::ONE => Ok(Self(millionths)),
            Ok(_) | Err(_) => Err(NoChance::TooLarge),
        }
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.0 / Self::ONE, self.0 % Self::ONE);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Chance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Chance {
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
                text.parse::<Chance>().map(|chance| chance.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_chance_is_told_why() {
        for (text, why) in [
            ("", NoChance::NoNumber),
            ("half", NoChance::NoNumber),
            (".5", NoChance::NoNumber),
            ("1.", NoChance::NoNumber),
            ("0,5", NoChance::NoNumber),
            ("--1", NoChance::NoNumber),
            ("1e", NoChance::NoNumber),
            ("1e99999999999", NoChance::NoNumber),
            ("-0.1", NoChance::Negative),
            ("-1e300", NoChance::Negative),
            ("1.000001", NoChance::TooLarge),
            ("2", NoChance::TooLarge),
            ("9e300", NoChance::TooLarge),
            ("1e2147483647", NoChance::TooLarge),
            ("0.0000001", NoChance::TooFine),
            ("1e-7", NoChance::TooFine),
            ("1e-2147483648", NoChance::TooFine),
        ] {
            assert_eq!(text.parse::<Chance>(), Err(why), "{text}");
        }
    }

    #[test]
    fn faults_are_kept_as_they_are() {
        let faults = AcquirerFaults {
            latency_ms: 5,
            decline: Some(Decline::LostCard),
            gateway_error_rate: Chance(250_000),
            drop_rate: Chance(1_000_000),
            seed: 42,
        };
        let json =
            r#"{"latency_ms":5,"decline":"lost_card","gateway_error_rate":0.25,"drop_rate":1,"seed":42}"#;
        assert_eq!(serde_json::to_string(&faults).ok().as_deref(), Some(json));
        assert_eq!(serde_json::from_str::<AcquirerFaults>(json).ok(), Some(faults));
    }
}
