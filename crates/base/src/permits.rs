//! Permits that accounts share fairly: of the accounts that wait, the one that holds the fewest is served next.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use entity::AccountToken;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::mutex::lock;

/// The unit of sharing: an account. Requests whose account is not known share one lane.
pub type Lane = Option<AccountToken>;

/// The rule by which permits are shared.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// The number of waiters allowed in all lanes together; twice as many if some lanes have more than their share.
    pub waiting: usize,
    /// Whether a lane leaves at least as many free as it holds.
    pub leaves_half: bool,
    /// The number of permits that one lane may hold.
    pub of_a_lane: usize,
}

/// The permits of one kind.
#[derive(Debug)]
pub struct PermitPool {
    all: usize,
    share: Share,
    state: Mutex<State>,
}

/// Permits of a pool, returned when dropped.
#[derive(Debug)]
pub struct Permit {
    pool: Arc<PermitPool>,
    lane: Lane,
    count: usize,
}

#[derive(Debug)]
struct State {
    free: usize,
    arrivals: u64,
    lanes: HashMap<Lane, LaneState>,
}

#[derive(Debug, Default)]
struct LaneState {
    held: usize,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    arrival: u64,
    grant: oneshot::Sender<Permit>,
}

impl PermitPool {
    /// Creates a pool of `all` permits.
    pub fn new(all: usize, share: Share) -> Arc<Self> {
        let state = State { free: all, arrivals: 0, lanes: HashMap::new() };
        Arc::new(Self { all, share, state: Mutex::new(state) })
    }

    /// Returns the number of permits taken and of all permits.
    pub fn taken(&self) -> (usize, usize) {
        (self.all - self.state().free, self.all)
    }

    /// Returns the number of those who wait for a permit.
    pub fn waiting(&self) -> usize {
        self.state().lanes.values().map(|of| of.waiting.len()).sum()
    }

    /// Returns the number of all permits.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Takes permits, if they are free.
    pub fn try_acquire(self: &Arc<Self>, lane: Lane, count: usize) -> Option<Permit> {
        self.take(&mut self.state(), lane, count)
    }

    /// Takes a permit that is free, or becomes free within `limit`. Returns `None` also if too many wait already.
    pub async fn acquire(self: &Arc<Self>, lane: Lane, limit: Duration) -> Option<Permit> {
        let granted = {
            let mut state = self.state();
            if let Some(permit) = self.take(&mut state, lane, 1) {
                return Some(permit);
            }
            state.forget_gone();
            state.wait(lane, self.share.waiting)?
        };
        timeout(limit, granted).await.ok()?.ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn take(self: &Arc<Self>, state: &mut State, lane: Lane, count: usize) -> Option<Permit> {
        let held = state.lanes.get(&lane).map_or(0, |of| of.held) + count;
        let left = state.free.checked_sub(count)?;
        if held > self.share.of_a_lane || (self.share.leaves_half && held > left) {
            return None;
        }
        state.free = left;
        state.lanes.entry(lane).or_default().held = held;
        Some(Permit { pool: Arc::clone(self), lane, count })
    }

    fn give_back(self: &Arc<Self>, lane: Lane, count: usize) {
        let mut granted = Vec::new();
        let mut state = self.state();
        state.free += count;
        if let Some(of) = state.lanes.get_mut(&lane) {
            of.held -= count;
        }
        state.forget_gone();
        while state.free > 0
            && let Some((lane, grant)) = state.next(self.share.of_a_lane)
            && let Some(permit) = self.take(&mut state, lane, 1)
        {
            granted.push((grant, permit));
        }
        drop(state);
        for (grant, permit) in granted {
            // If the waiter has gone meanwhile, dropping the permit returns it.
            drop(grant.send(permit));
        }
    }
}

impl State {
    /// Queues a waiter. A full queue still takes waiters of a lane that has less than its share of it.
    fn wait(&mut self, lane: Lane, waiting_max: usize) -> Option<oneshot::Receiver<Permit>> {
        let own = self.lanes.get(&lane).map_or(0, |of| of.waiting.len());
        let all: usize = self.lanes.values().map(|of| of.waiting.len()).sum();
        let others = self.lanes.iter().filter(|(other, of)| **other != lane && !of.waiting.is_empty());
        if all >= waiting_max && own >= waiting_max / (others.count() + 1) {
            return None;
        }
        let (grant, granted) = oneshot::channel();
        self.lanes.entry(lane).or_default().waiting.push_back(Waiter { arrival: self.arrivals, grant });
        self.arrivals += 1;
        Some(granted)
    }

    /// Removes and returns the first waiter of the lane that holds the fewest permits, if those are fewer than a lane may hold.
    fn next(&mut self, of_a_lane: usize) -> Option<(Lane, oneshot::Sender<Permit>)> {
        let waiting = self.lanes.iter_mut().filter(|(_, of)| !of.waiting.is_empty() && of.held < of_a_lane);
        let next = waiting.min_by_key(|(_, of)| (of.held, of.waiting.front().map(|first| first.arrival)));
        next.and_then(|(lane, of)| Some((*lane, of.waiting.pop_front()?.grant)))
    }

