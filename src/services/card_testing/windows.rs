//! The latest attempts of each subject, in memory.

use std::collections::{HashMap, HashSet, VecDeque};

use entity::card_attack::{CardTestingCount, CardTestingRule};
use entity::{AccountToken, Timestamp};

use super::CountedSubject;
use super::subject::{CardHash, Subject};

/// How many attempts of one subject are remembered: of the largest threshold, and as many approvals.
const ATTEMPTS_KEPT: usize = 100;
/// How many subjects of all rules and accounts a server counts: some 2 MB, or 50 MB if each has all its attempts.
const WINDOWS_MAX: usize = 20_000;

/// What a rule counts of one subject of an account.
pub type Key = (AccountToken, CardTestingRule, Subject);

/// An attempt to pay.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// By the account's clock.
    pub at: Timestamp,
    /// The card that was to pay.
    pub card: CardHash,
    /// Whether it was declined; otherwise it was approved.
    pub is_declined: bool,
}

type Window = VecDeque<Attempt>;

/// The windows of all subjects with a decline. Those that nothing was added to for longest are forgotten: once half as many
/// as may be kept have been used, all others are.
#[derive(Debug, Default)]
pub struct Windows {
    recent: HashMap<Key, Window>,
    older: HashMap<Key, Window>,
}

impl Windows {
    /// Adds an attempt and returns the count of the subject. Approvals count only where something was declined before, so
    /// that honest payments leave nothing.
    pub fn count(&mut self, key: Key, attempt: Attempt) -> i64 {
        let Some(window) = self.window(key, attempt.is_declined) else { return 0 };
        if window.len() >= ATTEMPTS_KEPT {
            window.pop_front();
        }
        window.push_back(attempt);
        if attempt.is_declined { count(key.1, window, attempt.at) } else { 0 }
    }

    /// Forgets the attempts of a subject.
    pub fn forget(&mut self, key: &Key) {
        self.recent.remove(key);
    }

    fn window(&mut self, key: Key, makes: bool) -> Option<&mut Window> {
        if !self.recent.contains_key(&key) {
            let window = self.older.remove(&key);
            let window = if makes { window.unwrap_or_default() } else { window? };
            if self.recent.len() >= WINDOWS_MAX / 2 {
                self.older = std::mem::take(&mut self.recent);
            }
            self.recent.insert(key, window);
        }
        self.recent.get_mut(&key)
    }

    /// Returns the counts of an account's subjects.
    pub fn counts_of(&self, account: AccountToken, now: Timestamp) -> Vec<CountedSubject> {
        let windows = self.recent.iter().chain(&self.older).filter(|((owner, ..), _)| *owner == account);
        let counts = windows.map(|(&(_, rule, subject), window)| CountedSubject {
            rule,
            subject: subject.to_string(),
            count: count(rule, window, now),
        });
        counts.filter(|counted| counted.count > 0).collect()
    }
}

/// Returns what the rule counts in a window that ends now.
fn count(rule: CardTestingRule, window: &Window, now: Timestamp) -> i64 {
    let terms = rule.terms();
    let within = window.iter().rev().take_while(|attempt| now < attempt.at + terms.window);
    let count = match terms.count {
        CardTestingCount::DeclinesInRow => within.take_while(|attempt| attempt.is_declined).count(),
        CardTestingCount::DeclinedCards => {
            let (declined, approved): (Vec<&Attempt>, Vec<_>) =
                within.partition(|attempt| attempt.is_declined);
            let cards: HashSet<_> = declined.iter().map(|attempt| attempt.card).collect();
            if cards.len() > approved.len() { cards.len() } else { 0 }
        }
    };
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use entity::TimeSpan;
    use uuid::Uuid;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_772_452_800_000);

    fn key(rule: CardTestingRule, n: u64) -> Key {
        (AccountToken::new(Uuid::from_u128(1)), rule, Subject::Card(CardHash::new(n)))
    }

    /// Counts attempts a second apart: `d` of a new card that is declined, `r` of the first card again, `a` approved.
    fn counts(rule: CardTestingRule, attempts: &str) -> Vec<i64> {
        let mut windows = Windows::default();
        let attempts = attempts.chars().zip(0_u64..).map(|(letter, n)| Attempt {
            at: NOON + TimeSpan::seconds(i64::try_from(n).unwrap_or_default()),
            card: CardHash::new(if letter == 'r' { 0 } else { n }),
            is_declined: letter != 'a',
        });
        attempts.map(|attempt| windows.count(key(rule, 0), attempt)).collect()
    }

    #[test]
    fn an_approval_ends_a_row_of_declines() {
        assert_eq!(counts(CardTestingRule::NetworkDeclines, "addradd"), [0, 1, 2, 3, 0, 1, 2]);
    }

    #[test]
    fn cards_count_once_and_only_while_they_are_more_than_the_approvals() {
        assert_eq!(counts(CardTestingRule::NetworkCards, "adrdaadd"), [0, 1, 2, 3, 0, 0, 4, 5]);
        assert_eq!(counts(CardTestingRule::NetworkCards, "drraad"), [1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn what_is_older_than_the_window_does_not_count() {
        let rule = CardTestingRule::AccountCards;
        let mut windows = Windows::default();
        let at = |seconds| Attempt {
            at: NOON + TimeSpan::seconds(seconds),
            card: CardHash::new(seconds.unsigned_abs()),
            is_declined: true,
        };
        let counts = [0, 599, 600, 1200].map(|seconds| windows.count(key(rule, 0), at(seconds)));
        assert_eq!(counts, [1, 2, 2, 1]);
    }

    #[test]
    fn memory_is_bounded_and_a_busy_subject_stays() {
        let rule = CardTestingRule::CardDeclines;
        let mut windows = Windows::default();
        let attempt = Attempt { at: NOON, card: CardHash::new(0), is_declined: true };
        let mut count = 0;
        for n in 1..=4 * WINDOWS_MAX as u64 {
            windows.count(key(rule, n), attempt);
            if n % 1000 == 0 {
                count = windows.count(key(rule, 0), attempt);
            }
        }
        assert!(windows.recent.len() + windows.older.len() <= WINDOWS_MAX);
        assert!(windows.recent[&key(rule, 0)].len() <= ATTEMPTS_KEPT);
        assert!(count > 10, "{count}");
    }
}
