//! Accounts that pay all at once, each payment under a key, and read each charge. They repeat each request until it succeeds.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::harness::process::{PAYMENT, RawResponse, pause, repeatable_request};
use crate::load::Server;
use crate::truth::Wrong;

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a server may take to learn what became of a payment that was in flight when its node failed: half a minute, and a
/// loaded machine's time.
pub const IN_DOUBT_MAX: Duration = Duration::from_mins(1);

/// Which time a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Try {
    First,
    /// After it was refused.
    Again,
    /// For a payment whose outcome the server did not know.
    InDoubt,
}

/// A request that was sent, and how it was answered.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The number of the account.
    pub account: usize,
    /// When the request was first sent.
    pub first: Instant,
    pub began: Instant,
    pub ended: Instant,
    /// None if there was no answer.
    pub status: Option<u16>,
    pub time: Try,
    /// What no fault excuses: no answer, or another one than success, a 503 to repeat, or a key that is in use.
    pub wrong: Option<String>,
}

impl Attempt {
    pub fn succeeded(&self) -> bool {
        matches!(self.status, Some(200 | 201))
    }

    pub fn took(&self) -> Duration {
        self.ended - self.began
    }
}

/// The accounts at work.
pub struct Payers {
    attempts: Arc<Mutex<Vec<Attempt>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<(usize, Wrong)>>,
}

impl Payers {
    /// Starts a payer for each account.
    pub fn start(accounts: &[Server]) -> Self {
        let (attempts, stop) = <(Arc<Mutex<Vec<Attempt>>>, Arc<AtomicBool>)>::default();
        let threads = accounts.iter().cloned().enumerate().map(|(account, server)| {
            let attempts = Arc::clone(&attempts);
            let payer = Payer { account, server, attempts, paid: Vec::new(), open: Vec::new() };
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || payer.run(&stop))
        });
        let threads = threads.collect();
        Self { attempts, stop, threads }
    }

    /// Returns the attempts that have ended since there were so many.
    pub fn since(&self, seen: usize) -> Vec<Attempt> {
        self.attempts.lock().unwrap()[seen..].to_vec()
    }

    /// Sends no new payments, repeats those without an answer, and compares the charges with the answers. Returns how many keys
    /// were answered.
    pub fn end(&mut self) -> (usize, Wrong) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.threads.drain(..).map(|payer| payer.join().unwrap());
        ended.fold((0, Wrong::default()), |(keys, wrong), (own, of_account)| {
            let (lost, doubled) = (wrong.lost + of_account.lost, wrong.doubled + of_account.doubled);
            (keys + own, Wrong { lost, doubled })
        })
    }
}

/// A payment that was answered.
struct Paid {
    key: String,
    token: String,
}

/// One account.
struct Payer {
    account: usize,
    server: Server,
    attempts: Arc<Mutex<Vec<Attempt>>>,
    paid: Vec<Paid>,
    /// Payments that the server does not know the outcome of yet, and when they were first requested.
    open: Vec<(String, Instant)>,
}

impl Payer {
    /// Returns how many keys were answered, and how the charges differ from the answers.
    fn run(mut self, stop: &AtomicBool) -> (usize, Wrong) {
        let mut keys = 0_usize..;
        while !stop.load(Ordering::Relaxed) {
            self.ask_for_open();
            let key = format!("{}-{}", self.account, keys.next().unwrap_or_default());
            let first = Instant::now();
            match self.repeat(&payment(&self.server, &key), first) {
                Some(answer) => self.has_paid(key, &answer),
                None => self.open.push((key, first)),
            }
        }
        while !self.open.is_empty() {
            self.ask_for_open();
            pause(PAUSE);
        }
        (self.paid.len(), compare(&self.server, &self.paid))
    }

    /// Repeats the oldest payment whose outcome the server did not know.
    fn ask_for_open(&mut self) {
        let Some((key, first)) = self.open.first().cloned() else { return };
        assert!(first.elapsed() < IN_DOUBT_MAX, "{key} is not answered");
        if let Ok(answer) = self.send(&payment(&self.server, &key), first, Try::InDoubt) {
            self.open.remove(0);
            self.has_paid(key, &answer);
        }
    }

    /// Keeps the answer to a payment, and reads the charge.
    fn has_paid(&mut self, key: String, answer: &RawResponse) {
        let token = token_of(answer);
        let path = format!("/1/charges/{token}");
        let read = repeatable_request("GET", &path, Some(&self.server.secret), None, "");
        assert_eq!(token_of(&self.repeat(&read, Instant::now()).unwrap()), token);
        self.paid.push(Paid { key, token });
    }

    /// Sends a request until it succeeds; None if its key is in use.
    fn repeat(&self, request: &str, first: Instant) -> Option<RawResponse> {
        let mut time = Try::First;
        loop {
            match self.send(request, first, time) {
                Ok(answer) => return Some(answer),
                Err(Some(409)) => return None,
                Err(_) => pause(PAUSE),
            }
            time = Try::Again;
        }
    }

    /// Sends a request. Returns its answer if it succeeded, and otherwise the status.
    fn send(&self, request: &str, first: Instant, time: Try) -> Result<RawResponse, Option<u16>> {
        let began = Instant::now();
        let answer = self.server.send(request);
        let ended = Instant::now();
        let (status, wrong) = (answer.as_ref().ok().map(|answer| answer.status), wrong(&answer));
        let attempt = Attempt { account: self.account, first, began, ended, status, time, wrong };
        let succeeded = attempt.succeeded();
        self.attempts.lock().unwrap().push(attempt);
        answer.ok().filter(|_| succeeded).ok_or(status)
    }
}

/// Compares an account's charges with the answers, and repeats each request once more.
fn compare(server: &Server, paid: &[Paid]) -> Wrong {
    let mut wrong = Wrong::default();
    let mut promised: BTreeSet<_> = paid.iter().map(|paid| paid.token.clone()).collect();
    for charge in server.all("/1/charges") {
        if !promised.remove(charge["token"].as_str().unwrap()) {
            wrong.doubled("a charge", &charge);
        }
    }
    for token in promised {
        wrong.lost("a charge", &token.into());
    }
    for Paid { key, token } in paid {
        let replay = server.send(&payment(server, key)).unwrap();
        if replay.status != 201 || token_of(&replay) != *token {
            wrong.doubled("a payment", &replay.json());
        }
    }
    wrong
}

fn payment(server: &Server, key: &str) -> String {
    repeatable_request("POST", "/1/charges", Some(&server.secret), Some(key), PAYMENT)
}

fn token_of(answer: &RawResponse) -> String {
    answer.json()["response"]["token"].as_str().unwrap().to_owned()
}

fn wrong(answer: &std::io::Result<RawResponse>) -> Option<String> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(fault) => return Some(fault.to_string()),
    };
    let is_expected = match answer.status {
        200 | 201 => true,
        409 => answer.json()["error"] == "idempotency_key_in_use",
        503 => answer.json()["error"] == "service_unavailable" && answer.headers.contains_key("retry-after"),
        _ => false,
    };
    (!is_expected).then(|| format!("{answer:?}"))
}
