//! The connections of a listener. At the limit, the connection that has been idle longest is closed for a new one, so
//! that idle connections lock nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::runtime::mutex::lock;

/// The open connections, and their limit.
#[derive(Debug)]
pub struct Connections {
    all: usize,
    free: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    /// How many times a connection has become idle so far.
    count: u64,
    /// The idle connections, in the order in which they became idle.
    since: BTreeMap<u64, Arc<Notify>>,
    /// Whether a new connection waits for the next one that becomes idle.
    is_wanted: bool,
}

/// The seat of one connection.
#[derive(Debug)]
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    ends: Arc<Notify>,
    idle_since: Option<u64>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connections {
    /// Allows `all` connections.
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, free: Arc::new(Semaphore::new(all)), idle: Mutex::default() })
    }

    /// Returns how many connections are open, and the limit.
    pub fn taken(&self) -> (usize, usize) {
        (self.all - self.free.available_permits(), self.all)
    }

    /// Waits for a seat for a new connection, which counts as idle.
    pub async fn seat(self: &Arc<Self>) -> ConnectionSlot {
        let free = Arc::clone(&self.free);
        let permit = if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            Some(permit)
        } else {
            self.idle().end_oldest();
            // The semaphore is never closed.
            let permit = free.acquire_owned().await.ok();
            self.idle().is_wanted = false;
            permit
        };
        let mut seat = ConnectionSlot {
            connections: Arc::clone(self),
            ends: Arc::default(),
            idle_since: None,
            _permit: permit,
        };
        seat.becomes_idle();
        seat
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        lock(&self.idle)
    }
}

impl Idle {
    fn end_oldest(&mut self) {
        match self.since.pop_first() {
            Some((_, oldest)) => oldest.notify_one(),
            None => self.is_wanted = true,
        }
    }
}

impl ConnectionSlot {
    /// Returns the signal to close the connection for a new one.
    pub fn ends(&self) -> Arc<Notify> {
        Arc::clone(&self.ends)
    }

    /// Marks the connection as idle: it has no request in flight.
    pub fn becomes_idle(&mut self) {
        if self.idle_since.is_some() {
            return;
        }
        let mut idle = self.connections.idle();
        idle.count += 1;
        let number = idle.count;
        idle.since.insert(number, Arc::clone(&self.ends));
        if std::mem::take(&mut idle.is_wanted) {
            idle.end_oldest();
        }
        drop(idle);
        self.idle_since = Some(number);
    }

    /// Marks the connection as busy: a request has arrived.
    pub fn becomes_busy(&mut self) {
        if let Some(number) = self.idle_since.take() {
            self.connections.idle().since.remove(&number);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.becomes_busy();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// Whether the connection was told to close.
    fn is_ended(seat: &ConnectionSlot) -> bool {
        seat.ends.notified().now_or_never().is_some()
    }

    #[tokio::test]
    async fn the_one_that_has_been_idle_for_longest_makes_room() {
        let connections = Connections::new(3);
        let (mut first, second, third) =
            (connections.seat().await, connections.seat().await, connections.seat().await);
        first.becomes_busy();
        first.becomes_idle();
        let mut fourth = Box::pin(connections.seat());
        assert!(fourth.as_mut().now_or_never().is_none());
        assert_eq!((is_ended(&first), is_ended(&second), is_ended(&third)), (false, true, false));
        drop(second);
        assert!(fourth.now_or_never().is_some());
        assert_eq!(connections.taken(), (2, 3));
    }

    #[tokio::test]
    async fn where_none_is_idle_the_next_one_that_becomes_idle_makes_room() {
        let connections = Connections::new(1);
        let mut only = connections.seat().await;
        only.becomes_busy();
        let mut next = Box::pin(connections.seat());
        assert!(next.as_mut().now_or_never().is_none() && !is_ended(&only));
        only.becomes_idle();
        assert!(is_ended(&only));
        drop(only);
        let mut next = next.now_or_never().unwrap_or_else(|| unreachable!("there is room"));
        next.becomes_busy();
        next.becomes_idle();
        assert!(!is_ended(&next), "nobody waits any more");
    }
}
