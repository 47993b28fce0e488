//! The results of a run.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use base::platform::processor_time;
use entity::Probability;
use serde::Serialize;

use super::figures::{self, ADDED_P99_MAX, Figures};
use super::proof::Proof;
use super::servers::OwnServers;
use crate::terminal::{BAD, GOOD, HEAD};

/// The result of a run.
#[derive(Serialize)]
pub struct Summary {
    /// The database of the run's own servers, or the addresses of another system.
    pub system: String,
    /// The number of servers that were sent to.
    pub copies: usize,
    /// p50 and p99 in milliseconds; null if the system has its own acquirer.
    pub acquirer: Option<String>,
    /// The share of the acquirer's calls that failed.
    pub faults: Option<Probability>,
    pub seed: u64,
    /// The rate that was held for the whole time, in payments a second.
    pub held: Option<u32>,
    /// Of the last step.
    pub figures: Figures,
    /// Of a payment of that step.
    pub processor_us: ProcessorTimes,
    pub proof: Proof,
}

/// The time of processors, in microseconds; null where it cannot be seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ProcessorTimes {
    servers: Option<u64>,
    database: Option<u64>,
    /// This program: the generator and the acquirer.
    bench: Option<u64>,
}

impl ProcessorTimes {
    /// Returns the times so far.
    pub fn now(servers: Option<&OwnServers>) -> Self {
        let micros = |time: Option<Duration>| time.map(figures::micros);
        Self {
            servers: micros(servers.and_then(OwnServers::processor_time)),
            database: micros(servers.and_then(OwnServers::database_time)),
            bench: micros(processor_time::of_process(std::process::id())),
        }
    }

    /// Returns the part of each payment since then.
    #[must_use]
    pub fn of_each(self, before: Self, payments: usize) -> Self {
        let each = |now: Option<u64>, before: Option<u64>| {
            Some(now?.saturating_sub(before?) / u64::try_from(payments.max(1)).unwrap_or(u64::MAX))
        };
        Self {
            servers: each(self.servers, before.servers),
            database: each(self.database, before.database),
            bench: each(self.bench, before.bench),
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { system, copies, acquirer, faults, seed, held, figures, processor_us, proof } = self;
        let Figures { rate, seconds, payments, faulty, added, whole, acquirer: at_acquirer, late, .. } =
            figures;
        write!(f, "{HEAD}{system}{HEAD:#}")?;
        if *copies > 1 {
            write!(f, ", {copies} servers")?;
        }
        if let (Some(times), Some(faults)) = (acquirer, faults) {
            write!(f, ", acquirer {times} ms, faults {faults}")?;
        }
        writeln!(f, ", seed {seed}")?;
        let most = ADDED_P99_MAX.as_millis();
        let style = if held.is_some() { GOOD } else { BAD };
        let verdict = figures.verdict();
        writeln!(
            f,
            "{rate} payments a second, within {most} ms of added latency at p99: {style}{verdict}{style:#}"
        )?;
        writeln!(f, "  {payments} payments arrived in {seconds} s, {faulty} of them failed by the acquirer")?;
        writeln!(f, "  added     {added}")?;
        writeln!(f, "  whole     {whole}")?;
        if acquirer.is_some() {
            writeln!(f, "  acquirer  {at_acquirer}")?;
        }
        writeln!(f, "  sent late {late}")?;
        if figures.is_generator_late() {
            writeln!(f, "  the generator itself was late: it needs more of the machine")?;
        }
        let ProcessorTimes { servers, database, bench } = processor_us;
        let parts = [("servers", servers), ("database", database), ("generator and acquirer", bench)];
        let parts: Vec<_> =
            parts.iter().filter_map(|(name, us)| us.map(|us| format!("{name} {us} us"))).collect();
        if !parts.is_empty() {
            writeln!(f, "  processor time of a payment: {}", parts.join(", "))?;
        }
        write!(f, "{}{proof}", if proof.is_good() { "" } else { "WRONG: " })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payments_share_is_told_where_both_times_were_seen() {
        let before = ProcessorTimes { servers: Some(1_000), database: None, bench: Some(500) };
        let after = ProcessorTimes { servers: Some(61_000), database: Some(1), bench: Some(500) };
        let each = ProcessorTimes { servers: Some(600), database: None, bench: Some(0) };
        assert_eq!(after.of_each(before, 100), each);
        assert_eq!(after.of_each(before, 0).servers, Some(60_000));
    }
}
