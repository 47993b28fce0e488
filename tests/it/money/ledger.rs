//! `card-payments ledger verify` (`docs/decisions.md`, 199, 312 and 313).

use serde_json::{Value, json};

use crate::harness::process::{Process, output, program};
use crate::harness::{App, card, charge_with, operated, rules, token, token_of};

/// A payment of each kind that the books know.
async fn trade(app: &App) -> String {
    let client = app.client();
    let charge = charge_with(400, json!({ "currency": "USD", "platform_adjustment": { "amount": 10 } }));
    let charge = token_of(&client.post("/1/charges", &charge).await.ok(201));
    client.refund(&charge, 100).await.ok(201);
    let fails = charge_with(400, json!({ "card": card("4200700000000013") }));
    let fails = token_of(&client.post("/1/charges", &fails).await.ok(201));
    client.refund(&fails, 400).await.ok(201);
    client.authorised(400).await;
    app.do_due_work().await;
    app.clock.advance(entity::TimeSpan::seconds(10));
    app.do_due_work().await;
    let (recipient, returns) = (client.recipient("987654321").await, client.recipient("999").await);
    client.transfer(1_000, token(&recipient)).await.ok(201);
    client.transfer(2_000, token(&returns)).await.ok(201);
    client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
    client.captured(50_000).await;
    app.clock.advance(entity::TimeSpan::days(1));
    app.do_due_work().await;
    client.refund(&charge, 50).await.ok(201);
    client.disputed(500).await;
    let won = token_of(&client.disputed(600).await);
    client.decide(&won, "cancelled").await.ok(200);
    charge
}

/// Tamper, see which proofs fail and by how much, and mend it.
async fn tampered(app: &App, harm: &'static str, mend: &'static str, expected: &[(&str, i64)]) {
    app.execute(harm).await;
    let found: Vec<_> = app
        .differences()
        .await
        .iter()
        .map(|difference| (difference.proof, difference.found - difference.expected))
        .collect();
    assert_eq!(found, expected, "{harm}");
    app.execute(mend).await;
    assert_eq!(app.differences().await, [], "{mend}");
}

