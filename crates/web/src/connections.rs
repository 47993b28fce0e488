//! The connections of a listener. At the limit, one that can be interrupted makes room for a new one: the connection that has been
//! idle for longest; rather than one that has just come, one whose request only waits, of the account or network that has the most
//! of those; else one whose client does not read. So neither idle connections nor waiting requests lock anybody out
//! (`docs/decisions.md`, 395).

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base::client_network::ClientNetwork;
use base::mutex::lock;
use base::request_context;
use entity::AccountToken;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// One of so many connections is free or idle for as long as requests wait on others, so that a new client need not wait until one of
/// them is answered.
const CONNECTIONS_A_KEPT_ONE: usize = 64;
/// The time that a connection has to begin its request before it is closed rather than a wait ended.
const FRESH: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// The slot of the connection on which the request has come.
    static SLOT: Arc<ConnectionSlot>;
}

/// The open connections, and their limit.
#[derive(Debug)]
pub struct Connections {
    all: usize,
    free: Arc<Semaphore>,
    paused: Mutex<Paused>,
}

/// The connections that can be interrupted.
#[derive(Debug)]
struct Paused {
    /// The number of times that a connection has paused so far.
    count: u64,
    idle: Queue,
    unread: Queue,
    waiting: HashMap<Client, Queue>,
    /// The number of requests that wait.
    waits: usize,
    /// The number of connections that are free or held by idle connections, at least, while any request waits.
    kept: usize,
    free: Arc<Semaphore>,
    fresh: Duration,
    wanted: Wanted,
}

/// What a new connection waits for that has interrupted none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Nothing,
    /// The next connection that can be interrupted.
    Pause,
    /// The first read of this one, which has paused for longest: its request may have arrived.
    FirstRead(u64),
}

/// Connections in the order in which they paused.
type Queue = BTreeMap<u64, Interruption>;

/// The signal to a connection.
#[derive(Debug)]
struct Interruption {
    since: Instant,
    signal: Arc<Notify>,
    is_new: bool,
}

/// The reason why a connection can be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// It has just come: nobody knows yet whether its request has arrived.
    New,
    /// It has no request in flight. It is closed.
    Idle,
    /// Its client does not read the answer. It is closed.
    Unread,
    /// Its request waits for something outside of the server. The request answers at once.
    Waiting(Client),
}

/// The party whose waiting requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Client {
    /// The account, once its key is known.
    Account(AccountToken),
    /// Else the network.
    Network(ClientNetwork),
}

/// The slot of one connection.
#[derive(Debug)]
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    ends: Arc<Notify>,
    is_gone: Notify,
    is_served: AtomicBool,
    pause: Mutex<Option<(Pause, u64)>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connections {
    /// Allows `all` connections.
    pub fn new(all: usize) -> Arc<Self> {
        Self::with_fresh(all, FRESH)
    }

    fn with_fresh(all: usize, fresh: Duration) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(all));
        let paused = Paused::new(all.div_ceil(CONNECTIONS_A_KEPT_ONE), Arc::clone(&free), fresh);
        Arc::new(Self { all, free, paused: Mutex::new(paused) })
    }

    /// Returns how many connections are open, and the limit.
    pub fn taken(&self) -> (usize, usize) {
        (self.all - self.free.available_permits(), self.all)
    }

    /// Returns how many requests wait for something outside of the server, and hold a connection meanwhile.
    pub fn waiting(&self) -> usize {
        self.paused().waits
    }

    /// Waits for a slot for a new connection, which counts as idle once it was read.
    pub async fn slot(self: &Arc<Self>) -> Arc<ConnectionSlot> {
        let free = Arc::clone(&self.free);
        let permit = if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            Some(permit)
        } else {
            self.paused().make_room();
            // The semaphore is never closed.
            let permit = free.acquire_owned().await.ok();
            self.paused().wanted = Wanted::Nothing;
            permit
        };
        let slot = ConnectionSlot {
            connections: Arc::clone(self),
            ends: Arc::default(),
            is_gone: Notify::new(),
            is_served: AtomicBool::new(false),
            pause: Mutex::default(),
            _permit: permit,
        };
        slot.pauses(Pause::New, &slot.ends);
        Arc::new(slot)
    }

    fn paused(&self) -> MutexGuard<'_, Paused> {
        lock(&self.paused)
    }
}

impl Paused {
    fn new(kept: usize, free: Arc<Semaphore>, fresh: Duration) -> Self {
        let (idle, unread, waiting) = Default::default();
        Self { count: 0, idle, unread, waiting, waits: 0, kept, free, fresh, wanted: Wanted::Nothing }
    }

    /// Interrupts the connection that may be interrupted first, or says what is wanted.
    fn make_room(&mut self) {
        let is_fresh = self.idle.values().next().is_none_or(|idle| idle.since.elapsed() < self.fresh);
        if is_fresh && self.end_wait() {
            // The request is answered first: until then the connection is wanted.
            self.wanted = Wanted::Pause;
            return;
        }
        if let Some((number, _)) = self.idle.first_key_value().filter(|(_, idle)| idle.is_new) {
            self.wanted = Wanted::FirstRead(*number);
            return;
        }
        let next = self.idle.pop_first().or_else(|| self.unread.pop_first());
        self.wanted = if next.is_some() { Wanted::Nothing } else { Wanted::Pause };
        if let Some((_, next)) = next {
            next.signal.notify_one();
        }
    }

    /// Goes on where the first read of this connection was waited for.
    fn after_first_read(&mut self, number: u64) {
        if self.wanted == Wanted::FirstRead(number) {
            self.make_room();
        }
    }

