//! Calls with an unknown outcome (`docs/decisions.md`, 134 to 136).

use card_payments::services::due_work_registry;
use entity::TimeSpan;
use serde_json::{Value, json};

use crate::harness::flaky_acquirer::CallFault;
use crate::harness::{Answer, App, Client, Database, card, charge, charge_with, eventually, rules};

const SENTENCE: &str = "An upstream error occurred while processing the transaction. Please try again.";
/// A worker recovers a call once thirty seconds of wall clock have passed since its intent (`docs/decisions.md`, 135).
const SETTLE_AFTER: TimeSpan = TimeSpan::seconds(30);

/// Makes a charge with an unknown outcome. Returns its token.
fn unknown(answer: &Answer) -> String {
    let body = answer.refused(502, "gateway_error");
    assert_eq!(body["error_description"], SENTENCE);
    body["charge_token"].as_str().expect("charge_token").to_owned()
}

/// A request of its own task, which a test may leave alone.
fn sent(client: &Client, parameters: Value) -> tokio::task::JoinHandle<Answer> {
    let client = client.clone();
    tokio::spawn(async move { client.post("/1/charges", &parameters).await })
}

fn put(client: &Client, charge: &str, verb: &'static str) -> tokio::task::JoinHandle<Answer> {
    let (client, charge) = (client.clone(), charge.to_owned());
    tokio::spawn(async move { client.put_charge(&charge, verb).await })
}

async fn is_failed(client: &Client, charge: &str) {
    let charge = client.charge(charge).await;
    assert_eq!((&charge["success"], &charge["captured"]), (&json!(false), &json!(false)), "{charge}");
    assert_eq!((&charge["status_message"], &charge["error_message"]), (&json!(SENTENCE), &json!(SENTENCE)));
    assert_eq!((&charge["total_fees"], client.listed().await), (&Value::Null, 0));
}

async fn is_pending(client: &Client, charge: &str) {
    let charge = client.charge(charge).await;
    assert_eq!(
        (&charge["success"], &charge["status_message"]),
        (&json!(false), &json!("Pending")),
        "{charge}"
    );
    assert_eq!((&charge["captured"], &charge["total_fees"]), (&json!(false), &Value::Null));
    assert_eq!(client.listed().await, 0);
}

async fn is_authorised(client: &Client, charge: &str) {
    let charge = client.charge(charge).await;
    let flags = ["success", "captured", "authorisation_voided"].map(|flag| charge[flag] == true);
    assert_eq!((flags, &charge["status_message"]), ([true, false, false], &json!("Success")), "{charge}");
    assert_eq!((&charge["total_fees"], &charge["captured_at"]), (&Value::Null, &Value::Null));
}

/// The last moment at which no worker may settle, and then the first at which one does.
async fn settled_when_due(app: &App) {
    app.clock.advance(SETTLE_AFTER);
    app.clock.advance(TimeSpan::from_millis(-1));
    let before = app.rows().await;
    app.do_due_work().await;
    assert_eq!(app.rows().await, before, "settled before its time");
    app.clock.advance(TimeSpan::from_millis(1));
    app.do_due_work().await;
}

mod on_the_simulator {
    use super::*;

    rules! {
        // A creation is reversed at once; where the reversal is answered, nothing is left to a worker (`docs/decisions.md`,
        // 134).
        async fn an_acquirer_that_never_answers_has_charged_nothing(app) {
            let client = app.client();
            let money = client.balance().await;
            for number in ["4200800000000011", "5500500000000011"] {
                let card = client.card_token(number).await;
                for _ in 0..2 {
                    // The token is free again each time.
                    let charge = unknown(&client.charge_by(&card).await);
                    is_failed(&client, &charge).await;
                }
            }
            app.clock.advance(SETTLE_AFTER);
            app.do_due_work().await;
            assert_eq!(app.events().await, vec!["charge.failed"; 4]);
            assert_eq!(client.balance().await, money);
        }
    }
}

