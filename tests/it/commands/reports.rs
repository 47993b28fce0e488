//! `card-payments report`: a record with all that belongs to it, in one file.

use serde_json::{Value, json};

use crate::harness::process::{PAYMENT, Process, output, program};
use crate::harness::{Installed, fields, operated, token_of};

/// A charge of which a part is refunded, and that is disputed; with a webhook endpoint nobody listens at.
fn refunded_and_disputed(server: &Process) -> String {
    let key = server.keys().0;
    let ask = |method: &str, path: &str, form: &str| server.ask(method, path, Some(&key), form);
    ask("POST", "/1/webhook_endpoints", "url=http://127.0.0.1:9/").ok(201);
    ask("POST", "/1/charges", &PAYMENT.replace("400", "500")).ok(201);
    let charge = token_of(&ask("POST", "/1/charges", PAYMENT).ok(201));
    ask("POST", &format!("/1/charges/{charge}/refunds"), "amount=100").ok(201);
    ask("POST", &format!("/1/charges/{charge}/refunds"), "amount=100000");
    ask("POST", "/1/sandbox/disputes", &format!("charge_token={charge}")).ok(201);
    // The refund settles now, not between two reports.
    ask("PUT", "/1/sandbox/clock", "advance=1m").ok(200);
    charge
}

fn report(installed: &Installed, server: &Process, token: &str) -> Value {
    let address = format!("http://{}", server.address);
    installed.records(&["report", token, "--server", &address]).remove(0)
}

