//! `serve --import FILE --export-on-exit FILE`: an account as a file that a team keeps beside its tests
//! (`docs/decisions.md`, 370).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use acquirer::test_cards::{TABLE, TestCards};
use card_payments::services::accounts::snapshot_rows::SnapshotTable;
use card_payments::services::accounts::wipe;
use card_payments::services::refunds::submit::make_due_now;
use card_payments::services::snapshots::account_file::{self, AccountFile, LEFT_OUT};
use entity::TimeSpan;
use serde_json::{Value, json};

use crate::harness::process::{Process, output, program};
use crate::harness::{App, Database, charge_with, rules, token};
use crate::sandbox::accounts::fill;

async fn export(app: &App) -> String {
    account_file::export(app.ctx()).await.unwrap()
}

async fn import(app: &App, text: &str) {
    account_file::import(app.ctx(), &AccountFile::parse(text).unwrap()).await.unwrap();
}

rules! {
    async fn an_imported_account_is_exported_again_byte_for_byte_whatever_the_database(app) {
        let client = app.client();
        fill(&client).await;
        let three_d_secure = json!({ "enabled": true, "callback_url": "https://roland:password@shop.example.com/" });
        client.post("/1/charges", &charge_with(400, json!({ "three_d_secure": three_d_secure }))).await.ok(201);
        client.rotate_key(token(&client.endpoint("http://127.0.0.1:2/").await), "2d").await.ok(200);
        client.card_token("4000000000000002").await;
        app.do_due_work().await;
        app.clock.advance(TimeSpan::seconds(60));
        app.do_due_work().await;
        let text = export(app).await;
        for database in [Database::Sqlite, Database::Postgres] {
            let Some(other) = App::start(database).await else { continue };
            import(&other, &text).await;
            assert!(export(&other).await == text);
            // It is there already.
            import(&other, &text).await;
            let (before, after) = (client.get("/1/events").await.ok(200), other.client().get("/1/events").await.ok(200));
            assert_eq!(before, after);
            assert_eq!(client.balance().await, other.client().balance().await);
            assert_eq!(other.blobs().len(), 1, "its file has its content");
            other.check_books().await;
        }
    }

    async fn an_import_that_was_refused_after_it_had_stored_a_file_can_be_made_again(app) {
        fill(&app.client()).await;
        app.do_due_work().await;
        let text = export(app).await;
        let mut wrong: Value = serde_json::from_str(&text).unwrap();
        wrong["tables"]["postings"][0]["amount"] = json!(1);
        let other = App::start(app.database).await.unwrap();
        let wrong = AccountFile::parse(&wrong.to_string()).unwrap();
        for _ in 0..2 {
            let refused = format!("{:?}", account_file::import(other.ctx(), &wrong).await.unwrap_err());
            assert!(refused.contains("its books do not balance"), "{refused}");
        }
        assert_eq!(other.blobs().len(), 1, "it was stored before");
        import(&other, &text).await;
        assert!(export(&other).await == text);
        other.check_books().await;
    }

    async fn a_text_that_is_not_json_of_its_columns_shape_is_refused_in_every_column(app) {
        let client = app.client();
        fill(&client).await;
        client.put("/1/sandbox/acquirer", &json!({ "decline": "lost_card" })).await.ok(200);
        app.do_due_work().await;
        let good: Value = serde_json::from_str(&export(app).await).unwrap();
        let other = App::start(app.database).await.unwrap();
        let before = export(&other).await;
        let rows = good["tables"].as_object().unwrap().iter().map(|(name, rows)| (format!("/tables/{name}/0"), &rows[0]));
        let mut columns = BTreeSet::new();
        for (path, row) in rows.chain([("/account".to_owned(), &good["account"])]) {
            for (column, value) in row.as_object().unwrap() {
                // The body of a delivery is any text.
                if column == "body" {
                    continue;
                }
                let Some(json) = value.as_str().filter(|text| text.starts_with(['{', '['])) else { continue };
                let shape = if json.starts_with('{') { "[]" } else { "{}" };
                for wrong in ["", "x", "{", "5", shape] {
                    let mut file = good.clone();
                    file.pointer_mut(&path).unwrap()[column] = json!(wrong);
                    let refused = account_file::import(other.ctx(), &AccountFile::parse(&file.to_string()).unwrap()).await;
                    let said = format!("{refused:?}");
                    assert!(said.contains(&format!("{column} has a wrong value")), "{path} {column} {wrong}: {said}");
                }
                columns.insert(format!("{} {column}", path.split('/').nth(2).unwrap_or("account")));
            }
        }
        let expected = [
            "account acquirer_faults", "account pricing", "charges card", "charges metadata", "events data", "recipients bank_account",
            "transfers bank_account", "webhooks errors",
        ];
        assert!(expected.iter().all(|column| columns.contains(*column)), "{columns:?}");
        assert!(export(&other).await == before, "nothing has changed");
    }

    async fn words_in_a_file_of_a_former_release_are_folded_again(app) {
        let words = json!({ "description": "\u{3a0}\u{391}\u{3a1}\u{391}\u{394}\u{39f}\u{3a3}" });
        app.client().post("/1/charges", &charge_with(400, words)).await.ok(201);
        app.do_due_work().await;
        let text = export(app).await;
        let former = text.replace("\u{3b4}\u{3bf}\u{3c3}", "\u{3b4}\u{3bf}\u{3c2}");
        assert_ne!(former, text);
        // It is there already.
        import(app, &former).await;
        assert!(export(app).await == text);
    }

    async fn a_file_holds_no_card_number_and_no_secret(app) {
        let client = app.client();
        fill(&client).await;
        let endpoint = client.endpoint("http://127.0.0.1:2/").await;
        let three_d_secure = json!({ "enabled": true, "callback_url": "https://roland:password@shop.example.com/" });
        client.post("/1/charges", &charge_with(400, json!({ "three_d_secure": three_d_secure }))).await.ok(201);
        app.do_due_work().await;
        let text = export(app).await;
        let own = [endpoint["key"].as_str().unwrap(), app.secret_key(), app.publishable_key()];
        let kinds = ["whsec_", "password", "PRIVATE KEY", "987654321", "_sealed", "/3d-secure/"];
        let numbers: Vec<&str> = TABLE.iter().flat_map(TestCards::numbers).collect();
        for secret in numbers.iter().chain(&own).chain(&kinds) {
            assert!(!text.contains(secret), "{secret}");
        }
        assert!(text.contains("http://127.0.0.1:2/"));
        let tables = serde_json::from_str::<Value>(&text).unwrap()["tables"].clone();
        let known: Vec<_> = wipe::copied().map(SnapshotTable::name).collect();
        for left_out in LEFT_OUT {
            assert!(known.contains(&left_out) && tables[left_out].is_null(), "{left_out}");
        }
    }

    async fn an_imported_account_works_on(app) {
        let client = app.client();
        let [good, poor] = [client.customer("4242424242424242").await, client.customer("4000000000000002").await];
        let unused = client.card_token("5105105105105100").await;
        let endpoint = client.endpoint("http://127.0.0.1:1/").await;
        let paid = client.captured(700).await;
        app.do_due_work().await;
        let other = App::start(app.database).await.unwrap();
        import(&other, &export(app).await).await;
        let client = other.client();
        let by = async |source: Value| client.post("/1/charges", &with_source(&source)).await;
        let charged = by(json!({ "customer_token": token(&good) })).await.ok(201);
        assert_eq!(charged["card"]["display_number"], "XXXX-XXXX-XXXX-4242");
        by(json!({ "customer_token": token(&poor) })).await.refused(400, "insufficient_funds");
        by(json!({ "card_token": unused })).await.ok(201);
        client.refund(token(&paid), 100).await.ok(201);
        let path = format!("/1/webhook_endpoints/{}", token(&endpoint));
        let key = client.get(&path).await.ok(200)["key"].clone();
        assert!(key.is_string() && key != endpoint["key"], "{key}");
        assert_eq!(client.get("/1/charges/search?query=roland").await.ok(200).as_array().unwrap().len(), 3);
        other.do_due_work().await;
        other.check_books().await;
    }

    async fn numbers_of_events_that_an_account_was_imported_with_are_not_given_again(app) {
        app.client().captured(400).await;
        app.do_due_work().await;
        let other = App::start(app.database).await.unwrap();
        import(&other, &export(app).await).await;
        let newest = async || other.client().get("/1/events").await.ok(200)[0]["sequence"].as_i64();
        let last = newest().await.unwrap();
        other.clock.advance(TimeSpan::days(92));
        other.do_due_work().await;
        assert_eq!(newest().await, None, "they are deleted");
        other.client().captured(400).await;
        assert_eq!(newest().await, Some(last + 1));
    }

    async fn a_server_may_be_started_again_with_a_file_in_which_a_refund_waits(app) {
        let client = app.client();
        let paid = client.captured(400).await;
        client.put("/1/sandbox/acquirer", &json!({ "gateway_error_rate": 1 })).await.ok(200);
        client.refund(token(&paid), 100).await.ok(201);
        app.do_due_work().await;
        let text = export(app).await;
        app.clock.advance(TimeSpan::seconds(1));
        assert_eq!(make_due_now(app.ctx()).await.unwrap(), 1, "as a start does");
        assert!(export(app).await != text);
        import(app, &text).await;
    }

    async fn no_file_takes_the_place_of_what_has_happened(app) {
        let other = App::start(app.database).await.unwrap();
        other.client().captured(400).await;
        let text = export(&other).await;
        app.client().plan(&json!({})).await;
        let before = export(app).await;
        let refused = account_file::import(app.ctx(), &AccountFile::parse(&text).unwrap()).await;
        assert!(refused.is_err());
        assert!(export(app).await == before);
    }
}

