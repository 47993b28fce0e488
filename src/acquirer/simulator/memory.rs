//! What the simulator has to remember: calls that were done, whose answer may not have arrived or could not be recorded,
//! and keys that are closed. A decline needs no memory: whoever asks again hears that nothing was done.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::super::{CallKey, Failure, Fault, Settled};

/// Longer than any call that is still on its way and any settling that is still to come.
const KEPT: Duration = Duration::from_mins(2);

#[derive(Debug, Default)]
pub(super) struct Memory {
    fates: HashMap<CallKey, (Instant, Fate)>,
    /// Oldest first, so that forgetting looks at nothing that stays.
    order: VecDeque<(Instant, CallKey)>,
}

#[derive(Clone, Debug)]
enum Fate {
    /// It was done, and nobody may have been told.
    Done { reference: String },
    /// It was done and has been undone.
    Reversed { reference: String },
    /// It was never done and never will be.
    Closed,
}

impl Memory {
    /// Does what a call wants and answers it; `None` is a call that never gets its answer.
    pub(super) fn act(
        &mut self,
        now: Instant,
        key: &CallKey,
        reference: &str,
        fault: Option<Fault>,
    ) -> Option<Result<(), Failure>> {
        self.forget(now);
        let done = Fate::Done { reference: reference.to_owned() };
        match (self.fate(key), fault) {
            (Some(Fate::Closed | Fate::Reversed { .. }), _) => Some(Err(Failure::Closed)),
            // A repeated call whose first answer was lost: "nothing happened" would be a lie.
            (Some(Fate::Done { .. }), None | Some(Fault::GatewayError)) | (None, None) => Some(Ok(())),
            (None, Some(Fault::GatewayError)) => Some(Err(Failure::GatewayError)),
            (Some(Fate::Done { .. }) | None, Some(Fault::AnswerLost)) => {
                self.remember(now, key, done);
                Some(Err(Failure::NoAnswer))
            }
            (Some(Fate::Done { .. }) | None, Some(Fault::NoAnswer)) => {
                self.remember(now, key, done);
                None
            }
        }
    }

    /// A call was done, and its answer delivered.
    pub(super) fn done(&mut self, now: Instant, key: &CallKey, reference: &str) {
        self.remember(now, key, Fate::Done { reference: reference.to_owned() });
    }

    /// Undoes a creation and closes its key. Repeated, it answers the same.
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

    /// Tells what stands, and closes the key of what does not.
    pub(super) fn settle(&mut self, now: Instant, key: &CallKey) -> Settled {
        self.forget(now);
        match self.fate(key).cloned() {
            Some(Fate::Done { reference }) => Settled::Done { reference },
            Some(Fate::Reversed { .. }) => Settled::NotDone,
            Some(Fate::Closed) | None => self.close(now, key),
        }
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
    }

    fn forget(&mut self, now: Instant) {
        while let Some((at, key)) = self.order.pop_front_if(|(at, _)| now.duration_since(*at) >= KEPT) {
            // A key whose fate has changed since stands once more further back.
            if self.fates.get(&key).is_some_and(|(latest, _)| *latest == at) {
                self.fates.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUST_KEPT: Duration = Duration::from_millis(119_999);
    const REFERENCE: &str = "simulator:ordinary:ch_1:authorise";

    fn key() -> CallKey {
        CallKey::new("ch_1", "authorise")
    }

    fn done() -> Settled {
        Settled::Done { reference: REFERENCE.to_owned() }
    }

    #[test]
    fn a_lost_call_is_forgotten_after_two_minutes_and_not_before() {
        let (mut memory, start) = (Memory::default(), Instant::now());
        let lost = memory.act(start, &key(), REFERENCE, Some(Fault::AnswerLost));
        assert_eq!(lost, Some(Err(Failure::NoAnswer)));
        assert_eq!(memory.settle(start + JUST_KEPT, &key()), done());
        assert_eq!(memory.settle(start + KEPT, &key()), Settled::NotDone);
    }

    #[test]
    fn a_key_stays_closed_for_two_minutes_from_its_closing() {
        let (mut memory, start) = (Memory::default(), Instant::now());
        memory.act(start, &key(), REFERENCE, Some(Fault::NoAnswer));
        let closing = start + Duration::from_secs(100);
        assert_eq!(memory.reverse(closing, &key()), done());
        let late = closing + JUST_KEPT;
        assert_eq!(memory.act(late, &key(), REFERENCE, None), Some(Err(Failure::Closed)));
    }

    #[test]
    fn a_capture_that_was_done_can_be_asked_for_although_it_was_answered() {
        let (mut memory, start) = (Memory::default(), Instant::now());
        memory.act(start, &key(), REFERENCE, None);
        memory.done(start, &key(), REFERENCE);
        assert_eq!(memory.settle(start + JUST_KEPT, &key()), done());
    }

    #[test]
    fn nothing_is_kept_of_creations_whose_answers_arrived_or_of_what_was_forgotten() {
        let (mut memory, start) = (Memory::default(), Instant::now());
        memory.act(start, &key(), REFERENCE, None);
        memory.act(start, &key(), REFERENCE, Some(Fault::GatewayError));
        assert!(memory.fates.is_empty() && memory.order.is_empty());
        memory.settle(start, &key());
        memory.settle(start, &key());
        memory.act(start + KEPT, &key(), REFERENCE, None);
        assert!(memory.fates.is_empty() && memory.order.is_empty());
    }

    #[test]
    fn a_repeated_call_that_was_done_never_claims_that_nothing_happened() {
        let (mut memory, now) = (Memory::default(), Instant::now());
        memory.act(now, &key(), REFERENCE, Some(Fault::AnswerLost));
        assert_eq!(memory.act(now, &key(), REFERENCE, Some(Fault::GatewayError)), Some(Ok(())));
        assert_eq!(memory.act(now, &key(), REFERENCE, None), Some(Ok(())));
    }
}
