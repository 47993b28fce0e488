//! Operators make and govern accounts by commands, beside a running server or on an empty database (`docs/decisions.md`, 316
//! to 321).

mod bench;
mod check;
mod coverage;
mod examine_client;
mod examine_receiver;
mod exec;
mod help;
mod listening;
mod live;
mod mcp;
mod operating;
mod options;
mod process;
mod recordings;
mod releases;
mod reports;
mod seed;
mod seeds;
mod starts;
mod terminals;
mod traces;
mod triggers;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

pub use self::help::helps;
use crate::harness::process::{PAYMENT, ask, output, program};
use crate::harness::{Database, Installed, fields, operated, token_of};

const NOBODY: &str = "acct_AZqYv3rVcBKUQ1mHn7tKRw";
const CREATE: [&str; 6] =
    ["account", "create", "--business-name", "Roland Robotics", "--email", "accounts@example.com"];

/// The command that makes an account, with these further arguments.
fn create<'a>(further: &[&'a str]) -> Vec<&'a str> {
    [&CREATE, further].concat()
}

fn text<'a>(record: &'a Value, field: &str) -> &'a str {
    record[field].as_str().unwrap_or_else(|| panic!("no {field}: {record}"))
}

/// Returns how many rows there are that a command about accounts could add.
async fn rows(installed: &Installed) -> i64 {
    let tables = ["accounts", "api_keys", "bank_accounts", "deposits", "installation", "vault_keys"];
    let counts = tables.map(|table| format!("(SELECT COUNT(*) FROM {table})"));
    installed.number(&format!("SELECT {}", counts.join(" + "))).await
}

