//! Refunds (specification, Refund and Refunds; `docs/decisions.md`, 24, 83, 84 and 167 to 172).

mod races;
mod submissions;

use card_payments::services::refunds;
use entity::TimeSpan;
use entity::refund::{self, RefundOutcome};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use serde_json::{Value, json};

use crate::harness::{Answer, App, Client, as_of, card, charge_with, fields, rules, token, token_of};

const REFUNDS_FAIL: &str = "4200700000000013";
const DECLINED: &str = "The refund was declined";
/// `docs/decisions.md`, 167, by the account's clock.
const SETTLES_AFTER: TimeSpan = TimeSpan::seconds(10);

fn path(charge: &str) -> String {
    format!("/1/charges/{charge}/refunds")
}

/// The refund as it stands.
async fn get_refund(client: &Client, refund: &str) -> Value {
    client.get(&format!("/1/refunds/{refund}")).await.ok(200)
}

/// A captured charge of a currency, by a card.
async fn paid(client: &Client, amount: i64, currency: &str, number: &str) -> String {
    let parameters = charge_with(amount, json!({ "currency": currency, "card": card(number) }));
    token_of(&client.post("/1/charges", &parameters).await.ok(201))
}

/// What a charge shows of its refunds.
async fn refunded(client: &Client, charge: &str) -> (i64, bool) {
    let charge = client.charge(charge).await;
    (charge["amount_refunded"].as_i64().unwrap(), charge["refund_pending"].as_bool().unwrap())
}

/// A refund as it shows whether it ended: success, error_message, status_message.
fn ending(refund: &Value) -> [Value; 3] {
    ["success", "error_message", "status_message"].map(|field| refund[field].clone())
}

fn pending() -> [Value; 3] {
    [Value::Null, Value::Null, json!("Pending")]
}

fn succeeded() -> [Value; 3] {
    [json!(true), Value::Null, json!("Success")]
}

fn failed() -> [Value; 3] {
    [json!(false), json!(DECLINED), json!(DECLINED)]
}

/// Submitted at once, settled when its time has come.
async fn settle(app: &App) {
    app.do_due_work().await;
    app.clock.advance(SETTLES_AFTER);
    app.do_due_work().await;
}

/// The sum of a book.
async fn book(app: &App, book: &str) -> i64 {
    app.number(&format!("SELECT COALESCE(SUM(amount), 0) FROM postings WHERE book = '{book}'")).await
}

/// The one body that is an array.
#[track_caller]
fn over_the_balance(answer: &Answer) {
    let body = r#"[{"error":"insufficient_service_balance","error_description":"Refund amount is more than your available balance."}]"#;
    assert_eq!((answer.status, answer.text.as_str()), (402, body));
}

/// The row of a refund.
async fn stored(app: &App, token: &str) -> refund::Model {
    let id: entity::RefundToken = token.parse().unwrap();
    let refund = refund::Entity::find().filter(refund::Column::Id.eq(id));
    refund.one(app.ctx().store.read()).await.unwrap().unwrap()
}

