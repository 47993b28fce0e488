//! The Swagger page in a real browser. `.ci/run` installs Chromium, and what drives it.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::app::DOCUMENT;
use crate::harness::process::{Process, program};
use crate::three_d_secure::challenge_page::driven;

/// Returns how many times as long as on a quiet machine a visit may take: `CARD_PAYMENTS_PAGE_MARGIN`.
fn margin() -> u64 {
    std::env::var("CARD_PAYMENTS_PAGE_MARGIN").map_or(1, |margin| margin.parse().unwrap())
}

#[test]
fn a_reader_finds_an_operation_presses_execute_twice_and_makes_two_charges() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let page = format!("http://{}/docs/", server.address);
    let Some(report) = driven("swagger.mjs", &[&page, "Charges", "create_charge"]) else { return };
    assert_eq!(report["title"], "Card payments API");
    let tags: Vec<_> = DOCUMENT["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    assert_eq!(report["sections"], Value::from(tags), "the sections of the specification, in its order");
    assert_eq!(
        report["headings"],
        json!(["Keys", "Parameters", "Test cards", "Errors", "Idempotency", "JSONP"])
    );
    assert_eq!(report["key"], "", "no Idempotency-Key is filled in");
    let answers = report["answers"].as_array().unwrap();
    assert!(answers.iter().all(|answer| answer["status"] == 201) && answers.len() == 2, "{answers:?}");
    assert!(answers[0]["token"].is_string() && answers[0]["token"] != answers[1]["token"], "{answers:?}");
    assert_eq!(report["shown"], "201");
    let filtered = json!(["/1/charges/{charge_token}/void", "/1/authorisations/{auth_token}/void"]);
    assert_eq!(report["filtered"], filtered, "operations are found by their paths");
    assert_eq!(report["elsewhere"], json!([]), "it works offline");
    assert_eq!(report["complaints"], json!([]), "the page keeps to its policy");
    assert_eq!(report["findings"], json!([]), "axe finds nothing critical or serious");
    assert_eq!(report["wide"], json!([]), "it fits a desk and a phone");
    let visits = report["visits"].as_array().unwrap();
    println!("milliseconds of visits: {visits:?}");
    for (what, limit) in [("sections", 1_500), ("operation", 500)] {
        // The quickest: what is slow by itself is always slow.
        let took = visits.iter().map(|visit| visit[what].as_u64().unwrap()).min().unwrap();
        assert!(took <= limit * margin(), "{what}: {took} ms, {visits:?}");
    }
    server.stopped();
}

#[test]
fn nobody_frames_the_page_and_it_runs_only_files_of_its_own() {
    let data = tempfile::tempdir().unwrap();
    let named = "https://payments.example.com/api";
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_BASE_URL", named));
    let page = server.ask("GET", "/docs/", None, "");
    assert_eq!(
        page.headers["content-security-policy"],
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self' https://payments.example.com; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    assert_eq!(page.headers["x-frame-options"], "DENY");
    assert!(page.body.contains("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"));
    let unknown = server.ask("GET", "/docs/swagger-ui.js", None, "");
    assert_eq!((unknown.status, &unknown.json()["error"]), (404, &json!("resource_not_found")));
    server.stopped();
}

#[test]
fn the_page_tells_the_key_to_nobody_but_a_browser_on_the_servers_machine() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let script = |header: &str| initializer(&server, &["-H", header]);
    for own in [
        "X-Nothing: 1",
        "Host: localhost:8080",
        "Host: LOCALHOST",
        "Host: 127.0.0.1",
        "Host: [::1]:8080",
        "Sec-Fetch-Site: same-origin",
        "Sec-Fetch-Site: none",
    ] {
        let script = script(own);
        assert!(script.contains(&key), "{own}");
        // A page of another site that names it as its script gets nothing.
        assert!(script.contains("cross-origin-resource-policy: same-origin"), "{own}");
    }
    for strange in [
        "X-Forwarded-For: 203.0.113.9",
        "X-Forwarded-Host: example.com",
        "X-Forwarded-Proto: https",
        "Forwarded: for=203.0.113.9",
        "X-Real-IP: 203.0.113.9",
        "CF-Connecting-IP: 203.0.113.9",
        "True-Client-IP: 203.0.113.9",
        "Via: 1.1 proxy",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Host: page.example.com",
        "Host: localhost.example.com",
        "Host: 203.0.113.9:8080",
    ] {
        let script = script(strange);
        assert!(script.contains("const key = null") && !script.contains(&key), "{strange}");
    }
    let older = initializer(&server, &["--http1.0"]);
    assert!(older.contains("const key = null") && !older.contains(&key), "{older}");
    // Without a Host it is no request.
    assert!(!script("Host:").contains(&key));
    server.stopped();
}

#[test]
fn the_key_is_filled_in_for_nobody_where_the_operator_says_so() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_FILL_IN_KEY", "no"));
    assert!(initializer(&server, &[]).contains("const key = null"));
    assert!(server.ask("GET", "/dashboard", None, "").body.contains("<h1>Sign in</h1>"));
    server.stopped();
    let server = Process::start(program(data.path()).args(["--fill-in-key", "true"]));
    let (key, _) = server.keys();
    assert!(initializer(&server, &[]).contains(&key));
    server.stopped();
}

/// The page's own script, as curl gets it.
fn initializer(server: &Process, arguments: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-i"]).args(arguments);
    curl.arg(format!("http://{}/docs/swagger-initializer.js", server.address));
    String::from_utf8(curl.output().unwrap().stdout).unwrap()
}
