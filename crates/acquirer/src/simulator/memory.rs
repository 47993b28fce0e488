//! The simulator's memory: calls that were done, whose answer may not have arrived or could not be recorded, and closed
//! keys. A decline needs no memory: a client that asks again hears that nothing was done.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::super::{CallKey, Failure, Fault, Settled, SimulatedOutcome};

#[derive(Debug)]
pub(super) struct Memory {
    kept: Duration,
    /// The maximum number of calls; the oldest are forgotten early.
    most: usize,
    fates: HashMap<CallKey, (Instant, Fate)>,
    /// Oldest first, so that forgetting visits no entry that stays.
    order: VecDeque<(Instant, CallKey)>,
}

#[derive(Clone, Debug)]
enum Fate {
    /// The call was done, and its client may not know.
    Done { reference: String },
    /// The call was done and has been undone.
    Reversed { reference: String },
    /// The call was never done and never will be.
    Closed,
}

impl Memory {
    /// Creates a memory of at most `most` calls, each kept for `kept`.
    pub(super) fn new(most: usize, kept: Duration) -> Self {
        Self { kept, most, fates: HashMap::new(), order: VecDeque::new() }
    }

    /// Does and remembers a call and returns the payment's reference; `None` where the call never gets its answer. One
    /// step: a client that settles the key finds the call done, or the call finds the key closed.
    pub(super) fn act(
        &mut self,
        now: Instant,
        key: &CallKey,
        reference: &str,
        outcome: SimulatedOutcome,
    ) -> Option<Result<String, Failure>> {
        self.forget(now);
        let reference = match (self.fate(key), outcome) {
            (Some(Fate::Closed | Fate::Reversed { .. }), _) => return Some(Err(Failure::Closed)),
            // A repeated call whose first answer was lost: "nothing happened" would be false.
            (Some(Fate::Done { reference }), _) => reference.clone(),
            (None, SimulatedOutcome::Declined(decline)) => return Some(Err(Failure::Declined(decline))),
            (None, SimulatedOutcome::Fault(Fault::GatewayError)) => return Some(Err(Failure::GatewayError)),
            (
                None,
                SimulatedOutcome::Approved(_)
                | SimulatedOutcome::ApprovedButLost
                | SimulatedOutcome::Fault(Fault::NoAnswer | Fault::AnswerLost),
            ) => reference.to_owned(),
        };
        self.remember(now, key, Fate::Done { reference: reference.clone() });
        match outcome {
            SimulatedOutcome::Fault(Fault::NoAnswer) => None,
            SimulatedOutcome::ApprovedButLost | SimulatedOutcome::Fault(Fault::AnswerLost) => {
                Some(Err(Failure::NoAnswer))
            }
            SimulatedOutcome::Approved(_)
            | SimulatedOutcome::Declined(_)
            | SimulatedOutcome::Fault(Fault::GatewayError) => Some(Ok(reference)),
        }
    }

    /// Undoes a creation and closes its key. A repeated call answers the same.
    pub(super) fn reverse(&mut self, now: Instant, key: &CallKey) -> Settled {
        self.forget(now);
        match self.fate(key).cloned() {
            Some(Fate::Done { reference } | Fate::Reversed { reference }) => {
                self.remember(now, key, Fate::Reversed { reference: reference.clone() });
                Settled::Done { reference }
            }
            Some(Fate::Closed) | None => self.close(now, key),
        }
    }

    /// Returns the outcome of a key, and closes a key that has none.
    pub(super) fn settle(&mut self, now: Instant, key: &CallKey) -> Settled {
        self.forget(now);
        match self.fate(key).cloned() {
            Some(Fate::Done { reference }) => Settled::Done { reference },
            Some(Fate::Reversed { .. }) => Settled::NotDone,
            Some(Fate::Closed) | None => self.close(now, key),
        }
    }

    /// Returns whether the call under a key was done and stands.
    pub(super) fn is_done(&self, key: &CallKey) -> bool {
        matches!(self.fate(key), Some(Fate::Done { .. }))
    }

    fn close(&mut self, now: Instant, key: &CallKey) -> Settled {
        self.remember(now, key, Fate::Closed);
        Settled::NotDone
    }

    fn fate(&self, key: &CallKey) -> Option<&Fate> {
        self.fates.get(key).map(|(_, fate)| fate)
    }

    fn remember(&mut self, now: Instant, key: &CallKey, fate: Fate) {
        self.fates.insert(key.clone(), (now, fate));
        self.order.push_back((now, key.clone()));
        while self.order.len() > self.most {
            self.drop_oldest();
        }
    }