rules! {
    async fn a_refund_is_pending_first_and_the_charge_shows_it_at_once(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let answer = client.refund(&charge, 150).await;
        let refund = answer.ok(201);
        assert_eq!(fields(&refund),
            ["token", "success", "amount", "currency", "charge", "created_at", "error_message", "status_message"]);
        assert!(token(&refund).starts_with("rf_"));
        assert_eq!(ending(&refund), pending());
        assert_eq!((&refund["amount"], &refund["currency"]), (&json!(150), &json!("AUD")));
        assert_eq!((&refund["charge"], &refund["created_at"]), (&json!(charge), &json!(as_of())));
        assert_eq!(refunded(&client, &charge).await, (150, true));
        assert_eq!(app.events().await, ["charge.captured", "refund.created"]);
        let again = client.get(&format!("/1/refunds/{}", token(&refund))).await;
        assert_eq!((again.status, again.record()), (200, answer.record()));
    }

    async fn ten_seconds_later_it_has_succeeded(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        app.do_due_work().await;
        app.clock.advance(TimeSpan::from_millis(9_999));
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&client, &refund).await), pending());
        assert_eq!(refunded(&client, &charge).await, (400, true));
        app.clock.advance(TimeSpan::from_millis(1));
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&client, &refund).await), succeeded());
        assert_eq!(refunded(&client, &charge).await, (400, false));
        assert_eq!(app.events().await, ["charge.captured", "refund.created", "refund.succeeded"]);
    }

    async fn a_refund_that_fails_gives_the_money_back(app) {
        let client = app.client();
        let before = client.balance().await;
        let charge = paid(&client, 1_000, "AUD", REFUNDS_FAIL).await;
        let (available, pending) = client.balance().await;
        let refund = token_of(&client.refund(&charge, 1_000).await.ok(201));
        assert_eq!(client.balance().await, (available - 1_000, pending));
        assert!(available == before.0 && pending > before.1);
        settle(app).await;
        assert_eq!(ending(&get_refund(&client, &refund).await), failed());
        assert_eq!(refunded(&client, &charge).await, (0, false));
        assert_eq!(client.balance().await, (available, pending));
        assert_eq!(book(app, "refunds").await, 0);
        assert_eq!(app.events().await, ["charge.captured", "refund.created", "refund.failed"]);
        // What came back can be refunded again.
        client.refund(&charge, 1_000).await.ok(201);
    }

    async fn without_an_amount_the_full_charge_amount_is_meant(app) {
        let client = app.client();
        for body in [json!({}), json!({ "amount": null })] {
            let charge = token_of(&client.captured(400).await);
            let refund = client.post(&path(&charge), &body).await.ok(201);
            assert_eq!(refund["amount"], 400, "{body}");
        }
        // Also after a partial refund, as the specification says.
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 100).await.ok(201);
        let over = [("amount", "You have tried to refund more than the original charge")];
        app.invalid(&path(&charge), &json!({}), &over).await;
        client.refund(&charge, 300).await.ok(201);
        assert_eq!(refunded(&client, &charge).await, (400, true));
    }

    async fn an_amount_may_be_text_in_a_form_too(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        for body in [json!({ "amount": "100" }), json!({ "amount": 50 })] {
            client.post_form(&path(&charge), &body).await.ok(201);
        }
        client.post(&path(&charge), &json!({ "amount": "5" })).await.ok(201);
        assert_eq!(refunded(&client, &charge).await, (155, true));
    }

    async fn a_wrong_amount_is_refused(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let path = path(&charge);
        let blank = [("amount", "Amount can't be blank"), ("amount", "Amount is not a number")];
        for sent in [json!(""), json!("  "), json!([]), json!({}), json!([""])] {
            app.invalid(&path, &json!({ "amount": sent }), &blank).await;
        }
        for (sent, message) in [
            (json!(0), "Amount must be greater than or equal to 1"),
            (json!("-1"), "Amount must be greater than or equal to 1"),
            (json!("ten"), "Amount is not a number"),
            (json!(true), "Amount is not a number"),
            (json!({ "a": 1 }), "Amount is not a number"),
            (json!(1.5), "Amount must be an integer"),
            (json!("10.0"), "Amount must be an integer"),
            (json!(9_007_199_254_740_992_i64), "Amount must be at most 9007199254740991"),
            (json!("1e400"), "Amount must be at most 9007199254740991"),
            (json!(401), "You have tried to refund more than the original charge"),
            (json!(9_007_199_254_740_991_i64), "You have tried to refund more than the original charge"),
        ] {
            app.invalid(&path, &json!({ "amount": sent }), &[("amount", message)]).await;
        }
        app.unchanged(client.post_form(&path, &json!({ "amount": "" }))).await.faulty(&blank);
    }

    async fn only_a_captured_charge_is_refunded(app) {
        let client = app.client();
        let (authorised, voided) = (client.authorised(400).await, client.authorised(400).await);
        client.put_charge(&voided, "void").await.ok(200);
        let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
        let declined = client.post("/1/charges", &declined).await.refused(400, "card_declined");
        let declined = declined["charge_token"].as_str().unwrap().to_owned();
        for charge in [&authorised, &voided, &declined] {
            for body in [json!({}), json!({ "amount": 1 }), json!({ "amount": 500 })] {
                app.invalid(&path(charge), &body, &[("charge", "Charge has not been captured")]).await;
            }
            // The request's own shape is looked at first.
            app.invalid(&path(charge), &json!({ "amount": 0 }), &[("amount", "Amount must be greater than or equal to 1")]).await;
            assert_eq!(client.get(&path(charge)).await.ok(200), json!([]));
        }
        client.put_charge(&authorised, "capture").await.ok(200);
        client.refund(&authorised, 400).await.ok(201);
    }

    async fn partial_refunds_never_exceed_the_charge(app) {
        let client = app.client();
        let charge = token_of(&client.captured(1_000).await);
        for amount in [300, 300, 399] {
            client.refund(&charge, amount).await.ok(201);
        }
        let over = app.unchanged(client.refund(&charge, 2)).await;
        over.faulty(&[("amount", "You have tried to refund more than the original charge")]);
        client.refund(&charge, 1).await.ok(201);
        settle(app).await;
        assert_eq!(refunded(&client, &charge).await, (1_000, false));
        app.unchanged(client.refund(&charge, 1)).await.faults();
    }

    async fn a_charge_is_pending_until_its_last_refund_has_ended(app) {
        let client = app.client();
        let charge = token_of(&client.captured(1_000).await);
        client.refund(&charge, 100).await.ok(201);
        app.clock.advance(TimeSpan::seconds(5));
        client.refund(&charge, 200).await.ok(201);
        app.do_due_work().await;
        app.clock.advance(TimeSpan::seconds(5));
        app.do_due_work().await;
        assert_eq!(refunded(&client, &charge).await, (300, true));
        app.clock.advance(TimeSpan::seconds(5));
        app.do_due_work().await;
        assert_eq!(refunded(&client, &charge).await, (300, false));
    }

    async fn a_refund_draws_on_available_and_pending_money_and_may_leave_available_negative(app) {
        let client = app.client();
        app.opens_with(100).await;
        let charge = token_of(&client.captured(1_000).await);
        assert_eq!(client.balance().await, (100, 952));
        client.refund(&charge, 1_000).await.ok(201);
        assert_eq!(client.balance().await, (-900, 952));
        // Days later it is one sum.
        app.clock.advance(TimeSpan::days(5));
        assert_eq!(client.balance().await, (52, 0));
    }

    async fn a_refund_worth_no_cent_needs_no_money(app) {
        let client = app.client();
        app.opens_with(0).await;
        let charge = client.post("/1/charges", &charge_with(2_000, json!({ "currency": "THB" }))).await.ok(201);
        client.disputed(400).await;
        let (available, pending) = client.balance().await;
        assert!(available + pending < 0, "{available} and {pending}");
        over_the_balance(&app.unchanged(client.refund(&token_of(&charge), 100)).await);
        client.refund(&token_of(&charge), 1).await.ok(201);
        assert_eq!(client.balance().await, (available, pending));
    }

    async fn more_than_the_balance_is_refused_in_an_array(app) {
        let client = app.client();
        app.opens_with(0).await;
        let charge = token_of(&client.captured(1_000).await);
        over_the_balance(&app.unchanged(client.refund(&charge, 953)).await);
        over_the_balance(&app.unchanged(client.refund(&charge, 1_000)).await);
        client.refund(&charge, 952).await.ok(201);
        over_the_balance(&app.unchanged(client.refund(&charge, 1)).await);
        assert_eq!(client.balance().await, (-952, 952));
        // The charge is looked at before the money.
        app.unchanged(client.refund(&charge, 49)).await.faults();
    }

    async fn a_refund_that_failed_may_be_tried_again_without_other_money(app) {
        let client = app.client();
        app.opens_with(48).await;
        let charge = paid(&client, 1_000, "AUD", REFUNDS_FAIL).await;
        for _ in 0..2 {
            client.refund(&charge, 1_000).await.ok(201);
            settle(app).await;
        }
        assert_eq!(client.balance().await, (48, 952));
    }

    async fn fees_and_platform_shares_are_not_given_back(app) {
        let client = app.client();
        let parameters = charge_with(1_000, json!({ "platform_adjustment": { "amount": 100 } }));
        let charge = token_of(&client.post("/1/charges", &parameters).await.ok(201));
        let books = async || [book(app, "fees").await, book(app, "platform").await, book(app, "charges").await];
        let (before, money) = (books().await, client.balance().await);
        client.refund(&charge, 1_000).await.ok(201);
        settle(app).await;
        assert_eq!(books().await, before);
        assert_eq!(book(app, "refunds").await, 1_000);
        assert_eq!(client.balance().await, (money.0 - 1_000, money.1));
        let get_refund = client.charge(&charge).await;
        assert_eq!((&get_refund["total_fees"], &get_refund["merchant_entitlement"]), (&json!(48), &json!(852)));
    }

    async fn a_foreign_refund_is_settled_at_the_charges_rate_and_the_last_takes_the_remainder(app) {
        let client = app.client();
        for (currency, amount, parts, cents) in [
            // 101 cents are 151.5: settled for 152.
            ("USD", 101, vec![50, 50, 1], vec![75, 75, 2]),
            ("USD", 101, vec![33, 33, 35], vec![50, 50, 52]),
            ("USD", 101, vec![101], vec![152]),
            // Each yen is a cent.
            ("JPY", 1_000, vec![1, 998, 1], vec![1, 998, 1]),
            // A hundredth of a cent each, until the last one.
            ("IDR", 1_000_000, vec![4_999, 5_000, 990_001], vec![0, 1, 99]),
            // Half cents go up, so little is left for the last one: nothing, here.
            ("EUR", 100, vec![10, 10, 10, 10, 10, 10, 10, 10, 10, 9, 1], vec![17, 17, 17, 17, 17, 17, 17, 17, 17, 12, 0]),
        ] {
            let charge = paid(&client, amount, currency, "4200000000000000").await;
            for (part, cents) in parts.into_iter().zip(cents) {
                let before = book(app, "refunds").await;
                let refund = client.refund(&charge, part).await.ok(201);
                assert_eq!((&refund["amount"], &refund["currency"]), (&json!(part), &json!(currency)));
                assert_eq!(book(app, "refunds").await - before, cents, "{part} of {amount} {currency}");
            }
            assert_eq!(refunded(&client, &charge).await.0, amount);
        }
        settle(app).await;
    }

    async fn money_of_failed_refunds_goes_to_later_ones_to_the_cent(app) {
        let client = app.client();
        let charge = paid(&client, 101, "USD", REFUNDS_FAIL).await;
        client.refund(&charge, 50).await.ok(201);
        client.refund(&charge, 51).await.ok(201);
        assert_eq!(book(app, "refunds").await, 152);
        settle(app).await;
        assert_eq!(book(app, "refunds").await, 0);
        client.refund(&charge, 51).await.ok(201);
        client.refund(&charge, 50).await.ok(201);
        assert_eq!(book(app, "refunds").await, 152);
    }

    async fn refunds_are_listed_newest_first_for_the_account_and_for_the_charge(app) {
        let client = app.client();
        let (one, other) = (token_of(&client.captured(400).await), token_of(&client.captured(400).await));
        let mut all = Vec::new();
        for n in 0..5 {
            all.push(client.refund(if n % 2 == 0 { &one } else { &other }, n + 1).await.ok(201));
        }
        all.reverse();
        let of = |charge: &str| -> Vec<Value> { all.iter().filter(|refund| refund["charge"] == charge).cloned().collect() };
        let listed = client.get("/1/refunds").await;
        assert_eq!(listed.ok(200), json!(all));
        let pagination = json!({ "current": 1, "previous": null, "next": null, "per_page": 25, "pages": 1, "count": 5 });
        assert_eq!((&listed.json()["count"], &listed.json()["pagination"]), (&json!(5), &pagination));
        assert_eq!(client.get(&path(&one)).await.ok(200), json!(of(&one)));
        assert_eq!(client.get(&path(&other)).await.ok(200), json!(of(&other)));
        let page = client.get(&format!("{}?page=2&per_page=2", path(&one))).await;
        let pagination = json!({ "current": 2, "previous": 1, "next": null, "per_page": 2, "pages": 2, "count": 3 });
        assert_eq!((&page.json()["response"], &page.json()["pagination"]), (&json!(&of(&one)[2..]), &pagination));
        let page = client.get("/1/refunds?page=2&per_page=2").await;
        assert_eq!(page.ok(200), json!(&all[2..4]));
        client.get("/1/refunds?page=x").await.faults();
    }

    async fn refunds_of_others_are_unknown(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 100).await.ok(201));
        stranger.get(&format!("/1/refunds/{refund}")).await.not_found();
        stranger.get(&path(&charge)).await.not_found();
        app.unchanged(stranger.refund(&charge, 100)).await.not_found();
        assert_eq!(stranger.get("/1/refunds").await.ok(200), json!([]));
        client.get(&format!("/1/refunds/{charge}")).await.not_found();
        app.unchanged(client.refund("ch_AAAAAAAAAAAAAAAAAAAAAA", 0)).await.not_found();
    }

    async fn a_charge_is_found_by_the_token_of_its_refund(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 100).await.ok(201));
        client.captured(400).await;
        let found = async |client: &Client, query: &str| {
            let found = client.get(&format!("/1/charges/search?query={query}")).await.ok(200);
            found.as_array().unwrap().iter().map(token_of).collect::<Vec<_>>()
        };
        assert_eq!(found(&client, &refund).await, [charge]);
        assert_eq!(found(&client, &refund[..24]).await, [""; 0]);
        assert_eq!(found(&client, "rf_AAAAAAAAAAAAAAAAAAAAAA").await, [""; 0]);
        assert_eq!(found(&stranger, &refund).await, [""; 0]);
    }

    #[dated]
    async fn an_event_shows_the_refund_as_it_was(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let created = client.refund(&charge, 100).await;
        settle(app).await;
        let refund = token_of(&created.ok(201));
        let ended = client.get(&format!("/1/refunds/{refund}")).await;
        let events = client.get("/1/events").await;
        let texts = [ended.record(), created.record()].map(|record| format!("\"data\":{record}"));
        let places = texts.map(|text| events.text.find(&text).unwrap_or_else(|| panic!("{text}: {}", events.text)));
        assert!(places[0] < places[1], "newest first");
        let first = &events.ok(200)[0];
        assert_eq!((&first["type"], &first["created_at"]), (&json!("refund.succeeded"), &json!("2026-03-02T10:00:10Z")));
    }

    #[dated]
    async fn an_account_whose_clock_is_ahead_settles_by_its_own(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        app.execute("UPDATE accounts SET clock_offset = 86400000 WHERE business_name = 'Stranger'").await;
        let mut refunds = Vec::new();
        for client in [&client, &stranger] {
            let charge = token_of(&client.captured(400).await);
            refunds.push(client.refund(&charge, 400).await.ok(201));
        }
        assert_eq!(refunds[1]["created_at"], "2026-03-03T10:00:00Z");
        app.do_due_work().await;
        app.clock.advance(TimeSpan::from_millis(9_999));
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&stranger, token(&refunds[1])).await), pending());
        // Its clock moves on alone.
        app.execute("UPDATE accounts SET clock_offset = 86400001 WHERE business_name = 'Stranger'").await;
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&stranger, token(&refunds[1])).await), succeeded());
        assert_eq!(ending(&get_refund(&client, token(&refunds[0])).await), pending());
        let event = &stranger.get("/1/events").await.ok(200)[0];
        assert_eq!((&event["type"], &event["created_at"]), (&json!("refund.succeeded"), &json!("2026-03-03T10:00:10Z")));
        app.clock.advance(TimeSpan::from_millis(1));
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&client, token(&refunds[0])).await), succeeded());
    }

    async fn an_outcome_can_be_decided_at_once_and_only_once(app) {
        let client = app.client();
        let ctx = app.ctx();
        let charge = token_of(&client.captured(1_000).await);
        for submitted in [false, true] {
            for outcome in [RefundOutcome::Succeeded, RefundOutcome::Failed] {
                let refund = token_of(&client.refund(&charge, 100).await.ok(201));
                let seen = stored(app, &refund).await;
                if submitted {
                    app.do_due_work().await;
                }
                let time = app.work_time().await;
                let decided = refunds::complete(ctx, &time, seen.clone(), outcome).await.unwrap();
                let decided = serde_json::to_value(decided.unwrap()).unwrap();
                assert_eq!(ending(&decided), if outcome == RefundOutcome::Succeeded { succeeded() } else { failed() });
                assert_eq!(get_refund(&client, &refund).await, decided);
                for other in [RefundOutcome::Succeeded, RefundOutcome::Failed] {
                    let before = app.rows().await;
                    assert!(refunds::complete(ctx, &time, seen.clone(), other).await.unwrap().is_none());
                    settle(app).await;
                    assert_eq!(app.rows().await, before);
                }
            }
        }
        assert_eq!(refunded(&client, &charge).await, (200, false));
    }
}