/// A charge of 400 by a customer or a token.
fn with_source(source: &Value) -> Value {
    let mut charge = charge_with(400, source.clone());
    charge.as_object_mut().unwrap().remove("card");
    charge
}

/// `card-payments serve` in a folder of its own, with these options.
fn serve(data: &Path, options: &[&str]) -> Command {
    let mut serve = program(&data.join("data"));
    serve.arg("serve").args(options);
    serve
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_server_that_ends_keeps_its_account_and_the_next_one_begins_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let [kept, again] = ["kept.json", "again.json"].map(|file| folder.path().join(file));
    for signal in ["TERM", "INT"] {
        let data = tempfile::tempdir().unwrap();
        let server = Process::start(&mut serve(data.path(), &["--export-on-exit", name(&kept)]));
        server.pay(&server.keys().0).ok(201);
        assert!(!kept.exists() || signal == "INT");
        let kill = Command::new("kill").args([format!("-{signal}"), server.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let (code, stderr) = server.ended();
        assert_eq!(code, Some(0), "{stderr}");
    }
    let data = tempfile::tempdir().unwrap();
    let options = ["--import", name(&kept), "--export-on-exit", name(&again)];
    // The second time the database holds it already.
    for _ in 0..2 {
        let server = Process::start(&mut serve(data.path(), &options));
        let charges = server.ask("GET", "/1/charges", Some(&server.keys().0), "").ok(200);
        assert_eq!(charges.as_array().unwrap().len(), 1);
        server.stopped();
        assert!(std::fs::read(&kept).unwrap() == std::fs::read(&again).unwrap());
    }
    let server = Process::start(&mut serve(data.path(), &options));
    server.pay(&server.keys().0).ok(201);
    server.stopped();
    assert!(std::fs::read(&kept).unwrap() != std::fs::read(&again).unwrap());
    let (code, stdout, stderr) = output(&mut serve(data.path(), &options));
    let line = format!(
        "error: {}: the database's first account holds something else already: name a new database\n",
        kept.display()
    );
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.ends_with(&line), "{stderr}");
}

#[test]
fn with_a_seed_a_year_is_the_same_again_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let [kept, again] = ["kept.json", "again.json"].map(|file| folder.path().join(file));
    let run = |options: &[&str]| {
        let data = tempfile::tempdir().unwrap();
        let server = Process::start(serve(data.path(), options).env("CARD_PAYMENTS_SEED", "a year"));
        (server, data)
    };
    let (server, _data) = run(&["--export-on-exit", name(&kept)]);
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    server.ask("PUT", "/1/sandbox/clock", Some(&key), "advance=1year").ok(200);
    server.pay(&key).ok(201);
    server.stopped();
    let options = ["--import", name(&kept), "--export-on-exit", name(&again)];
    let (server, _data) = run(&options);
    server.stopped();
    let text = std::fs::read_to_string(&kept).unwrap();
    assert!(text == std::fs::read_to_string(&again).unwrap());
    let (server, data) = run(&options);
    let (key, _) = server.keys();
    let paid = server.pay(&key).ok(201);
    let newest = server.ask("GET", "/1/charges", Some(&key), "").ok(200)[0]["token"].clone();
    assert_eq!(paid["token"], newest, "new ids are greater than those of the file");
    server.stopped();
    // And so are those of a later start.
    let server = Process::start(serve(data.path(), &[]).env("CARD_PAYMENTS_SEED", "a year"));
    let paid = server.pay(&key).ok(201);
    assert_eq!(server.ask("GET", "/1/charges", Some(&key), "").ok(200)[0]["token"], paid["token"]);
    server.stopped();
}