operated! {
    async fn the_first_account_may_be_made_by_a_command_and_is_then_the_servers(installed) {
        let made = installed.records(&create(&[])).remove(0);
        assert_eq!(fields(&made), ["token", "business_name", "secret_key", "publishable_key"]);
        let (secret, publishable) = (text(&made, "secret_key"), text(&made, "publishable_key"));
        assert_eq!((secret.len(), publishable.len(), &publishable[..3]), (22, 25, "pk_"));
        assert_eq!(made["business_name"], "Roland Robotics");
        let server = installed.serve();
        assert_eq!(server.keys(), (secret.to_owned(), publishable.to_owned()));
        assert_eq!(installed.account(), text(&made, "token"));
        server.pay(secret).ok(201);
        let transfer = "description=Payout&amount=100&currency=AUD&recipient=self";
        let transfer = server.ask("POST", "/1/transfers", Some(secret), transfer).ok(201);
        assert_eq!(transfer["bank_account"]["bsb"], "806015", "it opens with money, and somewhere to pay it out to");
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn an_account_is_made_beside_a_running_server(installed) {
        let server = installed.serve();
        let (first, _) = server.keys();
        let (code, stdout, stderr) = installed.run(&create(&["--partner", "--bsb", "342-088", "--number", "123456789999"]));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        let lines: Vec<Vec<_>> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
        let [[token, name @ ..], [_, _, secret], [_, _, publishable]] = [&lines[0][..], &lines[1], &lines[2]] else {
            panic!("{stdout}")
        };
        assert_eq!((name.join(" ").as_str(), lines.len()), ("(Roland Robotics)", 3));
        server.pay(secret).ok(201);
        assert_eq!(server.ask("GET", "/1/charges", Some(publishable), "").status, 401);
        let own = server.ask("GET", "/1/balance", Some(secret), "").ok(200);
        assert_eq!(own["available"][0]["amount"], 100_000_000);
        assert_eq!(server.ask("GET", "/1/charges", Some(&first), "").json()["count"], 0);
        let listed = installed.records(&["account", "list"]);
        assert_eq!(listed.iter().map(|account| &account["partner"]).collect::<Vec<_>>(), [true, true]);
        assert_eq!(text(&listed[1], "token"), *token);
        let transfer = "description=Payout&amount=100&currency=AUD&recipient=self";
        let transfer = server.ask("POST", "/1/transfers", Some(secret), transfer).ok(201);
        assert_eq!(transfer["bank_account"], json!({
            "token": transfer["bank_account"]["token"], "name": "Roland Robotics", "bsb": "342088",
            "number": "XXXXXXXXX999", "bank_name": transfer["bank_account"]["bank_name"],
            "branch": transfer["bank_account"]["branch"],
        }));
        server.stopped();
    }

    async fn an_operator_makes_lists_rolls_and_revokes_restricted_keys(installed) {
        let server = installed.serve();
        let account = installed.account();
        let create = ["account", "key", "create", &account, "--name", "Accounting", "--right", "charges:read"];
        let made = installed.records(&[&create[..], &["--network", "127.0.0.1", "--expires-at", "2099-01-01"]].concat()).remove(0);
        let (key, secret) = (text(&made, "token"), text(&made, "secret_key"));
        server.ask("GET", "/1/charges", Some(secret), "").ok(200);
        assert_eq!(server.pay(secret).status, 403);
        let listed = installed.records(&["account", "key", "list", &account]).remove(0);
        assert_eq!((text(&listed, "token"), &listed["secret_key"]), (key, &Value::Null));
        for blank in [["--network", ""], ["--expires-at", " "]] {
            assert_eq!(installed.run(&[&create[..], &blank].concat()).0, Some(2), "{blank:?}");
        }
        installed.refuses(&[&create[..], &["--right", "charges:write"]].concat(), "charges is named twice, and has one right");
        assert_eq!(installed.records(&["account", "key", "list", &account]), [listed]);
        let rolled = installed.records(&["account", "key", "roll", &account, key, "--grace", "1h"]).remove(0);
        for works in [secret, text(&rolled, "secret_key")] {
            server.ask("GET", "/1/charges", Some(works), "").ok(200);
        }
        let again = text(&rolled, "token");
        assert_eq!(installed.run(&["account", "key", "revoke", &account, again]), (Some(0), format!("{again}\n"), String::new()));
        installed.refuses(&["account", "key", "revoke", &account, again], &format!("there is no restricted key {again}"));
        installed.refuses(&[&create[..6], &["--right", "chargs:read"]].concat(), "Rights names an unknown section: take one of the API's document in small letters, such as bank_accounts, or keys");
        installed.refuses(&[&create[..2], &["create", NOBODY], &create[4..]].concat(), &format!("there is no account {NOBODY}"));
        server.stopped();
    }

    async fn configured_keys_open_the_account_that_is_made_and_no_second_one(installed) {
        installed.with("SECRET_KEY", "sk_of_the_operator");
        installed.with("PUBLISHABLE_KEY", "pk_of_the_operator");
        let made = installed.records(&create(&[])).remove(0);
        assert_eq!((text(&made, "secret_key"), text(&made, "publishable_key")), ("sk_of_the_operator", "pk_of_the_operator"));
        let before = rows(installed).await;
        installed.refuses(
            &create(&[]), "Secret key is somebody's already, Publishable key is somebody's already",
        );
        installed.without("SECRET_KEY");
        installed.refuses(&create(&[]), "Publishable key is somebody's already");
        installed.with("SECRET_KEY", "short");
        installed.refuses(&create(&[]), "CARD_PAYMENTS_SECRET_KEY must be 8 to 100 visible characters, the last of them no colon");
        assert_eq!(rows(installed).await, before);
        installed.with("SECRET_KEY", "sk_of_the_operator");
        let server = installed.serve();
        assert_eq!(server.keys(), ("sk_of_the_operator".to_owned(), "pk_of_the_operator".to_owned()));
        server.pay("sk_of_the_operator").ok(201);
        server.stopped();
    }

    async fn a_fault_of_a_new_account_is_told_and_changes_nothing(installed) {
        assert_eq!(installed.run(&["migrate"]), (Some(0), String::new(), String::new()));
        let before = rows(installed).await;
        let long = "x".repeat(256);
        for (name, email, further, message) in [
            ("Shop", "nonsense", &[][..], "Email is not formatted properly"),
            (" ", "a@example.com", &[], "Business name can't be blank"),
            (&long, "a@example.com", &[], "Business name is too long (maximum is 255 characters)"),
            ("Shop", "a@example.com", &["--bsb", "12345", "--number", "1"], "Bank account BSB must be 6 numbers"),
        ] {
            let named = ["account", "create", "--business-name", name, "--email", email];
            installed.refuses(&[&named, further].concat(), message);
        }
        for (bsb, number, message) in [
            ("806015", "12a", "Bank account number is not valid"),
            ("806015", "1234567890123", "Bank account number is not valid"),
            ("123456", "1", "Bank account is invalid"),
        ] {
            installed.refuses(&create(&["--bsb", bsb, "--number", number]), message);
        }
        for wrong in [
            &["account"][..], &["account", "create"], &create(&["--bsb", "806015"]), &create(&["--number", "1"]),
            &["account", "switch", NOBODY, "wallet", "maybe"],
            &["account", "switch", NOBODY, "refunds", "on"], &["account", "set", NOBODY, "colour", "red"],
            &["account", "set", NOBODY, "pricing"], &["account", "rotate-keys", NOBODY, "--grace", "soon"],
            &["account", "rotate-keys", NOBODY, "--grace", "-1h"], &["account", "rotate-keys", NOBODY, "--grace", "h"],
            &["account", "rotate-keys", NOBODY, "--grace", "999999999999999999h"], &["vault"], &["backup"],
            &["completions", "abacus"],
        ] {
            let (code, stdout, stderr) = installed.run(wrong);
            assert!(code == Some(2) && stdout.is_empty() && !stderr.is_empty(), "{wrong:?}: {stderr}");
        }
        let nobody = format!("there is no account {NOBODY}");
        installed.refuses(&["account", "switch", "acct_x", "wallet", "on"], "there is no account acct_x");
        installed.refuses(&["account", "switch", NOBODY, "wallet", "on"], &nobody);
        installed.refuses(&["account", "set", NOBODY, "transfers_enabled", "true"], &nobody);
        installed.refuses(&["account", "rotate-keys", NOBODY], &nobody);
        assert_eq!(rows(installed).await, before);
    }

    async fn accounts_are_listed_with_their_settings_and_without_their_keys(installed) {
        assert_eq!(installed.run(&["migrate"]).0, Some(0));
        assert_eq!(installed.run(&["account", "list"]), (Some(0), String::new(), "none\n".into()));
        let made = installed.records(&create(&[])).remove(0);
        let shown = installed.records(&["account", "list"]).remove(0);
        assert_eq!(fields(&shown), [
            "token", "business_name", "email", "disputes", "wallet", "partner", "pricing", "third_party_transfer_fee",
            "maximum_charge_cents", "settlement_delay_days", "transfers_enabled", "transfers_schedule", "card_testing",
            "strict_parameters", "created_at",
        ]);
        assert_eq!(shown["token"], made["token"]);
        assert_eq!(shown["pricing"]["foreign_currency_core"], json!({ "fixed_fee": 30, "percentage_fee": "2.9" }));
        let (_, stdout, _) = installed.run(&["account", "list"]);
        for secret in ["secret_key", "publishable_key"] {
            assert!(!stdout.contains(text(&made, secret)) && !shown.to_string().contains(text(&made, secret)));
        }
        assert!(stdout.starts_with(text(&made, "token")) && stdout.contains("accounts@example.com"), "{stdout}");
    }

    async fn an_empty_list_is_none_to_people_and_nothing_to_programs(installed) {
        let account = text(&installed.records(&create(&[])).remove(0), "token").to_owned();
        for list in [
            &["account", "key", "list", &account][..], &["people", "list"], &["reconcile", "list"], &["audit", "--page", "1000"],
        ] {
            assert_eq!(installed.run(list), (Some(0), String::new(), "none\n".into()), "{list:?}");
            assert_eq!(installed.run(&[list, &["--json"]].concat()), (Some(0), String::new(), String::new()), "{list:?}");
        }
    }

    async fn an_authorisation_is_no_charge_that_may_be_disputed(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let authorised = token_of(&server.ask("POST", "/1/authorisations", Some(&key), PAYMENT).ok(201));
        server.ask("POST", &format!("/1/authorisations/{authorised}/charges"), Some(&key), "amount=100").ok(200);
        let none = authorised.replacen("auth_", "ch_", 1);
        installed.refuses(&["dispute", "open", &none], &format!("there is no charge {none}"));
        server.stopped();
        assert_eq!(installed.number("SELECT COUNT(*) FROM disputes").await, 0);
    }

    async fn the_token_of_another_kind_of_record_says_which_kind_is_expected(installed) {
        installed.records(&create(&[]));
        let account = installed.account();
        let id = "AZqYv3rVcBKUQ1mHn7tKRw";
        let (charge, refund) = (format!("ch_{id}"), format!("rf_{id}"));
        for (command, kind, prefix) in [
            (&["account", "switch", &charge, "wallet", "on"][..], "account", "acct_"),
            (&["customer", "erase", &charge, "--account", &account], "customer", "cus_"),
            (&["merchant", "activate", &charge], "merchant", "mrch_"),
            (&["account", "key", "revoke", &account, &charge], "restricted key", "key_"),
            (&["reconcile", "show", &charge], "exception", "exc_"),
            (&["dispute", "resolve", &charge, "won"], "dispute", "dis_"),
        ] {
            installed.refuses(command, &format!("there is no {kind} {charge}: {kind} tokens begin with {prefix}"));
        }
        installed.refuses(&["dispute", "open", &refund], &format!("there is no charge {refund}: charge tokens begin with ch_"));
        for (command, expected) in [
            (&["webhook", "ping", &account, &charge][..], "webhook endpoint tokens begin with whe_"),
            (&["webhook", "ping", &account, "whe_x"], "a token is whe_ and 22 letters, digits, - or _"),
            (&["audit", "--account", &charge], "account tokens begin with acct_"),
        ] {
            let (code, stdout, stderr) = installed.run(command);
            assert!(code == Some(2) && stdout.is_empty() && stderr.contains(expected), "{command:?}: {stderr}");
        }
        let explained = format!("{charge} is the token of a record: name an error code, or the X-Request-Id of an answer");
        installed.refuses(&["explain", &charge], &explained);
    }

    async fn switches_and_settings_govern_from_the_next_request_on(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let account = installed.account();
        let set = |setting: &str, value: &str| installed.records(&["account", "set", &account, setting, value]).remove(0);
        let post = |path: &str, form: &str| server.ask("POST", path, Some(&key), form);

        let switched = installed.records(&["account", "switch", &account, "disputes", "off"]).remove(0);
        assert_eq!(switched["disputes"], false);
        assert_eq!(server.ask("GET", "/1/disputes", Some(&key), "").json()["error"], "api_unavailable");
        installed.records(&["account", "switch", &account, "disputes", "on"]);
        server.ask("GET", "/1/disputes", Some(&key), "").ok(200);

        assert_eq!(set("maximum_charge_cents", "399")["maximum_charge_cents"], 399);
        assert_eq!(server.pay(&key).status, 422);
        set("maximum_charge_cents", "400");
        assert_eq!(server.pay(&key).ok(201)["total_fees"], 37);
        set("transaction_fixed_fee", "10");
        assert_eq!(server.pay(&key).ok(201)["total_fees"], 17);
        set("domestic_transaction_percentage_fee", "2.5");
        assert_eq!(server.pay(&key).ok(201)["total_fees"], 20);
        set("premiumscheme_transaction_percentage_fee", "50");
        set("foreign_transaction_percentage_fee", "100");
        assert_eq!(server.pay(&key).ok(201)["total_fees"], 20, "neither is this card's");
        let foreign = post("/1/charges", &PAYMENT.replace("4200000000000000", "4200000190000000")).ok(201);
        assert_eq!(foreign["total_fees"], 400, "a fee never takes more than there is");
        let mut pricing = set("transaction_fixed_fee", "0")["pricing"].clone();
        pricing["domestic_currency_domestic_card_core"] = json!({ "fixed_fee": 1, "percentage_fee": "0" });
        assert_eq!(set("pricing", &pricing.to_string())["pricing"], pricing);
        assert_eq!(server.pay(&key).ok(201)["total_fees"], 1);

        let transfer = "description=Payout&amount=100&currency=AUD&recipient=self";
        set("transfers_enabled", "false");
        assert_eq!(post("/1/transfers", transfer).status, 422);
        set("transfers_enabled", "true");
        post("/1/transfers", transfer).ok(201);
        set("settlement_delay_days", "0");
        let available = || {
            let balance = server.ask("GET", "/1/balance", Some(&key), "").ok(200);
            balance["available"][0]["amount"].as_i64().unwrap()
        };
        let before = available();
        server.pay(&key).ok(201);
        assert_eq!(available(), before + 399);
        let due = "SELECT COUNT(*) FROM accounts WHERE settles_at IS NOT NULL";
        for (schedule, accounts) in [("daily", 1), ("weekly", 1), ("manual", 0)] {
            assert_eq!(set("transfers_schedule", schedule)["transfers_schedule"], schedule);
            assert_eq!(installed.number(due).await, accounts, "{schedule}");
        }
        assert_eq!(set("third_party_transfer_fee", "45")["third_party_transfer_fee"], 45);
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]), (Some(0), "The books balance.\n".into(), String::new()));
    }

    async fn a_wrong_value_of_a_setting_is_told_and_changes_nothing(installed) {
        installed.records(&create(&[]));
        let account = installed.account();
        let before = installed.records(&["account", "list"]);
        for (setting, value, message) in [
            ("maximum_charge_cents", "99", "Maximum charge cents must be greater than or equal to 100"),
            ("maximum_charge_cents", "ten", "Maximum charge cents is not a number"),
            ("transaction_fixed_fee", "-1", "Transaction fixed fee must be greater than or equal to 0"),
            ("transaction_fixed_fee", "1.5", "Transaction fixed fee must be an integer"),
            ("third_party_transfer_fee", "1000001", "Third party transfer fee must be at most 1000000"),
            ("settlement_delay_days", "366", "Settlement delay days must be at most 365"),
            ("settlement_delay_days", "", "Settlement delay days can't be blank"),
            ("transfers_enabled", "perhaps", "Transfers enabled is not included in the list"),
            ("transfers_schedule", "hourly", "Transfers schedule is not included in the list"),
            ("foreign_transaction_percentage_fee", "100.1",
                "Foreign transaction percentage fee must be a decimal from 0 to 100 with at most four decimals"),
            ("domestic_transaction_percentage_fee", "",
                "Domestic transaction percentage fee must be a decimal from 0 to 100 with at most four decimals"),
            ("pricing", "{}", "Pricing is not a pricing table"),
        ] {
            installed.refuses(&["account", "set", &account, setting, value], message);
        }
        assert_eq!(installed.records(&["account", "list"]), before);
    }

    async fn a_command_refuses_the_other_environments_database_and_a_wrong_vault_key(installed) {
        installed.serve().stopped();
        let account = installed.account();
        let before = rows(installed).await;
        let own_key = ["account", "rotate-keys", &account];
        installed.with("ENVIRONMENT", "live");
        let other = "the database belongs to the test environment";
        for command in [
            &["account", "list"][..], &["account", "switch", &account, "wallet", "off"], &["ledger", "verify"],
            &["deposit", "create", &account, "--amount", "1"], &["migrate"], &own_key,
        ] {
            installed.refuses(command, other);
        }
        for command in [&["vault", "rotate"][..], &CREATE] {
            installed.refuses(command, "CARD_PAYMENTS_VAULT_KEY is required in the live environment");
        }
        installed.with("VAULT_KEY", "other:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        for command in [&own_key[..], &["vault", "rotate"], &CREATE] {
            installed.refuses(command, other);
        }
        installed.without("ENVIRONMENT");
        for command in [&own_key[..], &["vault", "rotate"], &CREATE] {
            let (code, stdout, stderr) = installed.run(command);
            assert_eq!((code, stdout.as_str()), (Some(1), ""));
            assert!(stderr.starts_with("error: the vault key does not open this database: "), "{stderr}");
        }
        installed.with("VAULT_KEY", "other:hunter2");
        let (code, _, stderr) = installed.run(&["vault", "rotate"]);
        assert!(code == Some(1) && !stderr.contains("hunter2"), "{stderr}");
        assert_eq!(rows(installed).await, before);
    }

    async fn options_of_a_command_may_stand_before_it(installed) {
        let made = installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]);
        let before = installed.records(&["account", "list"]);
        assert_eq!(before[0]["token"], made[0]["token"]);
        assert_eq!(installed.records(&["--environment", "test", "account", "list"]), before);
        assert_eq!(installed.records(&["--environment=test", "account", "list"]), before);
        let (code, listed, _) = installed.run(&["--json", "account", "list"]);
        assert_eq!((code, listed.lines().count()), (Some(0), before.len()), "{listed}");
        let (code, _, stderr) = installed.run(&["--environment", "live", "account", "list"]);
        assert_eq!(code, Some(1), "{stderr}");
    }

    async fn a_command_in_a_wrong_folder_says_so_and_makes_nothing(installed) {
        if installed.database == Database::Sqlite {
            let folder = installed.data.path().join("elsewhere");
            let file = folder.join("card-payments.db");
            let missing = installed.no_database().replace(
                &installed.data.path().join("card-payments.db").display().to_string(), &file.display().to_string());
            for command in [
                &["account", "list"][..], &["account", "key", "list", NOBODY], &["account", "rotate-keys", NOBODY],
                &["account", "export", NOBODY], &["account", "set", NOBODY, "transfers_enabled", "true"], &["audit"],
                &["audit", "verify"], &["ledger", "verify"], &["ledger", "report"], &["people", "list"],
                &["reconcile", "list"], &["vault", "rotate"],
            ] {
                let there = [command, &["--data-dir", folder.to_str().unwrap()]].concat();
                installed.refuses(&there, &missing);
                assert!(!folder.exists(), "{command:?}");
            }
        }
    }

    async fn an_empty_database_belongs_to_whoever_fills_it_first(installed) {
        for command in [&["migrate"][..], &["account", "list"], &["ledger", "verify"]] {
            assert_eq!(installed.run(command).0, Some(0), "{command:?}");
        }
        for command in [&["audit", "verify"][..], &["account", "export", "mrch_AZqYv3rVcBKUQ1mHn7tKRw"]] {
            installed.refuses(command, "the database is empty: a server, or account create, fills it");
        }
        installed.with("ENVIRONMENT", "live");
        installed.with("VAULT_KEY", "own:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        installed.records(&create(&[]));
        installed.without("ENVIRONMENT");
        installed.refuses(&["account", "list"], "the database belongs to the live environment");
    }
}

