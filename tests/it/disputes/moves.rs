//! What becomes of disputes: every move with its money, its event and its entry in the activity feed (`docs/decisions.md`,
//! 209, 213 and 214).

use axum::body::Body;
use entity::TimeSpan;
use entity::dispute::DisputeStatus;
use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client, at_once, fields, operated, rounds, rules, token, token_of};

/// The moves to each status, and the party that has the money there.
const WAYS: &[(&[&str], bool)] = &[
    (&[], true),
    (&["evidence_under_review"], true),
    (&["evidence_under_review", "won"], false),
    (&["evidence_under_review", "lost"], true),
    (&["accepted"], true),
    (&["expired"], true),
    (&["cancelled"], false),
    (&["resolved"], false),
    (&["evidence_under_review", "arbitration_under_review"], true),
    (&["evidence_under_review", "arbitration_under_review", "arbitration_won"], false),
    (&["evidence_under_review", "arbitration_under_review", "arbitration_lost"], true),
    (&["evidence_under_review", "cancelled"], false),
    (&["evidence_under_review", "resolved"], false),
    (&["evidence_under_review", "won", "arbitration_under_review"], false),
    (&["evidence_under_review", "won", "arbitration_under_review", "arbitration_won"], false),
    (&["evidence_under_review", "won", "arbitration_under_review", "arbitration_lost"], true),
    (&["evidence_under_review", "lost", "arbitration_under_review"], true),
    (&["evidence_under_review", "lost", "arbitration_under_review", "arbitration_won"], false),
    (&["evidence_under_review", "lost", "arbitration_under_review", "arbitration_lost"], true),
];

/// Which status may follow which (`docs/states.md`).
fn follows(from: &str) -> &'static [&'static str] {
    match from {
        "evidence_required" => &["evidence_under_review", "accepted", "expired", "cancelled", "resolved"],
        "evidence_under_review" => &["won", "lost", "cancelled", "resolved", "arbitration_under_review"],
        "won" | "lost" => &["arbitration_under_review"],
        "arbitration_under_review" => &["arbitration_won", "arbitration_lost"],
        _ => &[],
    }
}

fn refusal(status: &str) -> &'static str {
    match status {
        "evidence_under_review" | "arbitration_under_review" => "dispute_already_under_review",
        "cancelled" => "dispute_already_cancelled",
        _ => "dispute_already_resolved",
    }
}

async fn answer(client: &Client, dispute: &str, verb: &str) -> Answer {
    let request = client.request(Method::POST, &format!("/1/disputes/{dispute}/{verb}"));
    client.send(request.body(Body::empty()).unwrap()).await
}

async fn get_dispute(client: &Client, dispute: &str) -> Value {
    client.get(&format!("/1/disputes/{dispute}")).await.ok(200)
}

async fn newest_event(client: &Client) -> Value {
    client.get("/1/events?per_page=1").await.ok(200)[0].clone()
}

/// The activity feed, newest first: type, status, annotation or category, amount.
async fn activity(client: &Client, dispute: &str) -> Vec<(String, String, String, i64)> {
    let feed = client.get(&format!("/1/disputes/{dispute}/activity")).await.ok(200);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = feed.as_array().unwrap().iter().map(|entry| {
        let record = &entry["record"];
        let what = if record["annotation"].is_null() { &record["category"] } else { &record["annotation"] };
        (text(&entry["type"]), text(&entry["status"]), text(what), record["amount"].as_i64().unwrap())
    });
    entries.collect()
}

