//! `webhooks`: events on their way to receivers that refuse, hang, reset, and answer half or late, from a server that is
//! killed meanwhile. `--events` (300), `--kills` (2).
//!
//! Afterwards each event has a webhook for each endpoint; each webhook that is completed was accepted, each one
//! that has failed was tried nine times, and no other is left; every request was signed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread::scope;
use std::time::Duration;

use serde_json::Value;

use crate::harness::process::{PAYMENT, Process, RawResponse, pause, repeatable_request, try_to_ask};
use crate::harness::random::Random;
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::receiving::{ReceiverBehaviour, Receiving};
use crate::report::Report;

/// Clients that pay at the same time.
const CLIENTS: usize = 8;
/// The attempts of a webhook, the first and eight more (`docs/decisions.md`, 255).
const TRIES: usize = 9;

/// A server that dies and comes back at another address.
struct Server {
    installation: Installation,
    process: Mutex<Option<Process>>,
    address: RwLock<std::net::SocketAddr>,
    secret: String,
    errors: AtomicU64,
    kills: AtomicU64,
}

impl Server {
    fn start(installation: Installation) -> Self {
        let process = installation.start();
        let (address, secret) = (process.address, process.keys().0);
        Self {
            installation,
            process: Mutex::new(Some(process)),
            address: RwLock::new(address),
            secret,
            errors: AtomicU64::new(0),
            kills: AtomicU64::new(0),
        }
    }

    fn dies(&self) {
        let mut process = self.process.lock().unwrap();
        drop(process.take());
        let next = self.installation.start();
        *self.address.write().unwrap() = next.address;
        *process = Some(next);
        self.kills.fetch_add(1, Ordering::Relaxed);
    }

    fn send(&self, method: &str, path: &str, key: Option<&str>, form: &str) -> Option<RawResponse> {
        let address = *self.address.read().unwrap();
        let request = repeatable_request(method, path, Some(&self.secret), key, form);
        let response = try_to_ask(address, &request).ok()?;
        self.errors.fetch_add(u64::from(response.status >= 500), Ordering::Relaxed);
        Some(response)
    }

    /// Asks until there is an answer with this status.
    fn insists(&self, method: &str, path: &str, key: Option<&str>, form: &str, status: u16) -> Value {
        loop {
            match self.send(method, path, key, form) {
                Some(response) if response.status == status => return response.json()["response"].clone(),
                // No server, a request in flight, or an outcome that is not known yet.
                None => {}
                Some(response) if matches!(response.status, 409 | 502 | 503 | 504) => {}
                Some(response) => panic!("{method} {path}: {} {}", response.status, response.body),
            }
            pause(Duration::from_millis(100));
        }
    }

    /// Returns a list of the server, oldest first.
    fn all(&self, list: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for page in 1.. {
            let records = self.insists("GET", &format!("/1/{list}?per_page=500&page={page}"), None, "", 200);
            let Value::Array(records) = records else { panic!("{records}") };
            if records.is_empty() {
                break;
            }
            all.extend(records);
        }
        all.reverse();
        all
    }

    /// Registers an endpoint that behaves like this. Returns its token and path.
    fn add_endpoint(
        &self,
        receiving: &Receiving,
        path: &str,
        manners: ReceiverBehaviour,
    ) -> (String, String) {
        let url = format!("url={}", receiving.url(path));
        let endpoint = self.insists("POST", "/1/webhook_endpoints", Some(path), &url, 201);
        receiving.behave(path, manners, endpoint["key"].as_str().unwrap());
        (endpoint["token"].as_str().unwrap().to_owned(), path.to_owned())
    }

    /// Makes so many payments, some at a time, each repeated until it is acknowledged. Returns the tokens of their charges.
    fn is_paid(&self, numbers: std::ops::Range<u64>) -> Vec<String> {
        let next = AtomicU64::new(numbers.start);
        let paid = Mutex::new(Vec::new());
        let pay = || loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return;
            }
            let key = format!("payment-{number}");
            let charge = self.insists("POST", "/1/charges", Some(&key), PAYMENT, 201);
            paid.lock().unwrap().push(charge["token"].as_str().unwrap().to_owned());
        };
        scope(|scope| (0..CLIENTS).for_each(|_| drop(scope.spawn(pay))));
        paid.into_inner().unwrap()
    }

    /// Waits for due deliveries and lets time pass, until no webhook will be tried again. Meanwhile kills the server as
    /// often as is left.
    fn delivers(&self, kills: u64, random: &mut Random) -> Vec<Value> {
        loop {
            let now = self.insists("GET", "/1/sandbox/clock", None, "", 200)["now"].clone();
            let webhooks = self.all("webhooks");
            let is_due = |webhook: &&Value| match webhook["status"].as_str().unwrap() {
                "pending" => true,
                "retrying" => webhook["next_run"].as_str().unwrap() <= now.as_str().unwrap(),
                _ => false,
            };
            let due = webhooks.iter().filter(is_due).count();
            let retrying = webhooks.iter().filter(|webhook| webhook["status"] == "retrying").count();
            let left = kills.saturating_sub(self.kills.load(Ordering::Relaxed));
            if due + retrying == 0 && left == 0 {
                return webhooks;
            }
            if due == 0 {
                // Longer than the longest pause.
                self.insists("PUT", "/1/sandbox/clock", None, "advance=27h", 200);
            }
            pause(Duration::from_millis(200 + random.below(400)));
            if left > 0 && (due > 0 || retrying == 0) {
                self.dies();
            }
        }
    }
}

