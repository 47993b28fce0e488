//! Charges with capture=false: capture, void, expiry (specification, States and transitions; `docs/decisions.md`, 125 to
//! 128).

use axum::body::Body;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::{Value, json};

use crate::harness::{App, Client, card, charge_with, rules, token_of};

const ALREADY_CAPTURED: &str = "The authorisation has already been captured";
const ALREADY_VOIDED: &str = "The authorisation has already been voided";
const EXPIRED: &str = "The authorisation has expired and can not be captured.";
const BAD: &str = "The authorisation was not successful and can not be captured or voided";
const WRONG_AMOUNT: &str = "You must capture the full amount that was authorised";

async fn capture(client: &Client, charge: &str, amount: Value) -> crate::harness::Answer {
    client.put(&format!("/1/charges/{charge}/capture"), &json!({ "amount": amount })).await
}

/// A verb is refused, names the charge and changes nothing.
async fn refused(app: &App, charge: &str, verb: &str, code: &str, description: &str) {
    let body = app.unchanged_by(app.client().put_charge(charge, verb), 400, code).await;
    assert_eq!(
        body,
        json!({ "error": code, "error_description": description, "charge_token": charge }),
        "{verb}"
    );
}

/// The token of a failed attempt.
async fn failed(client: &Client) -> String {
    let parameters = charge_with(400, json!({ "capture": false, "card": card("4100000000000001") }));
    let body = client.post("/1/charges", &parameters).await.refused(400, "card_declined");
    body["charge_token"].as_str().unwrap().to_owned()
}

