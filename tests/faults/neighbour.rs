//! A client of another account, which makes its charges while the server is attacked.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::harness::process::{PAYMENT, Process, pause, request, try_to_ask};

/// Between two charges: so many that a percentile of them means something, and not so many that they are a load.
const PACE: Duration = Duration::from_millis(20);

/// The client. Each of its requests is a connection of its own.
pub struct Neighbour {
    address: SocketAddr,
    key: String,
    charges: Vec<Duration>,
    health: Vec<Duration>,
    refused: Vec<String>,
}

impl Neighbour {
    /// Makes its account.
    pub fn new(server: &Process) -> Self {
        let made = server.ask("POST", "/1/sandbox/accounts", Some(&server.keys().0), "").ok(201);
        let key = made["secret_key"].as_str().unwrap().to_owned();
        let (charges, health, refused) = Default::default();
        Self { address: server.address, key, charges, health, refused }
    }

    /// Makes charges one after another, and asks whether the server is there.
    pub fn pays_for(&mut self, span: Duration) {
        let (charge, health) =
            (request("POST", "/1/charges", Some(&self.key), PAYMENT), request("GET", "/healthz", None, ""));
        let began = Instant::now();
        while began.elapsed() < span {
            let address = self.address;
            let took = |text: &str, status: u16| {
                let start = Instant::now();
                let answer = try_to_ask(address, text);
                let is_well = answer.as_ref().is_ok_and(|answer| answer.status == status);
                (start.elapsed(), (!is_well).then(|| format!("{answer:?}")))
            };
            let [charge, health] = [took(&charge, 201), took(&health, 200)];
            self.charges.push(charge.0);
            self.health.push(health.0);
            self.refused.extend(charge.1.into_iter().chain(health.1));
            pause(PACE);
        }
    }

    /// Forgets what it has measured. Returns the p99 of a charge.
    pub fn begins_anew(&mut self) -> Duration {
        let quiet = percentile(&mut self.charges);
        (self.charges, self.health, self.refused) = Default::default();
        quiet
    }

    /// Says what it has measured. None of its requests may be refused; the p99 of a charge must be below the bound, and that of
    /// /healthz below half of it.
    pub fn tells(mut self, attack: &str, quiet: Duration, bound: Duration) -> String {
        let (p99, health) = (percentile(&mut self.charges), percentile(&mut self.health));
        let longest = self.charges.last().copied().unwrap_or_default();
        let told = format!(
            "{} charges beside {attack}: p99 {} ms, at most {} ms (alone: p99 {} ms), of /healthz {} ms; {} refused",
            self.charges.len(),
            p99.as_millis(),
            longest.as_millis(),
            quiet.as_millis(),
            health.as_millis(),
            self.refused.len()
        );
        println!("{told}");
        assert!(self.refused.is_empty(), "{attack}: {:?}", self.refused);
        assert!(p99 < bound && health < bound / 2, "{attack}: {p99:?} and {health:?}, at most {bound:?}");
        told
    }
}

/// Returns what the p99 of a charge may be beside other clients, which depends on the build, the machine and what else runs on it.
pub fn bound() -> Duration {
    let bound =
        std::env::var("CARD_PAYMENTS_NEIGHBOUR_P99_MS").map_or(10_000, |bound| bound.parse().unwrap());
    Duration::from_millis(bound)
}

/// Returns the 99th, after which they are sorted.
fn percentile(took: &mut [Duration]) -> Duration {
    took.sort_unstable();
    took[took.len() * 99 / 100]
}
