//! The times that may be now, for what cannot be undone (`docs/decisions.md`, 404).
//!
//! A wall clock is doubted once it moves by more than an hour against the monotonic clock, or differs by as much from the time
//! that the database has noted. Then two times may be right: the trusted one, which goes on at its own pace, and the wall
//! clock. What destroys goes by the earlier of the two, what has to last by the later one, and what nobody can undo may be a
//! little early by the earlier one. The doubt ends when the wall clock is back, when it has stood for as long as it jumped, a
//! day at most, or when an operator confirms it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use entity::{TimeSpan, Timestamp};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::limits::{CLOCK_STANDS, CLOCK_TOLERANCE};
use crate::mutex::lock;

/// The record of the time in the database, for all copies of the server and their next starts: in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRecord {
    trusted: i64,
    /// The wall clock of the copy that wrote it.
    wall: i64,
    /// The time for which a doubted wall clock had stood.
    stood: i64,
    /// The time to which the trusted one was last set against its own pace.
    set_to: i64,
    /// The times that a wall clock behind the trusted time has shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    behind: Option<TimesBehind>,
}

/// The times that a doubted wall clock has shown that was behind the trusted time, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct TimesBehind {
    from: i64,
    to: i64,
    /// The trusted time when it did so last.
    at: i64,
}

impl TimesBehind {
    fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self { from: self.from.min(other.from), to: self.to.max(other.to), at: self.at.max(other.at) }
    }
}

impl ClockRecord {
    /// Returns what is noted when an operator confirms a wall clock.
    pub fn confirmed(wall: Timestamp) -> Self {
        Self { set_to: wall.millis(), ..Self::noted_at(wall) }
    }

    /// Returns the least that is known: it has been this late.
    pub fn noted_at(at: Timestamp) -> Self {
        Self { trusted: at.millis(), wall: at.millis(), stood: 0, set_to: 0, behind: None }
    }

    /// Returns the record that a text holds.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns why a wall clock is doubted by this record, if it is.
    pub fn doubt(&self, wall: Timestamp) -> Option<ClockDoubt> {
        ClockState::new(Some(self), wall, Duration::ZERO).doubt()
    }
}

/// A wall clock that is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDoubt {
    /// The wall clock's time.
    pub wall: Timestamp,
    /// The time that was expected.
    pub trusted: Timestamp,
    /// The time for which the clock still has to stand until it is believed.
    pub remaining: TimeSpan,
}

impl ClockDoubt {
    /// Returns how far the wall clock is from the trusted time.
    pub fn jump(&self) -> TimeSpan {
        distance(self.wall, self.trusted)
    }
}

impl fmt::Display for ClockDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wall, trusted, remaining } = *self;
        let until = wall + remaining;
        write!(
            f,
            "it is {wall} where {trusted} was expected: if the clock stands, it is believed from {until} on, and until then "
        )?;
        f.write_str("nothing is deleted by age")
    }
}

/// The clock as a process has seen it.
#[derive(Debug, Clone, Copy)]
pub struct ClockState {
    /// The wall clock's time while that is believed.
    trusted: Timestamp,
    wall: Timestamp,
    elapsed: Duration,
    /// The time for which the wall clock has gone on without a jump.
    stood: TimeSpan,
    set_to: Timestamp,
    behind: Option<TimesBehind>,
    /// The record that this process read or wrote last.
    seen: Option<ClockRecord>,
}

impl ClockState {
    /// Starts from the record of earlier processes, if there is one.
    fn new(seen: Option<&ClockRecord>, wall: Timestamp, elapsed: Duration) -> Self {
        let noted = seen.copied().unwrap_or_else(|| ClockRecord::noted_at(wall));
        let trusted = Timestamp::from_millis(noted.trusted);
        // A clock that is later than the last process knew it may have stood meanwhile; one that went back has not.
        let went_back = wall + CLOCK_TOLERANCE < Timestamp::from_millis(noted.wall);
        Self {
            trusted: if is_near(wall, trusted) { wall } else { trusted },
            wall,
            elapsed,
            stood: if went_back { TimeSpan::ZERO } else { TimeSpan::from_millis(noted.stood) },
            set_to: Timestamp::from_millis(noted.set_to),
            behind: noted.behind,
            seen: seen.copied(),
        }
    }