operated! {
    async fn the_report_of_a_refunded_and_disputed_charge_has_all_of_its_parts(installed) {
        let server = installed.serve();
        let charge = refunded_and_disputed(&server);
        report(installed, &server, &charge);
        let report = report(installed, &server, &charge);
        let all = |part: &str, pointer: &str| -> Vec<String> {
            let records = report[part].as_array().unwrap().iter();
            records.map(|record| record.pointer(pointer).unwrap().to_string().replace('"', "")).collect()
        };
        assert_eq!((&report["token"], &report["record"]["token"]), (&json!(charge), &json!(charge)));
        assert_eq!(report["seed"], Value::Null);
        assert_eq!(all("refunds", "/charge"), [charge.as_str()]);
        assert_eq!(all("disputes", "/charge/token"), [charge.as_str()]);
        let calls = all("requests", "/route");
        let refunds = "/1/charges/{charge_token}/refunds";
        assert_eq!(calls, ["/1/charges", refunds, refunds, "/1/sandbox/disputes"], "no request of a report");
        assert_eq!(report["requests"][0]["parameters"]["amount"], "400");
        assert_eq!(report["requests"][2]["error"]["error"], "invalid_resource");
        let events = all("events", "/type");
        for expected in ["charge.captured", "refund.created", "dispute.evidence_required"] {
            assert!(events.iter().any(|event| event == expected), "{events:?}");
        }
        assert_eq!(all("webhooks", "/event_token"), all("events", "/token"));
        let kinds = all("ledger", "/kind");
        assert!(kinds.iter().any(|kind| kind.contains("charge")) && kinds.iter().any(|kind| kind.contains("refund")), "{kinds:?}");
        let sum: i64 = report["ledger"].as_array().unwrap().iter().map(|row| row["amount"].as_i64().unwrap()).sum();
        assert_eq!(sum, 0);
        server.stopped();
    }

    async fn the_report_of_a_deposit_has_the_request_that_made_it(installed) {
        let server = installed.serve();
        let key = server.keys().0;
        let made = |form: &str| server.ask("POST", "/1/sandbox/deposits", Some(&key), form).ok(201);
        made("amount=300");
        for (amount, arrival) in
            [("0500", ""), ("501", "&available_at=2099-01-01T00:00:00Z"), ("502", "&available_at=2026-01-01T00:00:00Z")]
        {
            let deposit = token_of(&made(&format!("amount={amount}{arrival}")));
            let report = report(installed, &server, &deposit);
            let calls = report["requests"].as_array().unwrap().iter().map(|request| &request["parameters"]["amount"]);
            assert_eq!(calls.collect::<Vec<_>>(), [amount]);
            assert_eq!(report["record"]["token"], deposit.as_str());
            assert_eq!(report["events"][0]["type"], "deposit.created");
            assert_eq!(report["ledger"].as_array().unwrap().len(), 2, "{report}");
        }
        server.stopped();
    }

    async fn a_report_holds_no_secret_and_no_card_number(installed) {
        installed.with("SEED", "a tester's");
        let server = installed.serve();
        let (charge, key) = (refunded_and_disputed(&server), server.keys().0);
        let endpoint = server.ask("GET", "/1/webhook_endpoints", Some(&key), "").ok(200)[0].clone();
        for token in [&charge, &token_of(&endpoint)] {
            let (text, address) = (report(installed, &server, token), format!("http://{}", server.address));
            let (code, page, _) = installed.run(&["report", token, "--server", &address]);
            assert_eq!((code, &text["seed"]), (Some(0), &json!("a tester's")));
            for secret in [&key, &server.keys().1, endpoint["key"].as_str().unwrap(), "4200000000000000"] {
                assert!(!text.to_string().contains(secret) && !page.contains(secret), "{secret}");
            }
        }
        server.stopped();
    }

    async fn the_page_needs_nothing_but_itself_and_a_file_of_json_is_json(installed) {
        let server = installed.serve();
        let (charge, address) = (refunded_and_disputed(&server), format!("http://{}", server.address));
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let file = folder.path().join(name);
            let written = installed.run(&["report", &charge, "--server", &address, "--to", file.to_str().unwrap()]);
            assert_eq!(written, (Some(0), String::new(), String::new()));
            std::fs::read_to_string(file).unwrap()
        };
        let page = write("failure.html");
        assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">"));
        for part in [&charge, "prefers-color-scheme: dark", "charge.captured", "Postings, in the order of time"] {
            assert!(page.contains(part), "{part}");
        }
        for foreign in ["<script", "<link", "<img", "src=", "href="] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert_eq!(serde_json::from_str::<Value>(&write("failure.json")).unwrap()["token"], json!(charge));
        server.stopped();
    }

    async fn without_the_servers_database_only_the_ledger_entries_are_left_out(installed) {
        let server = installed.serve();
        let (charge, address) = (refunded_and_disputed(&server), server.address.to_string());
        let whole = report(installed, &server, &charge);
        let elsewhere = tempfile::tempdir().unwrap();
        let here = |arguments: &[&str]| {
            output(program(elsewhere.path()).args(["report", &charge, "--server", &address]).args(arguments))
        };
        let (code, json, notice) = here(&["--json"]);
        assert_eq!(code, Some(0), "{notice}");
        assert!(notice.starts_with("The ledger entries are left out: ") && notice.lines().count() == 1, "{notice}");
        let part: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((fields(&part), &part["ledger"]), (fields(&whole), &Value::Null));
        for there in ["record", "refunds", "disputes", "requests", "events"] {
            assert_eq!(part[there], whole[there], "{there}");
        }
        let (code, page, _) = here(&[]);
        assert!(code == Some(0) && page.contains("Left out: the server") && !page.contains("Postings"), "{page}");
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nothing is made");
        server.stopped();
    }

    async fn a_record_that_cannot_be_reported_is_refused_in_one_line(installed) {
        let server = installed.serve();
        let (charge, address) = (refunded_and_disputed(&server), format!("http://{}", server.address));
        let refuses = |token: &str, line: &str| installed.refuses(&["report", token, "--server", &address], line);
        refuses("hello", "hello is the token of no record that can be reported: those begin with auth_, card_, ch_, cus_, dis_, dpo_, \
            evt_, mrch_, plan_, rf_, rp_, sub_, tfer_, whe_, whr_");
        refuses("ch_AZqYv3rVcBKUQ1mHn7tKRw", "The requested resource could not be found. (404 not_found)");
        let other = Installed::on(installed.database).await.unwrap();
        assert_eq!(other.run(&["migrate"]).0, Some(0));
        let wrong = format!(
            "the database is not that of {address}: name it by CARD_PAYMENTS_DATA_DIR or CARD_PAYMENTS_DATABASE_URL"
        );
        for token in [&charge, "ch_AZqYv3rVcBKUQ1mHn7tKRw"] {
            other.refuses(&["report", token, "--server", &address], &wrong);
        }
        server.stopped();
    }
}
