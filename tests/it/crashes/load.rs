//! Clients that go on through every crash: whatever they asked for and got no definite answer to, they ask for again
//! under the same Idempotency-Key.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

pub use crate::harness::chance::Chance;
use crate::harness::process::{Heard, PAYMENT, pause, repeatable_request, try_to_ask};

/// Where the server is at the moment.
#[derive(Clone)]
pub struct Server {
    pub address: Arc<RwLock<SocketAddr>>,
    pub secret: String,
}

impl Server {
    pub fn get(&self, path: &str) -> Value {
        let request = repeatable_request("GET", path, Some(&self.secret), None, "");
        try_to_ask(*self.address.read().unwrap(), &request).unwrap().ok(200)
    }
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verb {
    /// A charge, captured at once.
    Charge,
    /// A charge that is authorised only.
    Authorise,
    Capture,
    Void,
    /// A part of a captured charge, or all of it.
    Refund(u64),
}

/// A request that is repeated until its outcome is known.
#[derive(Debug, Clone)]
pub struct Asked {
    pub verb: Verb,
    pub key: String,
    method: &'static str,
    path: String,
    form: String,
}

impl Asked {
    fn text(&self, secret: &str) -> String {
        repeatable_request(self.method, &self.path, Some(secret), Some(&self.key), &self.form)
    }
}

/// What was promised.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    pub asked: Asked,
    /// The body of the first answer.
    pub body: String,
    pub record: Value,
}

/// One client.
pub struct Client {
    server: Server,
    chance: Chance,
    name: usize,
    asked: usize,
    /// Charges that can be captured or voided, and those that can be refunded.
    authorised: Vec<String>,
    captured: Vec<String>,
    /// Under way when the server died: their keys are in use until they are settled.
    open: Vec<Asked>,
    acknowledged: Vec<Acknowledged>,
}

impl Client {
    /// Runs until `stop`, and then until nothing is open any more.
    pub fn start(
        server: Server,
        name: usize,
        seed: u64,
        stop: Arc<AtomicBool>,
    ) -> JoinHandle<Vec<Acknowledged>> {
        let chance = Chance(seed ^ (name as u64) << 32);
        let mut client = Self {
            server,
            chance,
            name,
            asked: 0,
            authorised: Vec::new(),
            captured: Vec::new(),
            open: Vec::new(),
            acknowledged: Vec::new(),
        };
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                client.step();
            }
            while let Some(asked) = client.open.pop() {
                while !client.settles(&asked) {
                    pause(Duration::from_millis(200));
                }
            }
            client.acknowledged
        })
    }

    fn step(&mut self) {
        if self.chance.below(10) == 0 {
            return self.repeats();
        }
        let asked = self.next();
        for _ in 0..20 {
            if self.settles(&asked) {
                return;
            }
            pause(Duration::from_millis(50));
        }
        self.open.push(asked);
    }

    fn next(&mut self) -> Asked {
        let (verb, charge) = match self.chance.below(6) {
            0 | 1 => (Verb::Authorise, None),
            2 => match self.authorised.pop() {
                Some(charge) => (Verb::Capture, Some(charge)),
                None => (Verb::Charge, None),
            },
            3 => match self.authorised.pop() {
                Some(charge) => (Verb::Void, Some(charge)),
                None => (Verb::Charge, None),
            },
            4 => match self.captured.pop() {
                Some(charge) => (Verb::Refund(1 + self.chance.below(400)), Some(charge)),
                None => (Verb::Charge, None),
            },
            _ => (Verb::Charge, None),
        };
        let charge = charge.unwrap_or_default();
        let (method, path, form) = match &verb {
            Verb::Charge => ("POST", "/1/charges".to_owned(), PAYMENT.to_owned()),
            Verb::Authorise => ("POST", "/1/charges".to_owned(), format!("{PAYMENT}&capture=false")),
            Verb::Capture => ("PUT", format!("/1/charges/{charge}/capture"), String::new()),
            Verb::Void => ("PUT", format!("/1/charges/{charge}/void"), String::new()),
            Verb::Refund(amount) => {
                ("POST", format!("/1/charges/{charge}/refunds"), format!("amount={amount}"))
            }
        };
        self.asked += 1;
        Asked { verb, key: format!("{}-{}", self.name, self.asked), method, path, form }
    }

    /// Ask. Whether the outcome is known by now.
    fn settles(&mut self, asked: &Asked) -> bool {
        let Some(heard) = self.ask(asked) else { return false };
        match heard.status {
            200 | 201 => {
                let record = heard.json()["response"].clone();
                let token = record["token"].as_str().unwrap().to_owned();
                match asked.verb {
                    Verb::Authorise => self.authorised.push(token),
                    Verb::Charge | Verb::Capture => self.captured.push(token),
                    Verb::Void | Verb::Refund(_) => {}
                }
                self.acknowledged.push(Acknowledged { asked: asked.clone(), body: heard.body, record });
                true
            }
            // Nothing was done; or it is under way; or nobody can tell at the moment.
            502 | 409 | 503 | 504 => false,
            status => panic!("{asked:?}: {status} {}", heard.body),
        }
    }

    /// What was acknowledged once is acknowledged again, in the same words.
    fn repeats(&mut self) {
        let bound = self.acknowledged.len() as u64;
        if bound == 0 {
            return;
        }
        let index = usize::try_from(self.chance.below(bound)).unwrap();
        let Acknowledged { asked, body, .. } = self.acknowledged[index].clone();
        if let Some(heard) = self.ask(&asked).filter(|heard| heard.status < 500) {
            assert_eq!(heard.body, body, "{asked:?}");
            assert_eq!(heard.headers.get("idempotent-replayed").map(String::as_str), Some("true"));
        }
    }

    fn ask(&self, asked: &Asked) -> Option<Heard> {
        let address = *self.server.address.read().unwrap();
        try_to_ask(address, &asked.text(&self.server.secret)).ok()
    }
}