    /// Takes notice of the time.
    fn pass(&mut self, wall: Timestamp, elapsed: Duration) {
        let passed = elapsed.saturating_sub(self.elapsed).as_millis();
        let passed = TimeSpan::from_millis(i64::try_from(passed).unwrap_or(i64::MAX));
        let stands = is_near(wall, self.wall + passed);
        self.stood = if stands { self.stood + passed } else { TimeSpan::ZERO };
        let expected = self.trusted + passed;
        self.trusted = if is_near(wall, expected) { wall } else { expected };
        (self.wall, self.elapsed) = (wall, self.elapsed.max(elapsed));
        if wall < self.trusted {
            let (shown, at) = (wall.millis(), self.trusted.millis());
            self.behind = Some(TimesBehind { from: shown, to: shown, at }.and(self.behind));
        }
    }

    /// Takes notice of the record in the database, then believes a clock that has stood long enough. Returns the state, and the
    /// record to write.
    #[must_use]
    pub fn meet(mut self, found: Option<&ClockRecord>) -> (Self, ClockRecord) {
        if let Some(found) = found.filter(|found| self.seen.as_ref() != Some(found)) {
            // Another copy, or an operator, has written since: it decides.
            let noted = Timestamp::from_millis(found.trusted);
            self.trusted = if is_near(self.wall, noted) {
                self.wall
            } else if is_near(self.trusted, noted) {
                self.trusted.max(noted)
            } else {
                noted
            };
            self.set_to = Timestamp::from_millis(found.set_to);
            self.behind = found.behind.map(|times| times.and(self.behind)).or(self.behind);
            if !is_near(self.wall, Timestamp::from_millis(found.wall)) {
                // A clock stands only while no other one says otherwise.
                self.stood = TimeSpan::ZERO;
            }
        }
        if self.doubt().is_some_and(|doubt| doubt.remaining == TimeSpan::ZERO) {
            (self.trusted, self.set_to) = (self.wall, self.wall);
        }
        let record = ClockRecord {
            trusted: self.trusted.millis(),
            wall: self.wall.millis(),
            stood: if self.doubt().is_some() { self.stood.millis() } else { 0 },
            set_to: self.set_to.millis(),
            behind: self.behind,
        };
        self.seen = Some(record);
        (self, record)
    }

    /// Returns why the wall clock is not believed, unless it is.
    pub fn doubt(&self) -> Option<ClockDoubt> {
        let (wall, trusted) = (self.wall, self.trusted);
        let needed = distance(wall, trusted).min(CLOCK_STANDS);
        let remaining = TimeSpan::from_millis((needed.millis() - self.stood.millis()).max(0));
        (wall != trusted).then_some(ClockDoubt { wall, trusted, remaining })
    }
}

fn distance(one: Timestamp, other: Timestamp) -> TimeSpan {
    Ord::max(one - other, other - one)
}

fn is_near(one: Timestamp, other: Timestamp) -> bool {
    distance(one, other) <= CLOCK_TOLERANCE
}

/// The times that may be now.
pub struct TrustedClock {
    clock: Arc<dyn Clock>,
    /// `None` if the clock stands still.
    state: Option<Mutex<ClockState>>,
}

impl TrustedClock {
    /// Starts from the record of earlier processes, if there is one.
    pub fn resume(clock: Arc<dyn Clock>, record: Option<&ClockRecord>) -> Self {
        let state = ClockState::new(record, clock.now(), clock.elapsed());
        match state.doubt() {
            Some(doubt) if doubt.wall < doubt.trusted => tracing::warn!("{doubt}"),
            // Most likely no server ran meanwhile.
            Some(doubt) => tracing::info!("{doubt}"),
            None => {}
        }
        Self { clock, state: Some(Mutex::new(state)) }
    }

