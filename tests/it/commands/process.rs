//! The program as a user meets it (`docs/decisions.md`, 58, 293, 316 and 321).

mod databases;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use vault::OperatorKeys;

use crate::harness::process::{
    PAYMENT, Process, ask, free_address, output, pause, program, read_response, request, try_to_ask, unread,
};
use crate::harness::remote_acquirer;

/// A data directory of its own.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Every file of a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap_or_default())
        })
        .collect()
}

/// The program ends at once with exit code 1 and this one line.
#[track_caller]
fn refuses(command: &mut Command, line: &str) {
    let (code, stdout, stderr) = output(command);
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert_eq!(stderr, format!("error: {line}\n"));
}

fn vault_key() -> String {
    OperatorKeys::generate("live").to_text().expose().to_owned()
}

#[test]
fn a_server_says_what_it_is_and_takes_its_first_payment() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let address = server.address;
    assert!(address.ip().is_loopback() && address.port() > 0);
    let (secret, publishable) = server.keys();
    assert_eq!((secret.len(), publishable.len(), &publishable[..3]), (22, 25, "pk_"));
    let banner = &server.banner;
    assert_eq!(banner[0], format!("card-payments {} (test)", env!("CARGO_PKG_VERSION")));
    assert!(banner.iter().any(|line| line.ends_with(&format!(" http://{address}/1"))));
    assert!(banner.iter().any(|line| line.ends_with(&format!(" http://{address}/docs/"))));
    let curl = banner.iter().find(|line| line.contains("curl")).unwrap();
    assert!(curl.contains(&format!("http://{address}/1/charges -u {secret}: ")));

    let charge = server.pay(&secret).ok(201);
    assert_eq!((&charge["success"], &charge["total_fees"]), (&json!(true), &json!(37)));
    // The payment in the banner is the same.
    let tried: Vec<_> = curl.split(" -d ").skip(1).map(|pair| pair.trim().trim_matches('\'')).collect();
    let tried = tried.join("&").replace(' ', "+");
    server.ask("POST", "/1/charges", Some(&secret), &tried).ok(201);
    assert_eq!(server.ask("GET", "/1/charges", Some(&secret), "").json()["count"], 2);
    assert_eq!(server.ask("GET", "/1/charges", Some(&publishable), "").status, 401);
    let mode = std::fs::metadata(data.path().join("vault.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    server.stopped();
}

#[test]
fn keys_and_payments_outlive_a_restart_and_a_given_pair_is_added() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let (secret, publishable) = server.keys();
    let charge = server.pay(&secret).ok(201);
    let path = format!("/1/charges/{}", charge["token"].as_str().unwrap());
    server.stopped();

    let server = Process::start(&mut program(data.path()));
    assert_eq!(server.keys(), (secret.clone(), publishable));
    assert_eq!(server.ask("GET", &path, Some(&secret), "").ok(200), charge);
    server.stopped();

    let file = data.path().join("publishable");
    std::fs::write(&file, "pk_of_a_file\n").unwrap();
    let given = &mut program(data.path());
    given.env("CARD_PAYMENTS_SECRET_KEY", "given:secret").env("CARD_PAYMENTS_PUBLISHABLE_KEY_FILE", &file);
    let server = Process::start(given);
    assert_eq!(server.keys(), ("given:secret".to_owned(), "pk_of_a_file".to_owned()));
    for key in [&secret, "given:secret"] {
        assert_eq!(server.ask("GET", &path, Some(key), "").ok(200), charge, "{key}");
    }
    server.stopped();
}

#[test]
fn a_payment_that_was_answered_survives_a_kill() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let (secret, _) = server.keys();
    let charge = server.pay(&secret).ok(201);
    drop(server); // SIGKILL
    let server = Process::start(&mut program(data.path()));
    let listed = server.ask("GET", "/1/charges", Some(&secret), "").ok(200);
    assert_eq!(listed, json!([charge]));
}

