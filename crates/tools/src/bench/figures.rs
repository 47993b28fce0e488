//! The figures of a step: exact percentiles of all its payments.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serialize;

use super::load::{Payment, Step};

/// The p99 of the added latency up to which a rate is held.
pub const ADDED_P99_MAX: Duration = Duration::from_millis(50);

/// The results of a step.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Payments a second.
    pub rate: u32,
    /// The time for which they arrived.
    pub seconds: u64,
    /// The number of payments that arrived.
    pub payments: usize,
    /// The number of them that the acquirer failed.
    pub faulty: usize,
    /// The number of others that ended without a charge.
    pub refused: usize,
    /// The answer to the first of them.
    pub refusal: Option<String>,
    /// If it ended early: more payments than this waited. Else null.
    pub overload: Option<usize>,
    /// The time that the system added to the acquirer's.
    #[serde(rename = "added_us")]
    pub added: Percentiles,
    /// From the due time to the answer.
    #[serde(rename = "whole_us")]
    pub whole: Percentiles,
    /// The time that the acquirer took.
    #[serde(rename = "acquirer_us")]
    pub acquirer: Percentiles,
    /// From the due time until the generator has sent a payment: part of the added latency.
    #[serde(rename = "late_us")]
    pub late: Percentiles,
}

/// Exact percentiles, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

impl Figures {
    pub fn new(rate: u32, step: &Step) -> Self {
        let of = |time: fn(&Payment) -> Duration| Percentiles::new(step.payments.iter().map(time).collect());
        let refused = || step.payments.iter().filter(|payment| payment.is_refused());
        Self {
            rate,
            seconds: u64::try_from(step.span.as_millis().div_ceil(1000)).unwrap_or(u64::MAX),
            payments: step.payments.len(),
            faulty: step.payments.iter().filter(|payment| payment.is_faulty).count(),
            refused: refused().count(),
            refusal: refused().find_map(|payment| payment.refusal.clone()),
            overload: step.overload,
            added: of(Payment::added),
            whole: of(|payment| payment.whole),
            acquirer: of(|payment| payment.at_acquirer),
            late: of(|payment| payment.late),
        }
    }

    /// Returns whether the system held the rate: it added little, and refused nothing.
    pub fn is_held(&self) -> bool {
        self.added.p99 <= micros(ADDED_P99_MAX) && self.refused == 0 && self.overload.is_none()
    }

    /// Returns what became of the rate, and why.
    pub fn verdict(&self) -> String {
        if let Some(waited) = self.overload {
            return format!("stopped: over {} payments waited", grouped(waited));
        }
        if let Some(refusal) = &self.refusal {
            return format!("not held: {} refused, the first by {refusal}", self.refused);
        }
        if self.is_held() { "held".to_owned() } else { "not held: late".to_owned() }
    }

    /// Returns whether the generator itself has a large part in the added latency.
    pub const fn is_generator_late(&self) -> bool {
        self.late.p99 > self.added.p99 / 3
    }
}

impl Percentiles {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        // The smallest time that so many of a thousand do not exceed.
        let of = |thousandths: usize| {
            let rank = (times.len() * thousandths).div_ceil(1000).saturating_sub(1);
            times.get(rank).copied().map(micros).unwrap_or_default()
        };
        Self { p50: of(500), p99: of(990), p999: of(999), max: of(1000) }
    }
}

/// Returns a time in microseconds.
pub fn micros(time: Duration) -> u64 {
    time.as_micros().try_into().unwrap_or(u64::MAX)
}

/// Returns a number with commas between its thousands.
fn grouped(number: usize) -> String {
    if number < 1000 {
        number.to_string()
    } else {
        format!("{},{:03}", grouped(number / 1000), number % 1000)
    }
}

/// Microseconds as milliseconds with one decimal.
struct Millis(u64);

impl Display for Millis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} ms", self.0 / 1000, self.0 % 1000 / 100)
    }
}

impl Display for Percentiles {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (name, us) in [("p50", self.p50), ("p99", self.p99), ("p99.9", self.p999)] {
            write!(f, "{name} {:>10}   ", Millis(us).to_string())?;
        }
        write!(f, "max {:>10}", Millis(self.max).to_string())
    }
}

/// A line about a step.
impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { rate, seconds, payments, faulty, added, .. } = self;
        let (p50, p99) = (Millis(added.p50), Millis(added.p99));
        write!(
            f,
            "{rate}/s for {seconds} s: {payments} payments, {faulty} faulty, added p50 {p50}, p99 {p99}, {}",
            self.verdict()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::PayerAnswer;
    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn payment(number: usize, whole: u64, at_acquirer: u64) -> Payment {
        Payment {
            number,
            late: Duration::ZERO,
            whole: millis(whole),
            at_acquirer: millis(at_acquirer),
            answer: PayerAnswer::Charged,
            is_faulty: false,
            refusal: None,
        }
    }

    fn figures(payments: Vec<Payment>, overload: Option<usize>) -> Figures {
        Figures::new(100, &Step { payments, span: millis(900), overload })
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let of = |count: u64| Percentiles::new((1..=count).rev().map(millis).collect());
        let us = |ms: [u64; 4]| Percentiles {
            p50: ms[0] * 1000,
            p99: ms[1] * 1000,
            p999: ms[2] * 1000,
            max: ms[3] * 1000,
        };
        assert_eq!(of(1000), us([500, 990, 999, 1000]));
        assert_eq!(of(3), us([2, 3, 3, 3]));
        assert_eq!(of(1), us([1; 4]));
        assert_eq!(of(0), us([0; 4]));
    }

    #[test]
    fn added_is_what_the_acquirer_did_not_take() {
        let shown = figures(vec![payment(0, 130, 120), payment(1, 400, 380), payment(2, 5, 6)], None);
        assert_eq!((shown.added.p50, shown.added.max), (10_000, 20_000));
        assert_eq!((shown.whole.max, shown.acquirer.p50), (400_000, 120_000));
    }

    #[test]
    fn a_rate_is_held_that_adds_little_and_refuses_nothing() {
        // A hundredth may take as long as it does.
        let hundred = |whole| {
            (0..99).map(|number| payment(number, whole, 120)).chain([payment(99, 9000, 120)]).collect()
        };
        assert_eq!(figures(hundred(170), None).verdict(), "held");
        assert_eq!(figures(hundred(171), None).verdict(), "not held: late");
        let stopped = figures(hundred(170), Some(1000));
        assert_eq!((stopped.is_held(), &*stopped.verdict()), (false, "stopped: over 1,000 payments waited"));
        let not_charged = |is_faulty| {
            let refusal = Some("502 gateway_error".to_owned());
            Payment { answer: PayerAnswer::NotCharged, is_faulty, refusal, ..payment(0, 1, 0) }
        };
        assert!(figures(vec![not_charged(true)], None).is_held());
        let refused = figures(vec![not_charged(false)], None);
        assert!(!refused.is_held());
        assert_eq!(
            refused.to_string(),
            "100/s for 1 s: 1 payments, 0 faulty, added p50 1.0 ms, p99 1.0 ms, not held: 1 refused, the first by 502 gateway_error"
        );
    }
}
