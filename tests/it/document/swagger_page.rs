//! The Swagger page in a real browser. `.ci/run` installs Chromium, and what drives it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::harness::app::DOCUMENT;
use crate::harness::process::{Process, program};
use crate::harness::skipped::skipped;
use crate::three_d_secure::challenge_page::driven;
use crate::webhooks::verifiers::{PYTHON, root};

const MISSING: &str = "A language of the Swagger page's code is not installed, so the tests on it are skipped: .ci/run installs \
                       all of them.\n";

/// Returns how many times as long as on a laptop the page may work for what a visit asks for: `CARD_PAYMENTS_PAGE_MARGIN`.
fn margin() -> u64 {
    std::env::var("CARD_PAYMENTS_PAGE_MARGIN").map_or(5, |margin| margin.parse().unwrap())
}

/// Starts a server that does not say which files it serves: a failure is read without them.
fn serve(data: &Path) -> Process {
    Process::start(program(data).env("CARD_PAYMENTS_LOG", "warn"))
}

#[test]
fn a_reader_finds_an_operation_presses_execute_twice_and_makes_two_charges() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path());
    let page = format!("http://{}/docs/", server.address);
    let Some(report) = driven("swagger.mjs", &[&page, "Charges", "create_charge"]) else { return };
    assert_eq!(report["title"], "Card payments API");
    let tags = DOCUMENT["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone());
    let sections: Vec<_> = tags.filter(|name| name != "Webhook requests").collect();
    assert_eq!(report["sections"], Value::from(sections), "the sections with operations, in their order");
    assert_eq!(
        report["headings"],
        json!(["Keys", "Parameters", "Test cards", "Errors", "Idempotency", "Headers", "Editions", "JSONP"])
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
    assert_eq!(report["findings"], json!([]), "axe finds nothing");
    assert_eq!(report["wide"], json!([]), "it fits a desk and a phone");
    let visits = report["visits"].as_array().unwrap();
    println!("milliseconds that the page worked: {visits:?}");
    for (what, limit) in [("sections", 800), ("operation", 500)] {
        // The least: what is slow by itself is always slow.
        let worked = visits.iter().map(|visit| visit[what].as_u64().unwrap()).min().unwrap();
        assert!((1..=limit * margin()).contains(&worked), "{what}: {worked} ms, {visits:?}");
    }
    assert!(visits.iter().all(|visit| visit["bytes"].as_u64().unwrap() <= 1_600_000), "{visits:?}");
    server.stopped();
}

/// What somebody who works with the page meets, with what the page's code prints, and the server's keys.
static USE: LazyLock<Option<(Value, (String, String))>> = LazyLock::new(|| {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path());
    let mut report = driven("swagger_use.mjs", &[&format!("http://{}/docs/", server.address)])?;
    let code = report["code"].as_object().unwrap().clone();
    report["printed"] = code.iter().filter_map(|(name, code)| run(name, code.as_str()?)).collect();
    let keys = server.keys();
    server.stopped();
    Some((report, keys))
});

