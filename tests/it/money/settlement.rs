//! Settlement (`docs/decisions.md`, 205 to 207): what has become available is paid out on the days of the account's
//! schedule.

use entity::TimeSpan;
use entity::account::TransfersSchedule;
use futures::future::{join_all, join3};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use crate::harness::{App, Client, Database, card, charge_with, on_both, rounds, rules, token, token_of};
use crate::transfers::over_the_balance;

const OPENING: i64 = 100_000_000;

/// From Monday, 10:00, to the end of the day.
const REST_OF_MONDAY: TimeSpan = TimeSpan::seconds(14 * 3_600);

async fn transfers(client: &Client) -> Vec<Value> {
    client.get("/1/transfers?per_page=500").await.ok(200).as_array().unwrap().clone()
}

/// The lines of a transfer as (type, amount, token), sorted.
async fn lines(client: &Client, transfer: &Value) -> Vec<(String, i64, String)> {
    let lines =
        client.get(&format!("/1/transfers/{}/line_items?per_page=500", token(transfer))).await.ok(200);
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    let line = |line: &Value| (text(line, "type"), line["amount"].as_i64().unwrap(), text(line, "token"));
    let mut lines: Vec<_> = lines.as_array().unwrap().iter().map(line).collect();
    lines.sort();
    lines
}

fn entitlement(amount: i64, charge: &str) -> (String, i64, String) {
    ("charge_merchant_entitlement".into(), amount, charge.into())
}

fn adjustment(amount: i64) -> (String, i64, String) {
    ("adjustment".into(), amount, String::new())
}

/// Wait, and do what is due by then.
async fn pass(app: &App, span: TimeSpan) {
    app.clock.advance(span);
    app.do_due_work().await;
}

