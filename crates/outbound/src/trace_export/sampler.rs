//! Decides which traces are recorded, by the names and rules of OpenTelemetry's samplers.

use std::str::FromStr;

/// The rule that decides, as `OTEL_TRACES_SAMPLER` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    /// Whether a client's decision is followed, if there is one.
    follows: bool,
    /// The number of traces of 2^63 that are recorded otherwise.
    share: u64,
}

const EVERY: u64 = 1 << 63;
const BILLION: u64 = 1_000_000_000;

impl Default for Sampler {
    fn default() -> Self {
        Self { follows: true, share: EVERY }
    }
}

impl Sampler {
    /// Parses a sampler's name and its share of traces: 0 to 1, by default all.
    pub fn named(name: &str, share: Option<Share>) -> Result<Self, String> {
        let share = share.map_or(EVERY, |Share(share)| share);
        let (follows, share) = match name {
            "always_on" => (false, EVERY),
            "always_off" => (false, 0),
            "traceidratio" => (false, share),
            "parentbased_always_on" => (true, EVERY),
            "parentbased_always_off" => (true, 0),
            "parentbased_traceidratio" => (true, share),
            _ => return Err(format!("there is no sampler named {name}")),
        };
        Ok(Self { follows, share })
    }

    /// Returns whether a trace is recorded that begins here, or that a client has begun with this decision. Every program decides
    /// alike about one trace: by its id.
    pub fn samples(&self, trace: u128, decided: Option<bool>) -> bool {
        // The lower half of the id, without its last bit.
        let drawn = (trace << 64) >> 65;
        decided.filter(|_| self.follows).unwrap_or(drawn < u128::from(self.share))
    }
}

/// A share of traces, from 0 to 1 with nine digits at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u64);

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "must be a number from 0 to 1";
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 9 {
            return Err(wrong);
        }
        let billionths = format!("{whole}{part:0<9}").parse::<u64>().map_err(|_| wrong)?;
        if billionths > BILLION {
            return Err(wrong);
        }
        let share = u128::from(EVERY) * u128::from(billionths) / u128::from(BILLION);
        u64::try_from(share).map(Self).map_err(|_| wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(name: &str, share: &str) -> Sampler {
        Sampler::named(name, Some(share.parse().unwrap())).unwrap()
    }

    #[test]
    fn a_share_is_a_number_from_0_to_1() {
        for (text, share) in [("0", 0), ("0.0", 0), ("1", EVERY), ("1.000000000", EVERY), ("0.5", EVERY / 2)]
        {
            assert_eq!(text.parse(), Ok(Share(share)), "{text}");
        }
        for wrong in [
            "",
            ".",
            ".5",
            "1.",
            "-1",
            "1.1",
            "2",
            "0.1234567890",
            "half",
            "1e-1",
            "+1",
            "18446744073709551616",
        ] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_caller_decides_where_the_sampler_follows() {
        for (name, alone, beside_yes, beside_no) in [
            ("always_on", true, true, true),
            ("always_off", false, false, false),
            ("parentbased_always_on", true, true, false),
            ("parentbased_always_off", false, true, false),
        ] {
            let sampler = Sampler::named(name, None).unwrap();
            let decides = [None, Some(true), Some(false)].map(|caller| sampler.samples(7, caller));
            assert_eq!(decides, [alone, beside_yes, beside_no], "{name}");
        }
        assert!(Sampler::named("sometimes", None).is_err());
        assert_eq!(Sampler::named("parentbased_always_on", None), Ok(Sampler::default()));
    }

    #[test]
    fn a_share_is_taken_by_the_lower_half_of_the_id() {
        let (low, high) = (0x1111_u128 << 64 | 0x7fff_ffff_ffff_ffff, 0x8000_0000_0000_0000);
        let half = sampler("traceidratio", "0.5");
        assert!(half.samples(low, None) && !half.samples(high, None));
        assert!(!half.samples(high, Some(true)), "it does not follow");
        assert!(sampler("parentbased_traceidratio", "0").samples(high, Some(true)));
        for id in [0, low, high, u128::MAX] {
            assert!(
                sampler("traceidratio", "1").samples(id, None)
                    && !sampler("traceidratio", "0").samples(id, None)
            );
        }
    }
}