rules! {
    async fn right_books_have_no_difference_and_tampered_ones_say_where(app) {
        let stranger = app.stranger().await;
        stranger.captured(400).await;
        trade(app).await;
        assert_eq!(app.differences().await, []);
        let rows = app.rows().await;
        tampered(app, "UPDATE postings SET amount = amount + 1 WHERE book = 'fees' AND amount = 47",
            "UPDATE postings SET amount = 47 WHERE book = 'fees' AND amount = 48",
            &[("entry_sums_to_zero", 1), ("books_make_the_balance", 1), ("book_is_its_records", 1)]).await;
        tampered(app, "UPDATE postings SET currency = 'USD' WHERE book = 'fees' AND amount = 47",
            "UPDATE postings SET currency = 'AUD' WHERE book = 'fees' AND amount = 47",
            &[("entry_sums_to_zero", -47), ("entry_sums_to_zero", 47), ("books_make_the_balance", -47), ("books_make_the_balance", 47)]).await;
        tampered(app, "UPDATE balances SET amount = amount - 7 WHERE slot = 32 AND available_on = (SELECT MIN(available_on) FROM balances)",
            "UPDATE balances SET amount = amount + 7 WHERE slot = 32 AND available_on = (SELECT MIN(available_on) FROM balances)",
            &[("balance_is_its_postings", -7), ("books_make_the_balance", -7)]).await;
        // Moved to another day: the sums hold, the days do not.
        tampered(app, "UPDATE postings SET available_on = available_on + 1 WHERE book = 'merchant' AND amount = -150",
            "UPDATE postings SET available_on = available_on - 1 WHERE book = 'merchant' AND amount = -150",
            &[("balance_is_its_postings", -150), ("balance_is_its_postings", 150)]).await;
        tampered(app, "UPDATE deposits SET amount = 100000001 WHERE amount = 100000000",
            "UPDATE deposits SET amount = 100000000 WHERE amount = 100000001",
            &[("book_is_its_records", 1), ("book_is_its_records", 1)]).await;
        tampered(app, "UPDATE charges SET amount_refunded = amount_refunded + 1 WHERE amount_refunded > 0",
            "UPDATE charges SET amount_refunded = amount_refunded - 1 WHERE amount_refunded > 0",
            &[("amount_refunded", 1)]).await;
        tampered(app, "UPDATE charges SET refunds_pending = 0 WHERE refunds_pending = 1",
            "UPDATE charges SET refunds_pending = 1 WHERE amount_refunded > 0",
            &[("refunds_pending", -1)]).await;
        tampered(app, "UPDATE charges SET amount = amount_refunded - 1 WHERE amount_refunded > 0",
            "UPDATE charges SET amount = 400 WHERE amount_refunded > 0",
            &[("refunds_within_the_charge", 1)]).await;
        tampered(app, "UPDATE refunds SET state = 'succeeded' WHERE state = 'failed'",
            "UPDATE refunds SET state = 'failed' WHERE amount = 400",
            &[("book_is_its_records", -400), ("amount_refunded", -400), ("settlement_refunded", -400)]).await;
        tampered(app, "UPDATE transfers SET amount = amount + 1 WHERE amount = 1000",
            "UPDATE transfers SET amount = 1000 WHERE amount = 1001", &[("book_is_its_records", -1)]).await;
        tampered(app, "UPDATE transfers SET fee = 31 WHERE amount = 1000", "UPDATE transfers SET fee = 30 WHERE amount = 1000",
            &[("book_is_its_records", -1)]).await;
        tampered(app, "UPDATE transfers SET status = 'succeeded' WHERE amount = 2000",
            "UPDATE transfers SET status = 'failed' WHERE amount = 2000",
            &[("book_is_its_records", -30), ("book_is_its_records", -2_000)]).await;
        tampered(app, "UPDATE transfers SET total_credits = total_credits + 1, total_debits = total_debits + 2, line_items_count = line_items_count + 3 WHERE kind = 'settlement'",
            "UPDATE transfers SET total_credits = total_credits - 1, total_debits = total_debits - 2, line_items_count = line_items_count - 3 WHERE kind = 'settlement'",
            &[("total_credits", 1), ("total_debits", 2), ("line_items_count", 3)]).await;
        // A line that waits although it is paid out, and one that does neither.
        tampered(app, "UPDATE postings SET unsettled = TRUE WHERE transfer_id IS NOT NULL AND amount = 49095",
            "UPDATE postings SET unsettled = FALSE WHERE transfer_id IS NOT NULL AND amount = 49095",
            &[("line_waits_or_is_settled", 1)]).await;
        tampered(app, "UPDATE postings SET unsettled = FALSE WHERE unsettled AND amount = -75",
            "UPDATE postings SET unsettled = TRUE WHERE transfer_id IS NULL AND book = 'merchant' AND amount = -75",
            &[("line_waits_or_is_settled", -1)]).await;
        assert_eq!(app.rows().await, rows, "looking changes nothing");
    }
}

/// The report as rows of columns by name.
fn reported(stdout: &str) -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(stdout.as_bytes());
    reader
        .deserialize::<std::collections::BTreeMap<String, String>>()
        .map(|row| json!(row.unwrap()))
        .collect()
}

fn cents(row: &Value) -> i64 {
    row["amount"].as_str().unwrap().parse().unwrap()
}

