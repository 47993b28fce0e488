//! A load generator that asks when it is time to, whatever became of the requests before, and counts from that time on:
//! a server that is slow cannot make it ask less. It is raw HTTP over kept connections, because it runs on the cores of the
//! server that it measures.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

/// One request from the moment at which it was due.
#[derive(Debug)]
pub struct Shot {
    pub response: RawResponse,
    pub took: Duration,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub enum RawResponse {
    /// Status, and whether the answer says when to come back.
    Answer(u16, bool),
    /// There is no answer.
    Broken(String),
    /// The generator had no connection left to send it on.
    Unsent,
}

impl Shot {
    pub fn is_accepted(&self) -> bool {
        matches!(self.response, RawResponse::Answer(201, _))
    }

    pub fn is_refused(&self) -> bool {
        self.response == RawResponse::Answer(503, true)
    }
}

/// Some of what should not be among them.
pub fn odd(shots: &[Shot]) -> Vec<&RawResponse> {
    let odd = shots.iter().filter(|shot| !shot.is_refused() && shot.response != RawResponse::Unsent);
    odd.map(|shot| &shot.response).take(5).collect()
}

/// Fewer than the server takes.
const CONNECTIONS: usize = 900;
const PACE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_mins(2);

/// The generator.
#[derive(Clone)]
pub struct OpenLoop {
    address: SocketAddr,
    request: Arc<str>,
    idle: Arc<Mutex<Vec<TcpStream>>>,
    connections: Arc<Semaphore>,
}

impl OpenLoop {
    pub fn new(address: SocketAddr, request: String) -> Self {
        Self {
            address,
            request: request.into(),
            idle: Arc::default(),
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }

    /// So many callers that ask again as soon as they have their answer.
    pub async fn closed(&self, callers: usize, span: Duration) -> Vec<Shot> {
        let end = Instant::now() + span;
        let mut tasks = JoinSet::new();
        for _ in 0..callers {
            let it = self.clone();
            tasks.spawn(async move {
                let mut shots = Vec::new();
                while Instant::now() < end {
                    shots.push(it.shot(Instant::now()).await);
                }
                shots
            });
        }
        tasks.join_all().await.into_iter().flatten().collect()
    }

    /// So many requests a second.
    pub async fn open(&self, per_second: u64, span: Duration) -> Vec<Shot> {
        let (began, mut sent) = (Instant::now(), 0);
        let mut tasks = JoinSet::new();
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while began.elapsed() < span {
            let now = pace.tick().await;
            let due = u64::try_from(now.duration_since(began).as_millis()).unwrap() * per_second / 1000;
            for _ in sent..due {
                let it = self.clone();
                tasks.spawn(async move { it.shot(now).await });
            }
            sent = due;
        }
        tasks.join_all().await
    }

    async fn shot(&self, due: Instant) -> Shot {
        let response = match self.connections.try_acquire() {
            Err(_) => RawResponse::Unsent,
            Ok(_place) => match timeout(PATIENCE, self.send()).await {
                Ok(Ok((status, waits))) => RawResponse::Answer(status, waits),
                Ok(Err(error)) => RawResponse::Broken(error.to_string()),
                Err(_) => RawResponse::Broken("no answer".into()),
            },
        };
        Shot { response, took: due.elapsed() }
    }

    async fn send(&self) -> std::io::Result<(u16, bool)> {
        let kept = self.idle.lock().unwrap().pop();
        let mut stream = match kept {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await?,
        };
        stream.write_all(self.request.as_bytes()).await?;
        let mut answer = Vec::with_capacity(2048);
        while !is_whole(&answer) {
            if stream.read_buf(&mut answer).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.idle.lock().unwrap().push(stream);
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.get(9..12).and_then(|status| status.parse().ok());
        Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, answer.contains("retry-after: ")))
    }
}

/// Returns whether head and body are there.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| body.len() >= length.parse().unwrap())
}
