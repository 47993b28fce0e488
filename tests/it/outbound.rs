//! Calls to addresses that strangers gave (`docs/decisions.md`, 242 to 249).

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use outbound::{AddressPolicy, Outbound, OutboundError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

mod addresses;
mod certificates;
mod names;

use crate::harness::process::free_address;
use crate::harness::{Behaviour, Received, Receiver};

const SOON: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(10);

/// POST of nothing in particular.
async fn call(outbound: &Outbound, url: &str) -> Result<u16, OutboundError> {
    outbound.post(url, HeaderMap::new(), Bytes::from_static(b"{}"), LONG).await
}

fn test() -> Outbound {
    Outbound::new(AddressPolicy::test())
}

/// Returns a time that is enough for a call after those that began here, which made the client.
fn soon_since(begun: Instant) -> Duration {
    SOON.max(2 * begun.elapsed())
}

#[tokio::test]
async fn the_receiver_gets_what_was_sent() {
    let receiver = Receiver::start().await;
    let mut headers = HeaderMap::new();
    headers.insert("webhook-id", "evt_1".parse().unwrap());
    let body = Bytes::from_static(b"{\"a\": 1}");
    let before = Instant::now();
    assert_eq!(test().post(&receiver.url(), headers, body, LONG).await, Ok(200));
    let [Received { at, path, headers, body }] = &*receiver.receives(1).await else { panic!("one request") };
    assert!(*at > before);
    assert_eq!((path.as_str(), body.as_slice()), ("/hook", b"{\"a\": 1}".as_slice()));
    assert_eq!(headers["webhook-id"], "evt_1");
    assert_eq!(headers["user-agent"], concat!("card-payments/", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn the_status_is_the_answer() {
    let receiver = Receiver::start().await;
    for status in [200, 204, 299, 400, 404, 410, 500, 503] {
        receiver.behave(Behaviour::Status(status));
        assert_eq!(call(&test(), &receiver.url()).await, Ok(status));
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    let receiver = Receiver::start().await;
    let outbound = test();
    for _ in 0..20 {
        assert_eq!(call(&outbound, &receiver.url()).await, Ok(200));
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    receiver.behave(Behaviour::Redirect(other.url()));
    assert_eq!(call(&test(), &receiver.url()).await, Ok(302));
    assert_eq!((receiver.received().len(), other.connections()), (1, 0));
}

#[tokio::test]
async fn a_receiver_that_hangs_costs_the_time_given_and_no_more() {
    let receiver = Receiver::start().await;
    for behaviour in [Behaviour::Hang, Behaviour::Slow(LONG)] {
        receiver.behave(behaviour);
        let begun = Instant::now();
        let answer = test().post(&receiver.url(), HeaderMap::new(), Bytes::new(), SOON).await;
        assert_eq!(answer, Err(OutboundError::Timeout));
        assert!((SOON..LONG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_slow_answer_in_time_is_an_answer() {
    let receiver = Receiver::start().await;
    receiver.behave(Behaviour::Slow(SOON));
    assert_eq!(call(&test(), &receiver.url()).await, Ok(200));
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_failed_one() {
    let receiver = Receiver::start().await;
    receiver.behave(Behaviour::Reset);
    assert_eq!(call(&test(), &receiver.url()).await, Err(OutboundError::ConnectionFailed));
    assert_eq!(receiver.received().len(), 1, "a new connection is tried once");
}

#[tokio::test]
async fn a_call_that_meets_the_close_of_a_kept_connection_is_sent_again_at_once_on_a_new_one() {
    for is_read in [false, true] {
        let (receiver, outbound) = (Receiver::start().await, test());
        receiver.behave(Behaviour::CloseKept { is_read });
        for calls in 1..=6 {
            assert_eq!(call(&outbound, &receiver.url()).await, Ok(200), "{calls}, {is_read}");
            assert_eq!((receiver.received().len(), receiver.connections()), (calls, calls));
        }
    }
}

#[tokio::test]
async fn a_receiver_that_breaks_kept_connections_gets_a_call_twice_at_most() {
    let (receiver, outbound) = (Receiver::start().await, test());
    let begun = Instant::now();
    assert_eq!(call(&outbound, &receiver.url()).await, Ok(200));
    receiver.behave(Behaviour::Reset);
    assert_eq!(call(&outbound, &receiver.url()).await, Err(OutboundError::ConnectionFailed));
    assert_eq!((receiver.received().len(), receiver.connections()), (3, 2));
    receiver.behave(Behaviour::Hang);
    let answer = outbound.post(&receiver.url(), HeaderMap::new(), Bytes::new(), soon_since(begun)).await;
    assert_eq!(
        (answer, receiver.received().len()),
        (Err(OutboundError::Timeout), 4),
        "a time-out is no close"
    );
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_a_failed_connection_and_no_handshake() {
    let nonsense = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nonsense.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = nonsense.accept().await {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            // A greeting of TLS gets no answer.
            if request[..length].starts_with(b"POST") {
                stream.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
            }
        }
    });
    assert_eq!(call(&test(), &format!("http://{address}/")).await, Err(OutboundError::ConnectionFailed));
    assert_eq!(call(&test(), &format!("https://{address}/")).await, Err(OutboundError::TlsFailed));
}

#[tokio::test]
async fn where_nobody_listens_the_connection_fails() {
    let url = format!("http://{}/hook", free_address());
    assert_eq!(call(&test(), &url).await, Err(OutboundError::ConnectionFailed));
}

#[tokio::test]
async fn of_an_endless_body_only_a_piece_is_read_and_the_status_counts() {
    let receiver = Receiver::start().await;
    receiver.behave(Behaviour::Endless);
    let begun = Instant::now();
    assert_eq!(call(&test(), &receiver.url()).await, Ok(200));
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_body_that_drips_is_given_up_in_time_and_the_status_counts() {
    let (receiver, outbound) = (Receiver::start().await, test());
    let begun = Instant::now();
    assert_eq!(call(&outbound, &receiver.url()).await, Ok(200));
    let within = soon_since(begun);
    receiver.behave(Behaviour::Drip);
    let begun = Instant::now();
    let answer = outbound.post(&receiver.url(), HeaderMap::new(), Bytes::new(), within).await;
    assert_eq!(answer, Ok(200));
    assert!((within..within + LONG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}
