//! `card-payments trigger`: every type of event, by really doing what causes it.

use std::collections::BTreeSet;

use entity::event::EventType;
use serde_json::{Value, json};

use crate::answers::operations;
use crate::harness::process::{Process, output, program};
use crate::harness::{operated, token};

fn address(server: &Process) -> String {
    format!("http://{}", server.address)
}

fn count(server: &Process, key: &str, list: &str) -> Value {
    server.ask("GET", list, Some(key), "").json()["pagination"]["count"].clone()
}

operated! {
    async fn every_type_of_event_is_made_to_happen(installed) {
        let server = installed.serve();
        let (key, address) = (server.keys().0, address(&server));
        server.ask("POST", "/1/webhook_endpoints", Some(&key), "url=http://127.0.0.1:9/").ok(201);
        for what in EventType::ALL.iter().map(|what| what.code()) {
            let record = installed.records(&["trigger", what, "--server", &address]).remove(0);
            assert_eq!((&record["type"], &record["event"]["type"]), (&json!(what), &json!(what)));
            let event = token(&record["event"]);
            let shown = server.ask("GET", &format!("/1/events/{event}"), Some(&key), "").ok(200);
            assert_eq!(shown, record["event"]);
            let about = &shown["data"]["token"];
            assert!(record["did"].as_array().unwrap().iter().any(|did| did["token"] == *about), "{record}");
        }
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn a_trigger_tells_its_work_call_by_call(installed) {
        // As one of 64 random keys begins.
        installed.with("SECRET_KEY", "-S_of_the_operator");
        let server = installed.serve();
        let (key, address) = (server.keys().0, address(&server));
        // A test server's own key is known on its machine, and any other one may be named.
        for named in [&[][..], &["--key", &key]] {
            let arguments = [&["trigger", "refund.failed", "--server", &address][..], named].concat();
            let (code, stdout, stderr) = installed.run(&arguments);
            assert_eq!((code, stderr.as_str()), (Some(0), ""));
            let lines: Vec<_> = stdout.lines().collect();
            let charge = lines[0].strip_prefix("POST /1/charges -> ").unwrap();
            let refund = lines[1].strip_prefix(&format!("POST /1/charges/{charge}/refunds -> ")).unwrap();
            assert_eq!(lines[2], format!("PUT /1/sandbox/refunds/{refund} -> {refund}"));
            assert!(lines[3].contains("  refund.failed  evt_") && lines[3].ends_with(refund), "{stdout}");
            assert_eq!(lines.len(), 4);
        }
        server.stopped();
    }

    async fn a_clock_is_moved_in_the_account_that_asks_and_that_is_said(installed) {
        let server = installed.serve();
        let (key, address) = (server.keys().0, address(&server));
        let own = server.ask("POST", "/1/sandbox/accounts", Some(&key), "").ok(201);
        let own = own["secret_key"].as_str().unwrap();
        let arguments = ["trigger", "subscription.renewed", "--server", &address, "--key", own];
        let (code, stdout, _) = installed.run(&arguments);
        assert_eq!(code, Some(0));
        let clock = server.ask("GET", "/1/sandbox/clock", Some(own), "").ok(200);
        assert!(clock["offset_seconds"].as_i64().unwrap() >= 86_400, "{clock}");
        assert!(stdout.contains("PUT /1/sandbox/clock -> the account's clock was moved to 2"), "{stdout}");
        assert_eq!(server.ask("GET", "/1/sandbox/clock", Some(&key), "").ok(200)["offset_seconds"], 0);
        assert_eq!(count(&server, &key, "/1/events"), 0);
        server.stopped();
    }

    async fn a_trigger_that_cannot_be_run_is_told_and_changes_nothing(installed) {
        let server = installed.serve();
        let (key, address) = (server.keys().0, address(&server));
        let refused = |arguments: &[&str], line: &str| {
            installed.refuses(&[&["trigger"][..], arguments, &["--server", &address]].concat(), line);
        };
        let (code, stdout, stderr) = installed.run(&["trigger", "ping", "--server", &address]);
        assert_eq!((code, stdout.as_str()), (Some(1), "GET /1/webhook_endpoints\n"));
        assert_eq!(stderr, "error: this account has no record whe_... yet; create one first\n");
        refused(&["charge.captured", "--key", "nobody-has-this-key"], "Not authorised. (Check API Key) (401 unauthorized)");
        server.ask("PUT", "/1/sandbox/account", Some(&key), "partner=false").ok(200);
        refused(&["sub_merchant_application.submitted"], "POST /1/merchants: 401 Not authorised. (Check API Key)");
        assert_eq!(count(&server, &key, "/1/events"), 0);
        for wrong in [
            &["trigger"][..], &["trigger", "recipient.deleted"], &["trigger", "charge"], &["trigger", "ping", "--list"],
            &["trigger", "ping", "--server", "127.0.0.1"], &["trigger", "ping", "--server", ""],
        ] {
            let (code, stdout, stderr) = installed.run(wrong);
            assert!(code == Some(2) && stdout.is_empty() && !stderr.is_empty(), "{wrong:?}: {stderr}");
        }
        server.stopped();
        let gone = format!("{address} does not answer: The connection could not be made or broke before the answer");
        installed.refuses(&["trigger", "charge.captured", "--server", &address], &gone);
        installed.refuses(
            &["trigger", "charge.captured"], "CARD_PAYMENTS_LISTEN names no port: name the server by --server",
        );
    }

    async fn nothing_is_triggered_where_cards_are_real(installed) {
        installed.with("ENVIRONMENT", "live");
        installed.with("ACQUIRER", "simulator");
        installed.with("VAULT_KEY", "own:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let made =
            installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]).remove(0);
        let server = installed.serve();
        let address = address(&server);
        let key = made["secret_key"].as_str().unwrap();
        let arguments = ["trigger", "charge.captured", "--server", &address];
        installed.refuses(
            &[&arguments[..], &["--key", key]].concat(),
            &format!("{address} has no sandbox: nothing is triggered where cards are real"),
        );
        installed.refuses(&arguments, &format!(
            "name the account's secret key by CARD_PAYMENTS_KEY or --key: {address} shows one only in test, and only on its \
             own machine"
        ));
        assert_eq!(count(&server, key, "/1/charges"), 0);
        server.stopped();
    }
}

