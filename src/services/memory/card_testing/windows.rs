//! The latest attempts of each subject, in memory.

use std::collections::{HashMap, HashSet, VecDeque};

use entity::card_attack::{CardTestingCount, CardTestingRule};
use entity::{AccountToken, Timestamp};

use super::CountedSubject;
use super::subject::{CardHash, Subject};

/// The number of attempts of one subject that are remembered: of the largest threshold, and as many approvals.
const ATTEMPTS_KEPT: usize = 100;
/// The number of subjects of all rules and accounts that a server counts: some 2 MB, or 50 MB if each has all its attempts.
const WINDOWS_MAX: usize = 20_000;

/// The number of windows from which an account has many.
const MANY: usize = 32;

/// The key of a count: an account, a rule, and a subject of the account.
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

/// The latest attempts of a subject.
#[derive(Debug, Default)]
struct Window {
    attempts: VecDeque<Attempt>,
    /// The number of the attempt that was added last, among those of all subjects.
    used: u64,
}

type AccountWindows = HashMap<(CardTestingRule, Subject), Window>;

/// The windows of all subjects with a decline. When they are too many, the account that has most of them loses the half to which
/// nothing was added for longest: so no account makes the server forget those of one with fewer. Only if no account has many, all
/// accounts together lose that half.
#[derive(Debug, Default)]
pub struct Windows {
    of_accounts: HashMap<AccountToken, AccountWindows>,
    /// The number of windows.
    len: usize,
    /// The number of attempts that were added.
    used: u64,
}

impl Windows {
    /// Adds an attempt and returns the count of the subject. Approvals count only where something was declined before, so
    /// that honest payments leave nothing.
    pub fn count(&mut self, (account, rule, subject): Key, attempt: Attempt) -> i64 {
        let of_account = self.of_accounts.get(&account);
        let is_known = of_account.is_some_and(|windows| windows.contains_key(&(rule, subject)));
        if !is_known && !attempt.is_declined {
            return 0;
        }
        if !is_known {
            self.make_room();
            self.len += 1;
        }
        self.used += 1;
        let window = self.of_accounts.entry(account).or_default().entry((rule, subject)).or_default();
        window.used = self.used;
        if attempt.is_declined && rule.terms().count == CardTestingCount::DeclinedCards {
            // A card counts once, however often it is tried: its other attempts would only displace those of other cards.
            window.attempts.retain(|seen| !seen.is_declined || seen.card != attempt.card);
        }
        if window.attempts.len() >= ATTEMPTS_KEPT {
            window.attempts.pop_front();
        }
        window.attempts.push_back(attempt);
        if attempt.is_declined { count(rule, &window.attempts, attempt.at) } else { 0 }
    }

    /// Forgets the attempts of a subject.
    pub fn forget(&mut self, &(account, rule, subject): &Key) {
        let Some(windows) = self.of_accounts.get_mut(&account) else { return };
        self.len -= usize::from(windows.remove(&(rule, subject)).is_some());
        if windows.is_empty() {
            self.of_accounts.remove(&account);
        }
    }

    /// Makes room for more windows.
    fn make_room(&mut self) {
        if self.len < WINDOWS_MAX {
            return;
        }
        let largest = self.of_accounts.values_mut().max_by_key(|windows| windows.len());
        match largest.filter(|windows| windows.len() >= MANY) {
            Some(largest) => forget_older_half([largest]),
            None => forget_older_half(self.of_accounts.values_mut()),
        }
        self.of_accounts.retain(|_, windows| !windows.is_empty());
        self.len = self.of_accounts.values().map(HashMap::len).sum();
    }

    pub fn counts_of(&self, account: AccountToken, now: Timestamp) -> Vec<CountedSubject> {
        let windows = self.of_accounts.get(&account).into_iter().flatten();
        let counts = windows.map(|(&(rule, subject), window)| CountedSubject {
            rule,
            subject: subject.to_string(),
            count: count(rule, &window.attempts, now),
        });
        counts.filter(|counted| counted.count > 0).collect()
    }
}