    /// Drops waiters that have stopped waiting, and empty lanes.
    fn forget_gone(&mut self) {
        self.lanes.retain(|_, of| {
            of.waiting.retain(|waiter| !waiter.grant.is_closed());
            of.held > 0 || !of.waiting.is_empty()
        });
    }
}

impl Permit {
    /// Changes the number of permits held. Returns false, and keeps the number, if more are not free.
    pub fn resize(&mut self, count: usize) -> bool {
        if count > self.count {
            let Some(mut more) = self.pool.try_acquire(self.lane, count - self.count) else { return false };
            more.count = 0;
        } else {
            self.pool.give_back(self.lane, self.count - count);
        }
        self.count = count;
        true
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.count > 0 {
            self.pool.give_back(self.lane, self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use uuid::Uuid;

    use super::*;

    const SHARE: Share = Share { waiting: 4, leaves_half: false, of_a_lane: usize::MAX };
    const LONG: Duration = Duration::from_mins(1);

    const GREEDY: Lane = Some(AccountToken::new(Uuid::from_u128(1)));
    const MODEST: Lane = Some(AccountToken::new(Uuid::from_u128(2)));

    #[tokio::test]
    async fn a_lane_that_holds_fewer_is_served_before_one_that_waits_longer() {
        let pool = PermitPool::new(2, SHARE);
        let held = (pool.try_acquire(GREEDY, 1), pool.try_acquire(GREEDY, 1));
        let mut first = Box::pin(pool.acquire(GREEDY, LONG));
        assert!(first.as_mut().now_or_never().is_none());
        let mut second = Box::pin(pool.acquire(MODEST, LONG));
        assert!(second.as_mut().now_or_never().is_none());
        drop(held.0);
        assert!(first.as_mut().now_or_never().is_none());
        let served = second.now_or_never();
        assert!(matches!(served, Some(Some(_))));
        drop(held.1);
        assert!(matches!(first.now_or_never(), Some(Some(_))));
        drop(served);
        assert_eq!(pool.taken(), (0, 2));
    }

    #[tokio::test]
    async fn a_lane_that_fills_the_queue_leaves_others_their_share_of_it() {
        let pool = PermitPool::new(1, SHARE);
        let held = pool.try_acquire(None, 1);
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(pool.acquire(GREEDY, LONG))).collect();
        assert!(waiting.iter_mut().all(|waiter| waiter.as_mut().now_or_never().is_none()));
        assert!(matches!(pool.acquire(GREEDY, LONG).now_or_never(), Some(None)), "its queue is full");
        let mut others: Vec<_> = (0..2).map(|_| Box::pin(pool.acquire(MODEST, LONG))).collect();
        assert!(others.iter_mut().all(|waiter| waiter.as_mut().now_or_never().is_none()));
        assert!(matches!(pool.acquire(MODEST, LONG).now_or_never(), Some(None)));
        assert!(
            waiting.iter_mut().all(|waiter| waiter.as_mut().now_or_never().is_none()),
            "they go on waiting"
        );
        // Waiters that stop waiting are dropped.
        drop((waiting, others));
        drop(held);
        assert_eq!(pool.taken(), (0, 1));
        assert!(pool.state().lanes.is_empty());
    }

    #[tokio::test]
    async fn no_lane_is_refused_while_the_queue_has_room() {
        let pool = PermitPool::new(1, SHARE);
        let _held = pool.try_acquire(None, 1);
        let lanes = [GREEDY, MODEST, GREEDY, GREEDY];
        let mut waiting: Vec<_> = lanes.map(|lane| Box::pin(pool.acquire(lane, LONG))).into();
        assert!(waiting.iter_mut().all(|waiter| waiter.as_mut().now_or_never().is_none()));
    }

    #[tokio::test]
    async fn a_lane_that_holds_what_it_may_waits_beside_free_permits() {
        let pool = PermitPool::new(2, Share { of_a_lane: 1, ..SHARE });
        let first = pool.try_acquire(GREEDY, 1);
        let mut second = Box::pin(pool.acquire(GREEDY, LONG));
        assert!(second.as_mut().now_or_never().is_none());
        let other = pool.try_acquire(MODEST, 1);
        assert!(other.is_some(), "it is free for others");
        drop(other);
        assert!(second.as_mut().now_or_never().is_none(), "that of another lane is not its own");
        drop(first);
        assert!(matches!(second.now_or_never(), Some(Some(_))));
        assert_eq!(pool.taken(), (0, 2));
    }

    #[tokio::test]
    async fn who_has_waited_long_enough_goes_without() {
        let pool = PermitPool::new(1, SHARE);
        let held = pool.try_acquire(None, 1);
        assert!(pool.acquire(None, Duration::from_millis(1)).await.is_none());
        drop(held);
        assert!(pool.acquire(None, Duration::from_millis(1)).await.is_some());
    }

    #[test]
    fn a_lane_leaves_as_much_free_as_it_holds() {
        let pool = PermitPool::new(90, Share { leaves_half: true, ..SHARE });
        assert!(pool.try_acquire(GREEDY, 46).is_none());
        let one = pool.try_acquire(GREEDY, 45);
        assert!(pool.try_acquire(MODEST, 23).is_none());
        let two = pool.try_acquire(MODEST, 22);
        assert_eq!((one.is_some(), two.is_some(), pool.taken().0), (true, true, 67));
    }

    #[test]
    fn a_permit_grows_as_far_as_there_is_room_and_gives_back_what_it_does_not_need() {
        let pool = PermitPool::new(10, SHARE);
        let mut permit = pool.try_acquire(None, 4).expect("free");
        assert!(permit.resize(8) && !permit.resize(11));
        assert_eq!(pool.taken().0, 8);
        assert!(permit.resize(2));
        assert_eq!(pool.taken().0, 2);
        drop(permit);
        assert_eq!(pool.taken().0, 0);
    }
}