    fn forget(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(at, _)| now.duration_since(*at) >= self.kept) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((at, key)) = self.order.pop_front() else { return };
        // A key whose fate has changed since has a newer entry further back.
        if self.fates.get(&key).is_some_and(|(latest, _)| *latest == at) {
            self.fates.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use entity::failure::Decline;

    use super::super::super::Aftermath;
    use super::*;

    const KEPT: Duration = Duration::from_mins(2);
    const JUST_KEPT: Duration = Duration::from_millis(119_999);
    const REFERENCE: &str = "simulator:ordinary:ch_1:authorise";
    const APPROVED: SimulatedOutcome = SimulatedOutcome::Approved(Aftermath::Ordinary);
    const LOST: SimulatedOutcome = SimulatedOutcome::Fault(Fault::AnswerLost);
    const FAILED: SimulatedOutcome = SimulatedOutcome::Fault(Fault::GatewayError);
    const DECLINED: SimulatedOutcome = SimulatedOutcome::Declined(Decline::LostCard);

    fn memory() -> Memory {
        Memory::new(100, KEPT)
    }

    fn key() -> CallKey {
        CallKey::new("ch_1", "authorise")
    }

    fn done() -> Settled {
        Settled::Done { reference: reference() }
    }

    fn reference() -> String {
        REFERENCE.to_owned()
    }

    #[test]
    fn a_lost_call_is_forgotten_after_its_time_and_not_before() {
        let (mut memory, start) = (memory(), Instant::now());
        assert_eq!(memory.act(start, &key(), REFERENCE, LOST), Some(Err(Failure::NoAnswer)));
        assert_eq!(memory.settle(start + JUST_KEPT, &key()), done());
        assert_eq!(memory.settle(start + KEPT, &key()), Settled::NotDone);
    }

    #[test]
    fn a_key_stays_closed_for_as_long_from_its_closing() {
        let (mut memory, start) = (memory(), Instant::now());
        assert_eq!(memory.act(start, &key(), REFERENCE, SimulatedOutcome::Fault(Fault::NoAnswer)), None);
        let closing = start + Duration::from_secs(100);
        assert_eq!(memory.reverse(closing, &key()), done());
        let late = closing + JUST_KEPT;
        assert_eq!(memory.act(late, &key(), REFERENCE, APPROVED), Some(Err(Failure::Closed)));
    }

    #[test]
    fn a_call_that_was_answered_is_known_to_whoever_settles_it_at_the_same_moment() {
        for reverses in [false, true] {
            let (mut memory, now) = (memory(), Instant::now());
            assert_eq!(memory.act(now, &key(), REFERENCE, APPROVED), Some(Ok(reference())));
            let settled = if reverses { memory.reverse(now, &key()) } else { memory.settle(now, &key()) };
            assert_eq!(settled, done());
            let repeated = memory.act(now, &key(), REFERENCE, APPROVED);
            assert_eq!(repeated, Some(if reverses { Err(Failure::Closed) } else { Ok(reference()) }));
        }
    }

    #[test]
    fn nothing_is_kept_of_what_was_not_done_or_was_forgotten() {
        let (mut memory, start) = (memory(), Instant::now());
        memory.act(start, &key(), REFERENCE, DECLINED);
        memory.act(start, &key(), REFERENCE, FAILED);
        assert!(memory.fates.is_empty() && memory.order.is_empty());
        memory.settle(start, &key());
        memory.settle(start, &key());
        memory.act(start + KEPT, &key(), REFERENCE, FAILED);
        assert!(memory.fates.is_empty() && memory.order.is_empty());
    }

    #[test]
    fn of_more_calls_than_there_is_room_for_the_oldest_are_forgotten_first() {
        let (mut memory, start) = (Memory::new(2, KEPT), Instant::now());
        let keys = ["ch_1", "ch_2", "ch_3"].map(|attempt| CallKey::new(attempt, "authorise"));
        for (seconds, key) in (1..).zip(&keys) {
            memory.act(start + Duration::from_secs(seconds), key, REFERENCE, APPROVED);
        }
        assert_eq!((memory.fates.len(), memory.order.len()), (2, 2));
        let known = keys.map(|key| memory.fates.contains_key(&key));
        assert_eq!(known, [false, true, true]);
    }

    #[test]
    fn a_repeated_call_that_was_done_never_claims_that_nothing_happened() {
        for outcome in [APPROVED, FAILED, DECLINED] {
            let (mut memory, now) = (memory(), Instant::now());
            memory.act(now, &key(), REFERENCE, LOST);
            assert_eq!(
                memory.act(now, &key(), "simulator:disputed:ch_1:authorise", outcome),
                Some(Ok(reference()))
            );
        }
    }
}
