//! `card-payments examine client`: a good client has no findings, and each bad one those that it deserves.

use std::path::Path;

use serde_json::Value;

use crate::harness::postgres::skipped;
use crate::harness::process::{output, program};

/// A shop that pays ten times, and gives one payment back. Its manner is an argument.
const SHOP: &str = r#"
import base64, http.client, json, os, sys, time, urllib.error, urllib.request, uuid

MANNER = sys.argv[1]
URL, KEY = os.environ["CARD_PAYMENTS_URL"], os.environ["CARD_PAYMENTS_SECRET_KEY"]


def send(method, path, body, key):
    request = urllib.request.Request(URL + path, method=method, data=json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{KEY}:".encode()).decode())
    if MANNER != "keyless":
        request.add_header("Idempotency-Key", key)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, json.loads(refused.read())
    except (OSError, http.client.HTTPException):
        return None


def call(method, path, body):
    key = str(uuid.uuid4())
    for _ in range(4):
        answer = send(method, path, body, key)
        if MANNER == "fresh":
            key = str(uuid.uuid4())
        if answer is None:
            continue
        status, headers, content = answer
        if status in (429, 502, 503):
            if MANNER != "keyless":
                time.sleep(float(headers.get("Retry-After", 0)))
            continue
        if status == 400 and MANNER == "stubborn":
            continue
        return content
    return {}


total = 0
for order in range(10):
    card = {
        "number": "4200000000000000" if order else "4100000000000001", "expiry_month": 12, "expiry_year": 2099, "cvc": "123",
        "name": "Roland Robot", "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
    }
    body = {
        "email": "roland@example.com", "description": f"Order {order}", "amount": 400 + order,
        "ip_address": "203.192.1.172", "card": card,
    }
    path = "/1/charges"
    if MANNER == "stubborn":
        body["colour"] = "red"
        path += "?key=" + KEY
    paid = call("POST", path, body).get("response")
    if paid:
        total += paid["amount"]
call("POST", f"/1/charges/{paid['token']}/refunds", {"amount": 100})
print("Total:", total - 100)
"#;

const MISSING: &str = "python3 is not installed, so the tests on it are skipped: no client is examined (.ci/run installs it).\n";

/// Examines the shop. Returns exit code and result.
fn examined(folder: &Path, manner: &str, arguments: &[&str]) -> Option<(Option<i32>, Value, String)> {
    if !Path::new("/usr/bin/python3").exists() {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
        return None;
    }
    let shop = folder.join("shop.py");
    std::fs::write(&shop, SHOP).unwrap();
    let mut command = program(&folder.join("other"));
    command.env("PATH", "/usr/bin:/bin").args([
        "examine",
        "client",
        "--json",
        "--expect-total",
        "Total:",
        "--faults",
        "70",
    ]);
    command.args(arguments).args(["--", "python3"]).arg(&shop).arg(manner);
    let (code, stdout, stderr) = output(&mut command);
    assert!(stdout.starts_with("Total:"), "the output of the command is passed on: {stdout}{stderr}");
    Some((code, serde_json::from_str(stdout.lines().last().unwrap()).unwrap(), stderr))
}

fn rules(summary: &Value) -> Vec<&str> {
    let mut rules: Vec<_> = summary["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

#[test]
fn a_client_that_repeats_well_has_no_findings() {
    let folder = tempfile::tempdir().unwrap();
    for seed in ["1", "2"] {
        let Some((code, summary, stderr)) = examined(folder.path(), "good", &["--seed", seed]) else {
            return;
        };
        assert_eq!((code, rules(&summary)), (Some(0), Vec::new()), "{summary}{stderr}");
        assert!(summary["disturbed"].as_u64().unwrap() >= 5, "{summary}");
    }
}

#[test]
fn a_client_that_repeats_under_new_keys_pays_twice() {
    let folder = tempfile::tempdir().unwrap();
    let Some((code, summary, _)) = examined(folder.path(), "fresh", &[]) else { return };
    assert_eq!((code, rules(&summary)), (Some(1), vec!["same-key", "total"]), "{summary}");
}

#[test]
fn a_client_without_keys_that_never_waits_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let Some((code, summary, _)) = examined(folder.path(), "keyless", &[]) else { return };
    assert_eq!(
        (code, rules(&summary)),
        (Some(1), vec!["idempotency-key", "retry-after", "total"]),
        "{summary}"
    );
}

#[test]
fn a_client_that_repeats_declines_and_writes_its_key_into_addresses_is_found_with_the_line_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (log, junit) = (folder.path().join("log.jsonl"), folder.path().join("client.xml"));
    let files = ["--log", log.to_str().unwrap(), "--junit", junit.to_str().unwrap()];
    let Some((code, summary, _)) = examined(folder.path(), "stubborn", &files) else { return };
    assert_eq!((code, rules(&summary)), (Some(1), vec!["decline", "parameters", "secrets"]), "{summary}");
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for finding in summary["findings"].as_array().unwrap() {
        let line = &lines[usize::try_from(finding["line"].as_u64().unwrap()).unwrap() - 1];
        assert_eq!((&line["method"], &line["path"]), (&finding["method"], &finding["path"]), "{finding}");
    }
    assert!(!text.contains("sk_") && !text.contains("4200000000000000"), "{text}");
    let junit = std::fs::read_to_string(&junit).unwrap();
    assert!(junit.contains("tests=\"8\" failures=\"3\""), "{junit}");
    let (code, covered, stderr) = output(program(folder.path()).args(["coverage", "--json"]).arg(&log));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(covered.contains("\"name\":\"service_unavailable\",\"line\":\"card-payments examine client --log run.jsonl -- COMMAND\",\"met\":true"), "{covered}");
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    for (words, expected) in [(&["sh", "-c", "exit 7"][..], 7), (&["no-such-command"], 127), (&["true"], 0)] {
        let mut command = program(&folder.path().join("other"));
        command.env("PATH", "/usr/bin:/bin").args(["examine", "client", "--"]).args(words);
        let (code, stdout, stderr) = output(&mut command);
        assert_eq!(code, Some(expected), "{stdout}{stderr}");
    }
}
