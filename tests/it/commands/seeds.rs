//! Runs with a seed (docs/testing.md): whatever callers see is the same again, byte for byte, in bodies and headers, and
//! what receivers of webhooks see.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::process::{Process, RawResponse, try_to_ask};
use crate::harness::{
    Database, Installed, PDF, Receiver, application, bank_account, card, charge_with, eventually, multipart,
    operated, token_of,
};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// A run that is written down.
struct Run<'a> {
    installed: &'a Installed,
    server: Process,
    key: String,
    log: Vec<String>,
}

impl<'a> Run<'a> {
    fn begin(installed: &'a Installed) -> Self {
        let server = installed.serve();
        let (key, _) = server.keys();
        Self { log: server.banner.clone(), key, installed, server }
    }

    /// The process ends well, and another one goes on.
    fn restarted(self) -> Self {
        let Self { installed, server, key, mut log } = self;
        server.stopped();
        let server = installed.serve();
        log.extend(server.banner.iter().cloned());
        Self { installed, server, key, log }
    }

    fn send(&mut self, method: &str, path: &str, kind: &str, body: &str) -> RawResponse {
        let credentials = STANDARD.encode(format!("{}:", self.key));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Basic {credentials}\r\n\
             Idempotency-Key: {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            self.log.len(),
            body.len()
        );
        let response = try_to_ask(self.server.address, &request).unwrap();
        let mut entry = format!("{method} {path} {}", response.status);
        for (name, value) in &response.headers {
            write!(entry, "\n{name}: {value}").unwrap();
        }
        self.log.push(format!("{entry}\n{}", response.body));
        response
    }

    #[track_caller]
    fn post(&mut self, path: &str, body: &Value) -> Value {
        self.send("POST", path, JSON, &body.to_string()).ok(201)
    }

    #[track_caller]
    fn put(&mut self, path: &str, body: &Value) -> Value {
        self.send("PUT", path, JSON, &body.to_string()).ok(200)
    }

    #[track_caller]
    fn get(&mut self, path: &str) -> Value {
        self.send("GET", path, JSON, "").ok(200)
    }

    /// What became of webhooks is known.
    async fn delivered(&self) {
        let under_way = "SELECT COUNT(*) FROM webhooks WHERE state = 'pending' OR leased_until IS NOT NULL";
        eventually(async || self.installed.number(under_way).await == 0).await;
    }

    async fn advance(&mut self, span: &str) {
        self.delivered().await;
        self.put("/1/sandbox/clock", &json!({ "advance": span }));
        self.delivered().await;
    }

