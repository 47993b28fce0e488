use futures::FutureExt;

use super::*;

/// Returns whether the connection was told to close.
fn is_ended(slot: &ConnectionSlot) -> bool {
    slot.ends.notified().now_or_never().is_some()
}

#[tokio::test]
async fn the_one_that_has_been_idle_for_longest_makes_room() {
    let connections = Connections::new(3);
    let (first, second, third) =
        (connections.slot().await, connections.slot().await, connections.slot().await);
    for slot in [&third, &second, &first] {
        slot.becomes_idle();
    }
    first.becomes_busy();
    first.becomes_idle();
    let mut fourth = Box::pin(connections.slot());
    assert!(fourth.as_mut().now_or_never().is_none());
    assert_eq!((is_ended(&first), is_ended(&second), is_ended(&third)), (false, true, false));
    assert!(!second.becomes_busy(), "no request of it begins any more");
    drop(second);
    assert!(fourth.now_or_never().is_some());
    assert_eq!(connections.taken(), (2, 3));
}

#[tokio::test]
async fn where_none_is_idle_the_next_one_that_becomes_idle_makes_room() {
    let connections = Connections::new(1);
    let only = connections.slot().await;
    only.becomes_busy();
    let mut next = Box::pin(connections.slot());
    assert!(next.as_mut().now_or_never().is_none() && !is_ended(&only));
    only.becomes_idle();
    assert!(is_ended(&only));
    drop(only);
    let next = next.now_or_never().unwrap_or_else(|| unreachable!("there is room"));
    next.becomes_busy();
    next.becomes_idle();
    assert!(!is_ended(&next), "nobody waits any more");
}

#[tokio::test]
async fn a_new_connection_is_read_before_it_makes_room() {
    let connections = Connections::new(2);
    let (first, second) = (connections.slot().await, connections.slot().await);
    second.becomes_idle();
    let mut next = Box::pin(connections.slot());
    assert!(next.as_mut().now_or_never().is_none());
    assert_eq!((is_ended(&first), is_ended(&second)), (false, false), "the first one is read before");
    assert!(first.becomes_busy(), "its request had arrived");
    assert_eq!((is_ended(&first), is_ended(&second)), (false, true));
    drop(second);
    let third = next.now_or_never().unwrap_or_else(|| unreachable!("there is room"));
    first.becomes_idle();
    let mut next = Box::pin(connections.slot());
    assert!(next.as_mut().now_or_never().is_none() && !is_ended(&first) && !is_ended(&third));
    third.becomes_idle();
    assert_eq!((is_ended(&first), is_ended(&third)), (false, true), "it has been idle for longest");
}

#[tokio::test]
async fn a_wait_that_began_during_that_read_makes_room() {
    let connections = Connections::new(2);
    let (first, second) = (connections.slot().await, connections.slot().await);
    second.becomes_busy();
    assert!(connections.slot().now_or_never().is_none());
    let wait = wait(&second, of_network(Ipv4Addr::LOCALHOST));
    assert!(!is_told(&wait));
    first.becomes_busy();
    assert!(is_told(&wait));
}

fn of_network(address: Ipv4Addr) -> Pause {
    Pause::Waiting(Client::Network(ClientNetwork::from_address(address.into())))
}

/// Begins a wait of the connection's request. Returns the signal to end it.
fn wait(slot: &ConnectionSlot, pause: Pause) -> Arc<Notify> {
    let yields = Arc::default();
    slot.pauses(pause, &yields);
    yields
}

fn is_told(yields: &Notify) -> bool {
    yields.notified().now_or_never().is_some()
}

#[tokio::test]
async fn where_none_is_idle_the_oldest_wait_of_the_client_with_the_most_makes_room() {
    let connections = Connections::with_fresh(4, Duration::ZERO);
    let slots = [(); 4].map(|()| connections.slot().now_or_never().unwrap_or_else(|| unreachable!("free")));
    slots[3].becomes_idle();
    let waits =
        [of_network(Ipv4Addr::UNSPECIFIED), of_network(Ipv4Addr::LOCALHOST), of_network(Ipv4Addr::LOCALHOST)]
            .map(Some)
            .into_iter()
            .chain([None])
            .zip(&slots);
    let waits: Vec<_> = waits.filter_map(|(pause, slot)| Some(wait(slot, pause?))).collect();
    let mut next = Box::pin(connections.slot());
    assert!(next.as_mut().now_or_never().is_none() && is_ended(&slots[3]), "an idle one comes first");
    slots[3].becomes_busy();
    drop(next);
    let mut next = Box::pin(connections.slot());
    assert!(next.as_mut().now_or_never().is_none());
    assert_eq!([0, 1, 2].map(|at: usize| is_told(&waits[at])), [false, true, false]);
    // Once its request is answered.
    slots[1].becomes_idle();
    assert!(is_ended(&slots[1]));
    drop(slots);
    assert!(next.now_or_never().is_some());
    assert!(connections.paused().waiting.is_empty() && connections.paused().waits == 0);
}

#[tokio::test]
async fn a_wait_makes_room_rather_than_a_connection_that_has_just_come() {
    let connections = Connections::new(2);
    let slots = (connections.slot().await, connections.slot().await);
    let wait = wait(&slots.0, of_network(Ipv4Addr::LOCALHOST));
    assert!(connections.slot().now_or_never().is_none());
    assert_eq!((is_told(&wait), is_ended(&slots.1)), (true, false));
}

#[tokio::test]
async fn some_room_is_kept_for_requests_that_do_not_wait() {
    let connections = Connections::new(4);
    let slots = [(); 4].map(|()| connections.slot().now_or_never().unwrap_or_else(|| unreachable!("free")));
    let mut waits: Vec<_> =
        slots[..3].iter().map(|slot| wait(slot, of_network(Ipv4Addr::LOCALHOST))).collect();
    assert!(!waits.iter().any(|wait| is_told(wait)));
    waits.push(wait(&slots[3], of_network(Ipv4Addr::UNSPECIFIED)));
    assert_eq!([0, 1, 2, 3].map(|at: usize| is_told(&waits[at])), [true, false, false, false]);
}

#[tokio::test]
async fn a_connection_whose_client_does_not_read_makes_room_unless_it_serves_a_request() {
    let connections = Connections::new(1);
    let only = connections.slot().await;
    only.becomes_busy();
    let mut next = Box::pin(connections.slot());
    assert!(next.as_mut().now_or_never().is_none());
    only.serve(async { only.set_read(false) }).await;
    assert!(!is_ended(&only));
    only.set_read(false);
    assert!(is_ended(&only));
}

#[tokio::test]
async fn a_wait_ends_when_its_client_is_gone() {
    let connections = Connections::new(2);
    let only = connections.slot().await;
    let mut waits = Box::pin(only.serve(unless_wanted(std::future::pending::<()>())));
    assert!(waits.as_mut().now_or_never().is_none());
    only.loses_client();
    assert_eq!(waits.now_or_never(), Some(None));
}
