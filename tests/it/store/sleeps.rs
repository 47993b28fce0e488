//! A contract test as docs/testing.md shows it, beside the load of another account: it never fails by chance.
//! `CARD_PAYMENTS_RACE_ROUNDS` says how often it is run.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::harness::process::{PAYMENT, Process};
use crate::harness::{operated, rounds, token};

/// Callers of the other account.
const LOAD: usize = 4;

/// Ends the load, also if a test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Tests a program that charges a card and gives a part back, in an account of its own.
fn contract_test(server: &Process, maker: &str) {
    let made = server.ask("POST", "/1/sandbox/accounts", Some(maker), "").ok(201);
    let key = Some(made["secret_key"].as_str().unwrap());
    let inbox = server.ask("POST", "/1/sandbox/inboxes", key, "").ok(201);
    let endpoint = format!("url={}", inbox["url"].as_str().unwrap());
    server.ask("POST", "/1/webhook_endpoints", key, &endpoint).ok(201);
    // The program.
    let charge = server.ask("POST", "/1/charges", key, PAYMENT).ok(201);
    let refunds = format!("/1/charges/{}/refunds", token(&charge));
    let refund = server.ask("POST", &refunds, key, "amount=100").ok(201);
    // What it has asked for, what happened, and what its receiver got.
    let asked = "/1/sandbox/requests?method=POST&status=201&count=4&wait=30";
    assert_eq!(server.ask("GET", asked, key, "").json()["pagination"]["count"], 4);
    let about = |token: &str| server.ask("GET", &format!("/1/events?after=0&about={token}&wait=30"), key, "");
    assert_eq!(about(token(&charge)).ok(200)[0]["type"], "charge.captured");
    assert_eq!(about(token(&refund)).ok(200)[0]["type"], "refund.created");
    let arrived = format!("/1/sandbox/inboxes/{}/deliveries?count=2&wait=30", token(&inbox));
    let arrived = server.ask("GET", &arrived, key, "").ok(200);
    let sent = arrived.as_array().unwrap().iter().map(|delivery| {
        assert_eq!(delivery["signature"], "valid", "{delivery}");
        let event: Value = serde_json::from_str(delivery["body"].as_str().unwrap()).unwrap();
        event["type"].as_str().unwrap().to_owned()
    });
    let expected = ["charge.captured", "refund.created"].map(str::to_owned);
    assert_eq!(sent.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
    let deleted = server.ask("DELETE", &format!("/1/sandbox/accounts/{}", token(&made)), key, "");
    assert_eq!(deleted.status, 204, "{}", deleted.body);
}

operated! {
    async fn a_test_that_waits_instead_of_sleeping_never_fails_by_chance(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _ends = Ends(&ended);
            for _ in 0..LOAD {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        server.pay(&key).ok(201);
                    }
                });
            }
            for _ in 0..rounds() {
                contract_test(&server, &key);
            }
        });
        server.stopped();
    }
}
