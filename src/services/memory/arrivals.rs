//! Wakes requests that wait for records of an account: each checks again once this process, or another copy of the server, has
//! committed enough records that it may wait for (`docs/decisions.md`, 374).
//!
//! Each record that is committed has labels. A request that waits for others is not woken, and costs a comparison. Copies over
//! one PostgreSQL send each other messages by NOTIFY: a copy announces its waiting requests, and for a while the others announce
//! the records that they commit for that account. A copy that did not know of a wait makes the request check for records that
//! were committed unannounced. While no request waits, a commit costs next to nothing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use base::mutex::lock;
use base::random::random;
use entity::AccountToken;
use store::Tx;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::limits::{REMOTE_WAIT_RETENTION, WAIT_CHECK_PERMITS, WAIT_CHECKS, WAIT_COUNT_MAX};

/// The account and the kind of the records that requests wait for.
type Subject = (AccountToken, Topic);

/// A word by which requests wait for a record, such as its type or its token.
pub type Label = Cow<'static, str>;

/// The kind of the records that requests wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    Events,
    /// Requests in the log.
    Requests,
    /// Deliveries to inboxes.
    Deliveries,
}

/// The records that a request waits for: they have a label of each of these lists. Some of them may not be among those that it waits
/// for, but all that it waits for are among them.
#[derive(Debug, Clone, Default)]
pub struct Wanted(Vec<Vec<Label>>);

impl Wanted {
    /// Returns it, with one condition more.
    #[must_use]
    pub fn with(mut self, labels: Option<impl IntoIterator<Item = impl Into<Label>>>) -> Self {
        self.0.extend(labels.map(|labels| labels.into_iter().map(Into::into).collect()));
        self
    }

    fn has(&self, labels: &[Label]) -> bool {
        self.0.iter().all(|any| any.iter().any(|label| labels.contains(label)))
    }
}

/// A message from one copy to the others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Message {
    /// The copy receives messages from now on.
    Listens,
    /// A request waits for it.
    Waits(Subject),
    /// The copy has learnt of waits for it. It did not announce the records that it committed before.
    Learnt(Subject),
    /// Records with these labels were committed.
    Arrived(Subject, Vec<Label>),
}

/// The waiting requests.
pub struct Arrivals {
    /// The id by which a process recognises its own messages.
    process: Uuid,
    local_waiters: Mutex<HashMap<Subject, Vec<Weak<Waiter>>>>,
    /// The times until which requests at other copies may wait.
    remote_waiters: Mutex<HashMap<Subject, Instant>>,
    /// The messages to send, and the number of times for each; `None` where there are no other copies.
    outgoing: Option<Mutex<HashMap<Message, u64>>>,
    sends: Notify,
    check_permits: Semaphore,
}

struct Waiter {
    wanted: Wanted,
    progress: Mutex<Progress>,
    wakes: Notify,
}

/// The number of wanted records that have arrived, and the number that is enough to check.
#[derive(Debug, Clone, Copy)]
struct Progress {
    arrived: u64,
    enough: u64,
}

impl Waiter {
    fn arrive(&self, records: u64) {
        let mut progress = lock(&self.progress);
        // No request waits for more.
        progress.arrived += records.min(WAIT_COUNT_MAX.unsigned_abs());
        if progress.arrived >= progress.enough {
            self.wakes.notify_one();
        }
    }

    async fn until_enough(&self) {
        loop {
            let Progress { arrived, enough } = *lock(&self.progress);
            if arrived >= enough {
                return;
            }
            self.wakes.notified().await;
        }
    }
}

/// The announcements of the records that a request waits for, until dropped.
pub struct ArrivalWatch {
    waiter: Arc<Waiter>,
    /// The time to check without an announcement, should messages get lost.
    check_at: Option<Instant>,
}

impl ArrivalWatch {
    /// Returns how many records have arrived so far, of which a check that begins now counts all.
    pub fn so_far(&self) -> u64 {
        lock(&self.waiter.progress).arrived
    }

    /// Waits until a check may find so many records more than the one that began when so many had arrived.
    pub async fn next(&mut self, missing: u64, so_far: u64) {
        lock(&self.waiter.progress).enough = so_far + missing;
        match self.check_at {
            None => self.waiter.until_enough().await,
            Some(check_at) => {
                if timeout_at(check_at, self.waiter.until_enough()).await.is_err() {
                    self.check_at = Some(next_check());
                }
            }
        }
    }
}

