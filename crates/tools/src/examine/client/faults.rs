//! Chooses the requests that are disturbed, and their faults: by the seed, and by how often an operation was called.

use std::collections::HashMap;
use std::sync::Mutex;

use base::mutex::lock;
use sha2::{Digest, Sha256};

use super::traffic::Sent;

/// The fault that disturbs a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request is done, and its answer is lost.
    Lost,
    /// 502, and nothing is done.
    BadGateway,
    /// 503 with Retry-After, and nothing is done.
    Unavailable,
    /// The request is done, and its answer comes late.
    Slow,
    /// The request is done, and the connection ends within its answer.
    Cut,
}

impl Fault {
    const ALL: [Self; 5] = [Self::Lost, Self::BadGateway, Self::Unavailable, Self::Slow, Self::Cut];

    pub const fn words(self) -> &'static str {
        match self {
            Self::Lost => "the answer was lost",
            Self::BadGateway => "502",
            Self::Unavailable => "503 with Retry-After",
            Self::Slow => "the answer was late",
            Self::Cut => "the connection ended within the answer",
        }
    }
}

/// The number of times that the same request is disturbed: a client that tries three times succeeds.
const TIMES_MAX: u32 = 2;

/// Decides about requests.
pub struct FaultPlan {
    seed: u64,
    /// The number of requests of a hundred that are disturbed.
    percent: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of calls of each operation.
    calls: HashMap<String, u64>,
    /// The number of times that each request was disturbed.
    disturbed: HashMap<String, u32>,
}

impl FaultPlan {
    /// Returns a plan that disturbs so many of a hundred requests.
    pub fn new(seed: u64, percent: u64) -> Self {
        Self { seed, percent, state: Mutex::default() }
    }

    /// Returns what is done to a request.
    pub fn fault(&self, sent: &Sent) -> Option<Fault> {
        if !sent.is_judged {
            return None;
        }
        let mut state = lock(&self.state);
        let call = state.calls.entry(sent.operation.clone()).or_default();
        *call += 1;
        let draw = Sha256::digest(format!("{} {} {call}", self.seed, sent.operation));
        let (random, kind) = (number(&draw[..8]) % 100, number(&draw[8..16]) % 5);
        let times = state.disturbed.entry(sent.fingerprint.clone()).or_default();
        if random >= self.percent || *times >= TIMES_MAX {
            return None;
        }
        *times += 1;
        usize::try_from(kind).ok().and_then(|kind| Fault::ALL.get(kind)).copied()
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(seed: u64, percent: u64) -> Vec<Option<Fault>> {
        let plan = FaultPlan::new(seed, percent);
        let call = |number: usize| Sent {
            operation: "POST /1/charges".to_owned(),
            is_judged: true,
            fingerprint: number.to_string(),
            ..Sent::default()
        };
        (0..200).map(|number| plan.fault(&call(number))).collect()
    }

    #[test]
    fn a_seed_gives_the_same_faults_and_another_one_others() {
        assert_eq!(faults(1, 25), faults(1, 25));
        assert_ne!(faults(1, 25), faults(2, 25));
        let disturbed = faults(1, 25).into_iter().flatten().count();
        assert!((30..70).contains(&disturbed), "{disturbed}");
        assert!(Fault::ALL.iter().all(|fault| faults(1, 100).contains(&Some(*fault))));
        assert!(faults(1, 0).iter().all(Option::is_none));
    }

    #[test]
    fn the_same_request_is_disturbed_at_most_twice_and_preparations_never() {
        let plan = FaultPlan::new(1, 100);
        let sent = Sent { is_judged: true, ..Sent::default() };
        let disturbed = (0..9).filter(|_| plan.fault(&sent).is_some()).count();
        assert_eq!(disturbed, 2);
        assert_eq!(plan.fault(&Sent::default()), None);
    }
}
