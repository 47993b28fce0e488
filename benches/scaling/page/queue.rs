//! Requests in one line for several cores: M/G/c. They come by chance and independently of each other; what one costs varies.

use super::figures::{CALLERS, MEASURED_CORES, MEASUREMENTS, Measurement};

/// The 99th percentile of the normal distribution, in standard deviations.
const NORMAL_P99: f64 = 2.326;

/// Cores that serve one line of requests.
#[derive(Clone, Copy)]
pub struct Queue {
    /// The mean time of a core that a request takes, in seconds.
    pub service: f64,
    pub cores: f64,
}

impl Queue {
    /// Returns the requests a second at which no core is ever free.
    pub fn capacity(self) -> f64 {
        self.cores / self.service
    }

    /// Returns the share of requests that find all cores busy: Erlang's C, by way of his B.
    fn waiting_share(self, rate: f64) -> f64 {
        let load = rate * self.service;
        let (mut lost, mut cores) = (1.0, 1.0);
        while cores <= self.cores {
            lost = load * lost / (cores + load * lost);
            cores += 1.0;
        }
        lost / (1.0 - load / self.cores * (1.0 - lost))
    }

    /// Returns the wait for a core that one request in a hundred exceeds, in seconds. Waits are exponential, and variable service
    /// makes them longer than M/M/c has them, by the approximation of Allen and Cunneen.
    pub fn wait_p99(self, rate: f64) -> f64 {
        let mean = f64::midpoint(1.0, variability()) / (self.capacity() - rate);
        (mean * (self.waiting_share(rate) / 0.01).ln()).max(0.0)
    }
}

/// Returns the variability with which the model meets the worst measurement.
fn variability() -> f64 {
    MEASUREMENTS.iter().map(Measurement::variability).fold(0.0, f64::max)
}

impl Measurement {
    /// Returns the mean response time, in seconds: by Little's law, which knows no exception.
    pub fn mean(&self) -> f64 {
        CALLERS.get() / self.rate
    }

    /// Returns the variance of the service time, in squares of its mean (1 in M/M/c), with which the measured p99 is the model's. A
    /// request waits until all others but those in service have left, and is then served; so many times add up to a normal
    /// distribution.
    pub fn variability(&self) -> f64 {
        let cores = MEASURED_CORES.get();
        let deviation = (self.p99 / 1e3 - self.mean()) / NORMAL_P99;
        (deviation * self.rate).powi(2) / (CALLERS.get() - cores + cores.powi(2))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_shares_that_wait_are_those_of_the_textbook() {
        for (cores, busy, share) in
            [(1.0, 0.5, 0.5), (1.0, 0.9, 0.9), (2.0, 0.5, 1.0 / 3.0), (3.0, 2.0 / 3.0, 4.0 / 9.0)]
        {
            let queue = super::Queue { service: 0.01, cores };
            assert!((queue.waiting_share(busy * queue.capacity()) - share).abs() < 1e-9, "{cores} cores");
        }
    }
}