impl Arrivals {
    /// Creates it, with or without other copies.
    pub fn new(has_copies: bool) -> Self {
        Self {
            process: Uuid::from_bytes(random()),
            local_waiters: Mutex::default(),
            remote_waiters: Mutex::default(),
            outgoing: has_copies.then(Mutex::default),
            sends: Notify::new(),
            check_permits: Semaphore::new(WAIT_CHECK_PERMITS),
        }
    }

    /// Returns the announcements of an account's records from now on.
    pub fn watch(&self, account: AccountToken, topic: Topic, wanted: Wanted) -> ArrivalWatch {
        let progress = Mutex::new(Progress { arrived: 0, enough: 0 });
        let waiter = Arc::new(Waiter { wanted, progress, wakes: Notify::new() });
        {
            let mut local_waiters = lock(&self.local_waiters);
            let waiters = local_waiters.entry((account, topic)).or_default();
            waiters.push(Arc::downgrade(&waiter));
            // Those that wait no more are removed whenever their number may have doubled.
            if waiters.len().is_power_of_two() {
                local_waiters.retain(|_, waiters| {
                    waiters.retain(|waiter| waiter.strong_count() > 0);
                    !waiters.is_empty()
                });
            }
        }
        self.enqueue(Message::Waits((account, topic)));
        let check_at = self.outgoing.as_ref().map(|_| next_check());
        ArrivalWatch { waiter, check_at }
    }

    /// Waits for a permit to check. Of a thousand requests that are woken at once a few check at a time, so that others, such as
    /// the payment that has woken them, come between.
    pub async fn check_permit(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        let permit = self.check_permits.acquire().await.ok();
        yield_now().await;
        permit
    }

    /// Returns whether a request may wait for a record with these labels, in this process or at another copy.
    pub fn is_awaited(&self, account: AccountToken, topic: Topic, labels: &[Label]) -> bool {
        let local_waiters = lock(&self.local_waiters).get(&(account, topic)).is_some_and(|waiters| {
            waiters.iter().filter_map(Weak::upgrade).any(|waiter| waiter.wanted.has(labels))
        });
        local_waiters || self.has_remote_waiters((account, topic))
    }

    /// Returns whether a request of this process waits for records of this topic, of any account.
    pub fn has_waiters(&self, topic: Topic) -> bool {
        let is_waiting = |waiters: &Vec<Weak<Waiter>>| waiters.iter().any(|waiter| waiter.strong_count() > 0);
        lock(&self.local_waiters).iter().any(|((_, of), waiters)| *of == topic && is_waiting(waiters))
    }

    /// Makes all requests of this process check that wait for records of this topic: another process may have committed some.
    pub fn check_all(&self, topic: Topic) {
        let local_waiters = lock(&self.local_waiters);
        check(local_waiters.iter().filter(|((_, of), _)| *of == topic).flat_map(|(_, waiters)| waiters));
    }

    fn has_remote_waiters(&self, subject: Subject) -> bool {
        let mut remote_waiters = lock(&self.remote_waiters);
        if remote_waiters.is_empty() {
            return false;
        }
        let now = Instant::now();
        remote_waiters.retain(|_, until| *until > now);
        remote_waiters.contains_key(&subject)
    }

    /// Announces that a record with these labels was committed.
    pub fn announce(&self, account: AccountToken, topic: Topic, labels: Vec<Label>) {
        let subject = (account, topic);
        self.arrive(subject, &labels, 1);
        if self.has_remote_waiters(subject) {
            self.enqueue(Message::Arrived(subject, labels));
        }
    }

    /// Announces it once the unit is committed, also if its caller has gone away by then.
    pub fn announce_after(
        self: &Arc<Self>,
        tx: &Tx,
        account: AccountToken,
        topic: Topic,
        labels: Vec<Label>,
    ) {
        let arrivals = Arc::clone(self);
        tx.after_commit(move || arrivals.announce(account, topic, labels));
    }

    fn arrive(&self, subject: Subject, labels: &[Label], records: u64) {
        let local_waiters = lock(&self.local_waiters);
        for waiter in local_waiters.get(&subject).into_iter().flatten().filter_map(Weak::upgrade) {
            if waiter.wanted.has(labels) {
                waiter.arrive(records);
            }
        }
    }

    /// From now on this copy receives messages; some before may have been lost. So all its waiting requests check, and the other
    /// copies repeat what waits.
    pub fn on_listening(&self) {
        check(lock(&self.local_waiters).values().flatten());
        self.enqueue(Message::Listens);
    }

