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

/// A payment that was answered.
struct Paid {
    key: String,
    token: String,
}

/// The accounts at work.
pub struct Payers {
    attempts: Arc<Mutex<Vec<Attempt>>>,
    stop: Arc<AtomicBool>,
    payers: Vec<JoinHandle<(usize, Wrong)>>,
}

impl Payers {
    /// Starts a payer for each account.
    pub fn start(accounts: &[Server]) -> Self {
        let (attempts, stop) = <(Arc<Mutex<Vec<Attempt>>>, Arc<AtomicBool>)>::default();
        let payers = accounts.iter().cloned().enumerate().map(|(account, server)| {
            let (attempts, stop) = (Arc::clone(&attempts), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut paid = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let key = format!("{account}-{}", paid.len());
                    let token = token_of(&repeat(&server, account, &payment(&server, &key), &attempts));
                    let path = format!("/1/charges/{token}");
                    let read = repeatable_request("GET", &path, Some(&server.secret), None, "");
                    assert_eq!(token_of(&repeat(&server, account, &read, &attempts)), token);
                    paid.push(Paid { key, token });
                }
                (paid.len(), compare(&server, &paid))
            })
        });
        let payers = payers.collect();
        Self { attempts, stop, payers }
    }

    /// Returns the number of attempts that have ended.
    pub fn attempts(&self) -> usize {
        self.attempts.lock().unwrap().len()
    }

    /// Returns the attempts that have ended since there were so many.
    pub fn since(&self, seen: usize) -> Vec<Attempt> {
        self.attempts.lock().unwrap()[seen..].to_vec()
    }

    /// Sends no new payments, repeats those without an answer, and compares the charges with the answers. Returns how many keys
    /// were answered.
    pub fn end(self) -> (usize, Wrong) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.payers.into_iter().map(|payer| payer.join().unwrap());
        ended.fold((0, Wrong::default()), |(keys, wrong), (own, of_account)| {
            let (lost, doubled) = (wrong.lost + of_account.lost, wrong.doubled + of_account.doubled);
            (keys + own, Wrong { lost, doubled })
        })
    }
}

/// Sends a request until it succeeds.
fn repeat(server: &Server, account: usize, request: &str, attempts: &Mutex<Vec<Attempt>>) -> RawResponse {
    let first = Instant::now();
    loop {
        let began = Instant::now();
        let answer = server.send(request);
        let (status, wrong) = (answer.as_ref().ok().map(|answer| answer.status), wrong(&answer));
        let attempt = Attempt { account, first, began, ended: Instant::now(), status, wrong };
        let succeeded = attempt.succeeded();
        attempts.lock().unwrap().push(attempt);
        match answer {
            Ok(answer) if succeeded => return answer,
            Ok(_) | Err(_) => pause(PAUSE),
        }
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
    promised.into_iter().for_each(|token| wrong.lost("a charge", &token.into()));
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
