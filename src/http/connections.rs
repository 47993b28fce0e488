//! The connections of a listener. Where there are as many as there may be, the one that has been idle for longest ends for a
//! newcomer, so that idle ones shut nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The connections there are, and may be.
#[derive(Debug)]
pub struct Connections {
    all: usize,
    free: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    /// How often a connection has become idle so far.
    count: u64,
    /// In the order in which they became idle.
    since: BTreeMap<u64, Arc<Notify>>,
    /// Whether a newcomer waits for the next connection that becomes idle.
    is_wanted: bool,
}

/// The place of one connection among them.
#[derive(Debug)]
pub struct Seat {
    connections: Arc<Connections>,
    ends: Arc<Notify>,
    idle_since: Option<u64>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connections {
    /// Creates room for `all` connections.
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, free: Arc::new(Semaphore::new(all)), idle: Mutex::default() })
    }

    /// How many there are, and how many there may be.
    pub fn taken(&self) -> (usize, usize) {
        (self.all - self.free.available_permits(), self.all)
    }

    /// A seat for a newcomer, once there is one. It counts as idle.
    pub async fn seat(self: &Arc<Self>) -> Seat {
        let free = Arc::clone(&self.free);
        let permit = if let Ok(permit) = Arc::clone(&free).try_acquire_owned() {
            Some(permit)
        } else {
            self.idle().end_oldest();
            // Nobody closes it.
            let permit = free.acquire_owned().await.ok();
            self.idle().is_wanted = false;
            permit
        };
        let mut seat =
            Seat { connections: Arc::clone(self), ends: Arc::default(), idle_since: None, _permit: permit };
        seat.becomes_idle();
        seat
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Seat {
    /// Notified when the connection is to end for a newcomer.
    pub fn ends(&self) -> Arc<Notify> {
        Arc::clone(&self.ends)
    }

    /// No request is under way on the connection.
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

    /// A request has come.
    pub fn becomes_busy(&mut self) {
        if let Some(number) = self.idle_since.take() {
            self.connections.idle().since.remove(&number);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.becomes_busy();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// Whether the connection has been told to end.
    fn is_ended(seat: &Seat) -> bool {
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
