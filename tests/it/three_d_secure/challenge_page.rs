//! The challenge page in a real browser: what a cardholder reads, presses and comes back to. `.ci/run` installs Chromium,
//! and what drives it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::postgres::skipped;
use crate::harness::process::{PAYMENT, Process, program};
use crate::harness::{Behaviour, Receiver};

const MISSING: &str = "Chromium, or what drives it, is not installed, so the tests on it are skipped: .ci/run installs \
                       both where there are node and npm.\n";
const CHROMIUM: &str = "/usr/bin/chromium";

fn in_tests(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifiers").join(name)
}

/// Runs a script of tests/verifiers that drives the browser, if both are installed. Returns its output.
pub fn driven(script: &str, arguments: &[&str]) -> Option<Value> {
    if !Path::new(CHROMIUM).exists() || !in_tests("node_modules/playwright-core").exists() {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
        return None;
    }
    let mut browser = Command::new("node");
    let output = browser.arg(in_tests(script)).args(arguments).output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_str(&report).unwrap())
}

/// A pending charge's token and its page.
fn pending(server: &Process, key: &str, callback: &str) -> (String, String) {
    let form = format!("{PAYMENT}&three_d_secure[enabled]=true&three_d_secure[callback_url]={callback}");
    let made = server.ask("POST", "/1/charges", Some(key), &form).ok(201);
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("token"), text("redirect_url"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cardholder_reads_answers_and_comes_back_to_the_merchant() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    // The merchant's own page may send the browser on, to yet another site.
    let (merchant, elsewhere) = (Receiver::start().await, Receiver::start().await);
    merchant.behave(Behaviour::Redirect(elsewhere.url()));
    for (button, how, verified) in
        [("Approve", "click", 200), ("Approve", "no-javascript", 200), ("Fail", "keyboard", 403)]
    {
        let (charge, page) = pending(&server, &key, &format!("{}?order=1", merchant.url()));
        let Some(report) = driven("challenge.mjs", &[&page, button, how]) else { return };
        assert_eq!(report["title"], "Verify your payment");
        let read = report["read"].as_str().unwrap();
        let mut from = 0;
        for part in [
            "- main",
            "- heading \"Verify your payment\" [level=1]",
            "Merchant",
            "First account",
            "Amount",
            "AUD 4.00",
            "Card",
            "XXXX-XXXX-XXXX-0000",
            "- button \"Approve\"",
            "- button \"Fail\"",
        ] {
            let at = read[from..].find(part).unwrap_or_else(|| panic!("{part}, in this order: {read}"));
            from += at + part.len();
        }
        if how != "no-javascript" {
            assert_eq!(
                (&report["width"], &report["styled"]),
                (&json!(320), &json!("block")),
                "it fits a phone, in its own style"
            );
        }
        if how == "keyboard" {
            assert_eq!(report["focused"], json!(["Approve", "Fail"]), "the focus goes as the page is read");
        }
        assert_eq!((&report["ended"], &report["complaints"]), (&json!(elsewhere.url()), &json!([])));
        let came = merchant.received().last().unwrap().clone();
        let session =
            came.path.strip_prefix("/hook?order=1&session_token=").unwrap_or_else(|| panic!("{}", came.path));
        assert!(!came.headers.contains_key("referer"), "the merchant does not learn the page's address");
        let answer = server.ask("GET", &format!("/1/charges/verify?session_token={session}"), Some(&key), "");
        assert_eq!(answer.status, verified, "{}", answer.body);
        if verified == 200 {
            assert_eq!(
                (&answer.ok(200)["token"], &answer.ok(200)["success"]),
                (&json!(charge), &json!(true))
            );
        }
    }
    server.stopped();
}
