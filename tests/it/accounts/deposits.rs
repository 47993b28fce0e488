//! Deposits (specification, Deposit and Deposits; `docs/decisions.md`, 208 and 330).

use entity::TimeSpan;
use serde_json::{Value, json};

use crate::harness::process::{Process, output, program};
use crate::harness::{App, as_of, fields, rules, token, with};

const PATH: &str = "/1/deposits";
const SANDBOX: &str = "/1/sandbox/deposits";
const OPENING: i64 = 100_000_000;

async fn made(app: &App, parameters: Value) -> Value {
    app.client().post(SANDBOX, &parameters).await.ok(201)
}

rules! {
    async fn a_deposit_has_the_fields_of_the_specification_in_their_order(app) {
        let client = app.client();
        let answer = client.post(SANDBOX, &json!({ "amount": 50_000, "narration": "Direct credit" })).await;
        let deposit = answer.ok(201);
        assert_eq!(fields(&deposit), ["token", "amount", "currency", "narration", "available_at"]);
        assert!(token(&deposit).starts_with("dpo_"));
        assert_eq!((&deposit["amount"], &deposit["currency"]), (&json!("50000"), &json!("AUD")));
        assert_eq!((&deposit["narration"], &deposit["available_at"]), (&json!("Direct credit"), &json!(as_of())));
        assert_eq!(client.balance().await, (OPENING + 50_000, 0));
        assert_eq!(client.get(&format!("{PATH}/{}", token(&deposit))).await.record(), answer.record());
        let event = client.get("/1/events").await.ok(200)[0].clone();
        assert_eq!((&event["type"], &event["data"]), (&json!("deposit.created"), &deposit));
    }

    async fn the_opening_deposit_is_an_ordinary_one(app) {
        let client = app.client();
        let listed = client.get(PATH).await;
        assert_eq!(listed.json()["pagination"]["count"], 1);
        let opening = listed.ok(200)[0].clone();
        assert_eq!((&opening["amount"], &opening["narration"]), (&json!("100000000"), &json!("Opening balance")));
        let second = made(app, json!({ "amount": 1 })).await;
        assert_eq!(second["narration"], "Deposit");
        assert_eq!(client.get(PATH).await.ok(200), json!([second, opening]));
        let stranger = app.stranger().await;
        for path in [format!("{PATH}/{}", token(&second)), format!("{PATH}/x"), format!("{PATH}/dpo_AZqYv3rVcBKUQ1mHn7tKRw")] {
            stranger.get(&path).await.not_found();
        }
    }

    #[dated]
    async fn it_raises_the_balance_when_its_time_comes_to_the_second(app) {
        let client = app.client();
        app.opens_with(0).await;
        for (available_at, shown) in [
            ("2026-03-02T14:59:59.000001Z", "2026-03-02T15:00:00Z"), ("2026/03/03", "2026-03-03T00:00:00Z"),
            ("2026-03-04T02:00:00+10:00", "2026-03-03T16:00:00Z"), ("2020-01-01", "2020-01-01T00:00:00Z"), (" ", "2026-03-02T10:00:00Z"),
        ] {
            let deposit = made(app, json!({ "amount": 100, "available_at": available_at })).await;
            assert_eq!(deposit["available_at"], shown);
        }
        assert_eq!(client.balance().await, (200, 300));
        app.unchanged(client.transfer(201, "self")).await;
        client.transfer(200, "self").await.ok(201);
        let hour = |hours: i64| TimeSpan::seconds(hours * 3_600);
        app.clock.advance(TimeSpan::seconds(5 * 3_600 - 1));
        assert_eq!(client.balance().await, (0, 300));
        assert_eq!(client.transfer(1, "self").await.status, 402);
        app.clock.advance(TimeSpan::seconds(1));
        assert_eq!(client.balance().await, (100, 200));
        client.transfer(100, "self").await.ok(201);
        app.clock.advance(hour(9));
        assert_eq!(client.balance().await, (100, 100));
        app.clock.advance(hour(16));
        assert_eq!(client.balance().await, (200, 0));
    }

    #[dated]
    async fn nobody_draws_on_one_that_has_not_arrived(app) {
        let client = app.client();
        app.opens_with(0).await;
        let charge = crate::harness::token_of(&client.captured(10_000).await);
        let entitled = 10_000 - 205;
        // Later today, and in two days.
        for available_at in ["2026-03-02T15:00:00Z", "2026-03-04T15:00:00Z"] {
            made(app, json!({ "amount": 20_000, "available_at": available_at })).await;
        }
        assert_eq!(client.balance().await, (0, entitled + 40_000), "it is shown as pending");
        assert_eq!(app.unchanged(client.transfer(1, "self")).await.status, 402);
        // What charges have pending may be given back.
        let over = app.unchanged(client.refund(&charge, entitled + 1)).await;
        assert_eq!((over.status, &over.json()[0]["error"]), (402, &json!("insufficient_service_balance")));
        client.refund(&charge, entitled).await.ok(201);
        assert_eq!(client.balance().await, (-entitled, entitled + 40_000));
        assert_eq!(app.unchanged(client.refund(&charge, 1)).await.status, 402);
        app.clock.advance(TimeSpan::seconds(5 * 3_600 - 1));
        assert_eq!(app.unchanged(client.refund(&charge, 1)).await.status, 402);
        // The second in which it arrives.
        app.clock.advance(TimeSpan::seconds(1));
        client.refund(&charge, 205).await.ok(201);
        let other = crate::harness::token_of(&client.captured(30_000).await);
        let now_has = 20_000 - 205 + 30_000 - 555;
        let all = client.refund(&other, 30_000).await;
        assert_eq!((all.status, now_has - 30_000), (201, 19_240));
        let last = crate::harness::token_of(&client.captured(100_000).await);
        let left = 19_240 + 100_000 - 1_780;
        assert!(left > 100_000, "one deposit is there, the other is not");
        client.refund(&last, 100_000).await.ok(201);
        app.clock.advance(TimeSpan::days(2));
        let (available, pending) = client.balance().await;
        assert_eq!(available + pending, left - 100_000 + 20_000);
    }

    async fn every_fault_is_told_at_once(app) {
        app.invalid(SANDBOX, &json!({}), &[("amount", "Amount can't be blank")]).await;
        for (changes, param, message) in [
            (json!({ "amount": 0 }), "amount", "Amount must be greater than or equal to 1"),
            (json!({ "amount": 100_000_000_001_i64 }), "amount", "Amount must be at most 100000000000"),
            (json!({ "amount": "1.5" }), "amount", "Amount must be an integer"),
            (json!({ "narration": "x".repeat(1_001) }), "narration", "Narration is too long (maximum is 1000 characters)"),
            (json!({ "available_at": "tomorrow" }), "available_at", "Available at is not formatted properly"),
            (json!({ "available_at": "99999-01-01" }), "available_at", "Available at is not formatted properly"),
        ] {
            app.invalid(SANDBOX, &with(json!({ "amount": 100 }), &changes), &[(param, message)]).await;
        }
        let all = json!({ "amount": -1, "available_at": "x", "narration": "a\u{0}" });
        app.invalid(SANDBOX, &all, &[
            ("amount", "Amount must be greater than or equal to 1"), ("narration", "Narration is not valid"),
            ("available_at", "Available at is not formatted properly"),
        ]).await;
    }
}

