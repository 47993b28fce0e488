//! The header that forces the outcome of one attempt, and the live environment, which knows no sandbox (`docs/decisions.md`,
//! 270, 271 and 278).

use axum::body::Body;
use entity::failure::Decline;
use http::Method;
use serde_json::{Value, json};

use crate::harness::app::DOCUMENT;
use crate::harness::sending::post_with;
use crate::harness::{Answer, App, Client, Database, card, charge, charge_with, rules};

async fn forced(client: &Client, word: &str, parameters: &Value) -> Answer {
    post_with(client, "/1/charges", &[("Sandbox-Outcome", word)], parameters).await
}

rules! {
    async fn every_decline_code_is_an_outcome_that_can_be_forced(app) {
        let client = app.client();
        for decline in Decline::ALL {
            let refusal = forced(&client, decline.code(), &charge(400)).await.refused(400, decline.code());
            let failed = client.charge(refusal["charge_token"].as_str().unwrap()).await;
            assert_eq!(failed["success"], false);
        }
        assert_eq!(client.listed().await, 0);
        client.post("/1/charges", &charge(400)).await.ok(201);
    }

    async fn a_forced_outcome_goes_before_the_card_and_before_the_accounts_faults(app) {
        let client = app.client();
        let declined = charge_with(400, json!({ "card": card("4000000000000002") }));
        forced(&client, "lost_card", &declined).await.refused(400, "lost_card");
        client.put("/1/sandbox/acquirer", &json!({ "gateway_error_rate": 1 })).await.ok(200);
        forced(&client, "stolen_card", &charge(400)).await.refused(400, "stolen_card");
        forced(&client, " ", &charge(400)).await.refused(502, "gateway_error");
    }

    async fn a_call_that_does_not_come_through_charges_nothing_and_frees_the_card(app) {
        let client = app.client();
        let unused = client.card_token("4200000000000000").await;
        let by_token = charge_with(400, json!({ "card": null, "card_token": unused }));
        let balance = client.balance().await;
        for word in ["gateway_error", "approved_but_lost", "no_answer"] {
            let refusal = forced(&client, word, &by_token).await.refused(502, "gateway_error");
            assert!(refusal["charge_token"].is_string());
            assert_eq!((client.listed().await, client.balance().await), (0, balance));
            assert_eq!(app.number("SELECT COUNT(*) FROM charges WHERE settle_after IS NOT NULL").await, 0);
        }
        assert_eq!(app.events().await, ["charge.failed"; 3]);
        client.post("/1/charges", &by_token).await.ok(201);
    }

    async fn a_client_with_an_idempotency_key_comes_through_a_lost_answer(app) {
        let client = app.client();
        let headers = [("Idempotency-Key", "order-1001"), ("Sandbox-Outcome", "approved_but_lost")];
        post_with(&client, "/1/charges", &headers, &charge(400)).await.refused(502, "gateway_error");
        let paid = post_with(&client, "/1/charges", &headers[..1], &charge(400)).await;
        paid.ok(201);
        let again = post_with(&client, "/1/charges", &headers, &charge(400)).await;
        assert_eq!((&again.text, again.headers["idempotent-replayed"].to_str().unwrap()), (&paid.text, "true"));
        assert_eq!(client.listed().await, 1);
    }

    async fn an_unknown_word_is_refused_with_all_other_faults(app) {
        let client = app.client();
        for word in ["approved", "Disputed", "Lost_card", "lost_card,stolen_card", "three_d_secure_not_completed", "é"] {
            let refusal = app.unchanged(forced(&client, word, &charge(400))).await.refused(422, "invalid_resource");
            let message = "Sandbox-Outcome is not included in the list";
            let messages = json!([{ "param": "Sandbox-Outcome", "code": "sandbox_outcome_invalid", "message": message }]);
            assert_eq!(refusal["messages"], messages, "{word}");
        }
        let both = charge_with(50, json!({ "email": "x" }));
        let refusal = app.unchanged(forced(&client, "approved", &both)).await.refused(422, "invalid_resource");
        let params: Vec<_> = refusal["messages"].as_array().unwrap().iter().map(|params| &params["param"]).collect();
        assert_eq!(params, ["email", "amount", "Sandbox-Outcome"]);
    }

    async fn a_replay_does_not_look_at_the_headers_of_the_sandbox(app) {
        let client = app.client();
        let key = ("Idempotency-Key", "order-1001");
        let paid = post_with(&client, "/1/charges", &[key], &charge(400)).await;
        paid.ok(201);
        for word in ["lost_card", "no_answer", "nonsense"] {
            let again = post_with(&client, "/1/charges", &[key, ("Sandbox-Outcome", word)], &charge(400)).await;
            assert_eq!((again.status, &again.text), (201, &paid.text), "{word}");
            assert_eq!(again.headers["idempotent-replayed"], "true", "{word}");
        }
        assert_eq!(client.listed().await, 1);
        let document = &*DOCUMENT;
        let text = document["info"]["description"].as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("the server then ignores the headers of the sandbox"), "{text}");
    }

    async fn other_operations_do_not_look_at_the_header(app) {
        let client = app.client();
        let authorised = client.authorised(400).await;
        let request = client.request(Method::PUT, &format!("/1/charges/{authorised}/capture"));
        client.send(request.header("Sandbox-Outcome", "nonsense").body(Body::empty()).unwrap()).await.ok(200);
    }
}

async fn live_has_no_sandbox(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let document = &*DOCUMENT;
    let mut requests = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let Some(rest) = path.strip_prefix("/1/sandbox/") else { continue };
        let path = format!("/1/sandbox/{}", rest.replace(['{', '}'], ""));
        for method in operations.as_object().unwrap().keys() {
            for client in [app.client(), app.anonymous()] {
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let request = client.request(method.clone(), &path).body(Body::from("{")).unwrap();
                let answer = client.send_unchecked(request).await;
                assert_eq!(answer.status, 404, "{method} {path}");
                if method != Method::HEAD {
                    let unknown = client.request(method, "/1/sandboxes").body(Body::from("{")).unwrap();
                    assert_eq!(answer.text, client.send_unchecked(unknown).await.text);
                    answer.refused(404, "resource_not_found");
                }
                requests += 1;
            }
        }
    }
    assert!(requests >= 18, "{requests}");
    let client = app.client();
    for word in ["lost_card", "nonsense", "no_answer"] {
        forced(&client, word, &charge(400)).await.ok(201);
    }
    assert_eq!(client.listed().await, 3);
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_server_has_no_sandbox_on_sqlite() {
    live_has_no_sandbox(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_server_has_no_sandbox_on_postgres() {
    live_has_no_sandbox(Database::Postgres).await;
}