/// Forgets the half to which nothing was added for longest.
fn forget_older_half<'a>(windows: impl IntoIterator<Item = &'a mut AccountWindows>) {
    let mut windows: Vec<_> = windows.into_iter().collect();
    let mut uses: Vec<_> =
        windows.iter().flat_map(|windows| windows.values()).map(|window| window.used).collect();
    uses.sort_unstable();
    let middle = uses.get(uses.len() / 2).copied().unwrap_or_default();
    for windows in &mut windows {
        windows.retain(|_, window| window.used > middle);
    }
}

/// Returns what the rule counts in a window that ends now.
fn count(rule: CardTestingRule, attempts: &VecDeque<Attempt>, now: Timestamp) -> i64 {
    let terms = rule.terms();
    let within = attempts.iter().rev().take_while(|attempt| now < attempt.at + terms.window);
    // Nor those of a time from which the account's clock has gone back.
    let within = within.filter(|attempt| attempt.at < now + terms.window);
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
    fn a_card_that_is_tried_often_displaces_no_other() {
        let (rule, mut windows, mut count) = (CardTestingRule::AccountCards, Windows::default(), 0);
        for n in 0..25 {
            for again in 0..6 {
                let at = NOON + TimeSpan::seconds(n * 6 + again);
                let card = CardHash::new(n.unsigned_abs());
                count = windows.count(key(rule, 0), Attempt { at, card, is_declined: true });
            }
        }
        assert_eq!(count, 25);
    }

    #[test]
    fn an_attempt_older_than_the_window_does_not_count() {
        let rule = CardTestingRule::AccountCards;
        let mut windows = Windows::default();
        let at = |seconds| Attempt {
            at: NOON + TimeSpan::seconds(seconds),
            card: CardHash::new(seconds.unsigned_abs()),
            is_declined: true,
        };
        let counts = [0, 599, 600, 1200].map(|seconds| windows.count(key(rule, 0), at(seconds)));
        assert_eq!(counts, [1, 2, 2, 1]);
        // Nor one of a time from which a restore has brought the clock back.
        assert_eq!(windows.count(key(rule, 0), at(600)), 2);
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
        let of_account = &windows.of_accounts[&key(rule, 0).0];
        assert!(of_account.len() <= WINDOWS_MAX && of_account.len() == windows.len);
        assert!(of_account[&(rule, key(rule, 0).2)].attempts.len() <= ATTEMPTS_KEPT);
        assert!(count > 10, "{count}");
    }

    #[test]
    fn a_neighbours_declines_take_no_count_away() {
        let rule = CardTestingRule::CardDeclines;
        let mut windows = Windows::default();
        let attempt = Attempt { at: NOON, card: CardHash::new(0), is_declined: true };
        let of = |account: u128, n| {
            (AccountToken::new(Uuid::from_u128(account)), rule, Subject::Card(CardHash::new(n)))
        };
        for n in 0..50 {
            assert_eq!(windows.count(of(2, n), attempt), 1);
        }
        for n in 0..4 * WINDOWS_MAX as u64 {
            windows.count(of(1, n), attempt);
        }
        for n in 0..50 {
            assert_eq!(windows.count(of(2, n), attempt), 2, "the card {n}");
        }
        // Many accounts with a decline each share the memory.
        for account in 3..3 + 2 * WINDOWS_MAX as u128 {
            windows.count(of(account, 0), attempt);
        }
        let all: usize = windows.of_accounts.values().map(HashMap::len).sum();
        assert!(
            all == windows.len && all <= WINDOWS_MAX && windows.of_accounts.values().all(|of| !of.is_empty())
        );
        for n in 0..50 {
            windows.forget(&of(2, n));
        }
        assert_eq!(windows.counts_of(of(2, 0).0, NOON).len(), 0);
    }
}
