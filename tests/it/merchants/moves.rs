//! What becomes of merchants: the operator's decisions, what these let their keys do, the way into the other environment,
//! and the end (`docs/decisions.md`, 72, 234, 239, 314 and 315).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use card_payments::config::Environment;
use card_payments::services::accounts::access::{Access, access};
use entity::merchant::MerchantStatus;
use entity::{AccountToken, TimeSpan};
use serde_json::{Value, json};
use vault::OperatorKeys;

use crate::harness::process::{Process, output, program};
use crate::harness::sending::post_with;
use crate::harness::{
    App, Client, Database, application, as_of, at_once, card, charge, rounds, rules, token, token_of,
};

/// From the first status to each one.
const WAYS: &[&[&str]] = &[
    &[],
    &["active"],
    &["declined"],
    &["on_hold"],
    &["active", "on_hold"],
    &["active", "on_hold", "active"],
    &["on_hold", "declined"],
    &["active", "declined"],
];

/// Which status may follow which (`docs/decisions.md`, 234).
fn follows(from: &str) -> &'static [&'static str] {
    match from {
        "pending_approval" => &["active", "declined", "on_hold"],
        "active" => &["declined", "on_hold"],
        "on_hold" => &["active", "declined"],
        _ => &[],
    }
}

async fn newest_event(client: &Client) -> Value {
    client.get("/1/events?per_page=1").await.ok(200)[0].clone()
}

/// The summary in a detail.
fn summary_of(detail: &Value) -> Value {
    let fields = detail.as_object().unwrap().iter().take(10);
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}

