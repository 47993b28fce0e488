//! Every error code is explained, and the lines that the explanation shows cause it.

use std::path::Path;
use std::process::{Command, Stdio};

use card_payments::error::explanation::{PAYMENT, Repetition, Sandbox};
use card_payments::error::{ErrorCode, KeyFault};
use serde_json::Value;

use crate::harness::postgres::skipped;
use crate::harness::process::{Process, output, program};
use crate::harness::{App, Database, on_both};

const MISSING: &str = "curl or jq is not installed, so the tests on it are skipped: no line that explains an error is run (.ci/run installs them).\n";

fn is_installed(tool: &str) -> bool {
    let version = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Returns what the lines print in a folder of their own.
fn printed(lines: &str, folder: &Path, url: &str, key: &str) -> String {
    std::fs::write(folder.join("lines.sh"), lines).unwrap();
    let mut shell = Command::new("timeout");
    shell.args([
        "60",
        "bash",
        "-c",
        "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; set -eu; . ./lines.sh",
    ]);
    let (code, stdout, stderr) = output(shell.current_dir(folder).env("URL", url).env("KEY", key));
    assert_eq!(code, Some(0), "{lines}\n{stdout}\n{stderr}");
    stdout
}

#[test]
fn the_lines_that_an_explanation_shows_cause_its_code() {
    if !is_installed("curl") || !is_installed("jq") {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (url, key) = (format!("http://{}", server.address), server.keys().0);
    let run = |code: ErrorCode| {
        let Sandbox::Shell(lines) = code.explanation().sandbox else { return };
        let account = server.ask("POST", "/1/sandbox/accounts", Some(&key), "").ok(201);
        let folder = tempfile::tempdir().unwrap();
        let lines = format!("{PAYMENT}\n{lines}\n");
        let printed = printed(&lines, folder.path(), &url, account["secret_key"].as_str().unwrap());
        let body: Value =
            serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{code:?}: {error}: {printed}"));
        let body = if body.is_array() { &body[0] } else { &body };
        assert_eq!(body["error"], code.code(), "{lines}\n{printed}");
    };
    let codes: Vec<_> = ErrorCode::ALL.chunks(ErrorCode::ALL.len().div_ceil(4)).collect();
    let run = &run;
    std::thread::scope(|scope| {
        for codes in codes {
            scope.spawn(move || codes.iter().for_each(|code| run(*code)));
        }
    });
}

#[test]
fn an_explanation_is_whole_sentences() {
    for code in ErrorCode::ALL {
        let explanation = code.explanation();
        let sentences = [
            explanation.meaning,
            explanation.remedy,
            explanation.actor.words(),
            explanation.repetition.words(),
        ];
        for sentence in sentences.into_iter().chain(explanation.causes.iter().copied()) {
            assert!(sentence.ends_with('.') && !sentence.contains("  "), "{code:?}: {sentence}");
        }
        assert!(!explanation.causes.is_empty(), "{code:?}");
        // A transient refusal needs no correction.
        assert!(!code.is_transient() || explanation.repetition == Repetition::Same, "{code:?}");
    }
}

async fn every_code_has_a_page(database: Database) {
    let Some(app) = App::start(database).await else { return };
    let index = app.anonymous().bytes("/docs/errors").await;
    let index = String::from_utf8(index.2).unwrap();
    for code in ErrorCode::ALL {
        let path = format!("/docs/errors/{}", code.code());
        assert!(index.contains(&format!("href=\"{path}\"")), "{path}");
        let (status, headers, body) = app.anonymous().bytes(&path).await;
        let page = String::from_utf8(body).unwrap();
        assert_eq!(
            (status, &headers["content-type"]),
            (200, &"text/html; charset=utf-8".parse().unwrap()),
            "{path}"
        );
        assert!(page.contains("What causes it") && page.contains("What to do"), "{path}");
    }
    let (.., body) = app.anonymous().bytes("/docs/errors/unauthorized").await;
    let page = String::from_utf8(body).unwrap();
    assert!(KeyFault::ALL.iter().all(|fault| page.contains(&format!("id=\"{}\"", fault.code()))), "{page}");
    let (status, headers, _) = app.anonymous().bytes("/docs/errors/nothing").await;
    assert_eq!((status, &headers["content-type"]), (404, &"text/html; charset=utf-8".parse().unwrap()));
}
on_both!(every_code_has_a_page);
