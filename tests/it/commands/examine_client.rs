//! `card-payments examine client`: a good client has no findings, and each bad one those that it deserves.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::postgres::skipped;
use crate::harness::process::{output, program};

/// A shop that pays ten times, and gives one payment back. Its manner is an argument.
const SHOP: &str = include_str!("../../fixtures/shop.py");

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
fn what_a_command_leaves_behind_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program(folder.path());
    command.args([
        "examine",
        "client",
        "--expect-total",
        "Total:",
        "--",
        "sh",
        "-c",
        "sleep 60 2>&1 & echo Total: 0",
    ]);
    let began = Instant::now();
    let (code, stdout, stderr) = output(&mut command);
    assert!(stdout.starts_with("Total: 0\n"), "{stdout}{stderr}");
    assert!(began.elapsed() < Duration::from_secs(50) && code.is_some(), "{stderr}");
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