rules! {
    async fn each_decision_is_an_event_with_the_merchant_as_it_then_shows(app) {
        let client = app.client();
        for way in WAYS {
            let merchant = client.merchant().await;
            let mut activated_at = Value::Null;
            for status in *way {
                app.clock.advance(TimeSpan::seconds(60));
                let decided = client.decide_merchant(&merchant, status).await.ok(200);
                assert_eq!(decided, client.merchant_of(&merchant).await);
                if *status == "active" && activated_at.is_null() {
                    activated_at = decided["updated_at"].clone();
                }
                assert_eq!((&decided["status"], &decided["activated_at"]), (&json!(status), &activated_at), "{way:?}");
                let name = if *status == "active" { "activated" } else { status };
                let event = newest_event(&client).await;
                assert_eq!(event["type"], format!("sub_merchant_application.{name}"));
                assert_eq!((&event["data"], &event["created_at"]), (&summary_of(&decided), &decided["updated_at"]));
            }
            let from = way.last().copied().unwrap_or("pending_approval");
            for to in ["active", "declined", "on_hold"] {
                if !follows(from).contains(&to) {
                    app.unchanged(client.decide_merchant(&merchant, to)).await.refused(400, "invalid_state");
                }
            }
        }
    }

    async fn only_the_three_decisions_can_be_made(app) {
        let client = app.client();
        let merchant = client.merchant().await;
        for (status, message) in [
            ("pending_approval", "is not included in the list"), ("Active", "is not included in the list"), ("won", "is not included in the list"),
            ("", "can't be blank"),
        ] {
            let refused = app.unchanged(client.decide_merchant(&merchant, status)).await;
            refused.faulty(&[("status", &format!("Status {message}"))]);
        }
        // The record before the shape.
        app.unchanged(client.decide_merchant("mrch_AAAAAAAAAAAAAAAAAAAAAA", "won")).await.not_found();
    }

    async fn of_many_decisions_at_once_each_is_made_once(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let merchant = client.merchant().await;
            let before = app.events().await.len();
            let decisions = (0..12).map(|n| {
                let (client, merchant) = (client.clone(), merchant.clone());
                async move { client.decide_merchant(&merchant, if n % 2 == 0 { "declined" } else { "on_hold" }).await }
            });
            let answers = at_once(decisions).await;
            let made = answers.iter().filter(|answer| answer.status == 200).count();
            assert!((1..=2).contains(&made), "on_hold may come before declined: {made}");
            assert!(answers.iter().all(|answer| answer.status == 200 || answer.status == 400));
            assert_eq!(client.merchant_of(&merchant).await["status"], "declined");
            assert_eq!(app.events().await.len(), before + made);
        }
    }

    async fn in_test_a_merchant_trades_whatever_was_decided(app) {
        let client = app.client();
        let merchant = client.merchant().await;
        let key = client.merchant_of(&merchant).await["test_secret_api_key"].as_str().unwrap().to_owned();
        let own = app.with_key(&key);
        own.captured(400).await;
        for status in ["on_hold", "active", "declined"] {
            client.decide_merchant(&merchant, status).await.ok(200);
            own.captured(400).await;
            assert_eq!(client.merchant_of(&merchant).await["last_charge_date"], json!(as_of()));
        }
    }

    async fn a_decision_is_repeated_under_its_key(app) {
        let client = app.client();
        let path = format!("/1/sandbox/merchants/{}", client.merchant().await);
        let decide = async || {
            let request = client.request(http::Method::PUT, &path).header("Idempotency-Key", "decide");
            let request = request.header("content-type", "application/json");
            client.send(request.body(json!({ "status": "active" }).to_string().into()).unwrap()).await
        };
        let first = decide().await;
        first.ok(200);
        let again = app.unchanged(decide()).await;
        assert_eq!((again.status, again.text), (200, first.text));
    }

    async fn the_merchants_of_a_deleted_partner_go_with_it(app) {
        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let partner = app.with_key(made["secret_key"].as_str().unwrap());
        let kept = app.client().merchant().await;
        let merchant = partner.merchant().await;
        let detail = partner.merchant_of(&merchant).await;
        let own = app.with_key(detail["test_secret_api_key"].as_str().unwrap());
        own.captured(400).await;
        // A merchant may refer merchants, once it is a partner.
        own.set(json!({ "partner": true })).await;
        let further = own.merchant_of(&own.merchant().await).await;
        let further = app.with_key(further["test_secret_api_key"].as_str().unwrap());
        further.captured(400).await;
        for account in [&partner, &own, &further] {
            account.file().await;
        }
        let files = app.blobs().len();
        app.client().file().await;
        app.client().delete(&format!("/1/sandbox/accounts/{}", token(&made))).await.ok(204);
        // All of them at once, whenever a worker comes by.
        for gone in [&partner, &own, &further] {
            gone.get("/1/charges").await.refused(401, "unauthorized");
        }
        assert_eq!(app.anonymous().bytes(&format!("/pay/{merchant}")).await.0, 404);
        assert_eq!((files, app.blobs().len()), (3, 4), "what is in them goes in its time");
        // A worker's looks: a generation each, and the last of each account two minutes later.
        for _ in 0..4 {
            app.do_due_work().await;
            app.clock.advance(TimeSpan::seconds(121));
        }
        for gone in [&partner, &own, &further] {
            gone.get("/1/charges").await.refused(401, "unauthorized");
        }
        assert_eq!(app.anonymous().bytes(&format!("/pay/{merchant}")).await.0, 404);
        assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 2, "the first account, and its merchant");
        for (rows, expected) in [("charges", 0), ("merchants", 1), ("events", 1), ("files", 1), ("balances", 1)] {
            assert_eq!(app.number(format!("SELECT COUNT(*) FROM {rows}").leak()).await, expected, "{rows}");
        }
        assert_eq!(app.blobs().len(), 1);
        app.client().merchant_of(&kept).await;
    }
}