    /// Believes a clock that stands still, as that of a server with a seed does.
    pub fn still(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: None }
    }

    /// Returns the earliest time that may be now: what is older by it is old, and may be destroyed.
    pub fn earliest(&self) -> Timestamp {
        self.see().map_or_else(|| self.clock.now(), |state| state.trusted.min(state.wall))
    }

    /// Returns the wall clock's time, but at most `span` after the earliest time that may be now: what nobody can undo goes by it, so
    /// that a clock that jumped makes it early by no more than that.
    pub fn within(&self, span: TimeSpan) -> Timestamp {
        self.clock.now().min(self.earliest() + span)
    }

    /// Returns the latest time that may be now: what has to last from now on is dated by it.
    pub fn latest(&self) -> Timestamp {
        self.see().map_or_else(|| self.clock.now(), |state| state.trusted.max(state.wall))
    }

    /// Returns how far the wall clock may lag: added to a time that was read before, it gives the latest one without a second reading.
    pub fn lag(&self) -> TimeSpan {
        self.see().map_or(TimeSpan::ZERO, |state| (state.trusted - state.wall).max(TimeSpan::ZERO))
    }

    /// Returns the instant up to which dates are certainly older than `span`. What was dated before the time was set may be
    /// younger than its date says: nothing is older within the span after that.
    pub fn long_ago(&self, span: TimeSpan) -> Timestamp {
        let Some(state) = self.see() else { return self.clock.now() - span };
        let earliest = state.trusted.min(state.wall);
        if state.set_to + span > earliest { Timestamp::from_millis(0) } else { earliest - span }
    }

    /// Returns the dates between which things may be younger than they say, as a wall clock that was behind has dated some within
    /// the last `span`.
    pub fn dated_behind(&self, span: TimeSpan) -> Option<(Timestamp, Timestamp)> {
        let state = self.see()?;
        let times = state.behind?;
        let (from, to) = (Timestamp::from_millis(times.from), Timestamp::from_millis(times.to));
        let was_lately = state.trusted.min(state.wall) < Timestamp::from_millis(times.at) + span;
        was_lately.then_some((from - CLOCK_TOLERANCE, to + CLOCK_TOLERANCE))
    }

    /// Returns why the wall clock is not believed, unless it is.
    pub fn doubt(&self) -> Option<ClockDoubt> {
        self.see()?.doubt()
    }

    /// Returns the state; `None` if the clock stands still.
    pub fn state(&self) -> Option<ClockState> {
        Some(*self.see()?)
    }

    /// Goes on from a state.
    pub fn set(&self, state: ClockState) {
        if let Some(known) = &self.state {
            let before = std::mem::replace(&mut *lock(known), state);
            report(&before, &state);
        }
    }

    fn see(&self) -> Option<MutexGuard<'_, ClockState>> {
        let mut state = lock(self.state.as_ref()?);
        let before = *state;
        state.pass(self.clock.now(), self.clock.elapsed());
        report(&before, &state);
        Some(state)
    }
}