    /// Ends the oldest wait of the client with the most. Returns false if there is none.
    fn end_wait(&mut self) -> bool {
        let oldest = |queue: &Queue| Reverse(queue.keys().next().copied());
        let most = self.waiting.values_mut().max_by_key(|queue| (queue.len(), oldest(queue)));
        let Some((_, oldest)) = most.and_then(BTreeMap::pop_first) else { return false };
        self.waits -= 1;
        oldest.signal.notify_one();
        true
    }

    /// Adds a connection, or interrupts it where it is wanted. Returns its number.
    fn add(&mut self, pause: Pause, signal: Arc<Notify>) -> u64 {
        self.count += 1;
        if self.wanted == Wanted::Pause && pause == Pause::Idle {
            self.wanted = Wanted::Nothing;
            signal.notify_one();
            return self.count;
        }
        let queue = match pause {
            Pause::New | Pause::Idle => &mut self.idle,
            Pause::Unread => &mut self.unread,
            Pause::Waiting(client) => {
                self.waits += 1;
                self.waiting.entry(client).or_default()
            }
        };
        let is_new = pause == Pause::New;
        queue.insert(self.count, Interruption { since: Instant::now(), signal, is_new });
        let number = self.count;
        if self.wanted == Wanted::Pause {
            self.make_room();
        } else if self.free.available_permits() + self.idle.len() < self.kept {
            // Nobody has to wait until a request is answered.
            self.end_wait();
        }
        number
    }

    /// Removes a connection. Returns false if it was interrupted.
    fn remove(&mut self, pause: Pause, number: u64) -> bool {
        match pause {
            Pause::New | Pause::Idle => self.idle.remove(&number).is_some(),
            Pause::Unread => self.unread.remove(&number).is_some(),
            Pause::Waiting(client) => {
                let Some(queue) = self.waiting.get_mut(&client) else { return false };
                let waited = queue.remove(&number).is_some();
                self.waits -= usize::from(waited);
                if queue.is_empty() {
                    self.waiting.remove(&client);
                }
                waited
            }
        }
    }

    /// Marks a new connection as idle since it has come.
    fn mark_idle(&mut self, number: u64) {
        if let Some(idle) = self.idle.get_mut(&number) {
            idle.is_new = false;
        }
        self.after_first_read(number);
    }
}

impl ConnectionSlot {
    /// Returns the signal to close the connection for a new one.
    pub fn ends(&self) -> Arc<Notify> {
        Arc::clone(&self.ends)
    }

    /// Marks the connection as idle: it has no request in flight.
    pub fn becomes_idle(&self) {
        self.pauses(Pause::Idle, &self.ends);
    }

    /// Marks the connection as busy: a request has arrived. Returns false if it was interrupted before: then no request may begin.
    pub fn becomes_busy(&self) -> bool {
        let mut pause = lock(&self.pause);
        let Some((why, number)) = pause.take() else { return true };
        let mut paused = self.connections.paused();
        let is_open = paused.remove(why, number);
        paused.after_first_read(number);
        is_open
    }

    /// Marks whether the client reads its answer. While the connection serves a request, that one decides.
    pub fn set_read(&self, is_read: bool) {
        if !is_read && !self.is_served.load(Ordering::Relaxed) {
            self.pauses(Pause::Unread, &self.ends);
        } else if is_read {
            let mut pause = lock(&self.pause);
            if pause.is_some_and(|(pause, _)| pause == Pause::Unread) {
                self.resumes(&mut pause);
            }
        }
    }

    /// Tells the request that waits that its client is gone.
    pub fn loses_client(&self) {
        self.is_gone.notify_one();
    }

    /// Runs a request that knows its connection, which is not closed meanwhile for a client that reads nothing.
    pub async fn serve<F: Future>(self: &Arc<Self>, request: F) -> F::Output {
        self.is_served.store(true, Ordering::Relaxed);
        let answer = SLOT.scope(Arc::clone(self), request).await;
        self.is_served.store(false, Ordering::Relaxed);
        answer
    }

    fn pauses(&self, why: Pause, signal: &Arc<Notify>) {
        let mut pause = lock(&self.pause);
        if pause.is_some_and(|(pause, _)| pause == why) {
            return;
        }
        if let (Some((Pause::New, number)), Pause::Idle) = (*pause, why) {
            *pause = Some((why, number));
            self.connections.paused().mark_idle(number);
            return;
        }
        self.resumes(&mut pause);
        *pause = Some((why, self.connections.paused().add(why, Arc::clone(signal))));
    }

    fn resumes(&self, pause: &mut Option<(Pause, u64)>) {
        if let Some((why, number)) = pause.take() {
            self.connections.paused().remove(why, number);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.resumes(&mut lock(&self.pause));
    }
}

/// The time in which a request waits, until dropped.
struct Wait<'a>(&'a ConnectionSlot);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.becomes_busy();
    }
}

/// Waits for something outside of the server, such as a client's body or an event. Returns `None` if the wait ends before: its
/// connection is wanted, too many requests wait, or the client is gone.
pub async fn unless_wanted<F: Future>(work: F) -> Option<F::Output> {
    // A request without a connection comes from this process.
    let Ok(slot) = SLOT.try_with(Arc::clone) else { return Some(work.await) };
    let yields = Arc::default();
    slot.pauses(Pause::Waiting(Client::of_request()), &yields);
    let _wait = Wait(&slot);
    tokio::select! {
        biased;
        done = work => Some(done),
        () = yields.notified() => None,
        () = slot.is_gone.notified() => None,
    }
}

impl Client {
    fn of_request() -> Self {
        request_context::account().map_or_else(
            || {
                let address = request_context::address().unwrap_or(Ipv4Addr::LOCALHOST.into());
                Self::Network(ClientNetwork::from_address(address))
            },
            Self::Account,
        )
    }
}

#[cfg(test)]
mod tests;
