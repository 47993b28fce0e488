//! Tells requests that wait for something of an account when to check for it: once this process has committed it, or another copy
//! of the server (`docs/decisions.md`, 374).
//!
//! Copies over one PostgreSQL tell each other by NOTIFY: a copy announces its waiting requests, and for a while the others announce what they
//! commit for that account. While no request waits, a commit costs nothing.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::sync::{Arc, Mutex};

use entity::AccountToken;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::limits::{REMOTE_WAIT_KEPT, WAIT_CHECKS, WAIT_FIRST_CHECK, WAIT_TURNS};
use crate::runtime::mutex::lock;
use crate::runtime::random::random;
use crate::store::Tx;

/// What is waited for, of which account.
type Subject = (AccountToken, Topic);

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Events.
    Events,
    /// Requests in the log.
    Requests,
    /// Deliveries to inboxes.
    Deliveries,
}

/// What copies tell each other of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Message {
    /// A request waits for it.
    Waits(Subject),
    /// Some of it was committed.
    Arrived(Subject),
}

/// The waiting requests.
pub struct Arrivals {
    /// By which a process knows its own messages.
    process: Uuid,
    local_waiters: Mutex<HashMap<Subject, watch::Sender<()>>>,
    /// Until when a request at another copy may wait.
    remote_waiters: Mutex<HashMap<Subject, Instant>>,
    /// The messages to send; `None` where there are no other copies.
    outgoing: Option<Mutex<HashSet<Message>>>,
    sends: Notify,
    turns: Semaphore,
}

/// Announcements of one subject, until dropped.
pub struct Arriving {
    committed: watch::Receiver<()>,
    /// When to check without an announcement: soon once, for a commit before the other copy knew of the wait, and seldom, for lost messages.
    check_at: Option<Instant>,
}

impl Arriving {
    /// Waits until a check may find more.
    pub async fn next(&mut self) {
        tokio::select! {
            changed = self.committed.changed() => if changed.is_err() {
                pending::<()>().await;
            },
            () = sleep_until(self.check_at.unwrap_or_else(Instant::now)), if self.check_at.is_some() => {
                self.check_at = Some(Instant::now() + WAIT_CHECKS);
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
            turns: Semaphore::new(WAIT_TURNS),
        }
    }

    /// Returns the announcements of a subject from now on.
    pub fn watch(&self, account: AccountToken, topic: Topic) -> Arriving {
        let committed = {
            let mut local_waiters = lock(&self.local_waiters);
            local_waiters.retain(|_, sender| sender.receiver_count() > 0);
            local_waiters.entry((account, topic)).or_default().subscribe()
        };
        self.enqueue(Message::Waits((account, topic)));
        let check_at = self.outgoing.as_ref().map(|_| Instant::now() + WAIT_FIRST_CHECK);
        Arriving { committed, check_at }
    }

    /// Waits for a turn to check. Of a thousand requests that are woken at once a few check at a time, so that others, such as the payment
    /// that has woken them, come between.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        let turn = self.turns.acquire().await.ok();
        yield_now().await;
        turn
    }

    /// Returns whether a request waits for a subject, in this process or at another copy.
    pub fn is_awaited(&self, account: AccountToken, topic: Topic) -> bool {
        let local_waiters = lock(&self.local_waiters)
            .get(&(account, topic))
            .is_some_and(|sender| sender.receiver_count() > 0);
        local_waiters || self.has_remote_waiters((account, topic))
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

    /// Announces that some of a subject was committed.
    pub fn announce(&self, account: AccountToken, topic: Topic) {
        let subject = (account, topic);
        self.wake(subject);
        if self.has_remote_waiters(subject) {
            self.enqueue(Message::Arrived(subject));
        }
    }

    /// Announces it once the unit is committed, also if its caller has gone away by then.
    pub fn announce_after(self: &Arc<Self>, tx: &Tx, account: AccountToken, topic: Topic) {
        let arrivals = Arc::clone(self);
        tx.after_commit(move || arrivals.announce(account, topic));
    }

    fn wake(&self, subject: Subject) {
        if let Some(sender) = lock(&self.local_waiters).get(&subject) {
            // Without a receiver no request waits.
            let _ = sender.send(());
        }
    }

    fn enqueue(&self, message: Message) {
        if let Some(outgoing) = &self.outgoing {
            lock(outgoing).insert(message);
            self.sends.notify_one();
        }
    }

    /// Waits for messages to send to the other copies.
    pub async fn outgoing(&self) -> Vec<String> {
        loop {
            let messages = self.outgoing.as_ref().map(|outgoing| std::mem::take(&mut *lock(outgoing)));
            let messages: Vec<_> =
                messages.into_iter().flatten().map(|message| message.written(self.process)).collect();
            if !messages.is_empty() {
                return messages;
            }
            self.sends.notified().await;
        }
    }

    /// Receives a message of any copy. Ignores its own, and those of another release.
    pub fn receive(&self, message: &str) {
        let Some((process, message)) = Message::read(message) else { return };
        match message {
            _ if process == self.process => {}
            Message::Waits(subject) => {
                lock(&self.remote_waiters).insert(subject, Instant::now() + REMOTE_WAIT_KEPT);
            }
            Message::Arrived(subject) => self.wake(subject),
        }
    }
}

impl Message {
    const WAITS: &str = "waits";
    const ARRIVED: &str = "arrived";

    fn written(self, process: Uuid) -> String {
        let (verb, (account, topic)) = match self {
            Self::Waits(subject) => (Self::WAITS, subject),
            Self::Arrived(subject) => (Self::ARRIVED, subject),
        };
        format!("{process} {verb} {account} {}", topic.code())
    }

    fn read(text: &str) -> Option<(Uuid, Self)> {
        let mut words = text.split(' ');
        let (process, verb) = (words.next()?.parse().ok()?, words.next()?);
        let subject = (words.next()?.parse().ok()?, Topic::from_code(words.next()?)?);
        let message = match verb {
            Self::WAITS => Self::Waits(subject),
            Self::ARRIVED => Self::Arrived(subject),
            _ => return None,
        };
        Some((process, message))
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

    #[tokio::test]
    async fn a_copy_announces_only_what_a_request_at_another_one_waits_for() {
        let (waits, commits) = (Arrivals::new(true), Arrivals::new(true));
        commits.announce(ACCOUNT, Topic::Events);
        assert_eq!(tell(&commits, &waits), 0);
        let mut arriving = waits.watch(ACCOUNT, Topic::Events);
        assert_eq!(tell(&waits, &commits), 1);
        assert!(commits.is_awaited(ACCOUNT, Topic::Events));
        commits.announce(ACCOUNT, Topic::Requests);
        assert_eq!(tell(&commits, &waits), 0);
        assert!(arriving.committed.changed().now_or_never().is_none());
        commits.announce(ACCOUNT, Topic::Events);
        assert_eq!(tell(&commits, &waits), 1);
        assert!(arriving.next().now_or_never().is_some());
        drop(arriving);
        assert!(!waits.is_awaited(ACCOUNT, Topic::Events));
    }

    #[test]
    fn words_of_another_release_are_ignored() {
        let arrivals = Arrivals::new(true);
        for message in ["", "x waits", &format!("{} sleeps {ACCOUNT} events", Uuid::nil())] {
            arrivals.receive(message);
        }
        assert!(!arrivals.is_awaited(ACCOUNT, Topic::Events));
    }
}