#[test]
fn requests_begin_with_what_succeeds_carry_on_and_can_be_taken_along_as_code() {
    let Some((report, (key, publishable))) = &*USE else { return };
    assert_eq!(report["complaints"], json!([]), "the page keeps to its policy");
    let outcome = |name: &str| (report[name]["status"].clone(), report[name]["error"].clone());
    for name in ["card", "form", "byToken", "last"] {
        assert_eq!(outcome(name), (json!(201), Value::Null), "{name}: {}", report[name]);
    }
    assert_eq!(outcome("lost"), (json!(400), json!("lost_card")), "an outcome of the list");
    assert_eq!(outcome("funds"), (json!(400), json!("insufficient_funds")), "a card of the list");
    let offers = |list: &str, line: &str| {
        let lines = report[list].as_array().unwrap();
        assert!(lines.iter().any(|known| known == line), "{list}: {lines:?}");
    };
    offers("outcomes", "no_answer: gets no answer");
    offers("cards", "4900000000000003: is declined: invalid cvv, issued in AU");
    for payer in ["card", "card_token", "payment_source_token", "customer_token"] {
        let known = report["payers"].as_array().unwrap();
        assert!(
            known.iter().any(|text| text.as_str().unwrap().starts_with(&format!("{payer}: "))),
            "{known:?}"
        );
    }
    assert_eq!(report["offered"], report["card"]["token"], "the card that was stored before");
    assert_eq!(report["follows"], report["last"]["token"], "the charge of the last answer");
    assert_eq!(report["got"]["status"], 200);
    assert_eq!(report["strange"], "", "no sample that nobody has");
    assert_eq!(report["media"], "application/x-www-form-urlencoded");
    assert_eq!(report["kept"], "tea for two");
    let stored = report["stored"].as_str().unwrap();
    assert!(
        stored.contains("tea for two") && !stored.contains(key) && !stored.contains(publishable),
        "{stored}"
    );
    let customer = report["customer"].as_str().unwrap();
    assert!(customer.contains("customer_token") && !customer.contains("\"card\""), "{customer}");
    assert_eq!(report["code"].as_object().unwrap().len(), 10, "five languages, of a form and of JSON");
    for (name, printed) in report["printed"].as_object().unwrap() {
        assert!(printed.as_str().unwrap().contains("\"success\":true"), "{name}: {printed}");
    }
}

#[test]
fn an_operation_is_found_by_all_that_it_says_and_fits_the_eye() {
    let Some((report, _)) = &*USE else { return };
    for (phrase, path) in [
        ("suspected_fraud", "/1/charges"),
        ("publishable_api_key", "/1/payment_sources"),
        ("platform_adjustment", "/1/charges"),
        ("seven days capture", "/1/authorisations"),
    ] {
        let found = &report["found"][phrase];
        assert!(found["paths"].as_array().unwrap().iter().any(|known| known == path), "{phrase}: {found}");
        assert!(found["said"].as_str().unwrap().contains("match"), "{found}");
    }
    let nothing = &report["found"]["pangolin"];
    assert_eq!(nothing["paths"], json!([]));
    assert!(nothing["said"].as_str().unwrap().starts_with("No operation matches"), "{nothing}");
    assert_eq!(report["filter"], true, "it stays in sight");
    assert_eq!((&report["introduction"], &report["errors"]), (&json!(false), &json!(0)), "they are folded");
    let described = report["described"].as_str().unwrap();
    assert!(described.contains("base unit"), "{described}");
    let height = report["height"].as_u64().unwrap();
    assert!(height < 5_000, "{height}");
    assert_eq!(report["dark"], "rgb(28, 32, 34)");
    assert_eq!(report["findings"], json!([]), "axe finds nothing, in the light and in the dark");
    assert_eq!(report["wide"], json!([]), "it fits a desk and a phone");
}

/// Runs code of the page as it stands. Returns its name and what it prints; nothing if the language is not installed.
fn run(name: &str, code: &str) -> Option<(String, Value)> {
    let (program, arguments, file): (PathBuf, &[&str], _) = match name.split(' ').next()? {
        "curl" => ("sh".into(), &[], "code.sh"),
        "Python" => (root().join(PYTHON), &[], "code.py"),
        "TypeScript" => ("node".into(), &[], "code.mjs"),
        "PHP" => ("php".into(), &[], "code.php"),
        _ => ("go".into(), &["run"], "code.go"),
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), code).unwrap();
    let Ok(output) = Command::new(program).args(arguments).arg(file).current_dir(folder.path()).output()
    else {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{name}: {missing}"));
        return None;
    };
    let printed = [output.stdout, output.stderr].concat();
    Some((name.to_owned(), String::from_utf8_lossy(&printed).into()))
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
    let server = serve(data.path());
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