/// Sets a column of the first charge.
fn row(account: &mut Value, column: &str, value: Value) {
    account["tables"]["charges"][0][column] = value;
}

#[test]
fn a_file_that_cannot_be_imported_ends_the_start_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account.json");
    let server = Process::start(&mut serve(folder.path(), &["--export-on-exit", name(&file)]));
    server.pay(&server.keys().0).ok(201);
    server.ask("POST", "/1/webhook_endpoints", Some(&server.keys().0), "url=http://127.0.0.1:9/").ok(201);
    server.stopped();
    let good: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let refused = |text: &str, message: &str| {
        std::fs::write(&file, text).unwrap();
        let data = tempfile::tempdir().unwrap();
        let (code, stdout, stderr) = output(&mut serve(data.path(), &["--import", name(&file)]));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{message}");
        let lines: Vec<_> = stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        let [line] = lines[..] else { panic!("{stderr}") };
        assert!(line.starts_with(&format!("error: {}: {message}", file.display())), "{line}");
    };
    refused("", "is no account that --export-on-exit wrote: ");
    refused("plans: []", "is no account that --export-on-exit wrote: ");
    refused("{\"card_payments_account\": 2}", "is of format 2, and this release reads format 1");
    let changed = |change: fn(&mut Value)| {
        let mut account = good.clone();
        change(&mut account);
        account.to_string()
    };
    refused(&changed(|it| it["more"] = json!(1)), "unknown field `more`");
    refused(&changed(|it| it["tables"]["plants"] = json!([])), "plants is no table of this release's files");
    refused(&changed(|it| it["account"]["partner"] = json!(1)), "account: partner has a wrong value");
    refused(&changed(|it| row(it, "state", json!("sold"))), "charges, row 1: state has a wrong value");
    refused(&changed(|it| row(it, "card", json!("visa"))), "charges, row 1: card has a wrong value");
    refused(&changed(|it| row(it, "metadata", json!("x"))), "charges, row 1: metadata has a wrong value");
    refused(&changed(|it| it["account"]["pricing"] = json!("{}")), "account: pricing has a wrong value");
    refused(&changed(|it| row(it, "amount", json!(4.5))), "charges, row 1: amount has a wrong value");
    refused(&changed(|it| row(it, "colour", json!("red"))), "charges, row 1: colour is no column");
    refused(
        &changed(|it| row(it, "number_sealed", json!("x"))),
        "charges, row 1: number_sealed is no column",
    );
    refused(
        &changed(|it| drop(it["tables"]["charges"][0].as_object_mut().unwrap().remove("amount"))),
        "charges, row 1: amount is missing",
    );
    refused(
        &changed(|it| it["tables"]["webhook_endpoints"][0]["slot"] = json!(5)),
        "webhook_endpoints, row 1: slot is none of the 5 of an account",
    );
    refused(&changed(|it| it["tables"]["postings"][0]["amount"] = json!(1)), "its books do not balance: ");
    refused(
        &changed(|it| drop(it["tables"].as_object_mut().unwrap().remove("postings"))),
        "its books do not balance: ",
    );
    refused(&changed(|it| it["tables"]["files"] = json!([{}])), "");
    refused(
        &changed(|it| it["tables"]["events"][0]["id"] = json!("ffffffff-ffff-7fff-bfff-ffffffffffff")),
        "it is of a later time",
    );
}

