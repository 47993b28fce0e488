//! The draws of a run: when payments arrive, how long the acquirer takes for a call, and which calls fail. The same seed draws the
//! same.

use std::f64::consts::TAU;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

use sha2::{Digest, Sha256};

/// The number below which 99 % of a standard normal distribution lie.
const NORMAL_P99: f64 = 2.326_347_874;

/// The longest p99 of an acquirer, in milliseconds.
const P99_MAX: u64 = 5_000;

/// Draws from a seed.
#[derive(Debug, Clone, Copy)]
pub struct Draws(pub u64);

impl Draws {
    /// Returns two numbers for a subject, whenever and in whatever order they are drawn.
    fn numbers(self, subject: impl Display) -> [u32; 2] {
        let hash = Sha256::digest(format!("{} {subject}", self.0));
        let number = |at: usize| hash[at..at + 4].iter().fold(0, |all, byte| (all << 8) | u32::from(*byte));
        [number(0), number(4)]
    }

    /// Returns a roll of 0 to 999,999, and one of the others.
    pub fn rolls(self, subject: impl Display) -> (u32, u32) {
        let [first, second] = self.numbers(format!("roll {subject}"));
        (first % 1_000_000, second)
    }

    /// Returns when payments arrive, from the number of the first one on, as time since the first moment. They arrive as a Poisson
    /// process: independent payers do not take turns.
    pub fn arrivals(self, first: usize, rate: u32) -> impl Iterator<Item = Duration> {
        (first..).scan(Duration::ZERO, move |at, number| {
            let [random, _] = self.numbers(format!("arrival {number}"));
            *at += Duration::from_secs_f64(-share(random).ln() / f64::from(rate));
            Some(*at)
        })
    }
}

/// Returns a number as a share of all numbers, neither 0 nor 1.
fn share(number: u32) -> f64 {
    (f64::from(number) + 0.5) / (f64::from(u32::MAX) + 1.0)
}

/// The time that the acquirer takes for a call: a log-normal distribution, by its p50 and p99.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcquirerTimes {
    p50: Duration,
    /// At least the p50.
    pub p99: Duration,
}

impl AcquirerTimes {
    /// Returns the time of a call.
    pub fn draw(&self, draws: Draws, subject: impl Display) -> Duration {
        let [radius, angle] = draws.numbers(format!("time {subject}"));
        let normal = (-2.0 * share(radius).ln()).sqrt() * (TAU * share(angle)).cos();
        let spread = self.p99.div_duration_f64(self.p50).ln() / NORMAL_P99;
        self.p50.mul_f64((normal * spread).exp())
    }
}

impl FromStr for AcquirerTimes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "must be p50 and p99 in milliseconds, such as 120/380, the first at least 1";
        let (p50, p99) = text.split_once('/').ok_or(WRONG)?;
        let millis = |text: &str| text.parse::<u16>().map_err(|_| WRONG).map(u64::from);
        let (p50, p99) = (millis(p50)?, millis(p99)?);
        if p50 == 0 || p99 < p50 {
            return Err(WRONG);
        }
        if p99 > P99_MAX {
            return Err(
                "p99 must be at most 5000: a server waits 20 seconds for an answer, and some calls take several times the p99",
            );
        }
        Ok(Self { p50: Duration::from_millis(p50), p99: Duration::from_millis(p99) })
    }
}

impl Display for AcquirerTimes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.p50.as_millis(), self.p99.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payments_arrive_at_the_rate_and_each_pause_is_drawn() {
        let arrivals: Vec<_> = Draws(1).arrivals(0, 100).take(20_000).collect();
        let took = arrivals[arrivals.len() - 1].as_secs_f64();
        assert!((194.0..206.0).contains(&took), "{took} seconds for 200");
        let pauses = arrivals.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        let short = pauses.filter(|pause| *pause < Duration::from_millis(10)).count();
        // Of a Poisson process 63.2 % of all pauses are shorter than the mean; of a clock none is.
        assert!((12_300..12_980).contains(&short), "{short}");
    }

    #[test]
    fn a_seed_draws_the_same_again_and_goes_on_after_the_payments_so_far() {
        let arrivals = |seed, first| Draws(seed).arrivals(first, 100).take(9).collect::<Vec<_>>();
        assert_eq!(arrivals(1, 0), arrivals(1, 0));
        assert_ne!(arrivals(1, 0), arrivals(2, 0));
        assert_ne!(arrivals(1, 0), arrivals(1, 9));
    }

    #[test]
    fn the_acquirer_takes_the_p50_and_the_p99_that_were_asked_for() {
        let times: AcquirerTimes = "120/380".parse().unwrap();
        let mut taken: Vec<_> = (0..100_000).map(|call| times.draw(Draws(1), call).as_secs_f64()).collect();
        taken.sort_unstable_by(f64::total_cmp);
        let (p50, p99) = (taken[50_000], taken[99_000]);
        assert!((0.1185..0.1215).contains(&p50), "{p50}");
        assert!((0.372..0.388).contains(&p99), "{p99}");
        let always: AcquirerTimes = "7/7".parse().unwrap();
        assert_eq!(always.draw(Draws(1), 1), Duration::from_millis(7));
    }

    #[test]
    fn times_are_two_numbers_of_which_the_second_is_no_less() {
        assert_eq!("120/380".parse::<AcquirerTimes>().unwrap().to_string(), "120/380");
        for wrong in ["", "120", "0/0", "380/120", "a/b", "120/380/1", "-1/5", "1/99999", "1/5001"] {
            assert!(wrong.parse::<AcquirerTimes>().is_err(), "{wrong}");
        }
    }
}
