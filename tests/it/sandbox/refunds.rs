//! Refunds whose outcome a tester decides (`docs/decisions.md`, 170 and 277).

use axum::body::Body;
use futures::future::join_all;
use http::{Method, header};
use serde_json::{Value, json};

use crate::harness::{App, Client, rounds, rules, token};

async fn pending(client: &Client) -> Value {
    let charge = client.captured(400).await;
    client.refund(token(&charge), 100).await.ok(201)
}

fn path(refund: &Value) -> String {
    format!("/1/sandbox/refunds/{}", token(refund))
}

async fn stands(client: &Client, refund: &Value) -> Value {
    client.get(&format!("/1/refunds/{}", token(refund))).await.ok(200)
}

async fn newest_event(client: &Client) -> Value {
    client.get("/1/events?per_page=1").await.ok(200)[0].clone()
}

async fn decided_again_is_refused(app: &App, refund: &Value) {
    for outcome in ["succeeded", "failed"] {
        let again = app.client();
        let params = json!({ "outcome": outcome });
        app.unchanged(again.put(&path(refund), &params)).await.refused(400, "invalid_state");
    }
}

rules! {
    async fn a_refund_that_is_to_fail_fails_now_and_gives_its_money_back(app) {
        let client = app.client();
        let refund = pending(&client).await;
        let (available, pending) = client.balance().await;
        let failed = client.put(&path(&refund), &json!({ "outcome": "failed" })).await;
        assert_eq!(failed.ok(200)["success"], false);
        assert_eq!(failed.ok(200)["error_message"], "The refund was declined");
        assert_eq!(stands(&client, &refund).await, failed.ok(200));
        assert_eq!(client.balance().await, (available + 100, pending));
        let event = newest_event(&client).await;
        assert_eq!((&event["type"], &event["data"]), (&json!("refund.failed"), &failed.ok(200)));
        decided_again_is_refused(app, &refund).await;
    }

    async fn a_refund_that_is_to_succeed_succeeds_now(app) {
        let client = app.client();
        let refund = pending(&client).await;
        let balance = client.balance().await;
        let form = client.request(Method::PUT, &path(&refund)).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let succeeded = client.send(form.body(Body::from("outcome=succeeded")).unwrap()).await.ok(200);
        assert_eq!((&succeeded["success"], &succeeded["status_message"]), (&json!(true), &json!("Success")));
        assert_eq!(client.balance().await, balance);
        assert_eq!(newest_event(&client).await["type"], "refund.succeeded");
        decided_again_is_refused(app, &refund).await;
    }

    async fn a_decided_outcome_is_not_the_one_that_the_acquirer_announced(app) {
        let client = app.client();
        let refund = pending(&client).await;
        app.do_due_work().await;
        client.put(&path(&refund), &json!({ "outcome": "failed" })).await.ok(200);
        app.clock.advance(entity::TimeSpan::seconds(60));
        app.do_due_work().await;
        assert_eq!(stands(&client, &refund).await["success"], false);
    }

    async fn a_refund_that_has_settled_is_not_decided(app) {
        let client = app.client();
        let refund = pending(&client).await;
        app.do_due_work().await;
        app.clock.advance(entity::TimeSpan::seconds(60));
        app.do_due_work().await;
        assert_eq!(stands(&client, &refund).await["success"], true);
        decided_again_is_refused(app, &refund).await;
    }

    async fn only_the_accounts_own_refunds_and_known_outcomes_are_taken(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let refund = pending(&client).await;
        let failed = json!({ "outcome": "failed" });
        app.unchanged(stranger.put(&path(&refund), &failed)).await.not_found();
        // The record goes before the shape of the request.
        app.unchanged(stranger.put(&path(&refund), &json!({}))).await.not_found();
        for unknown in ["rf_AAAAAAAAAAAAAAAAAAAAAA", "ch_AAAAAAAAAAAAAAAAAAAAAA", "x"] {
            app.unchanged(client.put(&format!("/1/sandbox/refunds/{unknown}"), &failed)).await.not_found();
        }
        for (outcome, message) in [
            (json!(null), "can't be blank"),
            (json!(" "), "can't be blank"),
            (json!("pending"), "is not included in the list"),
            (json!("Failed"), "is not included in the list"),
            (json!({ "a": 1 }), "is not included in the list"),
        ] {
            let params = json!({ "outcome": outcome });
            let answer = app.unchanged(client.put(&path(&refund), &params)).await;
            answer.faulty(&[("outcome", &format!("Outcome {message}"))]);
        }
        let keyless = app.anonymous();
        app.unchanged(keyless.put(&path(&refund), &failed)).await.refused(401, "unauthorized");
    }

    async fn a_decision_is_repeated_under_its_idempotency_key(app) {
        let client = app.client();
        let refund = pending(&client).await;
        let send = async |outcome: &str| {
            let request = client.request(Method::PUT, &path(&refund)).header("Idempotency-Key", "decide");
            let request = request.header(header::CONTENT_TYPE, "application/json");
            client.send(request.body(Body::from(json!({ "outcome": outcome }).to_string())).unwrap()).await
        };
        let first = send("failed").await;
        first.ok(200);
        let again = app.unchanged(send("failed")).await;
        assert_eq!((again.text, again.headers["idempotent-replayed"].to_str().unwrap()), (first.text, "true"));
        app.unchanged(send("succeeded")).await.refused(422, "idempotency_key_reused");
    }

    async fn of_many_decisions_at_once_one_counts(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let refund = pending(&client).await;
            let decisions = (0..64).map(|n| {
                let (client, path) = (client.clone(), path(&refund));
                let outcome = if n % 2 == 0 { "failed" } else { "succeeded" };
                tokio::spawn(async move { client.put(&path, &json!({ "outcome": outcome })).await })
            });
            let answers: Vec<_> = join_all(decisions).await.into_iter().map(Result::unwrap).collect();
            let (done, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
            assert_eq!(done.len(), 1);
            for answer in refused {
                answer.refused(400, "invalid_state");
            }
            assert_eq!(stands(&client, &refund).await, done[0].ok(200));
        }
    }
}