#[test]
fn options_that_cannot_work_are_refused_before_anything_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account.json");
    let server = Process::start(&mut serve(&folder.path().join("first"), &["--export-on-exit", name(&file)]));
    server.stopped();
    let missing = folder.path().join("missing/account.json");
    for (options, code, message) in [
        (vec!["--import", name(&missing)], 1, "missing/account.json: No such file"),
        (vec!["--import", name(folder.path())], 1, "Is a directory"),
        (vec!["--export-on-exit", name(&missing)], 1, "missing/account.json: No such file"),
        (vec!["--export-on-exit", name(folder.path())], 1, ": is a directory"),
        (vec!["--import", name(&file), "--sample"], 2, "cannot be used with"),
        (
            vec!["--import", name(&file), "--environment", "live"],
            1,
            "CARD_PAYMENTS_IMPORT is not for the live environment",
        ),
        (
            vec!["--export-on-exit", name(&file), "--environment", "live"],
            1,
            "CARD_PAYMENTS_EXPORT_ON_EXIT is not for the live environment",
        ),
        (
            vec!["--import", name(&file), "--acquirer", "https://acquirer.example.com"],
            1,
            "CARD_PAYMENTS_IMPORT needs the built-in acquirer",
        ),
    ] {
        let (exit, stdout, stderr) = output(&mut serve(folder.path(), &options));
        assert_eq!((exit, stdout.as_str()), (Some(code), ""), "{options:?} {stderr}");
        assert!(stderr.contains(message), "{options:?}: {stderr}");
        assert!(!folder.path().join("data").exists(), "{options:?}");
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_or_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let file = place.join("account.json");
    std::fs::write(&file, "former").unwrap();
    let begun =
        || Process::start(&mut serve(&folder.path().join("killed"), &["--export-on-exit", name(&file)]));
    begun().killed();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "former");
    let server = begun();
    std::fs::rename(&place, folder.path().join("elsewhere")).unwrap();
    server.terminate();
    let (code, stderr) = server.ended();
    assert_eq!(code, Some(1));
    assert!(stderr.contains("error: ") && stderr.contains("account.json: No such file"), "{stderr}");
    let left = std::fs::read_dir(folder.path().join("elsewhere")).unwrap().count();
    assert_eq!(left, 1, "no part of a file is left");
    assert_eq!(std::fs::read_to_string(folder.path().join("elsewhere/account.json")).unwrap(), "former");
}