pub fn run(options: &Options, on: Database) -> Option<Report> {
    let (events, kills) = (options.number("events", 300), options.number("kills", 2));
    let mut random = Random(options.seed());
    let receiving = Receiving::start(options.seed());
    let server = Server::start(Installation::on(on)?);
    let mut endpoints = vec![
        server.add_endpoint(&receiving, "/well", ReceiverBehaviour::Well),
        server.add_endpoint(&receiving, "/moody", ReceiverBehaviour::Moody),
        server.add_endpoint(&receiving, "/moodier", ReceiverBehaviour::Moody),
    ];
    // The dead one hears of the last few only: each is tried nine times.
    let most = events - events.div_ceil(20);
    let mut paid = Vec::new();
    scope(|scope| {
        let paying = scope.spawn(|| server.is_paid(0..most));
        for _ in 0..kills.div_ceil(2) {
            pause(Duration::from_millis(300 + random.below(1_200)));
            server.dies();
        }
        paid = paying.join().unwrap();
    });
    endpoints.push(server.add_endpoint(&receiving, "/dead", ReceiverBehaviour::Dead));
    let before_the_dead = server.all("events").len();
    paid.extend(server.is_paid(most..events));
    let webhooks = server.delivers(kills, &mut random);
    let happened: Vec<_> = server.all("events");
    let truth = Truth { endpoints, before_the_dead, paid, happened, webhooks };
    let report = Report {
        rounds: events,
        faults: server.kills.load(Ordering::Relaxed),
        server_errors: server.errors.load(Ordering::Relaxed),
        seed: options.seed(),
        ..Report::default()
    };
    Some(truth.judged(&receiving, &report))
}

/// What the server says at the end.
struct Truth {
    /// Token and path.
    endpoints: Vec<(String, String)>,
    before_the_dead: usize,
    paid: Vec<String>,
    happened: Vec<Value>,
    webhooks: Vec<Value>,
}

impl Truth {
    fn judged(&self, receiving: &Receiving, report: &Report) -> Report {
        let received = receiving.received();
        assert!(received.iter().all(|it| it.signed), "a request without its signature");
        // By event and path: how often it was tried, and how often accepted.
        let mut tried: HashMap<(&str, &str), (usize, u64)> = HashMap::new();
        for it in &received {
            let (attempts, accepted) = tried.entry((it.event.as_str(), it.endpoint.as_str())).or_default();
            (*attempts, *accepted) = (*attempts + 1, *accepted + u64::from(it.accepted));
        }
        let (mut lost, mut doubled) = (0, 0);
        let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_owned();
        let ids: BTreeSet<_> = self.happened.iter().map(|event| text(event, "token")).collect();
        doubled += self.happened.len() - ids.len();
        let mut captured: BTreeMap<String, usize> = BTreeMap::new();
        for event in self.happened.iter().filter(|event| event["type"] == "charge.captured") {
            *captured.entry(text(&event["data"], "token")).or_default() += 1;
        }
        for charge in &self.paid {
            match captured.get(charge) {
                None => lost += 1,
                Some(times) => doubled += times - 1,
            }
        }
        let mut rows: HashMap<(String, String), &Value> = HashMap::new();
        for webhook in &self.webhooks {
            let of = (text(webhook, "event_token"), text(webhook, "webhook_endpoint_token"));
            doubled += usize::from(rows.insert(of, webhook).is_some());
        }
        let (mut exhausted, mut repeated) = (0, 0);
        for (token, path) in &self.endpoints {
            let unheard = if path == "/dead" { self.before_the_dead } else { 0 };
            for event in &self.happened[unheard..] {
                let event = text(event, "token");
                let (attempts, accepted) =
                    tried.get(&(event.as_str(), path.as_str())).copied().unwrap_or_default();
                repeated += accepted.saturating_sub(1);
                let is_delivered =
                    match rows.get(&(event, token.clone())).map(|row| (&row["status"], &row["retries"])) {
                        Some((status, _)) if status == "completed" => accepted > 0,
                        Some((status, retries)) if status == "failed" => {
                            exhausted += 1;
                            attempts >= TRIES && retries == 8
                        }
                        _ => false,
                    };
                lost += usize::from(!is_delivered);
            }
        }
        let besides = format!(
            "{} events, {} deliveries, {} of them refused, {repeated} accepted again, {exhausted} webhooks exhausted",
            self.happened.len(),
            received.len(),
            received.iter().filter(|it| !it.accepted).count(),
        );
        Report { lost: lost as u64, doubled: doubled as u64, besides, ..*report }
    }
}
