//! The search for the highest rate that a system holds.

/// The first rate that is tried, in payments a second.
pub const FIRST: u32 = 50;
/// The highest rate that is tried.
pub const RATE_MAX: u32 = 100_000;
/// The number of times that a rate is tried for the whole time.
const HOLDING_TRIES: u32 = 8;

/// The search: doubles the rate until it is missed, narrows the gap to a twentieth, and then has the rate held for the whole time, each
/// time a twentieth less, a few times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateSearch {
    /// The highest rate that was held for a moment, and the lowest that was missed.
    Narrowing {
        /// 0 before any.
        held: u32,
        missed: Option<u32>,
    },
    /// The rate to hold for the whole time.
    Holding {
        rate: u32,
        /// The number of tries that are left after this one.
        left: u32,
    },
    /// The rate that was held for the whole time; 0 if none was.
    Found(u32),
}

/// The next trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Payments a second.
    pub rate: u32,
    /// Whether it lasts for the whole time.
    pub is_whole: bool,
}

impl RateSearch {
    pub const fn new() -> Self {
        Self::Narrowing { held: 0, missed: None }
    }

    /// Returns what to try next; `None` once the rate is found.
    pub fn next_trial(self) -> Option<Trial> {
        match self {
            Self::Narrowing { held, missed } => {
                let rate = missed.map_or((held * 2).clamp(FIRST, RATE_MAX), |missed| held.midpoint(missed));
                Some(Trial { rate, is_whole: false })
            }
            Self::Holding { rate, .. } => Some(Trial { rate, is_whole: true }),
            Self::Found(_) => None,
        }
    }

    /// Returns the search after the trial that it wanted.
    #[must_use]
    pub fn after(self, is_held: bool) -> Self {
        let Some(Trial { rate, .. }) = self.next_trial() else { return self };
        match self {
            Self::Narrowing { missed, .. } if is_held => Self::narrowing(rate, missed),
            Self::Narrowing { held, .. } => Self::narrowing(held, Some(rate)),
            Self::Holding { .. } if is_held => Self::Found(rate),
            Self::Holding { left: 0, .. } => Self::Found(0),
            Self::Holding { left, .. } => Self::holding(rate - rate.div_ceil(20), left - 1),
            Self::Found(_) => self,
        }
    }

    fn narrowing(held: u32, missed: Option<u32>) -> Self {
        let is_narrow = missed.map_or(held == RATE_MAX, |missed| missed - held <= (held / 20).max(1));
        if is_narrow { Self::holding(held, HOLDING_TRIES - 1) } else { Self::Narrowing { held, missed } }
    }

    const fn holding(rate: u32, left: u32) -> Self {
        if rate == 0 { Self::Found(0) } else { Self::Holding { rate, left } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a system that holds one rate for a moment and another for the whole time. Returns the trials and what was found.
    fn search(moment: u32, whole: u32) -> (Vec<u32>, u32) {
        let (mut search, mut trials) = (RateSearch::new(), Vec::new());
        while let Some(trial) = search.next_trial() {
            trials.push(trial.rate);
            search = search.after(trial.rate <= if trial.is_whole { whole } else { moment });
        }
        let RateSearch::Found(rate) = search else { panic!("{search:?}") };
        (trials, rate)
    }

    #[test]
    fn the_rate_doubles_until_it_is_missed_and_the_gap_narrows_to_a_twentieth() {
        let (trials, rate) = search(730, 730);
        assert_eq!(trials, [50, 100, 200, 400, 800, 600, 700, 750, 725, 725]);
        assert_eq!(rate, 725);
    }

    #[test]
    fn a_rate_that_is_held_for_a_moment_only_goes_down_until_it_is_held() {
        let (trials, rate) = search(730, 650);
        assert_eq!(trials[9..], [725, 688, 653, 620]);
        assert_eq!(rate, 620);
        let (trials, rate) = search(730, 400);
        assert_eq!((trials.len(), trials[16], rate), (17, 504, 0), "tries end");
    }

    #[test]
    fn a_slow_system_is_found_below_the_first_rate_and_one_that_holds_nothing_too() {
        assert_eq!(search(7, 7).1, 7);
        assert_eq!(search(1, 1).1, 1);
        assert_eq!(search(0, 0).1, 0);
        assert_eq!(search(30, 0).1, 0);
        assert_eq!(search(u32::MAX, u32::MAX).1, RATE_MAX);
    }
}