/// Logs that a doubt began or ended.
fn report(before: &ClockState, after: &ClockState) {
    match (before.doubt(), after.doubt()) {
        (None, Some(doubt)) => {
            tracing::warn!("{doubt}, unless card-payments clock confirm says that it is right");
        }
        (Some(_), None) => tracing::info!(now = %after.wall, "the clock is believed again"),
        (None, None) | (Some(_), Some(_)) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;

    /// A copy of the server with its own clock, and how wrong that is.
    struct Copy {
        state: ClockState,
        wrong: i64,
    }

    impl Copy {
        fn start(record: Option<&ClockRecord>, now: i64, wrong: i64) -> Self {
            Self { state: ClockState::new(record, Timestamp::from_millis(now + wrong), elapsed(now)), wrong }
        }

        fn notes(&mut self, now: i64, record: &mut Option<ClockRecord>) {
            self.state.pass(Timestamp::from_millis(now + self.wrong), elapsed(now));
            let (state, noted) = self.state.meet(record.as_ref());
            (self.state, *record) = (state, Some(noted));
        }
    }

    fn elapsed(now: i64) -> Duration {
        Duration::from_millis(now.unsigned_abs())
    }

    /// Lets the copies note the time each minute. Returns when the last doubt ended, if it did.
    fn run(
        copies: &mut [&mut Copy],
        record: &mut Option<ClockRecord>,
        now: &mut i64,
        span: i64,
    ) -> Option<i64> {
        let (began, mut ended) = (*now, None);
        while *now < began + span {
            *now += HOUR / 60;
            for copy in &mut *copies {
                copy.notes(*now, record);
            }
            let doubted = copies.iter().any(|copy| copy.state.doubt().is_some());
            ended = if doubted { None } else { ended.or(Some(*now - began)) };
        }
        ended
    }

    #[test]
    fn a_copy_whose_clock_differs_is_not_believed_while_another_one_is() {
        let (mut record, mut now) = (None, 1000 * DAY);
        let mut right = Copy::start(None, now, 0);
        right.notes(now, &mut record);
        let mut wrong = Copy::start(record.as_ref(), now, 500 * DAY);
        assert_eq!(run(&mut [&mut right, &mut wrong], &mut record, &mut now, 5 * DAY), None);
        assert_eq!(right.state.doubt(), None);
        assert_eq!(wrong.state.doubt().unwrap().remaining.millis(), DAY);
        let behind = wrong.state.trusted.millis() - now;
        assert!(behind.abs() <= HOUR, "it goes on with the others: {behind}");
        wrong.wrong = 0;
        assert_eq!(run(&mut [&mut right, &mut wrong], &mut record, &mut now, HOUR), Some(HOUR / 60));
    }

    #[test]
    fn copies_that_were_down_together_believe_their_clocks_together_if_these_agree() {
        let (mut record, mut now) = (None, 1000 * DAY);
        Copy::start(None, now, 0).notes(now, &mut record);
        now += 20 * DAY;
        let mut copies = [0, HOUR / 2].map(|wrong| Copy::start(record.as_ref(), now, wrong));
        let [one, two] = &mut copies;
        assert_eq!(run(&mut [one, two], &mut record, &mut now, 2 * DAY), Some(DAY));
        now += 20 * DAY;
        let mut copies = [0, 3 * HOUR].map(|wrong| Copy::start(record.as_ref(), now, wrong));
        let [one, two] = &mut copies;
        assert_eq!(run(&mut [one, two], &mut record, &mut now, 3 * DAY), None, "nobody knows which is right");
        record = Some(ClockRecord::confirmed(Timestamp::from_millis(now)));
        let [one, two] = &mut copies;
        run(&mut [one, two], &mut record, &mut now, HOUR);
        assert_eq!((one.state.doubt(), two.state.doubt().is_some()), (None, true), "an operator does");
    }

    #[test]
    fn a_clock_stands_for_as_long_as_it_jumped_and_for_a_day_at_most_also_in_parts() {
        for (jump, stands) in
            [(2 * HOUR, 2 * HOUR), (-5 * HOUR, 5 * HOUR), (500 * DAY, DAY), (-30 * DAY, DAY)]
        {
            let (mut record, mut now) = (None, 1000 * DAY);
            let mut copy = Copy::start(None, now, 0);
            copy.notes(now, &mut record);
            copy.wrong = jump;
            // The first minute is that of the jump.
            let ended = run(&mut [&mut copy], &mut record, &mut now, 2 * DAY).unwrap();
            assert!((stands..=stands + HOUR / 30).contains(&ended), "{jump}: {ended}");
        }
        // A laptop that is on for an hour a day.
        let (mut record, mut now) = (None, 1000 * DAY);
        Copy::start(None, now, 0).notes(now, &mut record);
        let mut days = 0;
        loop {
            now += DAY - HOUR;
            let mut copy = Copy::start(record.as_ref(), now, 0);
            days += 1;
            if run(&mut [&mut copy], &mut record, &mut now, HOUR).is_some() {
                break;
            }
        }
        assert_eq!(days, 24);
    }

    #[test]
    fn a_clock_that_comes_and_goes_never_stands() {
        let (mut record, mut now) = (None, 1000 * DAY);
        let mut copy = Copy::start(None, now, 0);
        for round in 0..100 {
            copy.wrong = if round % 2 == 0 { 500 * DAY } else { 0 };
            let ended = run(&mut [&mut copy], &mut record, &mut now, HOUR);
            assert_eq!(ended.is_some(), round % 2 == 1, "{round}");
        }
    }
}