rules! {
    #[dated]
    async fn a_day_of_settlement_pays_out_what_became_available_and_charges_show_it(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily" })).await;
        let (one, two) = (token_of(&client.captured(400).await), token_of(&client.captured(1_000).await));
        pass(app, REST_OF_MONDAY).await;
        let later = token_of(&client.captured(2_000).await);
        pass(app, TimeSpan::seconds(4 * 86_400 - 1)).await;
        assert!(transfers(&client).await.is_empty());
        assert_eq!(client.charge(&one).await["transfer"], json!([]));
        pass(app, TimeSpan::seconds(1)).await;
        let paid = transfers(&client).await;
        let expected = json!({
            "token": token(&paid[0]), "status": "succeeded", "currency": "AUD", "description": "Settlement",
            "amount": 363 + 952, "total_debits": 0, "total_credits": 363 + 952, "created_at": "2026-03-07T00:00:00Z",
            "paid_at": "2026-03-07T00:00:00Z", "reference": "First account", "line_items_count": 2,
            "bank_account": paid[0]["bank_account"], "recipient": null,
        });
        assert_eq!(paid, [expected]);
        assert_eq!(paid[0]["bank_account"]["bsb"], "806015");
        let mut both = [entitlement(363, &one), entitlement(952, &two)];
        both.sort();
        assert_eq!(lines(&client, &paid[0]).await, both);
        let shown = json!([{ "state": "paid", "paid_at": "2026-03-07T00:00:00Z", "token": token(&paid[0]) }]);
        for charge in [&one, &two] {
            assert_eq!(client.charge(charge).await["transfer"], shown);
        }
        assert_eq!(client.charge(&later).await["transfer"], json!([]));
        for path in ["/1/charges", "/1/charges/search?direction=-1"] {
            let listed = client.get(path).await.ok(200);
            assert_eq!([&listed[0]["transfer"], &listed[1]["transfer"], &listed[2]["transfer"]], [&json!([]), &shown, &shown], "{path}");
        }
        let event = client.get("/1/events").await.ok(200)[0].clone();
        assert_eq!((&event["type"], &event["data"]), (&json!("transfer.created"), &paid[0]));
        assert_eq!(client.balance().await, (OPENING, 1_935));
        pass(app, TimeSpan::days(1)).await;
        assert_eq!((transfers(&client).await.len(), client.balance().await), (2, (OPENING, 0)));
    }

    #[dated]
    async fn a_line_of_a_charge_shows_it_in_short(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        let charge = charge_with(400, json!({ "currency": "USD", "description": "In dollars" }));
        let charge = token_of(&client.post("/1/charges", &charge).await.ok(201));
        pass(app, REST_OF_MONDAY).await;
        let paid = &transfers(&client).await[0];
        let listed = client.get(&format!("/1/transfers/{}/line_items", token(paid))).await;
        let expected = format!(
            r#"{{"response":[{{"type":"charge_merchant_entitlement","amount":553,"currency":"AUD","created_at":"2026-03-02T10:00:00Z","object":"charge","token":"{charge}","record":{{"description":"In dollars","amount":400,"total_fees":47,"merchant_entitlement":553}}}}],"count":1,"pagination":{{"current":1,"previous":null,"next":null,"per_page":25,"pages":1,"count":1}}}}"#
        );
        assert_eq!(listed.text, expected);
    }

    #[dated]
    async fn every_other_movement_since_is_an_adjustment_and_deposits_are_not_swept(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        let charge = token_of(&client.captured(10_000).await);
        client.refund(&charge, 1_000).await.ok(201);
        let fails = charge_with(10_000, json!({ "card": card("4200700000000013") }));
        let fails = token_of(&client.post("/1/charges", &fails).await.ok(201));
        client.refund(&fails, 500).await.ok(201);
        let (recipient, returns) = (client.recipient("987654321").await, client.recipient("999").await);
        client.transfer(100, token(&recipient)).await.ok(201);
        client.transfer(200, token(&returns)).await.ok(201);
        client.transfer(0, "self").await.ok(201);
        client.post("/1/sandbox/deposits", &json!({ "amount": 7_777 })).await.ok(201);
        app.do_due_work().await;
        pass(app, TimeSpan::seconds(10)).await;
        pass(app, TimeSpan::seconds(14 * 3_600 - 10)).await;
        let paid = transfers(&client).await.remove(0);
        let mut expected = vec![
            entitlement(9_795, &charge), entitlement(9_795, &fails), adjustment(-1_000), adjustment(-500), adjustment(500),
            adjustment(-100), adjustment(-30), adjustment(-200), adjustment(-30), adjustment(0),
        ];
        expected.sort();
        assert_eq!(lines(&client, &paid).await, expected);
        assert_eq!((&paid["total_credits"], &paid["total_debits"], &paid["amount"]), (&json!(20_090), &json!(1_860), &json!(18_230)));
        assert_eq!(paid["line_items_count"], 10);
        assert_eq!(client.balance().await, (OPENING + 7_777, 0));
        // What the bank sends back belongs to a later day.
        pass(app, TimeSpan::days(1)).await;
        let paid = transfers(&client).await.remove(0);
        assert_eq!(lines(&client, &paid).await, [adjustment(30), adjustment(200)]);
        assert_eq!(client.balance().await, (OPENING + 7_777, 0));
    }

    async fn lines_wait_until_they_come_to_something(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 1 })).await;
        client.transfer(500, "self").await.ok(201);
        let charge = token_of(&client.captured(400).await);
        pass(app, REST_OF_MONDAY).await;
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(transfers(&client).await.len(), 1, "500 out of 363");
        assert_eq!(client.charge(&charge).await["transfer"], json!([]));
        client.set(json!({ "settlement_delay_days": 0 })).await;
        client.captured(1_000).await;
        pass(app, TimeSpan::days(1)).await;
        let paid = transfers(&client).await.remove(0);
        assert_eq!((&paid["amount"], &paid["total_debits"], &paid["line_items_count"]), (&json!(815), &json!(500), &json!(3)));
        assert_eq!(client.charge(&charge).await["transfer"][0]["token"], paid["token"]);
    }

    async fn a_sum_above_what_is_available_waits(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        client.captured(1_000).await;
        // Money that left the books' balance otherwise; the harness puts it back.
        app.execute("UPDATE balances SET amount = amount - 100000001 WHERE slot < 32 AND amount > 1000000").await;
        pass(app, REST_OF_MONDAY).await;
        assert!(transfers(&client).await.is_empty());
        app.execute("UPDATE balances SET amount = amount + 100000001 WHERE slot < 32 AND amount < 952").await;
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(transfers(&client).await[0]["amount"], 952);
    }

    #[dated]
    async fn the_schedule_decides_the_days(app) {
        let client = app.client();
        client.set(json!({ "settlement_delay_days": 0 })).await;
        client.captured(400).await;
        pass(app, TimeSpan::days(8)).await;
        assert!(transfers(&client).await.is_empty(), "manual is never");
        // It is Tuesday, 10:00, and stays so for those who set what is set.
        for _ in 0..2 {
            client.set(json!({ "transfers_schedule": "weekly" })).await;
        }
        pass(app, TimeSpan::days(5)).await;
        assert!(transfers(&client).await.is_empty());
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(transfers(&client).await.len(), 1, "on Monday");
        client.captured(400).await;
        pass(app, TimeSpan::days(6)).await;
        assert_eq!(transfers(&client).await.len(), 1);
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(transfers(&client).await.len(), 2, "on the next one");
        client.set(json!({ "transfers_schedule": "daily" })).await;
        client.captured(400).await;
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(transfers(&client).await.len(), 3);
        client.captured(400).await;
        client.set(json!({ "transfers_schedule": "manual" })).await;
        pass(app, TimeSpan::days(9)).await;
        assert_eq!(transfers(&client).await.len(), 3);
    }

    async fn a_schedule_that_was_set_by_a_clock_ahead_is_right_once_it_is_set_again(app) {
        let client = app.client();
        let daily = || client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 }));
        app.clock.set_by(TimeSpan::days(500));
        daily().await;
        app.clock.set_by(TimeSpan::days(-500));
        client.captured(400).await;
        daily().await;
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(transfers(&client).await.len(), 1);
    }

    async fn an_account_that_may_not_be_paid_or_has_no_bank_account_waits(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0, "transfers_enabled": false })).await;
        client.captured(400).await;
        pass(app, TimeSpan::days(1)).await;
        client.set(json!({ "transfers_enabled": true })).await;
        app.execute("UPDATE accounts SET bank_account_id = NULL").await;
        pass(app, TimeSpan::days(1)).await;
        assert!(transfers(&client).await.is_empty());
        assert_eq!(client.balance().await, (OPENING + 363, 0));
    }

    #[dated]
    async fn a_settlement_that_the_bank_sends_back_is_paid_again(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        app.execute("UPDATE bank_accounts SET number = '999'").await;
        let charge = token_of(&client.captured(400).await);
        pass(app, REST_OF_MONDAY).await;
        let first = transfers(&client).await.remove(0);
        app.execute("UPDATE bank_accounts SET number = '321'").await;
        pass(app, TimeSpan::days(1)).await;
        let paid = transfers(&client).await;
        assert_eq!((&paid[1]["status"], &paid[1]["token"], paid.len()), (&json!("failed"), &first["token"], 2));
        assert_eq!(lines(&client, &paid[0]).await, [adjustment(363)]);
        assert_eq!(client.charge(&charge).await["transfer"], json!([{ "state": "failed", "paid_at": "2026-03-03T00:00:00Z", "token": token(&first) }]));
        assert_eq!(client.balance().await, (OPENING, 0));
    }

    #[dated]
    async fn a_clock_moved_by_years_pays_each_day_by_itself(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily" })).await;
        let mut charges = Vec::new();
        for _ in 0..3 {
            charges.push(token_of(&client.captured(400).await));
            client.move_clock("1d").await;
        }
        let moved = client.move_clock("2year").await;
        assert_eq!(moved["complete"], true);
        let settlements = moved["ran"].as_array().unwrap().iter().filter(|ran| ran["what"] == "transfer.created");
        assert_eq!(settlements.count(), 3);
        let paid = transfers(&client).await;
        let when: Vec<_> = paid.iter().map(|transfer| transfer["paid_at"].as_str().unwrap()).collect();
        assert_eq!(when, ["2026-03-09T00:00:00Z", "2026-03-08T00:00:00Z", "2026-03-07T00:00:00Z"]);
        for (transfer, charge) in paid.iter().rev().zip(&charges) {
            assert_eq!(lines(&client, transfer).await, [entitlement(363, charge)]);
        }
    }

    async fn a_server_that_was_down_settles_each_day_it_missed(app) {
        let client = app.client();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 1 })).await;
        client.captured(400).await;
        app.clock.advance(TimeSpan::days(1));
        client.captured(1_000).await;
        pass(app, TimeSpan::days(5)).await;
        let paid = transfers(&client).await;
        assert_eq!(paid.iter().map(|transfer| &transfer["amount"]).collect::<Vec<_>>(), [&json!(952), &json!(363)]);
    }

    async fn a_deleted_account_is_not_settled(app) {
        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let own = app.with_key(made["secret_key"].as_str().unwrap());
        own.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        own.captured(400).await;
        own.recipient("987654321").await;
        own.delete(&format!("/1/sandbox/accounts/{}", token(&made))).await.ok(204);
        pass(app, TimeSpan::days(1)).await;
        pass(app, TimeSpan::days(1)).await;
        for table in ["transfers", "recipients"] {
            assert_eq!(app.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
        }
        assert_eq!(app.number("SELECT COUNT(*) FROM bank_accounts").await, 1);
    }

    async fn a_debit_that_a_clock_ahead_has_dated_is_a_line_and_stops_no_settlement(app) {
        let client = app.client();
        app.opens_with(0).await;
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        let charge = token_of(&client.captured(1_000).await);
        app.clock.set_by(TimeSpan::days(500));
        client.refund(&charge, 100).await.ok(201);
        app.clock.set_by(TimeSpan::days(-500));
        pass(app, TimeSpan::days(1)).await;
        let [paid] = &transfers(&client).await[..] else { panic!("one transfer") };
        assert_eq!((&paid["total_debits"], &paid["amount"]), (&json!(100), &json!(852)));
    }

    async fn what_a_chargeback_took_by_a_clock_ahead_is_not_paid_out(app) {
        let client = app.client();
        app.opens_with(0).await;
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        let charge = token_of(&client.captured(1_000).await);
        app.clock.set_by(TimeSpan::days(500));
        client.post("/1/sandbox/disputes", &json!({ "charge_token": charge })).await.ok(201);
        app.clock.set_by(TimeSpan::days(-500));
        assert_eq!(client.balance().await, (952 - 3_500, 0));
        over_the_balance(&app.unchanged(client.transfer(952, "self")).await);
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(transfers(&client).await, Vec::<Value>::new(), "952 of the charge, and 3,500 that the dispute took");
    }

    async fn however_many_workers_come_by_a_day_is_settled_once(app) {
        let client = app.client().patient();
        client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 })).await;
        for round in 1..=rounds() {
            let charges = join_all((0..8).map(|_| client.captured(400))).await;
            app.clock.advance(TimeSpan::days(1));
            let copies = if app.database == Database::Postgres { vec![app.copy().await] } else { Vec::new() };
            let contexts: Vec<_> = copies.iter().map(|copy| &copy.ctx).chain([app.ctx(), app.ctx()]).collect();
            let looks = contexts.into_iter().map(async |ctx| {
                for kind in card_payments::services::due_work_registry::KINDS {
                    kind.run(ctx).await.unwrap();
                }
            });
            // Refunds and charges go on beside it; what comes too late belongs to the next day.
            let refunds = charges.iter().map(|charge| client.refund(token(charge), 1));
            let (_, _, refunded) = join3(join_all(looks), client.captured(400), join_all(refunds)).await;
            assert!(refunded.iter().all(|refund| refund.status == 201), "{refunded:?}");
            let paid = transfers(&client).await;
            assert_eq!(paid.len(), round);
        }
        // Refunds that are all that waits wait on.
        client.captured(400).await;
        pass(app, TimeSpan::days(1)).await;
        assert_eq!(client.balance().await, (OPENING, 0));
        let settled = entity::transfer::Entity::find().all(app.ctx().store.read()).await.unwrap();
        let count: i64 = settled.iter().map(|transfer| transfer.line_items_count).sum();
        assert_eq!(count, app.number("SELECT COUNT(*) FROM postings WHERE transfer_id IS NOT NULL").await);
    }
}

/// In live, where an operator decides who is paid.
async fn a_merchant_on_hold_is_not_paid_out_until_it_is_active_again(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let client = app.client();
    let charge = charge_with(400, json!({ "card": card("4012888888881881") }));
    client.post("/1/charges", &charge).await.ok(201);
    let midnight = TransfersSchedule::Daily.next_after(app.ctx().clock.now()).unwrap().millis();
    let daily = format!("UPDATE accounts SET transfers_schedule = 'daily', settles_at = {midnight}");
    app.execute(daily.leak()).await;
    for status in ["on_hold", "declined"] {
        app.execute(format!("UPDATE accounts SET status = '{status}'").leak()).await;
        for _ in 0..7 {
            pass(&app, TimeSpan::days(1)).await;
        }
        assert_eq!(app.number("SELECT COUNT(*) FROM transfers").await, 0, "{status}");
    }
    app.execute("UPDATE accounts SET status = 'active'").await;
    pass(&app, TimeSpan::days(1)).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM transfers").await, 1);
    app.check_books().await;
}
on_both!(a_merchant_on_hold_is_not_paid_out_until_it_is_active_again);