rules! {
    async fn a_creation_whose_reversal_is_not_answered_is_settled_by_a_worker_when_due(app, acquirer) {
        let client = app.client();
        let money = client.balance().await;
        let card = client.card_token("4200000000000000").await;
        acquirer.settle(false);
        for carries in [CallFault::Call, CallFault::Nothing] {
            acquirer.carry(carries);
            let charge = unknown(&client.charge_by(&card).await);
            is_pending(&client, &charge).await;
            app.unchanged_by(client.charge_by(&card), 400, "token_already_used").await;
            for verb in ["capture", "void"] {
                app.unchanged_by(client.put_charge(&charge, verb), 400, "bad_authorisation").await;
            }
            acquirer.settle(true);
            settled_when_due(app).await;
            is_failed(&client, &charge).await;
            acquirer.settle(false);
        }
        assert_eq!(app.events().await, ["charge.failed", "charge.failed"]);
        assert_eq!(client.balance().await, money);
        acquirer.carry(CallFault::Both);
        client.charge_by(&card).await.ok(201);
    }

    async fn settling_is_repeated_until_it_is_answered(app, acquirer) {
        let client = app.client();
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        let charge = unknown(&client.post("/1/charges", &charge(400)).await);
        let mut calls = Vec::new();
        for _ in 0..40 {
            app.clock.advance(TimeSpan::seconds(30));
            app.do_due_work().await;
            calls.push(acquirer.settlings());
        }
        is_pending(&client, &charge).await;
        let (first, second) = (calls[19] - 1, calls[39] - calls[19]);
        assert!((3..20).contains(&first) && second >= 1 && second < first, "pauses grow: {calls:?}");
        acquirer.settle(true);
        app.clock.advance(TimeSpan::days(1));
        app.do_due_work().await;
        is_failed(&client, &charge).await;
        assert_eq!(app.events().await, ["charge.failed"]);
    }

    async fn two_workers_settle_once(app, acquirer) {
        let client = app.client();
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        let charge = unknown(&client.post("/1/charges", &charge(400)).await);
        acquirer.settle(true);
        app.clock.advance(SETTLE_AFTER);
        let workers = (0..4).map(|_| due_work_registry::UNSETTLED_CHARGES.run(app.ctx()));
        for settled in futures::future::join_all(workers).await {
            settled.unwrap();
        }
        is_failed(&client, &charge).await;
        assert_eq!(app.events().await, ["charge.failed"]);
        assert_eq!(acquirer.settlings(), 2, "the one of the request, and the one of the worker that won");
    }

    async fn a_capture_that_was_done_is_completed(app, acquirer) {
        let client = app.client();
        let (available, pending) = client.balance().await;
        let charge = client.authorised(400).await;
        acquirer.carry(CallFault::Call);
        assert_eq!(unknown(&client.put_charge(&charge, "capture").await), charge);
        is_authorised(&client, &charge).await;
        for verb in ["capture", "void"] {
            app.unchanged_by(client.put_charge(&charge, verb), 400, "already_captured").await;
        }
        assert_eq!(client.balance().await, (available, pending));
        settled_when_due(app).await;
        let captured = client.charge(&charge).await;
        assert_eq!((&captured["captured"], &captured["total_fees"]), (&json!(true), &json!(37)));
        assert_eq!(client.balance().await, (available, pending + 363));
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured"]);
    }

    async fn a_capture_that_was_not_done_goes_back(app, acquirer) {
        let client = app.client();
        let money = client.balance().await;
        let charge = client.authorised(400).await;
        acquirer.carry(CallFault::Nothing);
        unknown(&client.put_charge(&charge, "capture").await);
        settled_when_due(app).await;
        is_authorised(&client, &charge).await;
        assert_eq!((app.events().await.len(), client.balance().await), (1, money));
        // A later try is another call, and succeeds.
        acquirer.carry(CallFault::Both);
        client.put_charge(&charge, "capture").await.ok(200);
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured"]);
    }

    async fn a_void_that_was_done_is_completed(app, acquirer) {
        let client = app.client();
        let charge = client.authorised(400).await;
        acquirer.carry(CallFault::Call);
        assert_eq!(unknown(&client.put_charge(&charge, "void").await), charge);
        is_authorised(&client, &charge).await;
        for verb in ["capture", "void"] {
            app.unchanged_by(client.put_charge(&charge, verb), 400, "already_voided").await;
        }
        settled_when_due(app).await;
        assert_eq!(client.charge(&charge).await["authorisation_voided"], true);
        assert_eq!(app.events().await, ["charge.authorised", "charge.voided"]);
    }

    async fn a_void_that_was_not_done_goes_back(app, acquirer) {
        let client = app.client();
        let charge = client.authorised(400).await;
        acquirer.carry(CallFault::Nothing);
        unknown(&client.put_charge(&charge, "void").await);
        settled_when_due(app).await;
        is_authorised(&client, &charge).await;
        acquirer.carry(CallFault::Both);
        client.put_charge(&charge, "void").await.ok(200);
        assert_eq!(app.events().await, ["charge.authorised", "charge.voided"]);
    }

    #[dated]
    async fn an_authorisation_that_runs_out_during_its_capture_is_captured_or_expired(app, acquirer) {
        let client = app.client();
        let (done, not_done) = (client.authorised(400).await, client.authorised(400).await);
        app.clock.advance(TimeSpan::days(7));
        app.clock.advance(TimeSpan::seconds(-1));
        acquirer.carry(CallFault::Call);
        unknown(&client.put_charge(&done, "capture").await);
        acquirer.carry(CallFault::Nothing);
        unknown(&client.put_charge(&not_done, "capture").await);
        app.clock.advance(TimeSpan::seconds(1));
        for charge in [&done, &not_done] {
            let shown = client.charge(charge).await;
            assert_eq!((&shown["authorisation_expired"], &shown["captured"]), (&json!(false), &json!(false)), "in flight");
        }
        app.clock.advance(TimeSpan::seconds(-1));
        settled_when_due(app).await;
        assert_eq!(client.charge(&done).await["captured"], true);
        assert_eq!(client.charge(&done).await["captured_at"], "2026-03-09T10:00:29Z");
        assert_eq!(client.charge(&not_done).await["authorisation_expired"], true);
        app.unchanged_by(client.put_charge(&not_done, "capture"), 400, "authorisation_expired").await;
    }

    async fn a_follow_up_that_is_refused_goes_back_at_once(app, acquirer) {
        let client = app.client();
        for verb in ["capture", "void"] {
            let charge = client.authorised(400).await;
            acquirer.carry(CallFault::Refusal);
            assert_eq!(unknown(&client.put_charge(&charge, verb).await), charge);
            is_authorised(&client, &charge).await;
            acquirer.carry(CallFault::Both);
            client.put_charge(&charge, verb).await.ok(200);
        }
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured", "charge.authorised", "charge.voided"]);
    }

    async fn a_late_approval_loses_against_the_workers_settlement(app, acquirer) {
        let client = app.client();
        let money = client.balance().await;
        let card = client.card_token("4200000000000000").await;
        acquirer.carry(CallFault::AnswerLate);
        let late = sent(&client, charge_with(400, json!({ "card": null, "card_token": card })));
        acquirer.called(1).await;
        app.clock.advance(SETTLE_AFTER);
        app.do_due_work().await;
        acquirer.release();
        let charge = unknown(&late.await.unwrap());
        is_failed(&client, &charge).await;
        assert_eq!((app.events().await, client.balance().await), (vec!["charge.failed"], money));
        acquirer.carry(CallFault::Both);
        client.charge_by(&card).await.ok(201);
    }

    async fn a_late_capture_loses_against_its_successor(app, acquirer) {
        let client = app.client();
        let charge = client.authorised(400).await;
        acquirer.carry(CallFault::CallLate);
        let late = put(&client, &charge, "capture");
        acquirer.called(2).await;
        app.clock.advance(SETTLE_AFTER);
        app.do_due_work().await;
        is_authorised(&client, &charge).await;
        let successor = put(&client, &charge, "capture");
        acquirer.called(3).await;
        acquirer.release();
        assert_eq!(unknown(&late.await.unwrap()), charge);
        assert_eq!(app.events().await, ["charge.authorised"], "the late call is not the successor's");
        acquirer.release();
        assert_eq!(successor.await.unwrap().ok(200)["captured"], true);
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured"]);
        let calls = acquirer.calls();
        assert_ne!(calls[1], calls[2], "each try has a key of its own");
    }

    // The acquirer has done it, so the worker completes it; its caller answers from the row it finds.
    async fn a_capture_whose_answer_is_late_is_completed_once(app, acquirer) {
        let client = app.client();
        for (verb, flag, event) in
            [("capture", "captured", "charge.captured"), ("void", "authorisation_voided", "charge.voided")]
        {
            let charge = client.authorised(400).await;
            acquirer.carry(CallFault::AnswerLate);
            let (calls, events) = (acquirer.calls().len(), app.events().await.len());
            let late = put(&client, &charge, verb);
            acquirer.called(calls + 1).await;
            settled_when_due(app).await;
            assert_eq!(client.charge(&charge).await[flag], true);
            acquirer.release();
            assert_eq!(late.await.unwrap().ok(200), client.charge(&charge).await);
            assert_eq!(app.events().await[events..], [event]);
            acquirer.carry(CallFault::Both);
        }
    }

    async fn a_caller_that_hangs_up_does_not_stop_a_payment(app, acquirer) {
        let client = app.client();
        acquirer.carry(CallFault::AnswerLate);
        let gone = sent(&client, charge(400));
        acquirer.called(1).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        acquirer.release();
        eventually(async || client.listed().await == 1).await;
        assert_eq!(app.events().await, ["charge.captured"]);
    }

    async fn a_process_that_dies_in_a_payment_leaves_it_to_the_next_one(app, acquirer) {
        let client = app.client();
        let card = client.card_token("4200000000000000").await;
        let authorised = client.authorised(400).await;
        acquirer.carry(CallFault::CallLate);
        let creation = sent(&client, charge_with(400, json!({ "card": null, "card_token": card })));
        acquirer.called(2).await;
        let capture = put(&client, &authorised, "capture");
        acquirer.called(3).await;
        drop(client);
        app.restart().await;
        let client = app.client();
        assert_eq!(client.listed().await, 1, "the authorised one");
        app.clock.advance(SETTLE_AFTER);
        app.do_due_work().await;
        is_authorised(&client, &authorised).await;
        assert_eq!(app.events().await, ["charge.authorised", "charge.failed"]);
        // A dead process writes nothing any more: here its calls arrive late, and are refused.
        acquirer.release();
        acquirer.release();
        unknown(&creation.await.unwrap());
        unknown(&capture.await.unwrap());
        assert_eq!(app.events().await, ["charge.authorised", "charge.failed"]);
        acquirer.carry(CallFault::Both);
        client.charge_by(&card).await.ok(201);
        client.put_charge(&authorised, "capture").await.ok(200);
    }

    async fn the_only_server_of_a_sqlite_file_settles_what_the_last_one_left_at_once(app, acquirer) {
        let client = app.client();
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        let charge = unknown(&client.post("/1/charges", &charge(400)).await);
        acquirer.settle(true);
        app.restart().await;
        app.do_due_work().await;
        let client = app.client();
        match app.database {
            Database::Sqlite => is_failed(&client, &charge).await,
            // A copy that starts beside others leaves their live payments alone.
            Database::Postgres => is_pending(&client, &charge).await,
        }
        app.clock.advance(SETTLE_AFTER);
        app.do_due_work().await;
        is_failed(&client, &charge).await;
        assert_eq!(app.events().await, ["charge.failed"]);
    }

    async fn a_payment_under_way_is_seen_by_nobody(app, acquirer) {
        let client = app.client();
        let money = client.balance().await;
        acquirer.carry(CallFault::AnswerLate);
        let under_way = sent(&client, charge_with(400, json!({ "reference": "Shop" })));
        acquirer.called(1).await;
        assert_eq!((client.listed().await, client.balance().await), (0, money));
        assert_eq!(client.get("/1/charges/search?query=roland").await.ok(200), json!([]));
        assert!(app.events().await.is_empty());
        acquirer.release();
        let made = under_way.await.unwrap().ok(201);
        assert_eq!(acquirer.references(), [Some("Shop".to_owned())], "the reference goes to the acquirer");
        assert_eq!(client.get("/1/charges/search?query=roland").await.ok(200)[0]["token"], made["token"]);
    }

    async fn a_call_has_the_key_of_its_attempt_and_action(app, acquirer) {
        let client = app.client();
        let charge = client.authorised(400).await;
        client.put_charge(&charge, "capture").await.ok(200);
        let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
        let body = client.post("/1/charges", &declined).await.refused(400, "card_declined");
        let calls = acquirer.calls();
        assert!(calls[0].starts_with(&charge) && calls[1].starts_with(&charge) && calls[0] != calls[1]);
        assert!(calls[2].starts_with(body["charge_token"].as_str().unwrap()));
    }
}
