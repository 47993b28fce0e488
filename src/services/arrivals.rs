//! Tells requests that wait for something of an account when to look for it: once this process has committed it, or another copy
//! of the server (`docs/decisions.md`, 374).
//!
//! Copies over one PostgreSQL tell each other by NOTIFY: who begins to wait says so, and for a while the others say what they
//! commit for that account. While nobody waits, a commit costs nothing.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entity::AccountToken;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use crate::limits::{WAIT_HEARD, WAIT_LOOKS, WAIT_SECOND_LOOK};
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
    /// Somebody waits for it.
    Waits(Subject),
    /// Some of it was committed.
    Arrived(Subject),
}

/// Who waits for what.
pub struct Arrivals {
    /// By which a process knows its own messages.
    process: Uuid,
    here: Mutex<HashMap<Subject, watch::Sender<()>>>,
    /// Until when a request at another copy may wait.
    elsewhere: Mutex<HashMap<Subject, Instant>>,
    /// The messages to send; `None` where there are no other copies.
    outgoing: Option<Mutex<HashSet<Message>>>,
    sends: Notify,
}

/// Announcements of one subject, until dropped.
pub struct Arriving {
    committed: watch::Receiver<()>,
    /// When to look without an announcement: soon once, for what fell between, and seldom, for what got lost between copies.
    look_at: Option<Instant>,
}

impl Arriving {
    /// Waits until a look may find more.
    pub async fn next(&mut self) {
        tokio::select! {
            changed = self.committed.changed() => if changed.is_err() {
                pending::<()>().await;
            },
            () = sleep_until(self.look_at.unwrap_or_else(Instant::now)), if self.look_at.is_some() => {
                self.look_at = Some(Instant::now() + WAIT_LOOKS);
            }
        }
    }
}

impl Arrivals {
    /// Creates it, with or without other copies.
    pub fn new(has_copies: bool) -> Self {
        Self {
            process: Uuid::from_bytes(random()),
            here: Mutex::default(),
            elsewhere: Mutex::default(),
            outgoing: has_copies.then(Mutex::default),
            sends: Notify::new(),
        }
    }

    /// Returns the announcements of a subject from now on.
    pub fn watch(&self, account: AccountToken, topic: Topic) -> Arriving {
        let committed = {
            let mut here = lock(&self.here);
            here.retain(|_, sender| sender.receiver_count() > 0);
            here.entry((account, topic)).or_default().subscribe()
        };
        self.say(Message::Waits((account, topic)));
        let look_at = self.outgoing.as_ref().map(|_| Instant::now() + WAIT_SECOND_LOOK);
        Arriving { committed, look_at }
    }

    /// Returns whether somebody waits for a subject, here or at another copy.
    pub fn is_awaited(&self, account: AccountToken, topic: Topic) -> bool {
        let here = lock(&self.here).get(&(account, topic)).is_some_and(|sender| sender.receiver_count() > 0);
        here || self.is_awaited_elsewhere((account, topic))
    }

    fn is_awaited_elsewhere(&self, subject: Subject) -> bool {
        let mut elsewhere = lock(&self.elsewhere);
        if elsewhere.is_empty() {
            return false;
        }
        let now = Instant::now();
        elsewhere.retain(|_, until| *until > now);
        elsewhere.contains_key(&subject)
    }

    /// Announces that some of a subject was committed.
    pub fn announce(&self, account: AccountToken, topic: Topic) {
        let subject = (account, topic);
        self.wake(subject);
        if self.is_awaited_elsewhere(subject) {
            self.say(Message::Arrived(subject));
        }
    }

    /// Announces it once the unit is committed, also if its caller has gone away by then.
    pub fn announce_after(self: &Arc<Self>, tx: &Tx, account: AccountToken, topic: Topic) {
        let arrivals = Arc::clone(self);
        tx.after_commit(move || arrivals.announce(account, topic));
    }

    fn wake(&self, subject: Subject) {
        if let Some(sender) = lock(&self.here).get(&subject) {
            // Without a receiver nobody waits.
            let _ = sender.send(());
        }
    }

    fn say(&self, message: Message) {
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

    /// Hears a message of any copy. Ignores its own, and those of another release.
    pub fn hear(&self, message: &str) {
        let Some((process, message)) = Message::read(message) else { return };
        match message {
            _ if process == self.process => {}
            Message::Waits(subject) => {
                lock(&self.elsewhere).insert(subject, Instant::now() + WAIT_HEARD);
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const ACCOUNT: AccountToken = AccountToken::new(Uuid::nil());

    fn tell(from: &Arrivals, to: &Arrivals) -> usize {
        let messages = from.outgoing().now_or_never().unwrap_or_default();
        for message in &messages {
            from.hear(message);
            to.hear(message);
        }
        messages.len()
    }

    #[tokio::test]
    async fn a_copy_says_what_it_commits_only_where_another_one_waits_for_it() {
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
            arrivals.hear(message);
        }
        assert!(!arrivals.is_awaited(ACCOUNT, Topic::Events));
    }
}