#[test]
fn the_program_prints_the_committed_document() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.yaml");
    let committed = std::fs::read_to_string(committed).expect("openapi.yaml is committed");
    let data = folder();
    let (code, yaml, stderr) = output(program(data.path()).arg("openapi"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(yaml == committed, "openapi.yaml is stale: card-payments openapi > openapi.yaml");
    let (code, text, _) = output(program(data.path()).args(["openapi", "--json"]));
    assert_eq!(code, Some(0));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(document == card_payments::api::openapi());
    assert!(files(data.path()).is_empty(), "printing needs no database");
}

#[test]
fn migrate_may_run_again_and_beside_a_server() {
    let data = folder();
    for _ in 0..2 {
        assert_eq!(output(program(data.path()).arg("migrate")), (Some(0), String::new(), String::new()));
    }
    let server = Process::start(&mut program(data.path()));
    assert_eq!(output(program(data.path()).arg("migrate")), (Some(0), String::new(), String::new()));
    server.pay(&server.keys().0).ok(201);
    server.stopped();
}

#[test]
fn sigterm_lets_what_is_in_flight_end() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let (secret, _) = server.keys();
    let text = request("POST", "/1/charges", Some(&secret), PAYMENT);
    let text = text.replacen("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1);
    let (first, second) = text.split_at(text.len() - 20);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(first.as_bytes()).unwrap();
    // The server says so once it reads the body: a connection that waits to be read is closed, not drained.
    let mut interim = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.terminate();
    while TcpStream::connect(server.address).is_ok() {}
    stream.write_all(second.as_bytes()).unwrap();
    assert_eq!(read_response(stream).ok(201)["success"], true);
    let (code, stderr) = server.ended();
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn a_server_that_is_told_to_stop_while_it_starts_ends_well() {
    // The acquirer takes the call and does not answer.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let data = folder();
    let mut server = program(data.path());
    remote_acquirer::use_acquirer(&mut server, silent.local_addr().unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut server = server.spawn().unwrap();
    let _call = silent.accept().unwrap();
    let id = server.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    // By the signal itself it would have no code.
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn wrong_usage_exits_with_two() {
    let data = folder();
    for arguments in [
        &["--no-such-option"][..],
        &["no-such-command"],
        &["--listen", "nowhere"],
        &["--environment", "staging"],
        &["openapi", "--xml"],
    ] {
        let (code, stdout, stderr) = output(program(data.path()).args(arguments));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.starts_with("error: "), "{stderr}");
    }
    assert!(files(data.path()).is_empty());
    for flag in ["--help", "--version"] {
        assert_eq!(output(program(data.path()).arg(flag)).0, Some(0));
    }
}

#[test]
fn a_wrong_configuration_is_one_line_and_changes_nothing() {
    let data = folder();
    let key = vault_key();
    let missing = data.path().join("missing");
    let missing = missing.to_str().unwrap();
    let not_found = format!("{missing}: No such file or directory (os error 2)");
    let quoted = "CARD_PAYMENTS_SECRET_KEY is in quotes, which would be a part of the key (a file of variables for containers keeps \
        them): remove them";
    let short = "CARD_PAYMENTS_SECRET_KEY must be 8 to 100 visible characters, the last of them no colon";
    let required = |name: &str| format!("CARD_PAYMENTS_{name} is required in the live environment");
    let live = ("ENVIRONMENT", "live");
    let named = ("ACQUIRER", "simulator");
    for (variables, line) in [
        (vec![live], required("ACQUIRER")),
        (vec![live, ("VAULT_KEY", &key)], required("ACQUIRER")),
        (
            vec![live, ("ACQUIRER", "bank"), ("VAULT_KEY", &key)],
            "there is no acquirer named bank: use simulator, or the https address of a remote acquirer"
                .into(),
        ),
        (
            vec![("ACQUIRER", "bank")],
            "there is no acquirer named bank: use simulator, or the https address of a remote acquirer"
                .into(),
        ),
        (
            vec![live, named, ("VAULT_KEY", &key), ("SECRET_KEY", "given_secret")],
            "CARD_PAYMENTS_SECRET_KEY is not for the live environment".into(),
        ),
        (vec![("SECRET_KEY", "short")], short.into()),
        (vec![("SECRET_KEY", "\"sk_test_0123456789\"")], quoted.into()),
        (vec![("SECRET_KEY", "with a space")], short.into()),
        (vec![("SECRET_KEY", "with_a_colon:")], short.into()),
        (
            vec![("SECRET_KEY", "given_secret"), ("SECRET_KEY_FILE", missing)],
            "CARD_PAYMENTS_SECRET_KEY and CARD_PAYMENTS_SECRET_KEY_FILE are both set".into(),
        ),
        (vec![("SECRET_KEY_FILE", missing)], not_found),
        (
            vec![("DATABASE_URL", "mysql://root:secret@localhost/x"), ("VAULT_KEY", &key)],
            "the database URL must begin with sqlite: or postgres://".into(),
        ),
    ] {
        let variables = variables.iter().map(|(name, value)| (format!("CARD_PAYMENTS_{name}"), value));
        refuses(program(data.path()).envs(variables), &line);
        assert!(files(data.path()).is_empty(), "{line}");
    }
    // The log warns about the simulator in live, so the error is the last line.
    let unsealed = &mut program(data.path());
    unsealed.env("CARD_PAYMENTS_ENVIRONMENT", "live").env("CARD_PAYMENTS_ACQUIRER", "simulator");
    let (code, _, stderr) = output(unsealed);
    assert_eq!(code, Some(1));
    assert_eq!(stderr.lines().last(), Some(&*format!("error: {}", required("VAULT_KEY"))));
    assert!(files(data.path()).is_empty());
}

#[test]
fn a_vault_key_that_is_none_is_not_repeated_to_anybody() {
    let data = folder();
    let (code, _, stderr) =
        output(program(data.path()).env("CARD_PAYMENTS_VAULT_KEY", "local:hunter2hunter2"));
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("error: CARD_PAYMENTS_VAULT_KEY") && !stderr.contains("hunter2"), "{stderr}");
    assert!(files(data.path()).is_empty());
}

#[test]
fn a_taken_port_changes_nothing() {
    let data = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = format!("cannot listen on {address}: Address already in use (os error 98)");
    refuses(program(data.path()).env("CARD_PAYMENTS_LISTEN", &address), &line);
    assert!(files(data.path()).is_empty());
    refuses(program(data.path()).env("CARD_PAYMENTS_ADMIN_LISTEN", &address), &line);
    assert!(files(data.path()).is_empty());
}

#[test]
fn whoever_reads_no_further_is_no_error() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    server.pay(&server.keys().0).ok(201);
    let address = server.address.to_string();
    for arguments in [
        &["openapi"][..],
        &["openapi", "--json"],
        &["openapi", "--postman"],
        &["acquirer", "--openapi"],
        &["acquirer", "--openapi", "--json"],
        &["completions", "bash"],
        &["completions", "zsh", "--json"],
        &["account", "list"],
        &["account", "list", "--json"],
        &["check"],
        &["check", "--json"],
        &["health", "--listen", &address],
        &["ledger", "report"],
        &["ledger", "report", "--csv"],
        &["ledger", "report", "--json"],
        &["ledger", "verify"],
        &["trigger", "--list"],
        &["trigger", "customer.created", "--server", &format!("http://{address}")],
        &["vault", "rotate"],
        &["audit"],
    ] {
        assert_eq!(unread(program(data.path()).args(arguments)), (Some(0), String::new()), "{arguments:?}");
    }
    // What is to be done is done all the same.
    let (shares, manual) = (data.path().join("shares"), data.path().join("manual"));
    std::fs::create_dir(&manual).unwrap();
    let split = &mut program(data.path());
    split.args(["vault", "split", "--shares", "3", "--threshold", "2", "--to"]).arg(&shares);
    assert_eq!(unread(split), (Some(0), String::new()));
    assert_eq!(files(&shares).len(), 3);
    assert_eq!(unread(program(data.path()).args(["manual", "--to"]).arg(&manual)), (Some(0), String::new()));
    assert!(files(&manual).len() > 50);
    // And what was found counts.
    let wrong = unread(program(data.path()).env("CARD_PAYMENTS_CONCURRENCY", "0").arg("check"));
    assert_eq!(wrong, (Some(1), "error: 1 thing is wrong\n".into()));
    server.stopped();
}

#[test]
fn a_server_serves_on_though_nobody_reads_what_it_says() {
    let data = folder();
    let address = free_address();
    let mut command = program(data.path());
    command.env("CARD_PAYMENTS_LISTEN", address.to_string()).env("CARD_PAYMENTS_LOG", "debug");
    // Its pipes are closed, or full after these requests.
    for (is_open, requests) in [(false, 20), (true, 400)] {
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let unread = (server.stdout.take(), server.stderr.take());
        let unread = is_open.then_some(unread);
        let health = request("GET", "/healthz", None, "");
        let mut tries = 0;
        while try_to_ask(address, &health).is_err() {
            tries += 1;
            assert!(tries < 600 && server.try_wait().unwrap().is_none(), "it does not serve");
            pause(Duration::from_millis(50));
        }
        for _ in 0..requests {
            assert_eq!(ask(address, "GET", "/healthz", None, "").status, 200);
            assert_eq!(ask(address, "GET", "/1/charges", Some("nobody's key"), "").status, 401);
        }
        assert!(Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap().success());
        assert_eq!(server.wait().unwrap().code(), Some(0));
        if let Some((_, Some(mut log))) = unread {
            let mut kept = Vec::new();
            log.read_to_end(&mut kept).unwrap();
            assert!(kept.len() > 60_000, "the pipe was not full: {} bytes", kept.len());
        }
    }
}

#[test]
fn the_served_document_names_the_address_that_the_operator_has_named() {
    let data = folder();
    let named = "https://payments.example.com/api";
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_BASE_URL", format!("{named}/")));
    let document = server.ask("GET", "/openapi.json", None, "").json();
    let urls: Vec<_> = document["servers"].as_array().unwrap().iter().map(|server| &server["url"]).collect();
    assert_eq!(urls, [named, "/api"]);
    let yaml: Value = yaml_serde::from_str(&server.ask("GET", "/openapi.yaml", None, "").body).unwrap();
    assert!(yaml == document);
    server.stopped();
}

#[test]
fn every_page_beside_the_api_answers() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let html = "text/html";
    for (path, kind, words) in [
        ("/", html, "/docs/"),
        ("/docs/", html, "swagger"),
        ("/dashboard", html, "Sign in"),
        ("/openapi.yaml", "application/yaml", "openapi: 3."),
        ("/openapi.json", "application/json", "\"openapi\":\"3."),
        ("/llms.txt", "text/plain; charset=utf-8", "> Takes cards"),
        ("/healthz", "text/plain", "ok\n"),
        ("/readyz", "text/plain", "ready\n"),
        ("/metrics", "text/plain", "# TYPE "),
    ] {
        let page = server.ask("GET", path, None, "");
        assert_eq!(page.status, 200, "{path}");
        assert!(page.headers["content-type"].starts_with(kind), "{path}: {:?}", page.headers);
        assert!(page.body.contains(words), "{path}");
        assert_eq!(page.headers["x-content-type-options"], "nosniff", "{path}");
        assert!(page.headers.contains_key("x-request-id"), "{path}");
    }
    // It names the server's own addresses.
    let read = |text: &str| yaml_serde::from_str::<Value>(text).unwrap();
    let mut committed =
        read(&std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.yaml")).unwrap());
    let document = read(&server.ask("GET", "/openapi.yaml", None, "").body);
    assert_eq!(document["servers"][1]["url"], format!("http://{}", server.address));
    committed["servers"] = document["servers"].clone();
    assert!(document == committed);
    let unknown = server.ask("GET", "/1/nothing", None, "");
    assert_eq!((unknown.status, &unknown.json()["error"]), (404, &json!("resource_not_found")));
    server.stopped();
}

#[test]
fn metrics_move_to_the_operators_listener() {
    let data = folder();
    let admin = free_address();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_ADMIN_LISTEN", admin.to_string()));
    server.pay(&server.keys().0).ok(201);
    assert_eq!(server.ask("GET", "/metrics", None, "").status, 404);
    let metrics = ask(admin, "GET", "/metrics", None, "");
    assert_eq!(metrics.status, 200);
    assert!(metrics.body.contains("card_payments_acquirer_calls_total 1"), "{}", metrics.body);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(ask(admin, "GET", path, None, "").status, 200, "{path}");
    }
    assert_eq!(ask(admin, "GET", "/1/charges", Some(&server.keys().0), "").status, 404);
    server.stopped();
}

