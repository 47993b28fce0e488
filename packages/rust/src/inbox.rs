//! A receiver of webhooks.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::http;

/// Receives an account's webhooks on a free port of 127.0.0.1, and verifies their signatures.
#[derive(Debug)]
pub struct Inbox {
    /// Its address.
    pub url: String,
    received: Arc<Received>,
}

#[derive(Debug)]
struct Received {
    key: Vec<u8>,
    events: Mutex<Events>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Events {
    all: Vec<Value>,
    ids: BTreeSet<String>,
    taken: BTreeSet<usize>,
}

impl Inbox {
    pub(crate) fn open(register: impl FnOnce(&str) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("a port"));
        let key = STANDARD.decode(register(&url).trim_start_matches("whsec_")).expect("a key in base64");
        // What arrives before this waits at the port.
        let received = Arc::new(Received { key, events: Mutex::default(), changed: Condvar::default() });
        let shared = Arc::clone(&received);
        // Ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.receive(stream));
            }
        });
        Self { url, received }
    }

    /// Returns all events so far, in the order of their arrival.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        self.received.lock().all.clone()
    }

    /// Returns the next event of a type, each event once. Panics if none arrives in ten seconds.
    #[must_use]
    pub fn wait_for(&self, event_type: &str) -> Value {
        self.wait_at_most(Duration::from_secs(10), event_type)
            .unwrap_or_else(|| panic!("no {event_type} within ten seconds, but {:?}", self.events()))
    }

    /// Returns the next event of a type, each event once, if one arrives in time.
    #[must_use]
    pub fn wait_at_most(&self, patience: Duration, event_type: &str) -> Option<Value> {
        let end = Instant::now() + patience;
        let mut events = self.received.lock();
        loop {
            let next = (0..events.all.len())
                .find(|at| !events.taken.contains(at) && events.all[*at]["type"] == event_type);
            if let Some(at) = next {
                events.taken.insert(at);
                return Some(events.all[at].clone());
            }
            let left = end.checked_duration_since(Instant::now())?;
            let waited = self.received.changed.wait_timeout(events, left);
            events = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Received {
    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let (_, headers) = http::head(&mut reader)?;
        let body = http::read_body(&mut reader, &headers)?;
        let header = |name: &str| headers.get(name).map(String::as_str).unwrap_or_default();
        let id = header("webhook-id");
        let is_signed = self.is_signed(id, header("webhook-timestamp"), &body, header("webhook-signature"));
        if is_signed {
            let mut events = self.lock();
            // A repeated delivery is no second event.
            if events.ids.insert(id.to_owned()) {
                events.all.push(serde_json::from_slice(&body).map_err(io::Error::other)?);
            }
            self.changed.notify_all();
        }
        let status = if is_signed { "204 No Content" } else { "400 Bad Request" };
        write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    }

    fn is_signed(&self, id: &str, timestamp: &str, body: &[u8], signatures: &str) -> bool {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length");
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        signatures
            .split(' ')
            .filter_map(|known| STANDARD.decode(known.strip_prefix("v1,")?).ok())
            .any(|known| mac.clone().verify_slice(&known).is_ok())
    }
}