#[test]
fn an_accountant_checks_a_transfer_with_the_report() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let (first, _) = server.keys();
    let made = server.ask("POST", "/1/sandbox/accounts", Some(&first), "").ok(201);
    let (account, key) = (token_of(&made), made["secret_key"].as_str().unwrap().to_owned());
    let put = |path: &str, form: &str| server.ask("PUT", path, Some(&key), form).ok(200);
    put("/1/sandbox/account", "transfers_schedule=daily&settlement_delay_days=0");
    let charge = token_of(&server.pay(&key).ok(201));
    server.ask("POST", &format!("/1/charges/{charge}/refunds"), Some(&key), "amount=100").ok(201);
    server
        .ask("POST", "/1/transfers", Some(&key), "description=out&amount=50&currency=AUD&recipient=self")
        .ok(201);
    let clock = server.ask("GET", "/1/sandbox/clock", Some(&key), "").ok(200);
    let charge_time = clock["now"].as_str().unwrap().to_owned();
    put("/1/sandbox/clock", "advance=1d");
    let transfers = server.ask("GET", "/1/transfers", Some(&key), "").ok(200);
    let settlement = &transfers[0];
    assert_eq!(settlement["amount"], 363 - 100 - 50);

    let run =
        |arguments: &[&str]| output(program(data.path()).args(["ledger", "report", "--csv"]).args(arguments));
    let (code, stdout, stderr) = run(&["--account", &account]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(
        stdout.lines().next().unwrap(),
        "account,entry,created_at,kind,source,posting,book,amount,currency,available_on,transfer"
    );
    let rows = reported(&stdout);
    let of = |column: &str, value: &str| -> i64 {
        rows.iter().filter(|row| row[column] == value).map(cents).sum()
    };
    assert_eq!(json!(of("transfer", token(settlement))), settlement["amount"], "its lines");
    assert_eq!((of("source", token(settlement)), of("book", "transfers")), (0, 213 + 50));
    assert_eq!((of("currency", "AUD"), of("book", "merchant")), (0, 100_000_000));
    let kinds: Vec<_> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    let expected =
        "deposit deposit charge charge charge refund refund transfer transfer settlement settlement";
    assert_eq!(kinds.join(" "), expected);
    let line = rows.iter().find(|row| row["kind"] == "charge" && row["book"] == "merchant").unwrap();
    assert_eq!(
        (&line["source"], &line["amount"], &line["transfer"]),
        (&json!(charge), &json!("363"), &settlement["token"])
    );

    // The day of the settlement, and not a moment more.
    let day = &settlement["paid_at"].as_str().unwrap()[..10];
    let of_day = reported(&run(&["--account", &account, "--from", day]).1);
    assert_eq!(of_day.iter().map(|row| &row["kind"]).collect::<Vec<_>>(), ["settlement", "settlement"]);
    assert_eq!(reported(&run(&["--account", &account, "--to", day]).1).len(), rows.len() - 2);
    assert!(reported(&run(&["--account", &account, "--from", day, "--to", day]).1).is_empty());
    assert_eq!(reported(&run(&[]).1).len(), rows.len() + 2, "the first account's opening deposit as well");
    for nobody in ["acct_AZqYv3rVcBKUQ1mHn7tKRw", "x: account tokens begin with acct_"] {
        let refused = (Some(1), String::new(), format!("error: there is no account {nobody}\n"));
        assert_eq!(run(&["--account", nobody.split(':').next().unwrap()]), refused);
    }
    for wrong in [&["--from", "soon"][..], &["--to"]] {
        assert_eq!(run(wrong).0, Some(2), "{wrong:?}");
    }

    // What lay in the books before the settlement's day, and now.
    let books = |further: &[&str]| books(&reported(&run(&[&["--account", &account], further].concat()).1));
    are_those_of_an_instant(&books(&["--at", &charge_time]), &books(&["--at", day]));
    assert!(books(&["--at", "2020-01-01"]).is_empty());
    assert_eq!(run(&["--at", day, "--from", day]).0, Some(2));
    assert_eq!(run(&["--at", "soon"]).0, Some(2));

    // The same for a program, and for a person.
    let report = |further: &[&str]| {
        let (code, stdout, stderr) =
            output(program(data.path()).args(["ledger", "report", "--account", &account]).args(further));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{further:?}");
        stdout
    };
    let objects: Vec<Value> =
        report(&["--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), rows.len());
    for (object, row) in objects.iter().zip(&rows) {
        for (column, value) in row.as_object().unwrap() {
            let shown = object[column].as_str().map_or_else(|| object[column].to_string(), str::to_owned);
            assert_eq!(shown.replace("null", ""), value.as_str().unwrap_or_default(), "{column}: {object}");
        }
    }
    let table = report(&[]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines[0], account);
    assert!(lines[1].starts_with("when ") && lines[1].ends_with(" available"), "{table}");
    assert_eq!(lines.len(), 2 + rows.len() + 2);
    assert_eq!(lines.last(), Some(&format!("{} postings.", rows.len()).as_str()));
    assert!(lines[2].contains(" deposit ") && lines[2].contains("1000000.00 AUD"), "{table}");
    let fees = lines.iter().find(|line| line.contains(" fees ")).unwrap();
    assert!(fees.contains(" 0.37 AUD"), "{fees}");
    assert_eq!(report(&["--to", "2020-01-01"]), "No postings.\n");
    let table = report(&["--at", day]);
    assert!(table.starts_with(&account) && table.contains("\nmerchant       1000000.00 AUD\n"), "{table}");
    let objects = report(&["--at", day, "--json"]);
    assert_eq!(objects.lines().count(), books(&["--at", day]).len());
    assert_eq!(output(program(data.path()).args(["ledger", "report", "--csv", "--json"])).0, Some(2));
    server.stopped();
}

/// The amount of each book, in cents.
fn books(rows: &[Value]) -> Vec<(String, i64)> {
    rows.iter().map(|row| (row["book"].as_str().unwrap().to_owned(), cents(row))).collect()
}

/// Before the settlement there are fees and what the merchant has earned; afterwards what it began with.
#[track_caller]
fn are_those_of_an_instant(before: &[(String, i64)], after: &[(String, i64)]) {
    assert_eq!(before.iter().map(|(_, cents)| cents).sum::<i64>(), 0);
    let total = |of: &[(String, i64)], book: &str| {
        of.iter().find(|(named, _)| named == book).map(|(_, cents)| *cents)
    };
    assert_eq!(
        (total(before, "fees"), total(before, "merchant")),
        (Some(37), Some(100_000_000 + 363 - 100 - 50))
    );
    assert_eq!(total(after, "merchant"), Some(100_000_000));
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

operated! {
    async fn the_command_proves_the_books_beside_a_server(installed) {
        let verify = |arguments: &[&str]| installed.run(&[&["ledger", "verify"], arguments].concat());
        let right = (Some(0), "The books balance.\n".to_owned(), String::new());
        installed.records(&["migrate"]);
        assert_eq!(verify(&[]), right, "an empty database");
        let server = installed.serve();
        let (key, _) = server.keys();
        let charge = token_of(&server.pay(&key).ok(201));
        server.ask("POST", &format!("/1/charges/{charge}/refunds"), Some(&key), "amount=100").ok(201);
        assert_eq!(verify(&[]), right);
        assert_eq!(verify(&["--json"]), (Some(0), String::new(), String::new()));

        installed.execute("UPDATE postings SET amount = 36 WHERE book = 'fees'").await;
        let (code, stdout, stderr) = verify(&["--json"]);
        assert_eq!((code, stderr.as_str()), (Some(1), "error: the books do not balance: 3 differences\n"));
        let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        let account = lines[0]["account"].as_str().unwrap();
        let entry = lines[0]["subject"].as_str().unwrap();
        assert!(account.starts_with("acct_") && entry.starts_with("je_"), "{}", lines[0]);
        assert_eq!(
            lines[2],
            json!({
                "proof": "book_is_its_records", "account": account, "subject": "fees", "expected": 37, "found": 36,
            })
        );
        let (code, stdout, stderr) = verify(&[]);
        assert_eq!((code, stderr.as_str()), (Some(1), "error: the books do not balance: 3 differences\n"));
        assert_eq!(
            stdout.lines().next().unwrap(),
            format!("{account}: entry_sums_to_zero: {entry} is -1 and should be 0")
        );
        server.pay(&key).ok(201);
        server.stopped();
    }
}

#[test]
fn wrong_usage_is_told_with_exit_code_2() {
    let data = folder();
    for arguments in
        [&["ledger"][..], &["ledger", "prove"], &["ledger", "verify", "--jsn"], &["ledger", "verify", "all"]]
    {
        let (code, stdout, stderr) = output(program(data.path()).args(arguments));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(!stderr.is_empty());
    }
    assert!(std::fs::read_dir(data.path()).unwrap().next().is_none(), "nothing was made");
}
