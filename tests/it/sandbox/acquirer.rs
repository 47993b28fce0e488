//! Faults that testers order of their account's acquirer (`docs/decisions.md`, 270 to 273).

use std::time::Duration;

use entity::TimeSpan;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::{App, Client, card, charge, charge_with, rules, token};

const FAULTS: &str = "/1/sandbox/acquirer";

fn none() -> Value {
    json!({ "latency_ms": 0, "decline": null, "gateway_error_rate": 0, "drop_rate": 0, "seed": 0 })
}

async fn order(client: &Client, faults: Value) -> Value {
    client.put(FAULTS, &faults).await.ok(200)
}

/// The statuses of so many charges, one after the other.
async fn run(client: &Client, charges: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..charges {
        statuses.push(client.post("/1/charges", &charge(400)).await.status);
    }
    statuses
}

async fn refused(app: &App, params: Value, faults: &[(&str, &str)]) {
    app.unchanged(app.client().put(FAULTS, &params)).await.faulty(faults);
}

rules! {
    async fn an_acquirer_has_no_faults_until_they_are_ordered(app) {
        let client = app.client();
        let answer = client.get(FAULTS).await;
        assert_eq!(answer.ok(200), none());
        assert_eq!(answer.text, r#"{"response":{"latency_ms":0,"decline":null,"gateway_error_rate":0,"drop_rate":0,"seed":0}}"#);
        app.with_key(app.publishable_key()).get(FAULTS).await.refused(401, "unauthorized");
    }

    async fn an_absent_fault_stays_and_a_blank_decline_is_none(app) {
        let client = app.client();
        let all = json!({ "latency_ms": 5, "decline": "lost_card", "gateway_error_rate": 0.25, "drop_rate": "0.5", "seed": 42 });
        let ordered = json!({ "latency_ms": 5, "decline": "lost_card", "gateway_error_rate": 0.25, "drop_rate": 0.5, "seed": 42 });
        assert_eq!(order(&client, all).await, ordered);
        for nothing in [json!({}), json!({ "decline": null, "seed": null }), json!({ "latency_ms": "", "gateway_error_rate": " ", "seed": "" })] {
            assert_eq!(order(&client, nothing).await, ordered);
        }
        assert_eq!(order(&client, json!({ "drop_rate": 0.000_01 })).await["drop_rate"], json!(0.000_01));
        assert_eq!(order(&client, json!({ "drop_rate": "1.000" })).await["drop_rate"], json!(1));
        assert_eq!(order(&client, json!({ "decline": " " })).await["decline"], Value::Null);
        assert_eq!(client.get(FAULTS).await.ok(200)["latency_ms"], 5);
    }

    async fn faults_out_of_their_range_are_refused_all_at_once(app) {
        order(&app.client(), json!({ "seed": 7 })).await;
        for (name, value, message) in [
            ("latency_ms", json!(-1), "Latency ms must be greater than or equal to 0"),
            ("latency_ms", json!(30_001), "Latency ms must be at most 30000"),
            ("latency_ms", json!("soon"), "Latency ms is not a number"),
            ("latency_ms", json!(1.5), "Latency ms must be an integer"),
            ("decline", json!("declined"), "Decline is not included in the list"),
            ("decline", json!("gateway_error"), "Decline is not included in the list"),
            ("gateway_error_rate", json!(-0.1), "Gateway error rate must be greater than or equal to 0"),
            ("gateway_error_rate", json!(1.000_001), "Gateway error rate must be at most 1"),
            ("gateway_error_rate", json!(1e300), "Gateway error rate must be at most 1"),
            ("drop_rate", json!("often"), "Drop rate is not a number"),
            ("drop_rate", json!("NaN"), "Drop rate is not a number"),
            ("drop_rate", json!(["1"]), "Drop rate is not valid"),
            ("drop_rate", json!("0.1234567"), "Drop rate must have at most 6 decimals"),
            ("seed", json!("lucky"), "Seed is not a number"),
            ("seed", json!(9_007_199_254_740_992_u64), "Seed must be at most 9007199254740991"),
        ] {
            refused(app, json!({ name: value }), &[(name, message)]).await;
        }
        let all = json!({ "seed": "x", "drop_rate": 2, "latency_ms": -5 });
        refused(app, all, &[
            ("latency_ms", "Latency ms must be greater than or equal to 0"),
            ("drop_rate", "Drop rate must be at most 1"),
            ("seed", "Seed is not a number"),
        ]).await;
    }

    async fn an_ordered_decline_meets_every_attempt_of_this_account_alone(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        order(&client, json!({ "decline": "insufficient_funds" })).await;
        let refusal = client.post("/1/charges", &charge(400)).await.refused(400, "insufficient_funds");
        let failed = client.charge(refusal["charge_token"].as_str().unwrap()).await;
        assert_eq!(failed["success"], false);
        let other_card = charge_with(400, json!({ "card": card("4100000000000001") }));
        client.post("/1/charges", &other_card).await.refused(400, "insufficient_funds");
        stranger.post("/1/charges", &charge(400)).await.ok(201);
        order(&client, json!({ "decline": "" })).await;
        client.post("/1/charges", &charge(400)).await.ok(201);
    }

    async fn a_gateway_error_changes_nothing_but_the_record_of_the_attempt(app) {
        let client = app.client();
        let authorised = client.authorised(400).await;
        let stands = client.charge(&authorised).await;
        let unused = client.card_token("4200000000000000").await;
        let balance = client.balance().await;
        order(&client, json!({ "gateway_error_rate": 1 })).await;
        client.charge_by(&unused).await.refused(502, "gateway_error");
        for verb in ["capture", "void"] {
            client.put_charge(&authorised, verb).await.refused(502, "gateway_error");
            assert_eq!(client.charge(&authorised).await, stands);
        }
        assert_eq!((client.listed().await, client.balance().await), (1, balance));
        order(&client, json!({ "gateway_error_rate": 0 })).await;
        client.charge_by(&unused).await.ok(201);
        client.put_charge(&authorised, "capture").await.ok(200);
    }

    async fn a_dropped_answer_to_a_creation_is_reversed_at_once(app) {
        let client = app.client();
        let unused = client.card_token("4200000000000000").await;
        let balance = client.balance().await;
        order(&client, json!({ "drop_rate": 1 })).await;
        client.charge_by(&unused).await.refused(502, "gateway_error");
        assert_eq!((client.listed().await, client.balance().await), (0, balance));
        assert_eq!(app.number("SELECT COUNT(*) FROM charges WHERE settle_after IS NOT NULL").await, 0);
        order(&client, json!({ "drop_rate": 0 })).await;
        client.charge_by(&unused).await.ok(201);
    }

    async fn a_dropped_answer_to_a_capture_or_void_is_settled_at_once(app) {
        let client = app.client();
        let charges = [client.authorised(400).await, client.authorised(400).await];
        order(&client, json!({ "drop_rate": 1 })).await;
        client.put_charge(&charges[0], "capture").await.refused(502, "gateway_error");
        assert_eq!(client.charge(&charges[0]).await["captured"], true);
        client.put_charge(&charges[0], "capture").await.refused(400, "already_captured");
        client.put_charge(&charges[1], "void").await.refused(502, "gateway_error");
        assert_eq!(client.charge(&charges[1]).await["authorisation_voided"], true);
        let events = ["charge.authorised", "charge.authorised", "charge.captured", "charge.voided"];
        assert_eq!(app.events().await, events);
    }

    async fn a_refund_whose_submission_fails_is_submitted_again_until_it_is_accepted(app) {
        let client = app.client();
        let charge = client.captured(400).await;
        for fault in ["gateway_error_rate", "drop_rate"] {
            order(&client, json!({ "gateway_error_rate": 0, "drop_rate": 0 })).await;
            order(&client, json!({ fault: 1 })).await;
            let refund = client.refund(token(&charge), 100).await.ok(201);
            let path = format!("/1/refunds/{}", token(&refund));
            for _ in 0..2 {
                app.do_due_work().await;
                app.clock.advance(TimeSpan::seconds(31));
            }
            assert_eq!(client.get(&path).await.ok(200)["success"], Value::Null);
            order(&client, json!({ fault: 0 })).await;
            app.clock.advance(TimeSpan::seconds(120));
            app.do_due_work().await;
            assert_eq!(client.get(&path).await.ok(200)["success"], true);
        }
    }

    async fn the_same_seed_gives_the_same_run(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let faults = json!({ "gateway_error_rate": 0.3, "drop_rate": "0.3", "decline": "lost_card", "seed": 42 });
        order(&client, faults.clone()).await;
        let first = run(&client, 12).await;
        assert!(first.contains(&502) && first.contains(&400), "{first:?}");
        order(&client, json!({})).await;
        assert_eq!(run(&client, 12).await, first, "an order begins a run");
        order(&stranger, faults).await;
        assert_eq!(run(&stranger, 12).await, first, "whoever's it is");
        order(&client, json!({ "seed": 43 })).await;
        assert_ne!(run(&client, 12).await, first);
    }

    async fn calls_at_once_fare_as_the_same_calls_in_turn(app) {
        let client = app.client();
        order(&client, json!({ "gateway_error_rate": 0.5, "seed": 1 })).await;
        let failing = |statuses: &[u16]| statuses.iter().filter(|status| **status == 502).count();
        let in_turn = failing(&run(&client, 32).await);
        order(&client, json!({})).await;
        let at_once = join_all((0..32).map(|_| run(&client, 1))).await.concat();
        assert_eq!(failing(&at_once), in_turn);
        assert_eq!(app.number("SELECT MAX(acquirer_calls) FROM accounts").await, 32);
    }

    // The acquirer of this server may take 200 ms to answer.
    async fn latency_is_waited_for_within_the_acquirers_time(app) {
        let client = app.client();
        order(&client, json!({ "latency_ms": 30 })).await;
        let began = tokio::time::Instant::now();
        let authorised = client.authorised(400).await;
        assert!(began.elapsed() >= Duration::from_millis(30));
        order(&client, json!({ "latency_ms": 30_000 })).await;
        client.post("/1/charges", &charge(400)).await.refused(502, "gateway_error");
        assert_eq!(client.listed().await, 1);
        // It was done, and the server does not know it until it is recovered.
        client.put_charge(&authorised, "capture").await.refused(502, "gateway_error");
        assert_eq!(client.charge(&authorised).await["captured"], false);
        app.clock.advance(TimeSpan::seconds(31));
        app.do_due_work().await;
        assert_eq!(client.charge(&authorised).await["captured"], true);
    }

    async fn faults_outlive_nothing_but_their_account(app) {
        let client = app.client();
        let made = client.post("/1/sandbox/accounts", &json!({})).await.ok(201);
        order(&client, json!({ "decline": "lost_card" })).await;
        let fresh = app.with_key(made["secret_key"].as_str().unwrap());
        assert_eq!(fresh.get(FAULTS).await.ok(200), none());
    }
}
