//! Clients that go on through every fault: they repeat each request without a definite answer under the same
//! Idempotency-Key.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::process::{PAYMENT, RawResponse, pause, repeatable_request, try_to_ask};
use crate::harness::random::Random;

/// How long a loaded machine may take to notice a fault, and to recover.
pub const PATIENCE: Duration = Duration::from_mins(3);
/// Connections at once.
const CLIENTS: usize = 16;
/// Parameters of the customer whose card is always accepted.
pub const CUSTOMER: &str = "email=roland@example.com&card[number]=4200000000000000&card[expiry_month]=5&card[expiry_year]=2030\
    &card[cvc]=123&card[name]=Roland+Robot&card[address_line1]=42+Sevenoaks+St&card[address_city]=Lathlain&card[address_country]=AU";

/// The server's present address and its key.
#[derive(Clone)]
pub struct Server {
    pub address: Arc<RwLock<SocketAddr>>,
    pub secret: String,
}

impl Server {
    pub fn new(address: SocketAddr, secret: String) -> Self {
        Self { address: Arc::new(RwLock::new(address)), secret }
    }

    /// Sends a request; a partial answer is an error.
    pub fn send(&self, request: &str) -> std::io::Result<RawResponse> {
        let address = *self.address.read().unwrap();
        try_to_ask(address, request)
    }

    /// Gets a path once it answers: after a kill the server takes a moment to start.
    pub fn shows(&self, path: &str) -> RawResponse {
        let request = repeatable_request("GET", path, Some(&self.secret), None, "");
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.send(&request) {
                Ok(response) if response.status != 503 => return response,
                answer => assert!(Instant::now() < deadline, "{path}: {answer:?}"),
            }
            pause(Duration::from_millis(100));
        }
    }

    /// Gets a record or a list.
    pub fn get(&self, path: &str) -> Value {
        self.shows(path).ok(200)
    }

    /// Returns every record of a list, newest first.
    pub fn all(&self, path: &str) -> Vec<Value> {
        let pages = (1..).map(|page| self.get(&format!("{path}?per_page=500&page={page}")));
        let pages = pages.map(|page| page.as_array().unwrap().clone());
        pages.take_while(|page| !page.is_empty()).flatten().collect()
    }
}

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// A charge, captured at once.
    Charge,
    /// A charge that is authorised only.
    Authorise,
    Capture,
    Void,
    /// A part of a captured charge, or all of it.
    Refund(u64),
    Customer,
    /// Money to the recipient.
    Transfer(u64),
    Upload,
}

impl Verb {
    /// Returns whether it makes a record of its own.
    pub fn creates(self) -> bool {
        !matches!(self, Self::Capture | Self::Void)
    }
}

/// A request that is repeated until its outcome is known.
#[derive(Debug, Clone)]
pub struct KeyedRequest {
    pub verb: Verb,
    pub key: String,
    method: &'static str,
    path: String,
    /// A form, or the content of an upload.
    pub body: String,
}

impl KeyedRequest {
    fn text(&self, secret: &str) -> String {
        let (secret, key) = (Some(secret), Some(self.key.as_str()));
        if self.verb != Verb::Upload {
            return repeatable_request(self.method, &self.path, secret, key, &self.body);
        }
        let form = format!(
            "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\ndispute_evidence\r\n--x\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"evidence.pdf\"\r\n\
             Content-Type: application/pdf\r\n\r\n{}\r\n--x--\r\n",
            self.body
        );
        repeatable_request(self.method, &self.path, secret, key, &form)
            .replace("application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
    }
}

/// An acknowledged request.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    pub request: KeyedRequest,
    /// The body of the first answer.
    body: String,
    pub record: Value,
}

impl Acknowledged {
    pub fn token(&self) -> &str {
        self.record["token"].as_str().unwrap()
    }
}

/// The answers that all clients got.
#[derive(Default)]
pub struct Memory {
    acknowledged: Mutex<Vec<Acknowledged>>,
    /// Answers with 5xx.
    pub server_errors: AtomicU64,
    /// The events that one reader got, who always went on after the last one.
    pub events: Mutex<Vec<Value>>,
}

