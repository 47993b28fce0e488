//! A closed loop over kept connections: so many callers that ask again as soon as they have their answer. It is raw HTTP
//! on one thread, because it runs on the cores of the server that it measures.

use std::cell::Cell;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A kept connection.
pub struct Caller {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Caller {
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(64 * 1024) })
    }

    /// Sends a request and waits for the whole answer. Returns its status and body.
    pub async fn send(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.received.clear();
        self.stream.write_all(request).await?;
        let body = loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(body) = whole(&self.received)? {
                break body;
            }
        };
        let status =
            self.received.get(9..12).and_then(|status| std::str::from_utf8(status).ok()?.parse().ok());
        Ok((status.ok_or(ErrorKind::InvalidData)?, &self.received[body..]))
    }
}

/// Where the body of a message begins, once all of it is there. Its length must be told in small letters.
pub fn whole(message: &[u8]) -> Result<Option<usize>> {
    const LENGTH: &[u8] = b"content-length: ";
    let Some(end) = message.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let length = message[..end].windows(LENGTH.len()).position(|name| name == LENGTH);
    let digits =
        length.map(|at| message[at + LENGTH.len()..end].iter().take_while(|byte| byte.is_ascii_digit()));
    let length = digits.ok_or_else(|| Error::new(ErrorKind::InvalidData, "a message without a length"))?;
    let length = length.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    Ok((message.len() >= end + 4 + length).then_some(end + 4))
}

/// When to stop asking.
#[derive(Debug, Clone, Copy)]
pub enum Stop {
    After(Duration),
    Count(usize),
}

/// The result of a loop.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub took: Duration,
    /// Of all answers, shortest first.
    pub latencies: Vec<Duration>,
    /// What was answered with no success, and the first such answer.
    pub failed: usize,
    pub failure: Option<String>,
}

impl Run {
    pub fn succeeded(&self) -> usize {
        self.latencies.len() - self.failed
    }

    pub fn per_second(&self) -> u64 {
        per_second(self.latencies.len(), self.took)
    }

    /// The latency that so many of a hundred answers have at most.
    pub fn percentile(&self, percent: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get(last.min(self.latencies.len() * percent / 100)).copied().unwrap_or_default()
    }
}

pub fn per_second(count: usize, took: Duration) -> u64 {
    u64::try_from(count as u128 * 1_000_000_000 / took.as_nanos().max(1)).unwrap_or(u64::MAX)
}

/// Asks for one after the other of these, from so many connections at once, and begins again after the last one.
pub async fn run(
    addresses: &[SocketAddr],
    connections: usize,
    requests: &[Vec<u8>],
    stop: Stop,
) -> Result<Run> {
    let mut callers = Vec::with_capacity(connections);
    for address in addresses.iter().cycle().take(connections) {
        callers.push(Caller::connect(*address).await?);
    }
    let (began, sent) = (Instant::now(), Cell::new(0));
    // The next request's number, if there is to be one.
    let next = || {
        let number = sent.replace(sent.get() + 1);
        let goes_on = match stop {
            Stop::After(span) => began.elapsed() < span,
            Stop::Count(count) => number < count,
        };
        goes_on.then_some(number)
    };
    let loops: FuturesUnordered<_> =
        callers.into_iter().map(|caller| one_after_another(caller, requests, &next)).collect();
    let mut run = loops
        .try_fold(Run::default(), async |mut all, one| {
            all.latencies.extend(one.latencies);
            all.failed += one.failed;
            all.failure = all.failure.or(one.failure);
            Ok(all)
        })
        .await?;
    run.took = began.elapsed();
    run.latencies.sort_unstable();
    Ok(run)
}

async fn one_after_another(
    mut caller: Caller,
    requests: &[Vec<u8>],
    next: &impl Fn() -> Option<usize>,
) -> Result<Run> {
    let mut run = Run::default();
    while let Some(number) = next() {
        let start = Instant::now();
        let (status, body) = caller.send(&requests[number % requests.len()]).await?;
        run.latencies.push(start.elapsed());
        if !(200..300).contains(&status) {
            run.failed += 1;
            run.failure.get_or_insert_with(|| format!("{status} {}", String::from_utf8_lossy(body)));
        }
    }
    Ok(run)
}
