//! `card-payments examine receiver`, with receivers of all manners.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::harness::operated;
use crate::harness::process::{Process, output, program};
use crate::webhooks::verifiers;

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const FORGED: [&str; 13] = [
    "another-key",
    "changed-byte",
    "added-space",
    "no-signature",
    "no-id",
    "another-id",
    "another-version",
    "yesterday",
    "tomorrow",
    "no-timestamp",
    "another-timestamp",
    "huge-forgery",
    "empty",
];

type Received = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

/// A receiver that answers as a function says, and all that it has received.
async fn receiver(answer: fn(&HeaderMap, &[u8]) -> u16) -> (String, Received) {
    let received = Received::default();
    let kept = Arc::clone(&received);
    let answering = post(move |headers: HeaderMap, body: Bytes| async move {
        let status = answer(&headers, &body);
        kept.lock().unwrap().push((headers, body));
        StatusCode::from_u16(status).unwrap()
    });
    let router = Router::new().route("/", answering).layer(DefaultBodyLimit::disable());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/"), received)
}

/// Verifies everything but the time.
fn without_time(headers: &HeaderMap, body: &[u8]) -> u16 {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut hash = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(&KEY[6..]).unwrap()).unwrap();
    hash.update(format!("{}.{}.", text("webhook-id"), text("webhook-timestamp")).as_bytes());
    hash.update(body);
    let own = format!("v1,{}", STANDARD.encode(hash.finalize().into_bytes()));
    if text("webhook-signature").split(' ').any(|one| one == own) { 204 } else { 400 }
}

fn examine(folder: &Path, url: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program(&folder.join("other"));
    command.env("TMPDIR", folder).args(["examine", "receiver", url, "--secret", KEY]).args(arguments);
    output(&mut command)
}