/// What a status lets a merchant's live keys do.
async fn keys_do_what_the_status_says(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let client = app.client();
    let merchant = client.merchant().await;
    let detail = client.merchant_of(&merchant).await;
    let key = |value: &Value| value.as_str().unwrap().to_owned();
    let own = app.with_key(&key(&detail["api_keys"]["secret"]));
    let mut browser = card("4242424242424242");
    browser["publishable_api_key"] = detail["api_keys"]["publishable"].clone();
    app.unchanged(app.with_key(&key(&detail["test_secret_api_key"])).get("/1/charges"))
        .await
        .refused(401, "unauthorized");
    let decide = async |status: MerchantStatus| {
        let wall = base::clock::Clock::now(&*app.clock);
        let id = merchant.parse().unwrap();
        card_payments::services::merchants::decide_as_operator(&app.ctx().store, wall, id, status)
            .await
            .unwrap();
    };
    let reads_only = async || {
        assert_eq!(own.get("/1/charges").await.ok(200), json!([]));
        app.unchanged(own.post("/1/charges", &charge(400))).await.refused(400, "api_unavailable");
        app.unchanged(own.post("/1/charges", &json!({}))).await.refused(400, "api_unavailable");
        app.unchanged(own.put("/1/customers/cus_x", &json!({}))).await.refused(400, "api_unavailable");
        app.unchanged(own.delete("/1/customers/cus_x")).await.refused(400, "api_unavailable");
        app.unchanged(own.upload("receipt.pdf", crate::harness::PDF)).await.refused(400, "api_unavailable");
        app.unchanged(app.anonymous().post("/1/cards", &browser)).await.refused(400, "api_unavailable");
        // What cannot be read is said first.
        let unreadable = own.request(http::Method::POST, "/1/charges").header("content-type", "text/plain");
        app.unchanged(own.send(unreadable.body("x".into()).unwrap()))
            .await
            .refused(415, "unsupported_media_type");
    };
    reads_only().await;
    decide(MerchantStatus::Active).await;
    let headers = [("Idempotency-Key", "customer")];
    let customer = json!({ "email": "a@example.com", "card": card("4242424242424242") });
    let made = post_with(&own, "/1/customers", &headers, &customer).await;
    made.ok(201);
    app.anonymous().post("/1/cards", &browser).await.ok(201);
    decide(MerchantStatus::OnHold).await;
    reads_only().await;
    // An answer that was given is given again.
    assert_eq!(app.unchanged(post_with(&own, "/1/customers", &headers, &customer)).await.text, made.text);
    decide(MerchantStatus::Declined).await;
    app.unchanged(own.get("/1/charges")).await.refused(401, "unauthorized");
    app.unchanged(own.post("/1/charges", &charge(400))).await.refused(401, "unauthorized");
    app.unchanged(app.anonymous().post("/1/cards", &browser)).await.refused(401, "unauthorized");
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_live_keys_do_what_the_status_says_on_sqlite() {
    keys_do_what_the_status_says(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_live_keys_do_what_the_status_says_on_postgres() {
    keys_do_what_the_status_says(Database::Postgres).await;
}

#[test]
fn rights_of_keys_are_those_of_the_decisions() {
    for &status in MerchantStatus::ALL {
        assert_eq!(access(Environment::Test, status), Access::Full);
        let expected = match status {
            MerchantStatus::Active => Access::Full,
            MerchantStatus::PendingApproval | MerchantStatus::OnHold => Access::Reading,
            MerchantStatus::Declined => Access::None,
        };
        assert_eq!(access(Environment::Live, status), expected);
    }
}

/// The program over a database of the live environment.
fn live_program(data: &Path, key: &str) -> std::process::Command {
    let mut command = program(data);
    command.env("CARD_PAYMENTS_ENVIRONMENT", "live").env("CARD_PAYMENTS_ACQUIRER", "simulator");
    command.env("CARD_PAYMENTS_VAULT_KEY", key).env("CARD_PAYMENTS_LOG", "error");
    command
}

fn form(application: &Value) -> String {
    serde_qs::Config::new().use_form_encoding(true).serialize_string(application).unwrap()
}

#[test]
fn an_operator_decides_beside_a_server() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let merchant = token_of(&server.ask("POST", "/1/merchants", Some(&key), &form(&application())).ok(201));
    let run = |arguments: &[&str]| output(program(data.path()).arg("merchant").args(arguments));
    let shown = || server.ask("GET", &format!("/1/merchants/{merchant}"), Some(&key), "").ok(200);
    let (code, stdout, stderr) = run(&["hold", &merchant]);
    assert_eq!(
        (code, stdout, stderr.as_str()),
        (Some(0), format!("{merchant}: on_hold, Roland's Robots\n"), "")
    );
    let (code, stdout, _) = run(&["activate", &merchant, "--json"]);
    let printed: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &printed, stdout.lines().count()), (Some(0), &summary_of(&shown()), 1));
    let (code, stdout, stderr) = run(&["activate", &merchant]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with("error: ") && stderr.lines().count() == 1, "{stderr}");
    assert_eq!(run(&["decline", &merchant]).0, Some(0));
    assert_eq!(shown()["status"], "declined");
    let nobody = "mrch_AZqYv3rVcBKUQ1mHn7tKRw";
    assert_eq!(
        run(&["activate", nobody]),
        (Some(1), String::new(), format!("error: there is no merchant {nobody}\n"))
    );
    assert_eq!(
        run(&["activate", "mrch_x"]),
        (Some(1), String::new(), "error: there is no merchant mrch_x\n".into())
    );
    for wrong in [&["activate"][..], &["approve", &merchant]] {
        assert_eq!(run(wrong).0, Some(2), "{wrong:?}");
    }
    let events = server.ask("GET", "/1/events", Some(&key), "").ok(200);
    let names: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|event| event["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        ["submitted", "on_hold", "activated", "declined"]
            .map(|name| format!("sub_merchant_application.{name}"))
    );
    server.stopped();
}

