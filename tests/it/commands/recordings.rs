//! `card-payments record` and `replay`: the requests of a run as a file, and the same requests again.

mod refused;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base::time_text::parse_time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::{TimeSpan, Timestamp};
use serde_json::{Value, json};

use crate::harness::process::{RawResponse, output, program, try_to_ask};
use crate::harness::{
    PASSWORD, PDF, application, bank_account, card, charge_with, multipart, operated, token_of, with,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_card-payments");
/// No published test card, but a possible number.
const OTHER_CARD: &str = "4000056655665556";

/// A server whose requests are recorded until it is finished.
struct Recorded {
    folder: tempfile::TempDir,
    file: PathBuf,
    child: Child,
    address: String,
    key: String,
    publishable_key: String,
    /// What must not be in the file.
    secrets: Vec<String>,
    sent: usize,
    /// A header of the next requests.
    prefer: &'static str,
}

fn record(folder: &Path, file: &Path) -> Command {
    let mut record = program(&folder.join("other"));
    record.args(["record", "--to"]).arg(file).env("TMPDIR", folder).env("PATH", "/usr/bin:/bin");
    record
}

impl Recorded {
    fn start(file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(file);
        let mut child = record(folder.path(), &file)
            .arg("--json")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let server: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| server[name].as_str().unwrap().to_owned();
        let (key, publishable_key) = (text("secret_key"), text("publishable_key"));
        let address = text("listening").strip_prefix("http://").unwrap().to_owned();
        let secrets = vec![key.clone(), publishable_key.clone(), address.clone()];
        Self { folder, file, child, address, key, publishable_key, secrets, sent: 0, prefer: "" }
    }

    fn send(&mut self, key: &str, method: &str, path: &str, kind: &str, body: &str) -> RawResponse {
        self.sent += 1;
        let credentials = STANDARD.encode(format!("{key}:"));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Basic {credentials}\r\n\
             {}Idempotency-Key: {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            self.prefer,
            self.sent,
            body.len()
        );
        try_to_ask(self.address.parse().unwrap(), &request).unwrap()
    }

    fn call(&mut self, method: &str, path: &str, body: &Value) -> RawResponse {
        let key = self.key.clone();
        self.send(&key, method, path, "application/json", &body.to_string())
    }

    #[track_caller]
    fn post(&mut self, path: &str, body: &Value) -> Value {
        self.call("POST", path, body).ok(201)
    }

    #[track_caller]
    fn get(&mut self, path: &str) -> Value {
        self.call("GET", path, &json!({})).ok(200)
    }

    fn learn(&mut self, record: &Value, field: &str) -> String {
        let secret = record[field].as_str().unwrap().to_owned();
        self.secrets.push(secret.clone());
        secret
    }

    /// Requests of all kinds.
    fn run(&mut self) {
        let publishable_key = self.publishable_key.clone();
        let browser =
            with(card("4200000000000000"), &json!({ "publishable_api_key": publishable_key, "cvc": "739" }));
        let stored = self.send("", "POST", "/1/cards", "application/json", &browser.to_string());
        let stored = token_of(&stored.ok(201));
        self.post("/1/charges", &charge_with(400, json!({ "card": null, "card_token": stored })));
        let form = "amount=500&email=a@example.com&description=Form&ip_address=203.192.1.172&card[number]=5520000000000000\
            &card[expiry_month]=5&card[expiry_year]=2099&card[cvc]=123&card[name]=R&card[address_line1]=1\
            &card[address_city]=L&card[address_country]=AU&metadata[order]=1001";
        let key = self.key.clone();
        let charge = self.send(&key, "POST", "/1/charges", "application/x-www-form-urlencoded", form).ok(201);
        let charge = token_of(&charge);
        self.post(&format!("/1/charges/{charge}/refunds"), &json!({ "amount": 100 }));
        self.sent -= 1;
        let again = self.call("POST", &format!("/1/charges/{charge}/refunds"), &json!({ "amount": 100 }));
        assert_eq!(again.headers["idempotent-replayed"], "true");
        // It settles now, whatever this machine takes for all that follows.
        self.call("PUT", "/1/sandbox/clock", &json!({ "advance": "1m" })).ok(200);
        let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
        assert_eq!(self.call("POST", "/1/charges", &declined).status, 400);
        assert_eq!(
            self.call("POST", "/1/charges", &json!({ "amount": "x", "crad": OTHER_CARD })).status,
            422
        );
        let noted = json!({ "description": format!("by {OTHER_CARD}"), "metadata": { "card": OTHER_CARD } });
        self.post("/1/charges", &charge_with(600, noted));
        assert_eq!(self.call("GET", "/1/charges/ch_AZqYv3rVcBKUQ1mHn7tKRw", &json!({})).status, 404);
        assert_eq!(self.send("sk_nobody_knows_this_one", "GET", "/1/charges", "", "").status, 401);
        let script = format!(
            "/1/cards?callback=f&_method=POST&publishable_api_key={publishable_key}&number=4200000000000000&cvc=739\
             &expiry_month=5&expiry_year=2099&name=R&address_line1=1&address_city=L&address_country=AU"
        );
        assert!(self.send("", "GET", &script, "", "").body.starts_with("/**/f("));
        self.three_d_secure();
        let dispute = self.post("/1/sandbox/disputes", &json!({ "charge_token": charge }));
        self.get(&format!("/1/disputes/{}", token_of(&dispute)));
        let named = json!({ "url": "https://user:word@hooks.example.com/" });
        assert_eq!(self.call("POST", "/1/webhook_endpoints", &named).status, 422);
        let endpoint = self.post("/1/webhook_endpoints", &json!({ "url": "http://127.0.0.1:9/" }));
        self.learn(&endpoint, "key");
        self.call("DELETE", &format!("/1/webhook_endpoints/{}", token_of(&endpoint)), &json!({}));
        let own = self.post("/1/sandbox/accounts", &json!({}));
        self.learn(&own, "publishable_key");
        let own = self.learn(&own, "secret_key");
        let other = charge_with(700, json!({})).to_string();
        self.send(&own, "POST", "/1/charges", "application/json", &other).ok(201);
        self.wallet_and_bank();
        self.inbox();
        self.restricted_key();
        self.refusals();
        self.subscribe();
        for list in [
            "charges?per_page=500",
            "events?per_page=500",
            "refunds",
            "customers",
            "charges/search?query=Form",
        ] {
            self.get(&format!("/1/{list}"));
        }
        self.secrets.extend([OTHER_CARD, PASSWORD, "987654", "user:word"].map(str::to_owned));
        let published = ["4200000000000000", "4100000000000001", "5520000000000000"];
        self.secrets.extend(published.map(str::to_owned));
    }

    fn three_d_secure(&mut self) {
        let asked = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
        let pending = self.post("/1/charges", &charge_with(800, json!({ "three_d_secure": asked })));
        let page = self.learn(&pending, "redirect_url");
        let page = page.strip_prefix(&format!("http://{}", self.address)).unwrap().to_owned();
        self.secrets.push(page.rsplit('/').next().unwrap().to_owned());
        assert_eq!(self.send("", "GET", &page, "", "").status, 200);
        let back = self.send("", "POST", &page, "application/x-www-form-urlencoded", "decision=approve");
        let session = back.headers["location"].rsplit_once("session_token=").unwrap().1.to_owned();
        self.get(&format!("/1/charges/verify?session_token={session}"));
        self.secrets.push(session);
    }

    /// Waits for deliveries as test helpers do, and polls.
    fn inbox(&mut self) {
        let inbox = self.post("/1/sandbox/inboxes", &json!({}));
        let endpoint = self.post("/1/webhook_endpoints", &json!({ "url": inbox["url"] }));
        self.learn(&endpoint, "key");
        let deliveries = format!("/1/sandbox/inboxes/{}/deliveries", token_of(&inbox));
        assert_eq!(self.get(&deliveries), json!([]));
        let endpoint = token_of(&endpoint);
        self.post(&format!("/1/sandbox/webhook_endpoints/{endpoint}/ping"), &json!({}));
        self.get(&format!("{deliveries}?per_page=500&count=1&wait=30"));
        let charge = self.post("/1/charges", &charge_with(450, json!({})));
        let arrived = self.get(&format!("{deliveries}?per_page=500&count=2&wait=30"));
        assert!(arrived[0]["body"].as_str().unwrap().contains(&token_of(&charge)), "{arrived}");
        self.get(&deliveries);
        self.get("/1/sandbox/inboxes");
        self.get("/1/events?count=1&wait=5");
        self.call("DELETE", &format!("/1/webhook_endpoints/{endpoint}"), &json!({}));
    }

    fn restricted_key(&mut self) {
        let made = self.post("/1/sandbox/keys", &json!({ "name": "x", "rights": { "charges": "read" } }));
        let key = self.learn(&made, "secret_key");
        assert_eq!(self.send(&key, "GET", "/1/charges", "", "").status, 200);
        assert_eq!(self.send(&key, "GET", "/1/customers", "", "").status, 403);
        self.get("/1/sandbox/keys");
    }

    /// Requests that no operation answers, or that cannot be read.
    fn refusals(&mut self) {
        assert_eq!(self.call("HEAD", "/1/charges?per_page=1", &json!({})).status, 200);
        assert_eq!(self.call("PATCH", "/1/charges", &json!({ "number": OTHER_CARD })).status, 405);
        assert_eq!(self.call("GET", &format!("/1/chargez/{OTHER_CARD}/refund"), &json!({})).status, 404);
        assert_eq!(self.call("OPTIONS", "/1/plans", &json!({})).status, 405);
        let key = self.key.clone();
        for (kind, body, status) in [("application/json", "{bad", 400), ("text/plain", "amount=1", 415)] {
            assert_eq!(self.send(&key, "POST", "/1/plans", kind, body).status, status, "{body}");
        }
        assert_eq!(self.send(&key, "GET", "/1/charges?page=%ff", "", "").status, 400);
        self.prefer = "Prefer: handling=strict\r\n";
        assert_eq!(self.call("PUT", "/1/sandbox/account", &json!({ "crad": OTHER_CARD })).status, 422);
        self.prefer = "";
        let credentials = STANDARD.encode(format!("{key}:"));
        let request = format!(
            "POST /1/plans HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Basic {credentials}\r\n\
             Idempotency-Key: a b\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(try_to_ask(self.address.parse().unwrap(), &request).unwrap().status, 400);
    }

    fn wallet_and_bank(&mut self) {
        let payload = json!({ "type": "walletGpay", "number": "4200000000000000" });
        let payload = self.post("/1/sandbox/wallet_payloads", &payload);
        self.post("/1/payment_sources", &payload);
        self.post("/1/merchants", &application());
        let recipient = json!({ "email": "payee@example.com", "bank_account": bank_account("987654321") });
        let recipient = token_of(&self.post("/1/recipients", &recipient));
        let transfer =
            json!({ "description": "x", "amount": 100, "currency": "AUD", "recipient": recipient });
        self.post("/1/transfers", &transfer);
    }

    fn subscribe(&mut self) {
        let plan = json!({ "name": "Tea", "amount": 1000, "interval": 1, "interval_unit": "month" });
        let plan = token_of(&self.post("/1/plans", &plan));
        let customer = json!({ "email": "roland@example.com", "card": card("4200000000000000") });
        let customer = token_of(&self.post("/1/customers", &customer));
        self.post("/1/subscriptions", &json!({ "plan_token": plan, "customer_token": customer }));
        self.call("PUT", "/1/sandbox/clock", &json!({ "advance": "40d" })).ok(200);
        let now = parse_time(self.get("/1/sandbox/clock")["now"].as_str().unwrap()).unwrap();
        let to = (Timestamp::from(now) + TimeSpan::days(40)).to_string();
        self.call("PUT", "/1/sandbox/clock", &json!({ "to": to })).ok(200);
        let before = (Timestamp::from(now) - TimeSpan::days(4000)).to_string();
        assert_eq!(self.call("PUT", "/1/sandbox/clock", &json!({ "to": before })).status, 422);
        self.get("/1/subscriptions");
    }

    /// Ends the server, and returns the file.
    fn finished(mut self) -> (tempfile::TempDir, PathBuf, Vec<String>) {
        drop(self.child.stdin.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        (self.folder, self.file, self.secrets)
    }
}

/// A recording of requests of all kinds; and what must not be in it.
fn recording(file: &str) -> (tempfile::TempDir, PathBuf, Vec<String>) {
    let mut recorded = Recorded::start(file);
    recorded.run();
    recorded.finished()
}

/// `card-payments exec` with a replay of this file.
fn replay_of(file: &Path) -> Command {
    let mut exec = program(&file.with_extension("data"));
    exec.env("TMPDIR", file.parent().unwrap()).args(["exec", "--", PROGRAM, "replay"]).arg(file);
    exec
}

operated! {
    async fn a_recorded_run_replays_without_a_difference_on_a_fresh_server(installed) {
        let (_folder, file, _) = recording("run.jsonl");
        let server = installed.serve();
        let (address, keys) = (format!("http://{}", server.address), server.keys());
        installed.with("PUBLISHABLE_KEY", &keys.1);
        let file = file.to_str().unwrap();
        let (code, stdout, stderr) = installed.run(&["replay", file, "--server", &address]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        let count = std::fs::read_to_string(file).unwrap().lines().count() - 1;
        assert_eq!(stdout, format!("{count} requests, and the same answers.\n"));
        assert!(count > 35, "{count}");
        // The same server answers under the same Idempotency-Keys, and its lists are longer.
        let (code, stdout, stderr) = installed.run(&["replay", file, "--server", &address]);
        assert_eq!(code, Some(1), "{stdout}");
        assert!(stdout.contains("replayed was false, is true"), "{stdout}");
        assert!(stderr.starts_with("error: the answers are not the same: "), "{stderr}");
        server.stopped();
    }
}

#[test]
fn a_changed_answer_is_named_and_only_that() {
    let (_folder, file, _) = recording("run.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let changed = |line: &str| {
        let mut exchange: Value = serde_json::from_str(line).unwrap();
        let is_first = exchange["path"] == "/1/charges" && exchange["body"]["response"]["amount"] == 400;
        if is_first {
            exchange["body"]["response"]["amount"] = json!(401);
            exchange["body"]["response"]["currency"].take();
        }
        exchange.to_string() + "\n"
    };
    std::fs::write(&file, text.lines().map(changed).collect::<String>()).unwrap();
    let (code, stdout, stderr) = output(&mut replay_of(&file));
    assert_eq!(code, Some(1));
    assert_eq!(
        stdout,
        "request 2, POST /1/charges: response.amount was 401, is 400\n\
         request 2, POST /1/charges: response.currency was null, is \"AUD\"\n"
    );
    assert_eq!(stderr, "error: the answers are not the same: 2 differences\n");
    let (code, stdout, _) = output(replay_of(&file).arg("--json"));
    let difference: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    let expected = json!({
        "request": 2, "call": "POST /1/charges", "at": "response.amount", "recorded": "401", "answered": "400",
        "hidden": [],
    });
    assert_eq!((code, difference), (Some(1), expected));
}

/// The lines of a recording, changed.
fn edit(file: &Path, change: impl Fn(usize, &str) -> String) {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().enumerate().map(|(number, line)| change(number, line) + "\n");
    std::fs::write(file, lines.collect::<String>()).unwrap();
}

#[test]
fn the_requests_of_a_test_with_an_inbox_replay() {
    let mut recorded = Recorded::start("run.jsonl");
    let account = recorded.post("/1/sandbox/accounts", &json!({}));
    recorded.key = account["secret_key"].as_str().unwrap().to_owned();
    let inbox = recorded.post("/1/sandbox/inboxes", &json!({}));
    recorded.post("/1/webhook_endpoints", &json!({ "url": inbox["url"] }));
    recorded.post("/1/charges", &charge_with(400, json!({})));
    let deliveries = format!("/1/sandbox/inboxes/{}/deliveries?per_page=500", token_of(&inbox));
    let arrived = recorded.get(&format!("{deliveries}&count=1&wait=10"));
    assert!(arrived[0]["body"].as_str().unwrap().contains("charge.captured"), "{arrived}");
    recorded.call("PUT", "/1/sandbox/acquirer", &json!({ "decline": "insufficient_funds" })).ok(200);
    assert_eq!(recorded.call("POST", "/1/charges", &charge_with(400, json!({}))).status, 400);
    recorded.call("PUT", "/1/sandbox/acquirer", &json!({ "decline": null })).ok(200);
    recorded.get("/1/balance");
    recorded.call("PUT", "/1/sandbox/clock", &json!({ "advance": "8d" })).ok(200);
    recorded.get("/1/balance");
    let (_folder, file, _) = recorded.finished();
    let (code, stdout, stderr) = output(&mut replay_of(&file));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    // What a delivery says is compared as well.
    edit(&file, |_, line| {
        line.replacen("\\\"type\\\":\\\"charge.captured", "\\\"type\\\":\\\"charge.voided", 1)
    });
    let (code, stdout, _) = output(&mut replay_of(&file));
    assert_eq!((code, stdout.lines().count()), (Some(1), 1), "{stdout}");
    assert!(stdout.contains(".body.type was \"charge.voided\", is \"charge.captured\""), "{stdout}");
}

#[test]
fn times_move_with_each_request_and_days_with_the_day() {
    let mut recorded = Recorded::start("run.jsonl");
    recorded.post("/1/charges", &charge_with(400, json!({})));
    recorded.call("PUT", "/1/sandbox/clock", &json!({ "advance": "1d" })).ok(200);
    let now = recorded.get("/1/sandbox/clock")["now"].as_str().unwrap().to_owned();
    let earlier = Timestamp::from(parse_time(&now).unwrap()) - TimeSpan::seconds(60);
    for at in [&now, &earlier.to_string()] {
        recorded.get(&format!("/1/balance?at={at}"));
    }
    let today = now.split('T').next().unwrap();
    let yesterday =
        (Timestamp::from(parse_time(today).unwrap()) - TimeSpan::days(1)).day().date().to_string();
    let found = recorded.get(&format!("/1/charges/search?start_date={yesterday}"));
    assert_eq!(found.as_array().unwrap().len(), 1);
    let (_folder, file, _) = recorded.finished();
    // As if the recording had begun three days earlier, and paused.
    edit(
        &file,
        |number, line| if number == 1 { line.replace(&yesterday, "2020-01-01") } else { line.to_owned() },
    );
    let (code, stdout, stderr) = output(&mut replay_of(&file));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    // And as if all of it were that old.
    edit(&file, |_, line| line.replace(&yesterday, "2020-01-01").replace(today, "2020-01-02"));
    let (code, stdout, stderr) = output(&mut replay_of(&file));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
}

#[test]
fn values_that_a_recording_does_not_hold_are_named_with_the_difference() {
    let mut recorded = Recorded::start("run.jsonl");
    let (key, upload) = (recorded.key.clone(), String::from_utf8(multipart("receipt.pdf", PDF)).unwrap());
    recorded.send(&key, "POST", "/1/files", "multipart/form-data; boundary=x", &upload).ok(200);
    let bad_form = recorded.send(&key, "POST", "/1/plans", "application/x-www-form-urlencoded", "name=%ff");
    assert_eq!(bad_form.status, 400);
    let (_folder, file, _) = recorded.finished();
    let (code, stdout, _) = output(&mut replay_of(&file));
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!((code, lines.len()), (Some(1), 2), "{stdout}");
    assert_eq!(
        lines[0],
        "request 1, POST /1/files: status was 200, is 422 invalid_resource (the recording does not hold file)"
    );
    assert!(lines[1].ends_with(" (the recording does not hold body)"), "{stdout}");
}

#[test]
fn with_a_seed_two_replays_are_equal_byte_for_byte() {
    let (folder, file, _) = recording("run.jsonl");
    for name in ["jsonl", "har"] {
        let again = [1, 2].map(|number| {
            let to = folder.path().join(format!("{number}.{name}"));
            let mut record = record(folder.path(), &to);
            record.env("CARD_PAYMENTS_SEED", "a").env("CARD_PAYMENTS_BASE_URL", "http://test");
            record.args(["--", PROGRAM, "replay"]).arg(&file);
            let (code, stdout, stderr) = output(&mut record);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
            std::fs::read(to).unwrap()
        });
        assert!(again[0].len() > 10_000);
        assert!(again[0] == again[1], "{name}");
    }
    // Times are compared as well where the clock is the same.
    let first = folder.path().join("1.jsonl");
    let (code, stdout, stderr) = output(replay_of(&first).env("CARD_PAYMENTS_SEED", "a"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    let text = std::fs::read_to_string(&first).unwrap();
    let other = text.replacen("\"created_at\":\"2026-01-01T", "\"created_at\":\"2026-01-02T", 1);
    std::fs::write(&first, other).unwrap();
    let (code, stdout, _) = output(replay_of(&first).env("CARD_PAYMENTS_SEED", "a"));
    assert_eq!(code, Some(1));
    assert!(stdout.contains("created_at was \"2026-01-02T"), "{stdout}");
}

#[test]
fn a_har_file_replays_as_well_and_neither_form_holds_a_secret_or_card_number() {
    for name in ["run.jsonl", "run.har"] {
        let (_folder, file, secrets) = recording(name);
        let text = std::fs::read_to_string(&file).unwrap();
        for secret in &secrets {
            assert!(!text.contains(secret), "{name} holds {secret}");
        }
        let (code, stdout, stderr) = output(&mut replay_of(&file));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{name}: {stdout}");
        if name.ends_with("har") {
            let har: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (&har["log"]["version"], &har["log"]["creator"]["name"]),
                (&json!("1.2"), &json!("card-payments"))
            );
            for entry in har["log"]["entries"].as_array().unwrap() {
                let request = &entry["request"];
                let url = request["url"].as_str().unwrap();
                assert!(url.starts_with("http://localhost/") && url::Url::parse(url).is_ok(), "{url}");
                for part in ["cookies", "headers", "queryString"] {
                    assert!(request[part].is_array(), "{entry}");
                }
                assert!(entry["timings"]["wait"].is_u64() && entry["cache"].is_object(), "{entry}");
            }
        }
    }
}

#[test]
fn the_exit_code_is_the_commands_and_the_file_is_there_however_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let call = "curl -s -u \"$CARD_PAYMENTS_SECRET_KEY:\" \"$CARD_PAYMENTS_URL/1/balance\" > /dev/null";
    for (end, expected) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        let script = format!("{call}; {end}");
        let (code, _, stderr) = output(record(folder.path(), &file).args(["--", "sh", "-c", &script]));
        assert_eq!((code, stderr.as_str()), (Some(expected), ""), "{end}");
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2, "{end}");
        std::fs::remove_file(&file).unwrap();
    }
    let (code, _, stderr) = output(record(folder.path(), &file).args(["--", "no-such-command"]));
    assert_eq!(code, Some(127), "{stderr}");
    assert!(file.exists());
    let nowhere = folder.path().join("nowhere/run.jsonl");
    let (code, _, stderr) = output(record(folder.path(), &nowhere).args(["--", "touch", "ran"]));
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with(&format!("error: {}: ", nowhere.display())), "{stderr}");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["run.jsonl"]);
}