impl Memory {
    /// Returns the acknowledged requests after the first ones.
    pub fn since(&self, seen: usize) -> Vec<Acknowledged> {
        self.acknowledged.lock().unwrap()[seen..].to_vec()
    }

    /// Reads a page of the next events, if necessary waiting so many seconds for them. Returns whether there were any.
    pub fn read_next_events(&self, server: &Server, wait: u64) -> bool {
        let after = self.events.lock().unwrap().last().map_or(0, |event| event["sequence"].as_u64().unwrap());
        let page = server.get(&format!("/1/events?after={after}&per_page=500&wait={wait}"));
        let page = page.as_array().unwrap();
        self.events.lock().unwrap().extend_from_slice(page);
        !page.is_empty()
    }

    /// Returns how many promises there were.
    pub fn promises(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }
}

/// Clients at work.
pub struct Load {
    pub memory: Arc<Memory>,
    stop: Arc<AtomicBool>,
    allowance: Arc<AtomicU64>,
    clients: Vec<JoinHandle<()>>,
    reader: JoinHandle<()>,
}

impl Load {
    /// Starts the clients; transfers go to `recipient`.
    pub fn on(server: &Server, recipient: &str, seed: u64) -> Self {
        let (memory, stop) = <(Arc<Memory>, Arc<AtomicBool>)>::default();
        let allowance = Arc::new(AtomicU64::new(u64::MAX));
        let client = |name| Client {
            server: server.clone(),
            recipient: recipient.to_owned(),
            memory: Arc::clone(&memory),
            random: Random(seed ^ (name as u64) << 32),
            name,
            requests: 0,
            authorised: Vec::new(),
            captured: Vec::new(),
            open: Vec::new(),
        };
        let clients = (0..CLIENTS).map(client).map(|client| {
            let (stop, allowance) = (Arc::clone(&stop), Arc::clone(&allowance));
            std::thread::spawn(move || client.run(&stop, &allowance))
        });
        let clients = clients.collect();
        let (server, remembers, until) = (server.clone(), Arc::clone(&memory), Arc::clone(&stop));
        let reader = std::thread::spawn(move || read_events(&server, &remembers, &until));
        Self { memory, stop, allowance, clients, reader }
    }

    /// Allows so many more requests.
    pub fn is_allowed(&self, requests: u64) {
        self.allowance.store(requests, Ordering::Relaxed);
    }

    /// Sends no new requests, and repeats those whose outcome is unknown until it is known.
    pub fn end(self) -> Arc<Memory> {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().for_each(|client| client.join().unwrap());
        self.reader.join().unwrap();
        self.memory
    }
}

/// Reads the events, always after the last one it has got.
fn read_events(server: &Server, memory: &Memory, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        memory.read_next_events(server, 1);
    }
}

/// One client.
struct Client {
    server: Server,
    recipient: String,
    memory: Arc<Memory>,
    random: Random,
    name: usize,
    requests: usize,
    /// Charges that can be captured or voided, and those that can be refunded.
    authorised: Vec<String>,
    captured: Vec<String>,
    /// Under way when the server failed: their keys are in use until they are settled.
    open: Vec<KeyedRequest>,
}