#[test]
fn exec_imports_and_exports_too() {
    let folder = tempfile::tempdir().unwrap();
    let [kept, again] = ["kept.json", "again.json"].map(|file| folder.path().join(file));
    let exec = |options: &[&str], script: &str| {
        let mut exec = program(&folder.path().join("other"));
        exec.arg("exec").args(options).args(["--", "sh", "-c", script, env!("CARGO_BIN_EXE_card-payments")]);
        output(exec.env("PATH", "/usr/bin:/bin").env("TMPDIR", folder.path()))
    };
    let (code, _, stderr) =
        exec(&["--export-on-exit", name(&kept)], "\"$0\" trigger plan.created >&2; exit 7");
    assert_eq!(code, Some(7), "{stderr}");
    let options = ["--import", name(&kept), "--export-on-exit", name(&again)];
    let (code, stdout, _) =
        exec(&options, "curl -s $CARD_PAYMENTS_URL/1/plans -u $CARD_PAYMENTS_SECRET_KEY:");
    assert_eq!(code, Some(0));
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap()["pagination"]["count"], 1, "{stdout}");
    assert!(std::fs::read(&kept).unwrap() == std::fs::read(&again).unwrap());
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let lost = place.join("lost.json");
    for (script, code) in [("exit 0", 1), ("exit 7", 7)] {
        std::fs::create_dir_all(&place).unwrap();
        let (exit, _, stderr) =
            exec(&["--export-on-exit", name(&lost)], &format!("rmdir {}; {script}", name(&place)));
        assert_eq!(exit, Some(code), "{stderr}");
        assert!(stderr.contains("error: ") && stderr.contains("lost.json"), "{stderr}");
    }
    let (code, stdout, stderr) = exec(&["--import", name(&lost)], "echo it runs");
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("lost.json: No such file"), "{stderr}");
}