/// A path whose records are left out.
fn kind(path: &str) -> String {
    let open = |part: &str| {
        if part.ends_with('_') || part.starts_with('{') { "*".to_owned() } else { part.to_owned() }
    };
    path.split('/').map(open).collect::<Vec<_>>().join("/")
}

#[test]
fn the_list_names_every_type_with_calls_of_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let (code, stdout, stderr) =
            output(program(folder.path()).args(["trigger", "--list"]).args(arguments));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        stdout
    };
    let known: BTreeSet<_> = operations()
        .iter()
        .map(|operation| format!("{} {}", operation.method, kind(&operation.path)))
        .collect();
    let listed = run(&["--json"]);
    let listed: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<_> = listed.iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(types, EventType::ALL.iter().map(|what| what.code()).collect::<Vec<_>>());
    for call in listed.iter().flat_map(|one| one["calls"].as_array().unwrap()) {
        assert!(known.contains(&kind(call.as_str().unwrap())), "{call} is none of the API's");
    }
    let clocks: Vec<_> =
        listed.iter().filter(|one| one["moves_clock"] == true).map(|one| &one["type"]).collect();
    assert_eq!(
        clocks,
        ["subscription.expired", "subscription.renewed", "subscription.renewal_failed", "transfer.failed",]
    );
    assert!(run(&[]).contains("charge.voided: POST /1/charges, PUT /1/charges/ch_/void\n"));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "it needs no server");
}
