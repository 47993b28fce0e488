//! From the answer to a charge to the first byte of its webhook at a receiver.

use std::collections::BTreeMap;
use std::io::Result;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::load::{Caller, whole};

/// When the first byte of a webhook came, by the token of its charge.
type Received = Arc<Mutex<BTreeMap<Vec<u8>, Instant>>>;

/// Accepts every webhook.
pub struct Receiver {
    pub address: SocketAddr,
    received: Received,
}

impl Receiver {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, received) = (listener.local_addr()?, Received::default());
        let shared = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&shared)));
            }
        });
        Ok(Self { address, received })
    }

    /// Makes charges one after the other, and waits for their webhooks. Returns how long each took, shortest first.
    pub async fn hand_offs(
        &self,
        address: SocketAddr,
        charge: &[u8],
        span: Duration,
    ) -> Result<Vec<Duration>> {
        const PATIENCE: Duration = Duration::from_secs(30);
        let mut caller = Caller::connect(address).await?;
        let (began, mut hand_offs) = (Instant::now(), Vec::new());
        while began.elapsed() < span {
            let (_, body) = caller.send(charge).await?;
            let (answered, token) = (Instant::now(), token(body).to_vec());
            let received = loop {
                let received = self.received.lock().unwrap_or_else(PoisonError::into_inner).remove(&token);
                if let Some(received) = received {
                    break received;
                }
                if answered.elapsed() > PATIENCE {
                    return Err(std::io::Error::other("a webhook does not come"));
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            };
            hand_offs.push(received.saturating_duration_since(answered));
        }
        hand_offs.sort_unstable();
        Ok(hand_offs)
    }
}

/// One webhook after another, until the sender hangs up.
async fn converse(mut stream: TcpStream, received: Received) -> Result<()> {
    let mut message = Vec::with_capacity(8 * 1024);
    while stream.read_buf(&mut message).await? > 0 {
        let came = Instant::now();
        let body = loop {
            if let Some(body) = whole(&message)? {
                break body;
            }
            stream.read_buf(&mut message).await?;
        };
        received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(token(&message[body..]).to_vec(), came);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
        message.clear();
    }
    Ok(())
}

/// The first token of a charge in a text.
fn token(text: &[u8]) -> &[u8] {
    let begin = text.windows(4).position(|word| word == b"\"ch_").map_or(text.len(), |at| at + 1);
    let rest = &text[begin..];
    &rest[..rest.iter().position(|letter| *letter == b'"').unwrap_or(rest.len())]
}