#[test]
fn an_exported_merchant_is_one_line_for_a_program() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let merchant = token_of(&server.ask("POST", "/1/merchants", Some(&key), &form(&application())).ok(201));
    let export = |arguments: &[&str]| {
        let mut command = program(data.path());
        let (code, stdout, stderr) = output(command.args(["account", "export", &merchant]).args(arguments));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        stdout
    };
    let text = export(&[]);
    let line = export(&["--json"]);
    assert_eq!(line.lines().count(), 1);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), document);
    // With a file it names the file.
    let file = data.path().join("merchant.json");
    let named = export(&["--json", "--out", file.to_str().unwrap()]);
    let named: Value = serde_json::from_str(&named).unwrap();
    assert_eq!(named, json!({ "merchant": merchant, "file": file }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    server.stopped();
}

/// How many exports the audit trail has.
fn exports(data: &Path) -> usize {
    let (_, trail, _) = output(program(data).args(["audit", "--json"]));
    trail.lines().filter(|entry| entry.contains("merchant.exported")).count()
}

#[test]
fn a_merchant_goes_from_test_to_live_with_its_keys() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let vault_key = OperatorKeys::generate("live").to_text().expose().to_owned();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let merchant = token_of(&server.ask("POST", "/1/merchants", Some(&key), &form(&application())).ok(201));
    let detail = server.ask("GET", &format!("/1/merchants/{merchant}"), Some(&key), "").ok(200);
    let secret = detail["api_keys"]["secret"].as_str().unwrap();
    let account = AccountToken::new(merchant.parse::<entity::MerchantToken>().unwrap().id()).to_string();
    let export =
        |arguments: &[&str]| output(program(data.path()).args(["account", "export"]).args(arguments));
    let import =
        |file: &Path| output(live_program(other.path(), &vault_key).args(["account", "import"]).arg(file));

    // To standard output, and into a file of its own.
    let (code, text, stderr) = export(&[&merchant]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["environment"], &document["keys"]["secret"]), (&json!("live"), &json!(secret)));
    assert!(
        !text.contains(detail["test_secret_api_key"].as_str().unwrap()),
        "keys of this environment stay here"
    );
    let file = other.path().join("merchant.json");
    let path = file.to_str().unwrap();
    assert_eq!(export(&[&merchant, "--out", path]), (Some(0), String::new(), String::new()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let exists = format!("error: {path}: File exists (os error 17)\n");
    assert_eq!(export(&[&merchant, "--out", path]), (Some(1), String::new(), exists));
    assert_eq!(exports(data.path()), 2, "what is refused leaves no entry");
    let nobody = "mrch_AZqYv3rVcBKUQ1mHn7tKRw";
    assert_eq!(
        export(&[nobody]),
        (Some(1), String::new(), format!("error: there is no merchant {nobody}\n"))
    );

    // What cannot be right changes nothing: not even a database is made.
    let wrong = other.path().join("wrong.json");
    let database = other.path().join("card-payments.db");
    let changed = |pointer: &str, value: Value| {
        let mut changed = document.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed.to_string()
    };
    for (text, line) in [
        (text[..text.len() / 2].to_owned(), "the document is incomplete or not JSON: line "),
        (String::new(), "the document is incomplete or not JSON: line "),
        (text.clone() + "{", "the document is incomplete or not JSON: line "),
        (changed("/application/contact", json!({})), "the document is incomplete or not JSON: line "),
        ("{}".into(), "the document is not a merchant that this release can read"),
        (changed("/version", json!(2)), "the document is not a merchant that this release can read"),
        (changed("/environment", json!("test")), "the document is for the test environment"),
        (changed("/bank_account/bsb", json!("x")), "the document's bank_account is invalid"),
        (changed("/keys/secret", json!("short")), "the document's keys is invalid"),
        (changed("/password_hash", json!("hunter2")), "the document's password_hash is invalid"),
        (changed("/application/contact/email", json!("x")), "the document's application is invalid"),
        (changed("/application/contact/phone_number", json!(" ")), "the document's application is invalid"),
        (
            changed("/application/entity/business_registration_number", json!("1")),
            "the document's application is invalid",
        ),
    ] {
        std::fs::write(&wrong, &text).unwrap();
        let (code, stdout, stderr) = import(&wrong);
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(1), "", 1), "{stderr}");
        assert!(stderr.starts_with(&format!("error: {line}")), "{stderr}");
        assert!(!stderr.contains(secret) && !database.exists(), "{stderr}");
    }
    std::fs::write(&wrong, changed("/bank_account/number", json!("x"))).unwrap();
    assert_eq!(
        import(&wrong),
        (Some(1), String::new(), "error: the document's bank_account is invalid\n".into())
    );
    // The environment that exported it takes it no more than a database of the other one takes its commands.
    let (code, _, stderr) = output(program(data.path()).args(["account", "import", path]));
    assert_eq!((code, stderr.as_str()), (Some(1), "error: the document is for the live environment\n"));

    let (code, stdout, stderr) = import(&file);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(
        stdout.starts_with(&format!("{account}: the account of {merchant}, pending approval")),
        "{stdout}"
    );
    assert_eq!(import(&file), (Some(1), String::new(), format!("error: {account} already exists\n")));
    std::fs::write(&wrong, changed("/merchant", json!(nobody))).unwrap();
    assert_eq!(
        import(&wrong),
        (Some(1), String::new(), "error: the document's keys belong to another account\n".into())
    );

    // It reads, and trades once the operator says so.
    let live = Process::start(&mut live_program(other.path(), &vault_key));
    assert_eq!(live.ask("GET", "/1/charges", Some(secret), "").ok(200), json!([]));
    let customer = "email=a@example.com&card[number]=4242424242424242&card[expiry_month]=5&card[expiry_year]=2090&card[cvc]=123\
        &card[name]=R&card[address_line1]=1&card[address_city]=L&card[address_country]=AU";
    let refused = live.ask("POST", "/1/customers", Some(secret), customer);
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("api_unavailable")));
    assert_eq!(live.ask("GET", "/1/merchants", Some(secret), "").status, 401);
    let activated = output(live_program(other.path(), &vault_key).args(["merchant", "activate", &merchant]));
    assert_eq!(activated, (Some(0), format!("{merchant}: active, Roland's Robots\n"), String::new()));
    live.ask("POST", "/1/customers", Some(secret), customer).ok(201);
    assert_eq!(live.ask("GET", &format!("/pay/{merchant}"), None, "").status, 200);
    // From there it goes no further.
    let (code, stdout, stderr) =
        output(live_program(other.path(), &vault_key).args(["account", "export", &merchant]));
    assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(1), "", 1), "{stderr}");
    live.stopped();
    server.stopped();
}

#[test]
fn a_database_of_the_other_environment_exports_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let merchant = token_of(&server.ask("POST", "/1/merchants", Some(&key), &form(&application())).ok(201));
    let vault_key = OperatorKeys::generate("live").to_text().expose().to_owned();
    let (code, stdout, stderr) =
        output(live_program(data.path(), &vault_key).args(["account", "export", &merchant]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert_eq!(stderr, "error: the database belongs to the test environment\n");
    let (code, _, stderr) = output(
        program(data.path()).env("CARD_PAYMENTS_VAULT_KEY", vault_key).args(["account", "export", &merchant]),
    );
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("error: the vault key does not open this database: "), "{stderr}");
    server.stopped();
}
