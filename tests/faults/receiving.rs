//! A receiver of webhooks whose answers are random.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::runtime::{Builder, Runtime};

use crate::harness::process::pause;
use crate::harness::random::Random;

/// How an endpoint answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverBehaviour {
    /// 200, always.
    Well,
    /// Three of ten are refused: by status, reset, half an answer, or none at all; some of the others are slow.
    Moody,
    /// 500, always.
    Dead,
}

/// A webhook as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    pub endpoint: String,
    pub event: String,
    /// Whether it was answered with 200.
    pub accepted: bool,
    /// Whether the signature is right.
    pub signed: bool,
}

struct Shared {
    /// By the path of the endpoint: its behaviour and its key.
    endpoints: Mutex<HashMap<String, (ReceiverBehaviour, Vec<u8>)>>,
    received: Mutex<Vec<Received>>,
    random: Mutex<Random>,
    runtime: Runtime,
}

/// Runs until the program ends.
pub struct Receiving {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Receiving {
    pub fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            endpoints: Mutex::default(),
            received: Mutex::default(),
            random: Mutex::new(Random(seed)),
            runtime: Builder::new_current_thread().enable_io().build().unwrap(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                // It ends with the connection, however that ends.
                std::thread::spawn(move || serving.converse(stream));
            }
        });
        Self { address, shared }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the key and the behaviour of the endpoint at this path.
    pub fn behave(&self, path: &str, manners: ReceiverBehaviour, key: &str) {
        let key = STANDARD.decode(key.strip_prefix("whsec_").unwrap()).unwrap();
        self.shared.endpoints.lock().unwrap().insert(path.to_owned(), (manners, key));
    }

    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }
}

impl Shared {
    /// Answers one request after another, until a fault ends the connection.
    fn converse(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let (path, headers, body) = read(&mut stream)?;
            let (manners, key) = self.endpoints.lock().unwrap().get(&path).cloned()?;
            let mut received = Received {
                endpoint: path,
                event: headers.get("webhook-id")?.clone(),
                accepted: false,
                signed: is_signed(&key, &headers, &body) == Some(true),
            };
            let mood = match manners {
                ReceiverBehaviour::Well => 999,
                ReceiverBehaviour::Moody => self.random.lock().unwrap().below(1_000),
                ReceiverBehaviour::Dead => 0,
            };
            // Noted before it is told: the server may act on the answer at once.
            received.accepted = mood >= 300;
            self.received.lock().unwrap().push(received);
            self.answer(stream.get_mut(), mood)?;
        }
    }

    /// None where the connection ends.
    fn answer(&self, stream: &mut TcpStream, mood: u64) -> Option<()> {
        const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        match mood {
            0..120 => stream.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n").ok(),
            120..200 => {
                // Only tokio's sockets can be told to end like this.
                let _entered = self.runtime.enter();
                stream.set_nonblocking(true).ok()?;
                tokio::net::TcpStream::from_std(stream.try_clone().ok()?).ok()?.set_zero_linger().ok()?;
                None
            }
            200..298 => {
                let _ = stream.write_all(b"HTTP/1.1 20");
                None
            }
            // Until the other side has waited enough.
            298..300 => stream.read(&mut [0; 1]).ok().filter(|read| *read > 0).map(drop),
            300..320 => {
                pause(Duration::from_millis(300));
                stream.write_all(OK).ok()
            }
            _ => stream.write_all(OK).ok(),
        }
    }
}

type Headers = HashMap<String, String>;

fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Headers, Vec<u8>)> {
    let mut line = || {
        let mut line = String::new();
        let read = stream.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    while let Some((name, value)) = line()?.split_once(": ") {
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    Some((path, headers, body))
}

/// Computes a signature by the scheme of Standard Webhooks.
fn is_signed(key: &[u8], headers: &Headers, body: &[u8]) -> Option<bool> {
    let (id, timestamp) = (headers.get("webhook-id")?, headers.get("webhook-timestamp")?);
    let mut hash = Hmac::<Sha256>::new_from_slice(key).ok()?;
    hash.update(format!("{id}.{timestamp}.").as_bytes());
    hash.update(body);
    let signature = format!("v1,{}", STANDARD.encode(hash.finalize().into_bytes()));
    Some(headers.get("webhook-signature")? == &signature)
}