/// Examines in a thread of its own, so that a receiver of this process answers meanwhile.
async fn examined(url: &str, arguments: &[&'static str]) -> (Option<i32>, Value) {
    let (url, arguments) = (url.to_owned(), [arguments, &["--json"]].concat());
    let run = move || {
        let folder = tempfile::tempdir().unwrap();
        let (code, stdout, stderr) = examine(folder.path(), &url, &arguments);
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is left");
        (code, serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}")))
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn failed(summary: &Value) -> Vec<&str> {
    let cases = summary["cases"].as_array().unwrap().iter();
    cases.filter(|case| case["passed"] == false).map(|case| case["name"].as_str().unwrap()).collect()
}

fn passes_every_case(language: &str, receiver: &Process) {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = examine(folder.path(), &receiver.address.to_string(), &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{language}: {stdout}");
    assert!(stdout.ends_with("\n29 passed, 0 failed.\n"), "{language}: {stdout}");
}

#[test]
fn the_receivers_of_the_guide_pass_every_case_in_every_language() {
    let Some(receivers) = verifiers::verifiers(KEY) else { return };
    std::thread::scope(|scope| {
        for (language, receiver) in &receivers.running {
            scope.spawn(|| passes_every_case(language, receiver));
        }
    });
}

#[test]
fn a_receiver_that_handles_one_request_at_a_time_passes_every_case() {
    if !verifiers::installed() {
        return;
    }
    let script = std::fs::read_to_string(verifiers::root().join("tests/verifiers/verify.py")).unwrap();
    let single = script.replace("ThreadingHTTPServer", "HTTPServer");
    let mut python = Command::new(verifiers::root().join(verifiers::PYTHON));
    passes_every_case(
        "Python",
        &Process::start(python.args(["-c", &single]).env("WEBHOOK_KEY", KEY).env("PORT", "0")),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_skips_the_time_fails_yesterday_and_tomorrow_only() {
    let (url, _) = receiver(without_time).await;
    let (code, summary) = examined(&url, &[]).await;
    assert_eq!((code, failed(&summary)), (Some(1), vec!["yesterday", "tomorrow"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_checks_fails_every_forged_one_and_one_that_falls_over_each() {
    let (url, _) = receiver(|_, _| 200).await;
    let (code, summary) = examined(&url, &[]).await;
    assert_eq!((code, failed(&summary)), (Some(1), FORGED.to_vec()));
    let (url, _) = receiver(|_, _| 500).await;
    let (_, summary) = examined(&url, &[]).await;
    assert_eq!(failed(&summary).len(), summary["cases"].as_array().unwrap().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_sends_the_same_bytes_in_each_run() {
    let mut runs = Vec::new();
    for seed in ["--seed=1", "--seed=1", "--seed=2"] {
        let (url, received) = receiver(|_, _| 200).await;
        examined(&url, &[seed]).await;
        // Those of a burst come in any order.
        let mut sent = BTreeMap::new();
        for (headers, body) in received.lock().unwrap().iter() {
            let id = headers.get("webhook-id").map(|id| id.to_str().unwrap().to_owned());
            sent.entry(id).or_insert_with(Vec::new).push(body.clone());
        }
        assert!(sent.len() > 100, "{}", sent.len());
        runs.push(sent);
    }
    assert!(runs[0] == runs[1] && runs[1] != runs[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn chosen_cases_and_events_are_sent_and_the_result_is_a_file_of_junit() {
    let (url, received) = receiver(without_time).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let path: &'static str = Box::leak(file.path().to_str().unwrap().to_owned().into_boxed_str());
    let chosen = ["--only", "event,yesterday", "--events", "p*", "--junit", path];
    let (code, summary) = examined(&url, &chosen).await;
    let names: Vec<_> =
        summary["cases"].as_array().unwrap().iter().map(|case| case["name"].clone()).collect();
    assert_eq!((code, names), (Some(1), vec!["event".into(), "yesterday".into()]));
    assert_eq!(
        (&summary["passed"], &summary["failed"], &summary["receiver"]),
        (&1.into(), &1.into(), &url.into())
    );
    let types: Vec<Value> =
        received.lock().unwrap().iter().map(|(_, body)| serde_json::from_slice(body).unwrap()).collect();
    assert_eq!(
        (&types[0]["type"], &types[1]["type"], types.len()),
        (&"plan.created".into(), &"plan.deleted".into(), 3)
    );
    let junit = std::fs::read_to_string(path).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\"") && junit.contains("name=\"yesterday\""), "{junit}");
    assert!(junit.contains("docs/webhooks.md#without-a-library"), "{junit}");
}

#[test]
fn a_receiver_that_is_down_fails_and_wrong_arguments_send_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = examine(folder.path(), "127.0.0.1:9", &["--only", "event,empty"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stdout.contains("connection_failed") && stderr.ends_with("in 2 of 2 cases\n"),
        "{stdout}{stderr}"
    );
    for wrong in [&["--only", "nothing"][..], &["--events", "order.*"], &["--seed", "x"]] {
        let (code, stdout, _) = examine(folder.path(), "127.0.0.1:9", wrong);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{wrong:?}");
    }
    let (code, stdout, _) = output(program(folder.path()).args(["examine", "receiver", "--list"]));
    assert_eq!((code, stdout.lines().count()), (Some(0), 58));
}

operated! {
    async fn a_server_that_is_named_sends_events_of_an_account_that_is_deleted(installed) {
        let (server, (url, received)) = (installed.serve(), receiver(without_time).await);
        let (key, _) = server.keys();
        let address = format!("http://{}", server.address);
        let arguments = ["examine", "receiver", &url, "--secret", KEY, "--only", "event", "--server", &address];
        let summary = installed.records(&arguments).remove(0);
        assert_eq!((&summary["failed"], received.lock().unwrap().len()), (&0.into(), 4));
        assert_eq!(server.ask("GET", "/1/events", Some(&key), "").json()["pagination"]["count"], 0);
        server.stopped();
    }
}