#[test]
fn an_operator_makes_deposits_beside_a_server() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let accounts = server.ask("POST", "/1/sandbox/accounts", Some(&key), "").ok(201);
    let (account, own) = (accounts["token"].as_str().unwrap(), accounts["secret_key"].as_str().unwrap());
    let run = |arguments: &[&str]| output(program(data.path()).args(["deposit", "create"]).args(arguments));
    let listed = || server.ask("GET", PATH, Some(own), "").ok(200);
    let (code, stdout, stderr) = run(&[account, "--amount", "50000", "--narration", "Wire", "--json"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let deposit: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&deposit, &deposit["narration"], stdout.lines().count()), (&listed()[0], &json!("Wire"), 1));
    let (code, stdout, _) = run(&[account, "--amount", "1", "--available-at", "2999-01-01"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("1 cents, available at 2999-01-01T00:00:00Z"), "{stdout}");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let told = program(data.path())
        .args(["deposit", "create", account, "--amount", "2"])
        .stdout(full)
        .output()
        .unwrap();
    let told = (told.status.code(), String::from_utf8(told.stderr).unwrap());
    assert_eq!((told.0, listed()[0]["amount"].clone()), (Some(1), json!("2")));
    assert!(
        told.1.starts_with("error: the output could not be written, and what the command has done stands: "),
        "{}",
        told.1
    );
    let before = listed();
    let nobody = "acct_AZqYv3rVcBKUQ1mHn7tKRw";
    let refused = run(&[nobody, "--amount", "1"]);
    assert_eq!(refused, (Some(1), String::new(), format!("error: there is no account {nobody}\n")));
    // As in a path, a malformed token is unknown.
    let refused = run(&["acct_x", "--amount", "1"]);
    assert_eq!(refused, (Some(1), String::new(), "error: there is no account acct_x\n".into()));
    for wrong in [
        &[account][..],
        &[account, "--amount", "0"],
        &[account, "--amount", "x"],
        &[account, "--amount", "1", "--available-at", "soon"],
        &["--amount", "1"],
    ] {
        let (code, stdout, stderr) = run(wrong);
        assert!(code == Some(2) && stdout.is_empty() && !stderr.is_empty(), "{wrong:?}: {stderr}");
    }
    assert_eq!(listed(), before);
    let balance = server.ask("GET", "/1/balance", Some(own), "").ok(200);
    assert_eq!(
        (&balance["available"][0]["amount"], &balance["pending"][0]["amount"]),
        (&json!(OPENING + 50_002), &json!(1))
    );
    server.stopped();
}
