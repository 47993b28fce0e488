//! Which answers of an acquirer elsewhere count, and what they mean.

use std::net::SocketAddr;
use std::sync::Arc;

use acquirer::http::AcquirerClientError;
use acquirer::{Acquirer, AuthoriseCall, CallKey, Failure, FollowUpCall, NoAnswer};
use base::card_number::CardNumber;
use base::secret::Secret;
use card_payments::config::Environment;
use entity::Currency;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::protocol::signature;
use crate::harness::FlakyAcquirer;
use crate::harness::fault_proxy::message;
use crate::harness::remote_acquirer::{self, SECRET};

const CARD: &str = "4200000000000000";
const OTHER: &str = "another-secret-that-somebody-else-has";
const MALFORMED: &str = r#"{"error":"malformed"}"#;
const UNKNOWN: &str = r#"{"error":"unknown"}"#;

/// A server that gives every request the same signed answer.
async fn answering(secret: &'static str, status: u16, body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = String::from_utf8(message(&mut stream).await.unwrap()).unwrap();
            let signed = request.lines().find_map(|line| line.strip_prefix("acquirer-signature: ")).unwrap();
            let signature = signature(secret, &format!("answer\ntest\n{status}\n{signed}\n{body}"));
            let answer = format!(
                "HTTP/1.1 {status} X\r\nAcquirer-Protocol: 1\r\nAcquirer-Environment: test\r\nConnection: close\r\n\
                 Acquirer-Signature: {signature}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    address
}

fn purchase() -> AuthoriseCall {
    AuthoriseCall {
        key: CallKey::new("ch_1", "charge"),
        number: Secret::from(CARD),
        cvc: None,
        expiry_month: 5,
        expiry_year: 2030,
        name: None,
        amount: 400,
        currency: Currency::Aud,
        capture: true,
        reference: None,
        network: None,
        forced: None,
    }
}

fn follow(action: &str) -> FollowUpCall {
    let key = CallKey::new("ch_1", action);
    FollowUpCall { key, reference: "bank-1".to_owned(), amount: 400, currency: Currency::Aud, fault: None }
}

#[tokio::test]
async fn an_answer_is_believed_under_the_secret_that_has_signed_its_request_alone() {
    let both = format!("{SECRET},{OTHER}");
    for (signer, greeted) in [(SECRET, Ok(())), (OTHER, Err(AcquirerClientError::Forged))] {
        let acquirer = answering(signer, 200, r#"{"name":"bank"}"#).await;
        assert_eq!(remote_acquirer::knowing(&both, acquirer, Environment::Test).greet().await, greeted);
    }
}

#[tokio::test]
async fn only_a_signed_refusal_to_look_at_a_call_says_that_nothing_was_done() {
    for (signer, status, body, failure) in [
        (SECRET, 400, MALFORMED, Failure::GatewayError),
        (SECRET, 404, UNKNOWN, Failure::GatewayError),
        (OTHER, 400, MALFORMED, Failure::NoAnswer),
        (SECRET, 503, MALFORMED, Failure::NoAnswer),
        (SECRET, 400, r#"{"error":"odd"}"#, Failure::NoAnswer),
        (SECRET, 403, "{}", Failure::NoAnswer),
    ] {
        let client = remote_acquirer::client(answering(signer, status, body).await, Environment::Test);
        let text = format!("{status} {body}");
        assert_eq!(client.authorise(purchase()).await.err(), Some(failure), "{text}");
        assert_eq!(client.capture(follow("capture")).await.err(), Some(failure), "{text}");
        assert_eq!(client.refund(follow("refund")).await.err(), Some(failure), "{text}");
        // What became of another call is not known by that.
        assert_eq!(client.settle(&purchase().key).await, Err(NoAnswer), "{text}");
    }
}

#[tokio::test]
async fn no_call_reaches_an_acquirer_of_the_other_environment_whether_or_not_it_was_greeted() {
    for ours in [Environment::Test, Environment::Live] {
        let acquirer = Arc::new(FlakyAcquirer::default());
        let address = remote_acquirer::served(acquirer.clone(), ours.other()).await;
        let client = remote_acquirer::client(address, ours);
        let number = CardNumber::parse(&Secret::from(CARD)).unwrap();
        for _ in 0..2 {
            assert_eq!(client.card(&number).await, Err(NoAnswer));
            assert_eq!(client.rate(Currency::Usd).await, Err(NoAnswer));
            assert_eq!(client.authorise(purchase()).await.err(), Some(Failure::NoAnswer));
            for answer in [client.capture(follow("capture")).await, client.void(follow("void")).await] {
                assert_eq!(answer, Err(Failure::NoAnswer));
            }
            assert_eq!(client.refund(follow("refund")).await.err(), Some(Failure::NoAnswer));
            assert_eq!(client.reverse(&purchase().key).await, Err(NoAnswer));
            assert_eq!(client.settle(&purchase().key).await, Err(NoAnswer));
            let other = AcquirerClientError::Environment(ours.other().name().to_owned());
            assert_eq!(client.greet().await, Err(other));
        }
        assert_eq!((acquirer.calls(), acquirer.settlings()), (Vec::new(), 0));
    }
}