    fn enqueue(&self, message: Message) {
        if let Some(outgoing) = &self.outgoing {
            *lock(outgoing).entry(message).or_default() += 1;
            self.sends.notify_one();
        }
    }

    /// Waits for messages to send to the other copies.
    pub async fn outgoing(&self) -> Vec<String> {
        loop {
            let messages = self.outgoing.as_ref().map(|outgoing| std::mem::take(&mut *lock(outgoing)));
            let messages: Vec<_> = messages
                .into_iter()
                .flatten()
                .map(|(message, times)| message.encode(self.process, times))
                .collect();
            if !messages.is_empty() {
                return messages;
            }
            self.sends.notified().await;
        }
    }

    /// Receives a message of any copy. Ignores its own, and those of another release.
    pub fn receive(&self, message: &str) {
        let Some((process, message, times)) = Message::parse(message) else { return };
        match message {
            _ if process == self.process => {}
            Message::Listens => {
                let local_waiters = lock(&self.local_waiters);
                local_waiters.keys().for_each(|subject| self.enqueue(Message::Waits(*subject)));
            }
            Message::Waits(subject) => {
                let is_known = self.has_remote_waiters(subject);
                lock(&self.remote_waiters).insert(subject, Instant::now() + REMOTE_WAIT_RETENTION);
                if !is_known {
                    self.enqueue(Message::Learnt(subject));
                }
            }
            Message::Learnt(subject) => check(lock(&self.local_waiters).get(&subject).into_iter().flatten()),
            Message::Arrived(subject, labels) => self.arrive(subject, &labels, times),
        }
    }
}

/// Returns the time at which a request checks by itself: requests that came at the same time check at different times.
fn next_check() -> Instant {
    let [part] = random::<1>();
    Instant::now() + WAIT_CHECKS + WAIT_CHECKS / 2 * u32::from(part) / u32::from(u8::MAX)
}

/// Makes requests check, because messages may have been lost.
fn check<'a>(waiters: impl Iterator<Item = &'a Weak<Waiter>>) {
    waiters.filter_map(Weak::upgrade).for_each(|waiter| waiter.arrive(u64::MAX));
}

impl Message {
    const LISTENS: &str = "listens";
    const WAITS: &str = "waits";
    const LEARNT: &str = "learnt";
    const ARRIVED: &str = "arrived";

    fn encode(self, process: Uuid, times: u64) -> String {
        let (verb, (account, topic), labels) = match self {
            Self::Listens => return format!("{process} {}", Self::LISTENS),
            Self::Waits(subject) => (Self::WAITS, subject, vec![]),
            Self::Learnt(subject) => (Self::LEARNT, subject, vec![]),
            Self::Arrived(subject, labels) => (Self::ARRIVED, subject, labels),
        };
        format!("{process} {verb} {account} {} {times} {}", topic.code(), labels.join(" "))
    }

    fn parse(text: &str) -> Option<(Uuid, Self, u64)> {
        let mut words = text.split(' ');
        let (process, verb) = (words.next()?.parse().ok()?, words.next()?);
        if verb == Self::LISTENS {
            return Some((process, Self::Listens, 1));
        }
        let subject = (words.next()?.parse().ok()?, Topic::from_code(words.next()?)?);
        let times = words.next()?.parse().ok()?;
        let message = match verb {
            Self::WAITS => Self::Waits(subject),
            Self::LEARNT => Self::Learnt(subject),
            Self::ARRIVED => Self::Arrived(subject, words.map(|label| label.to_owned().into()).collect()),
            _ => return None,
        };
        Some((process, message, times))
    }
}