impl Client {
    fn run(mut self, stop: &AtomicBool, allowance: &AtomicU64) {
        while !stop.load(Ordering::Relaxed) {
            let less = |left: u64| left.checked_sub(1);
            match allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
                Ok(_) => self.step(),
                Err(_) => pause(Duration::from_millis(5)),
            }
        }
        while let Some(request) = self.open.pop() {
            while !self.settles(&request) {
                pause(Duration::from_millis(200));
            }
        }
    }

    fn step(&mut self) {
        if self.random.below(10) == 0 {
            return self.repeats();
        }
        let request = self.next();
        for _ in 0..20 {
            if self.settles(&request) {
                return;
            }
            pause(Duration::from_millis(50));
        }
        self.open.push(request);
    }

    fn next(&mut self) -> KeyedRequest {
        let (verb, charge) = match self.random.below(10) {
            0 | 1 => (Verb::Authorise, None),
            2 => (Verb::Capture, self.authorised.pop()),
            3 => (Verb::Void, self.authorised.pop()),
            4 | 5 => (Verb::Refund(1 + self.random.below(400)), self.captured.pop()),
            6 => (Verb::Customer, None),
            7 => (Verb::Transfer(1 + self.random.below(400)), None),
            8 => (Verb::Upload, None),
            _ => (Verb::Charge, None),
        };
        self.requests += 1;
        let key = format!("{}-{}", self.name, self.requests);
        let (verb, method, path, body) = match (verb, charge) {
            (Verb::Authorise, _) => {
                (verb, "POST", "/1/charges".to_owned(), format!("{PAYMENT}&capture=false"))
            }
            (Verb::Customer, _) => (verb, "POST", "/1/customers".to_owned(), CUSTOMER.to_owned()),
            (Verb::Transfer(amount), _) => {
                let to = &self.recipient;
                let form = format!("description=out&amount={amount}&currency=AUD&recipient={to}");
                (verb, "POST", "/1/transfers".to_owned(), form)
            }
            // Each with a content of its own, over more than a page of the disk.
            (Verb::Upload, _) => {
                (verb, "POST", "/1/files".to_owned(), format!("%PDF-1.7\n{}", key.repeat(2_000)))
            }
            (Verb::Capture, Some(charge)) => {
                (verb, "PUT", format!("/1/charges/{charge}/capture"), String::new())
            }
            (Verb::Void, Some(charge)) => (verb, "PUT", format!("/1/charges/{charge}/void"), String::new()),
            (Verb::Refund(amount), Some(charge)) => {
                (verb, "POST", format!("/1/charges/{charge}/refunds"), format!("amount={amount}"))
            }
            (Verb::Charge, _) | (Verb::Capture | Verb::Void | Verb::Refund(_), None) => {
                (Verb::Charge, "POST", "/1/charges".to_owned(), PAYMENT.to_owned())
            }
        };
        KeyedRequest { verb, key, method, path, body }
    }

    /// Sends the request. Returns whether its outcome is known by now.
    fn settles(&mut self, request: &KeyedRequest) -> bool {
        let Some(response) = self.send(request) else { return false };
        match response.status {
            200 | 201 => {
                let record = response.json()["response"].clone();
                let acknowledged = Acknowledged { request: request.clone(), body: response.body, record };
                match request.verb {
                    Verb::Authorise => self.authorised.push(acknowledged.token().to_owned()),
                    Verb::Charge | Verb::Capture => self.captured.push(acknowledged.token().to_owned()),
                    Verb::Void | Verb::Refund(_) | Verb::Customer | Verb::Transfer(_) | Verb::Upload => {}
                }
                self.memory.acknowledged.lock().unwrap().push(acknowledged);
                true
            }
            // Nothing was done, or the request is in flight, or its outcome is not known yet.
            409 | 502 | 503 => false,
            status => panic!("{request:?}: {status} {}", response.body),
        }
    }

    /// Checks that a repeated request gets the same answer.
    fn repeats(&mut self) {
        let known = self.memory.promises() as u64;
        if known == 0 {
            return;
        }
        let index = usize::try_from(self.random.below(known)).unwrap();
        let Acknowledged { request, body, .. } = self.memory.acknowledged.lock().unwrap()[index].clone();
        if let Some(response) = self.send(&request).filter(|response| response.status < 500) {
            assert_eq!(response.body, body, "{request:?}");
            assert_eq!(response.headers.get("idempotent-replayed").map(String::as_str), Some("true"));
        }
    }

    fn send(&self, request: &KeyedRequest) -> Option<RawResponse> {
        let response = self.server.send(&request.text(&self.server.secret)).ok()?;
        if response.status >= 500 {
            self.memory.server_errors.fetch_add(1, Ordering::Relaxed);
            is_documented(&response);
        }
        Some(response)
    }
}

/// A fault may cause two kinds of 5xx: a lost call of the acquirer, and a database that does not answer.
fn is_documented(response: &RawResponse) {
    let error = response.json()["error"].clone();
    match response.status {
        502 => assert_eq!(error, "gateway_error", "{}", response.body),
        503 => {
            assert_eq!(error, "service_unavailable", "{}", response.body);
            assert!(response.headers.contains_key("retry-after"), "{response:?}");
        }
        status => panic!("{status} {}", response.body),
    }
}
