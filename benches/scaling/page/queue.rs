//! Queues with one line of waiting and several cores: M/M/c. Requests come by chance, independently of each other, and each takes
//! one core for a time whose distribution is exponential.

/// Cores that serve one line of requests.
#[derive(Clone, Copy)]
pub struct Queue {
    /// The time of a core that a request takes, in seconds.
    pub service: f64,
    pub cores: u32,
}

impl Queue {
    /// The requests a second that use this share of the cores.
    pub fn rate_at(self, share: f64) -> f64 {
        share * f64::from(self.cores) / self.service
    }

    /// The wait for a core that one request in a hundred exceeds, in seconds.
    pub fn wait_p99(self, rate: f64) -> f64 {
        let (load, cores) = (rate * self.service, f64::from(self.cores));
        // Erlang's formulas: the chance that all cores are busy, first where requests are lost, then where they wait.
        let blocked = (1..=self.cores).fold(1.0, |blocked: f64, n| {
            let offered = load * blocked;
            offered / (f64::from(n) + offered)
        });
        let waits = blocked / (1.0 - load / cores * (1.0 - blocked));
        ((waits / 0.01).ln() / (cores / self.service - rate)).max(0.0)
    }
}

/// The response time that one request in a hundred exceeds where `callers` send again after each response and all cores are busy, in
/// seconds: most of the others are before a request, and leave one after another.
pub fn closed_p99(callers: u32, cores: u32, rate: f64) -> f64 {
    let ahead = callers - cores;
    let service = f64::from(cores) / rate;
    let (mut short, mut long) = (0.0, 100.0 * service);
    for _ in 0..60 {
        let middle = f64::midpoint(short, long);
        if exceeds(middle, ahead, rate, service) > 0.01 { short = middle } else { long = middle }
    }
    long
}

/// The chance that `ahead` departures at a rate, and then a service, take longer than a time.
fn exceeds(time: f64, ahead: u32, rate: f64, service: f64) -> f64 {
    const STEPS: u32 = 2_000;
    // The distribution of Erlang: the departures alone take longer.
    let expected = rate * time;
    let departures = (1..ahead).fold(((-expected).exp(), (-expected).exp()), |(term, sum), n| {
        let term = term * expected / f64::from(n);
        (term, sum + term)
    });
    // Or they end before, and the service takes the rest: Simpson's rule.
    let step = time / f64::from(STEPS);
    let factorial: f64 = (1..ahead).map(|n| f64::from(n).ln()).sum();
    let ends_at = |at: f64| {
        if at <= 0.0 {
            return 0.0;
        }
        let n = f64::from(ahead);
        (n * rate.ln() + (n - 1.0) * at.ln() - rate * at - factorial - (time - at) / service).exp()
    };
    let inner: f64 =
        (0..=STEPS).map(|n| f64::from(if n == 0 || n == STEPS { 1 } else { 2 + n % 2 * 2 }) * ends_at(f64::from(n) * step)).sum();
    departures.1 + inner * step / 3.0
}