impl Topic {
    const fn code(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Requests => "requests",
            Self::Deliveries => "deliveries",
        }
    }

    fn from_code(code: &str) -> Option<Self> {
        [Self::Events, Self::Requests, Self::Deliveries].into_iter().find(|topic| topic.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const ACCOUNT: AccountToken = AccountToken::new(Uuid::nil());

    fn tell(from: &Arrivals, to: &Arrivals) -> usize {
        let messages = from.outgoing().now_or_never().unwrap_or_default();
        for message in &messages {
            from.receive(message);
            to.receive(message);
        }
        messages.len()
    }

    fn labels(labels: &[&'static str]) -> Vec<Label> {
        labels.iter().map(|label| (*label).into()).collect()
    }

    fn wanted(label: &'static str) -> Wanted {
        Wanted::default().with(Some([label]))
    }

    fn is_woken(arriving: &mut ArrivalWatch, missing: u64, so_far: u64) -> bool {
        arriving.next(missing, so_far).now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_copy_announces_only_what_a_request_at_another_one_waits_for() {
        let (waits, commits) = (Arrivals::new(true), Arrivals::new(true));
        commits.announce(ACCOUNT, Topic::Events, labels(&["a", "b"]));
        assert_eq!(tell(&commits, &waits), 0);
        let mut arriving = waits.watch(ACCOUNT, Topic::Events, wanted("b"));
        assert_eq!(tell(&waits, &commits), 1);
        assert!(commits.is_awaited(ACCOUNT, Topic::Events, &[]), "it does not know for what");
        assert_eq!(tell(&commits, &waits), 1, "it has learnt of the wait");
        commits.announce(ACCOUNT, Topic::Requests, labels(&["a", "b"]));
        assert_eq!(tell(&commits, &waits), 0);
        let so_far = arriving.so_far();
        commits.announce(ACCOUNT, Topic::Events, labels(&["a"]));
        assert_eq!(tell(&commits, &waits), 1);
        assert!(!is_woken(&mut arriving, 1, so_far));
        for _ in 0..3 {
            commits.announce(ACCOUNT, Topic::Events, labels(&["a", "b"]));
        }
        assert_eq!(tell(&commits, &waits), 1, "each sort once");
        assert_eq!(arriving.so_far(), so_far + 3);
        assert!(is_woken(&mut arriving, 3, so_far));
        assert!(!is_woken(&mut arriving, 4, so_far));
        drop(arriving);
        assert!(!waits.is_awaited(ACCOUNT, Topic::Events, &labels(&["b"])));
    }

    #[tokio::test]
    async fn a_request_is_woken_by_as_many_records_as_it_lacks_and_by_no_others() {
        let arrivals = Arrivals::new(false);
        let [mut one, mut other] =
            ["a", "b"].map(|label| arrivals.watch(ACCOUNT, Topic::Events, wanted(label)));
        let any = Wanted::default().with(Some(["a", "b"])).with(Some(["x"]));
        let mut any = arrivals.watch(ACCOUNT, Topic::Events, any);
        arrivals.announce(ACCOUNT, Topic::Events, labels(&["x", "a"]));
        assert!(is_woken(&mut one, 1, 0) && is_woken(&mut any, 1, 0));
        assert!(!is_woken(&mut one, 2, 0) && !is_woken(&mut one, 1, 1) && !is_woken(&mut other, 1, 0));
        arrivals.announce(ACCOUNT, Topic::Events, labels(&["b"]));
        assert!(is_woken(&mut other, 1, 0) && !is_woken(&mut any, 2, 0));
        arrivals.on_listening();
        for waiter in [&mut one, &mut other, &mut any] {
            assert!(is_woken(waiter, 1000, 0));
            let so_far = waiter.so_far();
            assert!(!is_woken(waiter, 1, so_far), "and once only");
        }
    }

    #[tokio::test]
    async fn a_copy_that_learns_of_a_wait_makes_it_check_for_what_it_committed_before() {
        let (waits, commits) = (Arrivals::new(true), Arrivals::new(true));
        let mut arriving = waits.watch(ACCOUNT, Topic::Events, wanted("a"));
        let mut other = waits.watch(ACCOUNT, Topic::Requests, wanted("a"));
        // The other copy does not receive yet: the message is lost.
        assert_eq!(waits.outgoing().now_or_never().map(|messages| messages.len()), Some(2));
        commits.announce(ACCOUNT, Topic::Events, labels(&["a"]));
        commits.on_listening();
        assert_eq!(tell(&commits, &waits), 1);
        assert_eq!(tell(&waits, &commits), 2, "what waits is repeated");
        assert!(!is_woken(&mut arriving, 1, 0));
        assert_eq!(tell(&commits, &waits), 2);
        assert!(is_woken(&mut arriving, 1, 0) && is_woken(&mut other, 1, 0));
        let more = waits.watch(ACCOUNT, Topic::Events, wanted("a"));
        assert_eq!(tell(&waits, &commits), 1);
        assert_eq!(tell(&commits, &waits), 0, "it has announced all since");
        assert_eq!(more.so_far(), 0);
    }

    #[test]
    fn words_of_another_release_are_ignored() {
        let arrivals = Arrivals::new(true);
        for message in ["", "x waits", &format!("{} sleeps {ACCOUNT} events 1", Uuid::nil())] {
            arrivals.receive(message);
        }
        assert!(!arrivals.is_awaited(ACCOUNT, Topic::Events, &[]));
    }
}
