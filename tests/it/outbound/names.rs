//! Names are judged by the addresses that they are found to have.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use outbound::{AddressPolicy, Outbound, OutboundError, Resolver};

use super::call;
use crate::harness::{Behaviour, Receiver};

/// Answers look-ups one after another from a list, and all later ones like the last; None: there is no such name.
struct ScriptedResolver {
    answers: Mutex<VecDeque<Option<Vec<SocketAddr>>>>,
    lookups: AtomicUsize,
}

impl ScriptedResolver {
    fn new(answers: impl IntoIterator<Item = Option<Vec<SocketAddr>>>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), lookups: AtomicUsize::new(0) })
    }

    /// One address a look-up.
    fn answering(addresses: &[&str]) -> Arc<Self> {
        Self::new(addresses.iter().map(|address| Some(vec![at(address)])))
    }

    fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

#[async_trait::async_trait]
impl Resolver for ScriptedResolver {
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        assert_eq!(host, "receiver.example");
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() };
        answer.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// What resolvers answer carries any port.
fn at(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse().unwrap(), 9)
}

fn url(receiver: &Receiver) -> String {
    format!("http://receiver.example:{}/", receiver.address().port())
}

fn live() -> AddressPolicy {
    AddressPolicy::live(Vec::new())
}

#[tokio::test]
async fn a_name_leads_to_its_address() {
    let (receiver, names) = (Receiver::start().await, ScriptedResolver::answering(&["127.0.0.1"]));
    let outbound = Outbound::with_resolver(AddressPolicy::test(), names.clone());
    assert_eq!(call(&outbound, &url(&receiver)).await, Ok(200));
    assert_eq!(names.lookups(), 1);
    let host = format!("receiver.example:{}", receiver.address().port());
    assert_eq!(receiver.received()[0].headers["host"], host.as_str());
}

#[tokio::test]
async fn a_name_with_a_forbidden_address_is_not_called() {
    let receiver = Receiver::start().await;
    for address in
        ["127.0.0.1", "10.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "169.254.169.254", "fd00::1"]
    {
        let outbound = Outbound::with_resolver(live(), ScriptedResolver::answering(&[address]));
        assert_eq!(call(&outbound, &url(&receiver)).await, Err(OutboundError::ForbiddenAddress), "{address}");
    }
    for address in
        ["169.254.169.254", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254", "100.100.100.200"]
    {
        let outbound =
            Outbound::with_resolver(AddressPolicy::test(), ScriptedResolver::answering(&[address]));
        assert_eq!(call(&outbound, &url(&receiver)).await, Err(OutboundError::ForbiddenAddress), "{address}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn an_address_on_a_link_of_the_machine_is_not_called() {
    let receiver = Receiver::start().await;
    let scoped = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 0, 0, 1).into();
    let outbound =
        Outbound::with_resolver(AddressPolicy::test(), ScriptedResolver::new([Some(vec![scoped])]));
    assert_eq!(call(&outbound, &url(&receiver)).await, Err(OutboundError::ForbiddenAddress));
}

#[tokio::test]
async fn of_several_addresses_only_the_permitted_ones_are_tried() {
    let receiver = Receiver::start().await;
    let mixed = vec![at("169.254.169.254"), at("fe80::1"), at("127.0.0.1"), at("fd00:ec2::254")];
    let outbound =
        Outbound::with_resolver(AddressPolicy::test(), ScriptedResolver::new([Some(mixed.clone())]));
    assert_eq!(call(&outbound, &url(&receiver)).await, Ok(200));
    let outbound = Outbound::with_resolver(live(), ScriptedResolver::new([Some(mixed)]));
    assert_eq!(call(&outbound, &url(&receiver)).await, Err(OutboundError::ForbiddenAddress));
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_second_look_up_that_answers_differently_gains_nothing() {
    let receiver = Receiver::start().await;
    // One look-up a connection, so a better answer given first is the one that is used...
    let names = ScriptedResolver::answering(&["127.0.0.1", "169.254.169.254", "127.0.0.1"]);
    let outbound = Outbound::with_resolver(AddressPolicy::test(), names.clone());
    assert_eq!(call(&outbound, &url(&receiver)).await, Ok(200));
    assert_eq!(names.lookups(), 1);
    // ... and the connection it led to goes on.
    assert_eq!(call(&outbound, &url(&receiver)).await, Ok(200));
    assert_eq!((names.lookups(), receiver.connections()), (1, 1));
    receiver.behave(Behaviour::Reset);
    // The new one, on which the call is sent again, is looked up and judged again.
    assert_eq!(call(&outbound, &url(&receiver)).await, Err(OutboundError::ForbiddenAddress));
    assert_eq!(names.lookups(), 2);
}

#[tokio::test]
async fn a_host_that_the_operator_allows_is_called_wherever_it_is() {
    let receiver = Receiver::start().await;
    let outbound = |allowed: &str| {
        let reach = AddressPolicy::live(vec![allowed.parse().unwrap()]);
        Outbound::with_resolver(reach, ScriptedResolver::answering(&["127.0.0.1", "169.254.169.254"]))
    };
    let allowed = outbound("receiver.example");
    assert_eq!(call(&allowed, &url(&receiver)).await, Ok(200));
    let elsewhere = "http://receiver.example:1/";
    assert_eq!(call(&allowed, elsewhere).await, Err(OutboundError::ForbiddenAddress));
    assert_eq!(call(&outbound("example"), &url(&receiver)).await, Err(OutboundError::ForbiddenAddress));
    assert_eq!(call(&outbound("127.0.0.0/8"), &url(&receiver)).await, Ok(200));
}

#[tokio::test]
async fn an_unknown_name_is_a_failed_look_up() {
    for answer in [None, Some(Vec::new())] {
        let outbound = Outbound::with_resolver(AddressPolicy::test(), ScriptedResolver::new([answer]));
        assert_eq!(call(&outbound, "http://receiver.example/").await, Err(OutboundError::DnsFailed));
    }
    // Labels have at most 63 letters, so no look-up is needed.
    let url = format!("http://{}.example/", "a".repeat(64));
    assert_eq!(call(&super::test(), &url).await, Err(OutboundError::DnsFailed));
}