#[test]
fn the_log_is_json_without_query_body_or_key() {
    let data = folder();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_LOG", "debug"));
    let (secret, publishable) = server.keys();
    let charge = server.pay(&secret).ok(201);
    server.ask("GET", "/1/charges/search?query=Needle", Some(&secret), "").ok(200);
    server.ask("POST", "/1/charges?description=Needle", Some("wrong_key_1"), PAYMENT);
    let script = format!(
        "/1/cards.json?callback=f&_method=POST&publishable_api_key={publishable}&number=4100000000000001"
    );
    server.ask("GET", &script, None, "");
    server.ask("POST", "/1/charges", Some(&secret), &PAYMENT.replace("400", "Needle"));
    let log = server.stopped();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        lines.iter().any(|line| line["fields"]["route"] == "/1/charges" && line["fields"]["status"] == 201)
    );
    assert!(lines.iter().any(|line| line["fields"]["route"] == "/1/charges/search"));
    for secret in [
        &*secret,
        &publishable,
        "wrong_key_1",
        "Needle",
        "4200000000000000",
        "4100000000000001",
        "roland@example.com",
        "Roland",
        "Sevenoaks",
        "203.192.1.172",
        "Basic",
        charge["card"]["token"].as_str().unwrap(),
    ] {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
}