fn entry(r#type: &str, status: &str, what: &str, amount: i64) -> (String, String, String, i64) {
    (r#type.into(), status.into(), what.into(), amount)
}

rules! {
    async fn on_every_way_the_money_is_where_the_last_decision_says(app) {
        let client = app.client();
        for (way, charged_back) in WAYS {
            let charge = token_of(&client.captured(400).await);
            let (available, pending) = client.balance().await;
            let dispute = token_of(&client.dispute(&charge).await);
            for status in *way {
                let moved = client.decide(&dispute, status).await.ok(200);
                assert_eq!(moved["status"], **status);
                assert_eq!(get_dispute(&client, &dispute).await, moved);
                let event = newest_event(&client).await;
                assert_eq!((&event["type"], &event["data"]), (&json!(format!("dispute.{status}")), &moved));
                let active = ["evidence_required", "evidence_under_review", "arbitration_under_review"].contains(status);
                assert_eq!(moved["charge"]["active_chargebacks"], active, "{status}");
                assert_eq!(client.charge(&charge).await, moved["charge"]);
            }
            let taken = if *charged_back { 2_900 } else { 0 };
            assert_eq!(client.balance().await, (available - taken, pending), "{way:?}");
        }
        assert_eq!(app.differences().await, []);
    }

    async fn money_refunded_after_a_won_dispute_is_not_taken_again(app) {
        let client = app.client();
        let won = async |amount: i64| {
            let charge = token_of(&client.captured(amount).await);
            let dispute = token_of(&client.dispute(&charge).await);
            for status in ["evidence_under_review", "won"] {
                client.decide(&dispute, status).await.ok(200);
            }
            (charge, dispute)
        };
        // Nothing is left.
        let (charge, dispute) = won(400).await;
        for part in [399, 1] {
            client.refund(&charge, part).await.ok(201);
        }
        app.unchanged(client.decide(&dispute, "arbitration_under_review")).await.refused(400, "invalid_state");
        // A part of it is, or all.
        for (refunded, left) in [(1, 399), (399, 1), (0, 400)] {
            let (charge, dispute) = won(400).await;
            if refunded > 0 {
                client.refund(&charge, refunded).await.ok(201);
            }
            let (available, pending) = client.balance().await;
            let arbitrated = client.decide(&dispute, "arbitration_under_review").await.ok(200);
            assert_eq!((&arbitrated["amount"], &get_dispute(&client, &dispute).await), (&json!(left), &arbitrated));
            assert_eq!(client.balance().await, (available, pending));
            let feed = activity(&client, &dispute).await;
            let amounts: Vec<_> =
                feed.iter().filter(|(what, ..)| what.starts_with("dispute.")).map(|(.., amount)| *amount).collect();
            assert_eq!(amounts, [left, 400, 400, 400], "what was before the arbitration stays");
            client.refund(&charge, 1).await.faulty(&[("charge", "Charge is disputed")]);
            client.decide(&dispute, "arbitration_lost").await.ok(200);
            assert_eq!(client.balance().await, (available - left - 2_500, pending));
            assert_eq!(activity(&client, &dispute).await[1], entry("ledger_entry.created", "pending_transfer", "chargeback_recovery", -left));
            let more = json!({ "charge_token": charge });
            client.post("/1/sandbox/disputes", &more).await.faulty(&[("charge_token", "Charge token has nothing left to dispute")]);
        }
        // What comes back to the merchant can be refunded, and once more to the cardholder what a refund brings back.
        let (charge, dispute) = won(400).await;
        client.refund(&charge, 100).await.ok(201);
        for status in ["arbitration_under_review", "arbitration_won"] {
            client.decide(&dispute, status).await.ok(200);
        }
        client.refund(&charge, 301).await.faulty(&[("amount", "You have tried to refund more than the original charge")]);
        client.refund(&charge, 300).await.ok(201);
        assert_eq!(app.differences().await, []);
    }

    async fn of_several_disputes_that_were_won_arbitration_takes_no_more_than_is_left(app) {
        let client = app.client();
        let charge = token_of(&client.captured(1_000).await);
        let mut disputes = Vec::new();
        for amount in [500, 300, 200] {
            let params = json!({ "charge_token": charge, "amount": amount });
            disputes.push(token_of(&client.post("/1/sandbox/disputes", &params).await.ok(201)));
        }
        for dispute in &disputes {
            for status in ["evidence_under_review", "won"] {
                client.decide(dispute, status).await.ok(200);
            }
        }
        client.refund(&charge, 400).await.ok(201);
        // Of the 600 that are left, the first takes 500 and the second 100; the third finds nothing.
        for (dispute, amount) in disputes.iter().zip([500, 100]) {
            let arbitrated = client.decide(dispute, "arbitration_under_review").await.ok(200);
            assert_eq!(arbitrated["amount"], amount);
            client.decide(dispute, "arbitration_lost").await.ok(200);
        }
        app.unchanged(client.decide(&disputes[2], "arbitration_under_review")).await.refused(400, "invalid_state");
        assert_eq!(app.number("SELECT amount - amount_refunded - 600 FROM charges").await, 0);
        assert_eq!(app.number("SELECT SUM(amount) FROM postings WHERE book IN ('disputes', 'refunds')").await, 1_000);
        assert_eq!(app.differences().await, []);
    }

    async fn a_status_that_cannot_follow_is_refused(app) {
        let client = app.client();
        let mut seen = std::collections::BTreeSet::new();
        for (way, _) in WAYS {
            let from = way.last().copied().unwrap_or("evidence_required");
            if !seen.insert(from) {
                continue;
            }
            let dispute = token_of(&client.disputed(400).await);
            for status in *way {
                client.decide(&dispute, status).await.ok(200);
            }
            for to in DisputeStatus::ALL.iter().map(|status| status.code()) {
                if !follows(from).contains(&to) {
                    app.unchanged(client.decide(&dispute, to)).await.refused(400, "invalid_state");
                }
            }
            if from != "evidence_required" {
                for verb in ["evidence", "accept"] {
                    app.unchanged(answer(&client, &dispute, verb)).await.refused(400, refusal(from));
                }
                let change = json!({ "additional_evidence_text": "x" });
                let frozen = app.unchanged(client.put(&format!("/1/disputes/{dispute}/evidence"), &change)).await;
                frozen.refused(400, refusal(from));
            }
        }
        assert_eq!(seen.len(), DisputeStatus::ALL.len());
        let dispute = token_of(&client.disputed(400).await);
        for (status, message) in [
            (json!(null), "Status can't be blank"),
            (json!("open"), "Status is not included in the list"),
            (json!("Won"), "Status is not included in the list"),
        ] {
            let params = json!({ "status": status });
            let path = format!("/1/sandbox/disputes/{dispute}");
            app.unchanged(client.put(&path, &params)).await.faulty(&[("status", message)]);
        }
    }

    async fn accepting_gives_in(app) {
        let client = app.client();
        let dispute = token_of(&client.disputed(400).await);
        let balance = client.balance().await;
        let accepted = answer(&client, &dispute, "accept").await.ok(200);
        assert_eq!((&accepted["status"], &accepted["charge"]["active_chargebacks"]), (&json!("accepted"), &json!(false)));
        assert_eq!((client.balance().await, newest_event(&client).await["type"].clone()), (balance, json!("dispute.accepted")));
    }

    async fn submitting_answers_without_a_body_and_puts_the_dispute_under_review(app) {
        let client = app.client();
        let dispute = token_of(&client.disputed(400).await);
        let submitted = answer(&client, &dispute, "evidence").await;
        assert_eq!((submitted.status, submitted.text.as_str()), (200, ""));
        assert_eq!(get_dispute(&client, &dispute).await["status"], "evidence_under_review");
        assert_eq!(newest_event(&client).await["type"], "dispute.evidence_under_review");
    }

    #[dated]
    async fn the_feed_tells_everything_newest_first(app) {
        let client = app.client();
        let charge = client.captured(400).await;
        app.clock.advance(TimeSpan::seconds(60));
        let dispute = token_of(&client.dispute(token(&charge)).await);
        app.clock.advance(TimeSpan::seconds(60));
        for status in ["evidence_under_review", "won", "arbitration_under_review", "arbitration_lost"] {
            client.decide(&dispute, status).await.ok(200);
        }
        let (recovery, fee) = ("chargeback_recovery", "chargeback_fee");
        let ledger = |what, amount| entry("ledger_entry.created", "pending_transfer", what, amount);
        let updated = |status| entry("dispute.updated", status, "general", 400);
        assert_eq!(activity(&client, &dispute).await, [
            ledger(fee, -2_500),
            ledger(recovery, -400),
            updated("arbitration_lost"),
            updated("arbitration_under_review"),
            ledger(fee, 2_500),
            ledger(recovery, 400),
            updated("won"),
            updated("evidence_under_review"),
            ledger(fee, -2_500),
            ledger(recovery, -400),
            entry("dispute.created", "evidence_required", "general", 400),
            entry("charge.captured", "succeeded", "", 400),
        ]);
        let feed = client.get(&format!("/1/disputes/{dispute}/activity")).await.ok(200);
        let (ledger, created, captured) = (&feed[9], &feed[10], &feed[11]);
        assert_eq!(fields(ledger), ["type", "object", "status", "created_at", "record"]);
        assert_eq!(fields(&ledger["record"]), ["annotation", "amount", "currency"]);
        assert_eq!((&ledger["object"], &ledger["created_at"]), (&json!("ledger_entry"), &json!("2026-03-02T10:01:00Z")));
        assert_eq!(fields(created), ["type", "object", "token", "status", "created_at", "record"]);
        assert_eq!(fields(&created["record"]), ["amount", "currency", "category"]);
        assert_eq!((&created["object"], token(created)), (&json!("dispute"), dispute.as_str()));
        assert_eq!(fields(captured), ["type", "object", "token", "status", "created_at", "record"]);
        assert_eq!(fields(&captured["record"]), ["amount", "currency"]);
        assert_eq!((&captured["object"], token(captured)), (&json!("charge"), token(&charge)));
        assert_eq!(captured["created_at"], charge["captured_at"]);
    }

    #[dated]
    async fn a_dispute_that_is_not_answered_in_time_expires_by_the_accounts_clock(app) {
        let client = app.client();
        let dispute = token_of(&client.disputed(400).await);
        let owned = async || {
            let (available, pending) = client.balance().await;
            available + pending
        };
        let before = owned().await;
        // To one millisecond before the midnight of 22 March.
        app.clock.advance(TimeSpan::from_millis((19 * 24 + 14) * 3_600_000 - 1));
        app.do_due_work().await;
        assert_eq!(get_dispute(&client, &dispute).await["status"], "evidence_required");
        app.clock.advance(TimeSpan::from_millis(1));
        // Too late, whether or not a worker has come by.
        for verb in ["evidence", "accept"] {
            app.unchanged(answer(&client, &dispute, verb)).await.refused(400, "dispute_already_resolved");
        }
        app.unchanged(client.decide(&dispute, "cancelled")).await.refused(400, "invalid_state");
        app.do_due_work().await;
        assert_eq!(get_dispute(&client, &dispute).await["status"], "expired");
        assert_eq!(newest_event(&client).await["type"], "dispute.expired");
        assert_eq!(owned().await, before);
        let reviewed = token_of(&client.disputed(400).await);
        answer(&client, &reviewed, "evidence").await.ok(200);
        app.clock.advance(TimeSpan::days(60));
        app.do_due_work().await;
        assert_eq!(get_dispute(&client, &reviewed).await["status"], "evidence_under_review");
    }

    async fn of_many_answers_at_once_one_counts(app) {
        let client = app.client().patient();
        for _ in 0..rounds() {
            let dispute = token_of(&client.disputed(400).await);
            let balance = client.balance().await;
            let answers = at_once((0..32).map(|n| {
                let (client, dispute) = (client.clone(), dispute.clone());
                async move {
                    match n % 3 {
                        0 => answer(&client, &dispute, "accept").await,
                        1 => answer(&client, &dispute, "evidence").await,
                        _ => client.decide(&dispute, "cancelled").await,
                    }
                }
            })).await;
            // The network may still cancel what was submitted.
            let status = get_dispute(&client, &dispute).await["status"].clone();
            let done = answers.iter().filter(|answer| answer.status == 200).count();
            assert!(done == 1 || done == 2 && status == "cancelled", "{done} {status}");
            let expected = if status == "cancelled" { (balance.0 + 2_900, balance.1) } else { balance };
            assert_eq!(client.balance().await, expected);
            assert!(answers.iter().all(|answer| [200, 400].contains(&answer.status)));
        }
    }

    async fn several_workers_expire_once(app) {
        let client = app.client();
        client.disputed(400).await;
        app.clock.advance(TimeSpan::days(21));
        futures::future::join_all((0..8).map(|_| app.do_due_work())).await;
        let events = app.events().await;
        assert_eq!(events.iter().filter(|event| **event == "dispute.expired").count(), 1);
    }

    async fn tampered_books_of_disputes_say_where(app) {
        let client = app.client();
        client.disputed(400).await;
        let found = async || -> Vec<_> { app.differences().await.iter().map(|difference| difference.proof).collect() };
        for (harm, mend, proofs) in [
            ("UPDATE disputes SET settlement_amount = 399", "UPDATE disputes SET settlement_amount = 400",
                &["book_is_its_records", "settlement_disputed"][..]),
            ("UPDATE disputes SET charged_back = FALSE", "UPDATE disputes SET charged_back = TRUE",
                &["book_is_its_records", "book_is_its_records"]),
            ("UPDATE disputes SET status = 'won'", "UPDATE disputes SET status = 'evidence_required'",
                &["disputes_open", "disputes_standing"]),
            ("UPDATE disputes SET amount = 401", "UPDATE disputes SET amount = 400",
                &["amount_disputed", "chargebacks_within_the_charge"]),
            ("UPDATE disputes SET settlement_amount = 401", "UPDATE disputes SET settlement_amount = 400",
                &["book_is_its_records", "settlement_disputed", "chargebacks_within_the_settlement"]),
        ] {
            app.execute(harm).await;
            assert_eq!(found().await, proofs, "{harm}");
            app.execute(mend).await;
        }
    }
}

operated! {
    async fn operators_open_and_decide_disputes_beside_a_server(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let charge = token_of(&server.pay(&key).ok(201));
        let run = |arguments: &[&str]| installed.run(&[&["dispute"], arguments].concat());
        let (code, stdout, _) = run(&["open", &charge, "--amount", "100", "--json"]);
        assert_eq!(code, Some(0), "{stdout}");
        let dispute: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((&dispute["amount"], stdout.lines().count()), (&json!(100), 1));
        assert_eq!(
            server.ask("GET", &format!("/1/disputes/{}", token(&dispute)), Some(&key), "").ok(200),
            dispute
        );
        let (code, stdout, _) = run(&["open", &charge]);
        assert_eq!(code, Some(0));
        assert!(
            stdout.starts_with("dis_") && stdout.contains(&format!(": evidence_required, 300 AUD of {charge}, ")),
            "{stdout}"
        );
        let failed = |error: &str| (Some(1), String::new(), format!("error: {error}\n"));
        assert_eq!(run(&["open", &charge]), failed("Charge token has nothing left to dispute"));
        assert_eq!(run(&["open", "ch_x"]), failed("there is no charge ch_x"));
        let (code, stdout, _) = run(&["resolve", token(&dispute), "cancelled", "--json"]);
        let decided: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((code, &decided["status"]), (Some(0), &json!("cancelled")));
        let refused = run(&["resolve", token(&dispute), "won"]);
        assert_eq!(refused, failed("The operation is not allowed in the present state"));
        for wrong in [&["resolve", token(&dispute), "open"][..], &["open", &charge, "--amount", "0"], &["open"]] {
            assert_eq!(run(wrong).0, Some(2), "{wrong:?}");
        }
        server.stopped();
    }
}