rules! {
    async fn an_authorised_charge_waits_for_its_capture_and_costs_nothing_yet(app) {
        let client = app.client();
        let money = client.balance().await;
        let parameters = charge_with(400, json!({ "capture": "false" }));
        let charged = client.post("/1/charges", &parameters).await.ok(201);
        for (field, value) in [
            ("success", json!(true)),
            ("status_message", json!("Success")),
            ("error_message", Value::Null),
            ("captured", json!(false)),
            ("captured_at", Value::Null),
            ("authorisation_voided", json!(false)),
            ("authorisation_expired", json!(false)),
            ("total_fees", Value::Null),
            ("merchant_entitlement", Value::Null),
        ] {
            assert_eq!(charged[field], value, "{field}");
        }
        assert_eq!(client.balance().await, money);
        assert_eq!(app.events().await, ["charge.authorised"]);
        assert_eq!(client.listed().await, 1);
        assert_eq!(client.charge(&token_of(&charged)).await, charged);
    }

    #[dated]
    async fn a_capture_takes_the_money_and_sets_the_fees(app) {
        let client = app.client();
        let (available, pending) = client.balance().await;
        let charge = client.authorised(400).await;
        let authorised = client.charge(&charge).await;
        app.clock.advance(TimeSpan::seconds(3_600));
        let answer = client.put_charge(&charge, "capture").await;
        let mut expected = authorised;
        for (field, value) in [
            ("captured", json!(true)),
            ("captured_at", json!("2026-03-02T11:00:00Z")),
            ("total_fees", json!(37)),
            ("merchant_entitlement", json!(363)),
        ] {
            expected[field] = value;
        }
        assert_eq!(answer.ok(200), expected);
        assert_eq!(client.get(&format!("/1/charges/{charge}")).await.text, answer.text);
        assert_eq!(client.balance().await, (available, pending + 363));
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured"]);
        let record = answer.text.strip_prefix("{\"response\":").unwrap().strip_suffix('}').unwrap();
        assert!(client.get("/1/events").await.text.contains(record), "the event shows the charge as it was answered");
        assert_eq!(client.listed().await, 1);
    }

    async fn a_capture_may_name_the_full_amount(app) {
        let client = app.client();
        for amount in [json!(400), json!("400"), json!(" 400 "), json!(null), json!(""), json!("  ")] {
            let charge = client.authorised(400).await;
            assert_eq!(capture(&client, &charge, amount).await.ok(200)["captured"], true);
        }
        let charge = client.authorised(400).await;
        let form = client.request(Method::PUT, &format!("/1/charges/{charge}/capture"))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        client.send(form.body(Body::from("amount=400")).unwrap()).await.ok(200);
        let charge = client.authorised(400).await;
        let bare = client.request(Method::PUT, &format!("/1/charges/{charge}/capture"));
        client.send(bare.body(Body::empty()).unwrap()).await.ok(200);
    }

    async fn only_the_full_amount_can_be_captured(app) {
        let client = app.client();
        let charge = client.authorised(400).await;
        for amount in [
            json!(399), json!(401), json!("399"), json!(0), json!(-400), json!("abc"), json!("400.5"), json!(400.5),
            json!("4e2"), json!(true), json!([400, 1]), json!({ "a": 400 }), json!("9".repeat(40)), json!("4\u{0}00"),
        ] {
            let answer = capture(&client, &charge, amount.clone());
            let body = app.unchanged_by(answer, 400, "invalid_capture_amount").await;
            let expected = json!({ "error": "invalid_capture_amount", "error_description": WRONG_AMOUNT, "charge_token": charge });
            assert_eq!(body, expected, "{amount}");
        }
        capture(&client, &charge, json!(400)).await.ok(200);
    }

    async fn a_void_returns_the_reserved_funds(app) {
        let client = app.client();
        let money = client.balance().await;
        let charge = client.authorised(400).await;
        let mut expected = client.charge(&charge).await;
        app.clock.advance(TimeSpan::seconds(60));
        let answer = client.put_charge(&charge, "void").await;
        expected["authorisation_voided"] = json!(true);
        expected["status_message"] = json!("Authorisation Voided");
        assert_eq!(answer.ok(200), expected, "success stays true, fees and captured_at null");
        assert_eq!(client.get(&format!("/1/charges/{charge}")).await.text, answer.text);
        assert_eq!(client.balance().await, money);
        assert_eq!(app.events().await, ["charge.authorised", "charge.voided"]);
        assert_eq!(client.listed().await, 1);
    }

    async fn a_charge_that_is_not_authorised_any_more_refuses_both_verbs(app) {
        let client = app.client();
        let expired = client.authorised(400).await;
        app.clock.advance(TimeSpan::days(7));
        let captured = client.authorised(400).await;
        client.put_charge(&captured, "capture").await.ok(200);
        let at_once = token_of(&client.captured(400).await);
        let voided = client.authorised(400).await;
        client.put_charge(&voided, "void").await.ok(200);
        let failed = failed(&client).await;
        for (charge, code, description) in [
            (&captured, "already_captured", ALREADY_CAPTURED),
            (&at_once, "already_captured", ALREADY_CAPTURED),
            (&voided, "already_voided", ALREADY_VOIDED),
            (&expired, "authorisation_expired", EXPIRED),
            (&failed, "bad_authorisation", BAD),
        ] {
            for verb in ["capture", "void"] {
                refused(app, charge, verb, code, description).await;
            }
        }
    }

    async fn the_state_is_refused_before_the_amount(app) {
        let client = app.client();
        let charge = client.authorised(400).await;
        client.put_charge(&charge, "void").await.ok(200);
        capture(&client, &charge, json!("abc")).await.refused(400, "already_voided");
        let charge = client.authorised(400).await;
        app.clock.advance(TimeSpan::days(7));
        capture(&client, &charge, json!(1)).await.refused(400, "authorisation_expired");
    }

    async fn an_authorisation_expires_after_seven_days(app) {
        let client = app.client();
        let (one, other) = (client.authorised(400).await, client.authorised(400).await);
        app.clock.advance(TimeSpan::days(7));
        app.clock.advance(TimeSpan::seconds(-1));
        assert_eq!(client.charge(&one).await["authorisation_expired"], false);
        client.put_charge(&one, "capture").await.ok(200);
        app.clock.advance(TimeSpan::seconds(1));
        let expired = client.charge(&other).await;
        assert_eq!(expired["authorisation_expired"], true);
        assert_eq!((&expired["success"], &expired["status_message"]), (&json!(true), &json!("Success")));
        assert_eq!((&expired["total_fees"], &expired["captured"]), (&Value::Null, &json!(false)));
        refused(app, &other, "capture", "authorisation_expired", EXPIRED).await;
        refused(app, &other, "void", "authorisation_expired", EXPIRED).await;
        app.do_due_work().await;
        refused(app, &other, "void", "authorisation_expired", EXPIRED).await;
        assert_eq!(client.charge(&one).await["authorisation_expired"], false, "what was captured never expires");
        assert_eq!(app.events().await, ["charge.authorised", "charge.authorised", "charge.captured"]);
    }

    async fn a_charge_of_nobody_or_of_somebody_else_is_neither_captured_nor_voided(app) {
        let client = app.client();
        let theirs = app.stranger().await.authorised(400).await;
        for charge in [theirs.as_str(), "ch_AZqYv3rVcBKUQ1mHn7tKRw", "ch_x"] {
            for verb in ["capture", "void"] {
                let body = app.unchanged_by(client.put_charge(charge, verb), 404, "not_found").await;
                assert_eq!(body["charge_token"], Value::Null);
            }
        }
    }

    async fn of_a_capture_and_a_void_at_the_same_moment_one_wins(app) {
        let client = app.client();
        for _ in 0..5 {
            let charge = client.authorised(400).await;
            let verbs = ["capture", "void", "capture", "void"];
            let answers = futures::future::join_all(verbs.map(|verb| client.put_charge(&charge, verb))).await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
            let captured = client.charge(&charge).await["captured"] == true;
            let code = if captured { "already_captured" } else { "already_voided" };
            for answer in answers.iter().filter(|answer| answer.status != 200) {
                assert_eq!(answer.refused(400, code)["charge_token"], charge.as_str());
            }
        }
        assert_eq!(app.events().await.len(), 10);
    }

    async fn a_stored_card_is_spent_by_its_authorisation(app) {
        let client = app.client();
        let card = client.card_token("4200000000000000").await;
        let parameters = charge_with(400, json!({ "card": null, "card_token": card, "capture": false }));
        let charge = token_of(&client.post("/1/charges", &parameters).await.ok(201));
        app.unchanged_by(client.charge_by(&card), 400, "token_already_used").await;
        // The capture uses the acquirer's reference, not the card.
        client.put_charge(&charge, "capture").await.ok(200);
    }
}