    /// Payments of all kinds, and what follows them at once.
    fn payments(&mut self) {
        let stored = token_of(&self.post("/1/cards", &card("4200000000000000")));
        self.post("/1/charges", &charge_with(400, json!({ "card": null, "card_token": stored })));
        let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
        assert_eq!(self.send("POST", "/1/charges", JSON, &declined.to_string()).status, 400);
        assert_eq!(self.send("POST", "/1/charges", JSON, "{}").status, 422);
        let authorised = token_of(&self.post("/1/charges", &charge_with(500, json!({ "capture": false }))));
        self.put(&format!("/1/charges/{authorised}/capture"), &json!({}));
        let charge = token_of(&self.post("/1/charges", &charge_with(600, json!({}))));
        for amount in [100, 200] {
            self.post(&format!("/1/charges/{charge}/refunds"), &json!({ "amount": amount }));
        }
        let reserved = token_of(&self.post("/1/authorisations", &charge_with(700, json!({}))));
        self.send("POST", &format!("/1/authorisations/{reserved}/charges"), JSON, r#"{"amount":300}"#)
            .ok(200);
        let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
        let pending = self.post("/1/charges", &charge_with(800, json!({ "three_d_secure": three_d_secure })));
        let page = pending["redirect_url"].as_str().unwrap().strip_prefix("http://test").unwrap().to_owned();
        assert_eq!(self.send("GET", &page, JSON, "").status, 200);
        let back = self.send("POST", &page, FORM, "decision=approve");
        let session = back.headers["location"].rsplit_once("session_token=").unwrap().1;
        self.get(&format!("/1/charges/verify?session_token={session}"));
    }

    /// Whatever else is drawn by chance.
    fn everything_else(&mut self) {
        let charge = token_of(&self.post("/1/charges", &charge_with(900, json!({}))));
        let dispute = token_of(&self.post("/1/sandbox/disputes", &json!({ "charge_token": charge })));
        let upload = String::from_utf8(multipart("receipt.pdf", PDF)).unwrap();
        let kind = "multipart/form-data; boundary=x";
        let file = self.send("POST", "/1/files", kind, &upload).ok(200);
        self.get(&format!("/1/files/{}", token_of(&file)));
        let evidence = json!({ "additional_evidence_file": token_of(&file) });
        self.put(&format!("/1/disputes/{dispute}/evidence"), &evidence);
        let payload = json!({ "type": "walletGpay", "number": "4200000000000000" });
        let payload = self.post("/1/sandbox/wallet_payloads", &payload);
        self.post("/1/payment_sources", &payload);
        let session =
            json!({ "validation_url": "https://gateway.wallet.example/x", "initiative": "messaging" });
        self.send("POST", "/1/walletA_pay/sessions", JSON, &session.to_string());
        self.send("POST", "/1/walletA_pay/certificates", JSON, "{}");
        let merchant = token_of(&self.post("/1/merchants", &application()));
        self.get(&format!("/1/merchants/{merchant}"));
        let recipient = json!({ "email": "payee@example.com", "bank_account": bank_account("987654321") });
        let recipient = token_of(&self.post("/1/recipients", &recipient));
        let transfer =
            json!({ "description": "x", "amount": 100, "currency": "AUD", "recipient": recipient });
        self.post("/1/transfers", &transfer);
        self.post("/1/sandbox/accounts", &json!({}));
    }

    /// A customer whose subscription begins with a trial.
    fn subscribe(&mut self) {
        let plan = json!({
            "name": "Coffee plan", "amount": 1000, "setup_amount": 150, "interval": 1, "interval_unit": "month",
            "trial_interval": 14, "trial_interval_unit": "day",
        });
        let plan = token_of(&self.post("/1/plans", &plan));
        let customer = json!({ "email": "roland@example.com", "card": card("4200000000000000") });
        let customer = token_of(&self.post("/1/customers", &customer));
        self.post("/1/subscriptions", &json!({ "plan_token": plan, "customer_token": customer }));
    }

    fn lists(&mut self) {
        for list in [
            "balance",
            "charges",
            "customers",
            "deposits",
            "disputes",
            "events",
            "merchants",
            "plans",
            "recipients",
            "refunds",
            "sandbox/requests",
            "subscriptions",
            "transfers",
            "webhook_endpoints",
            "webhooks",
        ] {
            self.get(&format!("/1/{list}?per_page=500"));
        }
    }
}

/// All that is said in one long run, and all that its receiver gets.
async fn run(installed: &mut Installed, seed: &str, receiver: &Receiver) -> Vec<String> {
    installed.with("SEED", seed);
    installed.with("BASE_URL", "http://test");
    let before = receiver.received().len();
    let mut run = Run::begin(installed);
    run.post("/1/webhook_endpoints", &json!({ "url": receiver.url() }));
    run.payments();
    run.everything_else();
    run.subscribe();
    run.advance("15d").await;
    let mut run = run.restarted();
    run.payments();
    run.advance("2month").await;
    run.lists();
    // No server listens there; the time of the next try is random, too.
    run.post("/1/webhook_endpoints", &json!({ "url": "http://127.0.0.1:9/" }));
    run.post("/1/charges", &charge_with(400, json!({})));
    run.delivered().await;
    run.get("/1/webhooks?per_page=2");
    let Run { server, mut log, .. } = run;
    server.stopped();
    let mut deliveries: Vec<_> = receiver.received()[before..]
        .iter()
        .map(|it| {
            let id = it.headers["webhook-id"].to_str().unwrap();
            format!("{id} {} {:?} {}", it.path, it.headers, String::from_utf8_lossy(&it.body))
        })
        .collect();
    // Several are in flight at a time.
    deliveries.sort();
    assert!(deliveries.len() > 30, "{}", deliveries.len());
    log.extend(deliveries);
    log
}

#[track_caller]
fn are_equal(one: &[String], other: &[String]) {
    for (one, other) in one.iter().zip(other) {
        let lines = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert!(one == other, "{lines:#?} of {}", one.lines().next().unwrap_or_default());
    }
    assert_eq!(one.len(), other.len());
}

operated! {
    async fn two_runs_with_one_seed_are_equal_byte_for_byte_and_with_another_one_nothing_is(installed) {
        let receiver = Receiver::start().await;
        let first = run(installed, "a", &receiver).await;
        let mut again = Installed::on(installed.database).await.unwrap();
        are_equal(&first, &run(&mut again, "a", &receiver).await);
        let mut answers = first.iter().filter(|entry| entry.contains("\nx-request-id: "));
        assert!(answers.clone().count() > 50);
        assert!(answers.all(|entry| entry.contains("\ndate: Thu, 01 Jan 2026 00:00:00 GMT\n")));
        let mut other = Installed::on(installed.database).await.unwrap();
        other.with("SEED", "b");
        other.with("BASE_URL", "http://test");
        let mut other = Run::begin(&other);
        other.post("/1/webhook_endpoints", &json!({ "url": receiver.url() }));
        other.payments();
        let texts = first.concat();
        // A page's style has a hash, which no random draws.
        let drawn = other.log.iter().filter(|entry| !entry.contains("content-security-policy"));
        let words = drawn.flat_map(|entry| entry.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-".contains(letter)));
        let mut long = 0;
        let is_drawn = |word: &&str| {
            let has = |kind: fn(char) -> bool| word.contains(kind);
            word.len() >= 22 && has(|letter| letter.is_ascii_digit()) && has(|letter| letter.is_ascii_uppercase())
        };
        for word in words.filter(is_drawn) {
            long += 1;
            assert!(!texts.contains(word), "{word} is drawn with both seeds");
        }
        assert!(long > 20, "{long}");
    }

    async fn a_database_goes_on_with_the_seed_that_it_was_begun_with_and_no_other(installed) {
        installed.with("LOG", "error");
        let seedless = "this database needs the CARD_PAYMENTS_SEED that it was created with";
        let other = "CARD_PAYMENTS_SEED is not the seed of this database; a new seed needs an empty database";
        installed.with("SEED", "a");
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
        let starts = "SELECT COUNT(*) FROM installation WHERE name = 'seed' AND value LIKE '% 1'";
        installed.with("SEED", "b");
        installed.refuses(&["serve"], other);
        installed.without("SEED");
        installed.refuses(&["serve"], seedless);
        installed.refuses(&["vault", "rotate"], seedless);
        assert_eq!(installed.number(starts).await, 1, "something was touched");
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
        installed.with("SEED", "a");
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
        let mut unseeded = Installed::on(installed.database).await.unwrap();
        unseeded.with("LOG", "error");
        unseeded.serve().stopped();
        unseeded.with("SEED", "a");
        unseeded.refuses(&["serve"], other);
        // An empty variable is unset.
        unseeded.with("SEED", "");
        unseeded.serve().stopped();
    }

    async fn commands_that_make_something_take_the_seed_and_draw_from_it(installed) {
        installed.with("LOG", "error");
        let acts = async |installed: &mut Installed| {
            installed.with("SEED", "a");
            installed.with("BASE_URL", "http://test");
            let mut run = Run::begin(installed);
            let charge = token_of(&run.post("/1/charges", &charge_with(600, json!({}))));
            let merchant = token_of(&run.post("/1/merchants", &application()));
            run.server.stopped();
            let log = run.log;
            let account = token_of(&installed.records(&["account", "list"])[0]);
            let mut records = Vec::new();
            for act in [
                &["deposit", "create", &account, "--amount", "700"][..],
                &["dispute", "open", &charge],
                &["merchant", "activate", &merchant],
                &["account", "create", "--business-name", "Shop", "--email", "shop@example.com"],
            ] {
                records.extend(installed.records(act));
            }
            let mut run = Run::begin(installed);
            run.log = [log, run.log].concat();
            run.post("/1/sandbox/deposits", &json!({ "amount": 800 }));
            run.lists();
            let deposits = run.get("/1/deposits");
            run.server.stopped();
            (records, deposits, run.log)
        };
        let (records, deposits, log) = acts(installed).await;
        assert_eq!([&deposits[0]["amount"], &deposits[1]["amount"]], ["800", "700"], "the later one first");
        assert_eq!(records[0]["token"], deposits[1]["token"]);
        assert_eq!(records[0]["available_at"], "2026-01-01T00:00:00Z");
        let mut again = Installed::on(installed.database).await.unwrap();
        again.with("LOG", "error");
        let (records_again, _, log_again) = acts(&mut again).await;
        assert_eq!(records, records_again);
        are_equal(&log, &log_again);
    }

    async fn commands_without_the_seed_or_beside_its_server_change_nothing(installed) {
        installed.with("LOG", "error");
        installed.with("SEED", "a");
        let server = installed.serve();
        let account = installed.account();
        let deposit = ["deposit", "create", &account, "--amount", "700"];
        if let Database::Sqlite = installed.database {
            let used = format!("the database {} is in use by another server", installed.data.path().join("card-payments.db").display());
            for act in [&deposit[..], &["account", "switch", &account, "wallet", "off"], &["vault", "rotate"]] {
                installed.refuses(act, &used);
            }
        }
        server.stopped();
        let other = "CARD_PAYMENTS_SEED is not the seed of this database; a new seed needs an empty database";
        let seedless = "this database needs the CARD_PAYMENTS_SEED that it was created with";
        installed.with("SEED", "b");
        installed.refuses(&deposit, other);
        installed.without("SEED");
        installed.refuses(&deposit, seedless);
        installed.refuses(&["account", "switch", &account, "wallet", "off"], seedless);
        let starts = "SELECT COUNT(*) FROM installation WHERE name = 'seed' AND value LIKE '% 1'";
        assert_eq!(installed.number(starts).await, 1, "something was touched");
    }

    async fn where_a_seed_decides_time_passes_by_the_moved_clock_alone(installed) {
        installed.with("SEED", "a");
        let mut run = Run::begin(installed);
        let charge = token_of(&run.post("/1/charges", &charge_with(600, json!({}))));
        let refund = token_of(&run.post(&format!("/1/charges/{charge}/refunds"), &json!({ "amount": 100 })));
        let path = format!("/1/refunds/{refund}");
        assert_eq!(run.get(&path)["status_message"], "Pending");
        let clock = run.get("/1/sandbox/clock");
        assert_eq!(clock["now"], "2026-01-01T00:00:00Z");
        let moved = run.put("/1/sandbox/clock", &json!({ "advance": "1m" }));
        assert_eq!(moved["now"], "2026-01-01T00:01:00Z");
        let refund = run.get(&path);
        assert_eq!(refund["success"], true, "{refund}");
        run.server.stopped();
    }
}
