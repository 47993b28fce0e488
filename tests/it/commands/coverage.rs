//! `card-payments coverage`: what a run has met, and what not.

use std::path::Path;

use card_payments::error::ErrorCode;
use serde_json::{Value, json};
use tools::coverage::goals::{GENERAL, OWN_FAULTS};

use crate::harness::process::{PAYMENT, output, program, unread};
use crate::harness::{operated, token_of};

/// Records some requests, and returns the file.
fn recorded(folder: &Path) -> String {
    let file = folder.join("run.jsonl");
    let script = format!(
        "pay() {{ curl -s \"$CARD_PAYMENTS_URL/1/charges\" -u \"$CARD_PAYMENTS_SECRET_KEY:\" \"$@\" -d '{PAYMENT}'; }}
         pay; pay -H 'Sandbox-Outcome: stolen_card'; pay -H 'Idempotency-Key: a'; pay -H 'Idempotency-Key: a'
         curl -s \"$CARD_PAYMENTS_URL/1/charges?page=2&per_page=1\" -u \"$CARD_PAYMENTS_SECRET_KEY:\"
         curl -s \"$CARD_PAYMENTS_URL/1/charges/search?query=Test\" -u \"$CARD_PAYMENTS_SECRET_KEY:\"
         curl -s \"$CARD_PAYMENTS_URL/1/charges/ch_AZqYv3rVcBKUQ1mHn7tKRw\" -u \"$CARD_PAYMENTS_SECRET_KEY:\"
         curl -s \"$CARD_PAYMENTS_URL/1/events\" -u \"$CARD_PAYMENTS_SECRET_KEY:\""
    );
    let mut command = program(&folder.join("other"));
    command
        .env("PATH", "/usr/bin:/bin")
        .args(["record", "--to"])
        .arg(&file)
        .args(["--", "sh", "-c", &script]);
    assert_eq!(output(&mut command).0, Some(0));
    file.to_str().unwrap().to_owned()
}

fn coverage(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    output(program(&folder.join("other")).arg("coverage").args(arguments))
}

#[test]
fn errors_of_any_operation_are_errors_of_the_api() {
    for code in GENERAL.iter().chain(&OWN_FAULTS) {
        assert!(ErrorCode::spelled(code).next().is_some(), "{code}");
    }
}

fn met(summary: &Value) -> Vec<(String, String)> {
    let text = |goal: &Value, field: &str| goal[field].as_str().unwrap().to_owned();
    let goals = summary["goals"].as_array().unwrap().iter().filter(|goal| goal["met"] == true);
    goals.map(|goal| (text(goal, "part"), text(goal, "name"))).collect()
}

#[test]
fn a_recording_covers_what_it_has_met_and_each_gap_has_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path());
    let (code, stdout, stderr) = coverage(folder.path(), &[&run, "--only", "charges,balance", "--json"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let summary: Value = serde_json::from_str(&stdout).unwrap();
    let found = met(&summary);
    let found: Vec<_> = found.iter().map(|(part, name)| (part.as_str(), name.as_str())).collect();
    assert_eq!(
        found,
        [
            ("operations", "GET /1/charges"),
            ("operations", "POST /1/charges"),
            ("operations", "GET /1/charges/search"),
            ("errors", "GET /1/charges/{charge_token}: not_found"),
            ("general_errors", "replayed answer"),
            ("declines", "stolen_card"),
            ("pages", "GET /1/charges"),
            ("events", "charge.captured"),
            ("events", "charge.failed"),
        ]
    );
    assert_eq!(summary["met"], 9);
    let goals = summary["goals"].as_array().unwrap();
    assert_eq!(summary["total"], goals.len());
    assert_eq!(summary["percent"], 900 / goals.len());
    let parts = summary["parts"].as_array().unwrap();
    assert_eq!(parts[0], json!({ "part": "operations", "met": 3, "total": 8 }));
    let line = |name: &str| goals.iter().find(|goal| goal["name"] == name).unwrap()["line"].as_str().unwrap();
    assert!(line("lost_card").ends_with("Sandbox-Outcome: lost_card"));
    assert_eq!(line("charge.voided"), "card-payments trigger charge.voided");
    assert_eq!(line("PUT /1/charges/{charge_token}/void"), "card-payments trigger charge.voided");
    assert_eq!(line("GET /1/balance"), "curl \"$URL/1/balance\" -u \"$KEY:\"");
    assert!(goals.iter().all(|goal| !goal["line"].as_str().unwrap().is_empty()));
}

#[test]
fn a_threshold_fails_a_run_and_files_hold_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path());
    let (page, junit) = (folder.path().join("coverage.html"), folder.path().join("coverage.xml"));
    let files = ["--to", page.to_str().unwrap(), "--junit", junit.to_str().unwrap()];
    let (code, stdout, stderr) =
        coverage(folder.path(), &[&[&run, "--fail-under", "90"], &files[..]].concat());
    assert_eq!(code, Some(1));
    assert!(stdout.contains("Operations that succeed") && stdout.contains("Never met: declines"), "{stdout}");
    assert!(
        stderr.starts_with("error: ") && stderr.ends_with(" % is covered, and 90 % is demanded\n"),
        "{stderr}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("card-payments trigger refund.created"));
    for foreign in ["<script", "<link", "<img", "src=", "href="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains("<testcase classname=\"coverage\" name=\"Declines: stolen_card\""), "{junit}");
    assert_eq!(coverage(folder.path(), &[&run, "--fail-under", "1"]).0, Some(0));
    let unheard = |least| {
        unread(program(&folder.path().join("other")).args(["coverage", &run, "--fail-under", least])).0
    };
    assert_eq!((unheard("90"), unheard("1")), (Some(1), Some(0)), "nobody reads the summary");
}

#[test]
fn a_file_that_is_no_recording_and_a_word_that_is_no_section_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let (code, _, stderr) = coverage(folder.path(), &[file.to_str().unwrap()]);
    assert!(code == Some(1) && stderr.contains("No such file"), "{stderr}");
    std::fs::write(&file, "nonsense").unwrap();
    let (code, _, stderr) = coverage(folder.path(), &[file.to_str().unwrap()]);
    assert!(code == Some(1) && stderr.contains("neither HAR 1.2 nor JSON lines"), "{stderr}");
    for wrong in [&["--only", "Charges"][..], &["--fail-under", "101"]] {
        assert_eq!(coverage(folder.path(), wrong).0, Some(2), "{wrong:?}");
    }
}

operated! {
    async fn the_log_of_a_running_server_covers_as_a_recording_does(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let charge = token_of(&server.pay(&key).ok(201));
        server.ask("GET", &format!("/1/charges/{charge}"), Some(&key), "").ok(200);
        server.ask("POST", "/1/charges", Some(&key), &PAYMENT.replace("4200000000000000", "4100000000000001"));
        let address = format!("http://{}", server.address);
        let summary = installed.records(&["coverage", "--server", &address, "--only", "charges"]).remove(0);
        let found = met(&summary);
        let found: Vec<_> = found.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(found, [
            "POST /1/charges", "GET /1/charges/{charge_token}", "card_declined", "charge.captured", "charge.failed",
        ]);
        server.stopped();
    }
}