operated! {
    async fn a_command_that_prints_nothing_for_people_tells_a_program_its_work(installed) {
        let steps = installed.records(&["migrate"]);
        assert_eq!((fields(&steps[0]), &steps[0]["step"]), (vec!["step"], &json!("m0001_schema")));
        assert_eq!(steps.len(), migration::names::<migration::Migrator>().len());
        assert_eq!(installed.records(&["migrate"]), Vec::<Value>::new());

        let (code, _, _) = installed.run(&create(&["--partner"]));
        assert_eq!(code, Some(0));
        let mut serving = installed.program();
        let mut serving = serving.args(["serve", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serving.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let banner: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(fields(&banner), [
            "listening", "version", "environment", "api", "swagger", "dashboard", "secret_key", "publishable_key",
        ]);
        let listening = text(&banner, "listening").to_owned();
        assert_eq!(text(&banner, "api"), format!("{listening}/1"));
        let address = listening.strip_prefix("http://").unwrap();
        let health = installed.records(&["health", "--listen", address]).remove(0);
        assert_eq!(health, json!({ "address": format!("{listening}/healthz"), "status": 200 }));
        let key = text(&banner, "secret_key");
        assert_eq!(ask(address.parse().unwrap(), "POST", "/1/charges", Some(key), PAYMENT).status, 201);
        serving.kill().unwrap();
        serving.wait().unwrap();
    }
}

#[test]
fn commands_without_a_database_tell_programs_too() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let (code, stdout, stderr) = output(program(folder.path()).args(arguments).arg("--json"));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        serde_json::from_str::<Value>(&stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    };
    let completions = run(&["completions", "fish"]);
    assert_eq!((fields(&completions), &completions["shell"]), (vec!["shell", "script"], &json!("fish")));
    assert_eq!(text(&completions, "script"), output(program(folder.path()).args(["completions", "fish"])).1);
    assert_eq!(run(&["acquirer", "--openapi"]), acquirer::http::document::document());
    assert_eq!(run(&["openapi"])["openapi"], run(&["acquirer", "--openapi"])["openapi"]);
}

#[test]
fn shells_complete_commands() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, stderr) = output(program(folder.path()).args(["completions", shell]));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        for word in ["rotate-keys", "card-payments", "forward-to"] {
            assert!(script.contains(word), "{shell} completes no {word}");
        }
        // The others complete the values of options only.
        assert_eq!(script.contains("charge.captured"), ["bash", "zsh"].contains(&shell), "{shell}");
    }
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "needs no database");
    let script = folder.path().join("completions");
    std::fs::write(&script, output(program(folder.path()).args(["completions", "bash"])).1).unwrap();
    for (words, expected) in
        [("vault r", "rotate"), ("account key c", "create"), ("serve --env", "--environment")]
    {
        let mut bash = std::process::Command::new("bash");
        let completing = format!(
            "source \"$0\"; COMP_WORDS=(card-payments {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             _card__payments card-payments \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let (_, completed, stderr) = output(bash.args(["-c", &completing]).arg(&script));
        assert_eq!((completed.trim_end(), stderr.as_str()), (expected, ""), "{words}");
    }
}
