//! A receiver of webhooks: HTTP/1.1 on a socket of this machine, which behaves as a test orders.

use std::io;
use std::iter;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::fixtures::eventually;

/// What the receiver does with a request that it has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers with this status.
    Status(u16),
    /// Answers 302 to another address.
    Redirect(String),
    /// Never answers.
    Hang,
    /// Resets the connection.
    Reset,
    /// Answers 200 to the first request on a connection, and closes it when the next one comes, which it has read or not.
    CloseKept { is_read: bool },
    /// Answers 200, this much later.
    Slow(Duration),
    /// Answers 200 once [`Receiver::release`] lets it.
    AnswerLate,
    /// Answers 200 with a body that never ends, as fast as it is read.
    Endless,
    /// Answers 200 with a body that never ends, a byte every tenth of a second.
    Drip,
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// When its last byte was read.
    pub at: Instant,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Received {
    /// Returns the signatures that it carries.
    pub fn signatures(&self) -> Vec<&str> {
        self.headers["webhook-signature"].to_str().unwrap().split(' ').collect()
    }

    /// Returns the signature that it would carry under a key, `whsec_...`.
    pub fn signature_under(&self, key: &str) -> String {
        let key = STANDARD.decode(key.strip_prefix("whsec_").unwrap()).unwrap();
        let mut hash = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        for name in ["webhook-id", "webhook-timestamp"] {
            hash.update(self.headers[name].as_bytes());
            hash.update(b".");
        }
        hash.update(&self.body);
        format!("v1,{}", STANDARD.encode(hash.finalize().into_bytes()))
    }
}

/// A receiver, which answers 200 by default and stops when it is dropped.
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    behaviour: Mutex<Behaviour>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    late: Semaphore,
}

impl Receiver {
    pub async fn start() -> Self {
        Self::on("127.0.0.1:0").await
    }

    /// Starts one at an address of the test's choice.
    pub async fn on(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            behaviour: Mutex::new(Behaviour::Status(200)),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            late: Semaphore::new(0),
        });
        let server = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { address, shared, server }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a URL of this receiver.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Sets the behaviour, for requests on open connections, too.
    pub fn behave(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// Lets one late answer go.
    pub fn release(&self) {
        self.shared.late.add_permits(1);
    }

    /// Returns the requests so far, oldest first.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    /// Waits until this many requests came in. Returns all of them.
    pub async fn receives(&self, count: usize) -> Vec<Received> {
        eventually(async || self.received().len() >= count).await;
        self.received()
    }

    /// Returns how many connections were opened so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with the server, and all connections with it.
    let mut open = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        shared.connections.fetch_add(1, Ordering::SeqCst);
        stream.set_nodelay(true).unwrap();
        open.spawn(converse(BufReader::new(stream), Arc::clone(&shared)));
        while open.try_join_next().is_some() {}
    }
}

/// One request after another, until an end or a failure of the connection.
async fn converse(mut stream: BufReader<TcpStream>, shared: Arc<Shared>) -> io::Result<()> {
    for first in iter::once(true).chain(iter::repeat(false)) {
        stream.get_ref().readable().await?;
        let behaviour = shared.behaviour.lock().unwrap().clone();
        if let Behaviour::CloseKept { is_read } = behaviour
            && !first
        {
            if is_read {
                read(&mut stream).await?;
            }
            return Ok(());
        }
        let received = read(&mut stream).await?;
        // Before the test sees the request and orders something else.
        let behaviour = shared.behaviour.lock().unwrap().clone();
        shared.received.lock().unwrap().push(received);
        answer(stream.get_mut(), behaviour, &shared.late).await?;
    }
    Ok(())
}

async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Received> {
    let first = line(stream).await?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = HeaderMap::new();
    loop {
        let header = line(stream).await?;
        let Some((name, value)) = header.split_once(':') else { break };
        let name: HeaderName = name.parse().map_err(io::Error::other)?;
        headers.append(name, HeaderValue::from_str(value.trim()).map_err(io::Error::other)?);
    }
    let length = headers.get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    Ok(Received { at: Instant::now(), path, headers, body })
}

/// One line of the head, without its end.
async fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

async fn answer(stream: &mut TcpStream, behaviour: Behaviour, late: &Semaphore) -> io::Result<()> {
    let status = |status: u16, more: &str| format!("HTTP/1.1 {status} Told\r\n{more}\r\n");
    let endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    match behaviour {
        Behaviour::Status(204) => stream.write_all(status(204, "").as_bytes()).await,
        Behaviour::CloseKept { .. } => {
            stream.write_all(status(200, "Content-Length: 0\r\n").as_bytes()).await
        }
        Behaviour::Status(code) => stream.write_all(status(code, "Content-Length: 0\r\n").as_bytes()).await,
        Behaviour::Redirect(to) => {
            let more = format!("Location: {to}\r\nContent-Length: 0\r\n");
            stream.write_all(status(302, &more).as_bytes()).await
        }
        // Until the other side hangs up.
        Behaviour::Hang => stream.read_u8().await.map(drop),
        Behaviour::Reset => {
            stream.set_zero_linger()?;
            Err(io::ErrorKind::ConnectionReset.into())
        }
        Behaviour::Slow(delay) => {
            sleep(delay).await;
            stream.write_all(status(200, "Content-Length: 0\r\n").as_bytes()).await
        }
        Behaviour::AnswerLate => {
            late.acquire().await.unwrap().forget();
            stream.write_all(status(200, "Content-Length: 0\r\n").as_bytes()).await
        }
        Behaviour::Endless => {
            stream.write_all(endless.as_bytes()).await?;
            let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
            loop {
                stream.write_all(chunk.as_bytes()).await?;
            }
        }
        Behaviour::Drip => {
            stream.write_all(endless.as_bytes()).await?;
            loop {
                stream.write_all(b"1\r\nx\r\n").await?;
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
