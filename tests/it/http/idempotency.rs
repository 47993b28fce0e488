//! One effect for each Idempotency-Key (`docs/decisions.md`, 63 to 66).

use axum::body::Body;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::{Value, json};

use crate::answers::operations;
use crate::harness::app::DOCUMENT;
use crate::harness::flaky_acquirer::CallFault;
use crate::harness::{Answer, App, Client, at_once, card, charge, charge_with, rounds, rules, token_of};

/// A request under a key.
#[derive(Clone)]
struct KeyedRequest {
    method: Method,
    path: String,
    key: String,
    body: Value,
}

fn post(path: &str, key: &str, body: Value) -> KeyedRequest {
    KeyedRequest { method: Method::POST, path: path.into(), key: key.into(), body }
}

fn put(path: &str, key: &str) -> KeyedRequest {
    KeyedRequest { method: Method::PUT, path: path.into(), key: key.into(), body: json!({}) }
}

impl KeyedRequest {
    async fn by(&self, client: &Client) -> Answer {
        let request = client
            .request(self.method.clone(), &self.path)
            .header("Idempotency-Key", &self.key)
            .header(header::CONTENT_TYPE, "application/json");
        client.send(request.body(Body::from(self.body.to_string())).unwrap()).await
    }
}

fn is_replay(answer: &Answer) -> bool {
    answer.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
}

/// The same request again gets the very same answer, says so, and changes nothing.
async fn repeats(app: &App, client: &Client, request: &KeyedRequest, first: &Answer) {
    assert!(!is_replay(first), "{}", first.text);
    let again = app.unchanged(request.by(client)).await;
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    assert!(is_replay(&again));
    let content_type = |answer: &Answer| answer.headers.get(header::CONTENT_TYPE).cloned();
    assert_eq!(content_type(&again), content_type(first));
}

/// While a request with the key is in flight.
fn is_in_use(answer: &Answer) {
    answer.refused(409, "idempotency_key_in_use");
    assert!(answer.headers[header::RETRY_AFTER].to_str().unwrap().parse::<u32>().unwrap() > 0);
}

rules! {
    async fn every_operation_that_changes_something_can_be_repeated_without_a_second_effect(app) {
        let client = app.client();
        let document = &*DOCUMENT;
        let mut repeated = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let method: Method = method.to_uppercase().parse().unwrap();
                if matches!(method, Method::GET | Method::HEAD) {
                    continue;
                }
                // It takes files only: see tests/it/disputes/files.rs.
                if path == "/1/files" {
                    repeated += 1;
                    continue;
                }
                let body = client.body_of(operation).await;
                let (path, key) = (app.path_of(&client, path).await, format!("{method}{path}"));
                let request = KeyedRequest { method, path, key, body };
                let first = request.by(&client).await;
                assert!((200..300).contains(&first.status), "{} {}: {}", request.method, request.path, first.text);
                repeats(app, &client, &request, &first).await;
                repeated += 1;
            }
        }
        let paths = document["paths"].to_string();
        let keys = paths.matches("#/components/parameters/IdempotencyKey").count();
        assert_eq!(repeated, keys, "every operation that is said to take a key");
    }

    async fn the_same_request_in_another_spelling_is_the_same_request(app) {
        let client = app.client();
        let first = post("/1/charges", "spelling", charge(400)).by(&client).await;
        let form = serde_qs::Config::new().use_form_encoding(true).serialize_string(&charge(400)).unwrap();
        let again = client
            .request(Method::POST, "/1/charges.json/")
            .header("Idempotency-Key", "spelling")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let again = app.unchanged(client.send_unchecked(again.body(Body::from(form)).unwrap())).await;
        assert_eq!((again.status, &again.text), (201, &first.text));
    }

    async fn a_key_of_another_request_is_refused(app) {
        let client = app.client();
        let charge_token = client.authorised(500).await;
        post("/1/charges", "one", charge(400)).by(&client).await.ok(201);
        let others = [
            post("/1/charges", "one", charge(401)),
            post("/1/charges", "one", json!({})),
            post("/1/cards", "one", charge(400)),
            post("/1/charges?capture=false", "one", charge(400)),
            put(&format!("/1/charges/{charge_token}/void"), "one"),
            KeyedRequest { method: Method::DELETE, ..post("/1/customers/cus_unknown", "one", json!({})) },
        ];
        for other in others {
            let body = app.unchanged(other.by(&client)).await.refused(422, "idempotency_key_reused");
            assert!(body.get("messages").is_none(), "{body}");
        }
    }

    async fn no_operation_takes_a_key_of_another_request(app) {
        let client = app.client();
        post("/1/charges", "taken", charge(400)).by(&client).await.ok(201);
        let before = app.rows().await;
        for operation in operations().into_iter().filter(|operation| !operation.method.is_safe()) {
            // It takes files only: see tests/it/disputes/files.rs.
            if operation.path == "/1/files" {
                continue;
            }
            let (method, path) = (operation.method.clone(), operation.at("x"));
            let other = KeyedRequest { method, path, key: "taken".into(), body: json!({}) };
            other.by(&client).await.refused(422, "idempotency_key_reused");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_decline_is_kept(app) {
        let client = app.client();
        let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
        let request = post("/1/charges", "declined", declined);
        let first = request.by(&client).await;
        let charge = first.refused(400, "card_declined")["charge_token"].clone();
        assert!(charge.is_string());
        repeats(app, &client, &request, &first).await;
        assert_eq!(app.events().await, ["charge.failed"]);
    }

    async fn a_refusal_that_changed_nothing_leaves_the_key_free(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        let unknown = charge_with(400, json!({ "card": null, "card_token": "card_unknown" }));
        let refused = [
            (post("/1/charges", "free", json!({ "amount": "much" })), 422),
            (post("/1/charges", "free", unknown), 422),
            (post("/1/customers", "free", json!({})), 422),
            (put("/1/charges/ch_unknown/void", "free"), 404),
            (KeyedRequest { method: Method::DELETE, ..post(&format!("/1/customers/{customer}/cards/card_unknown"), "free", json!({})) }, 404),
        ];
        for (request, status) in refused {
            for _ in 0..2 {
                let answer = app.unchanged(request.by(&client)).await;
                assert_eq!((answer.status, is_replay(&answer)), (status, false), "{}", answer.text);
            }
        }
        let request = post("/1/charges", "free", charge(400));
        let first = request.by(&client).await;
        first.ok(201);
        repeats(app, &client, &request, &first).await;
    }

    async fn a_502_leaves_the_key_free(app) {
        let client = app.client();
        for number in ["4300000000000009", "4200800000000011"] {
            let request = post("/1/charges", "gateway", charge_with(400, json!({ "card": card(number) })));
            let tokens = [request.by(&client).await, request.by(&client).await].map(|answer| {
                assert!(!is_replay(&answer));
                answer.refused(502, "gateway_error")["charge_token"].clone()
            });
            assert_ne!(tokens[0], tokens[1], "two attempts");
        }
        post("/1/charges", "gateway", charge(400)).by(&client).await.ok(201);
        assert_eq!(client.listed().await, 1);
    }

    async fn a_key_has_1_to_255_visible_ascii_characters(app) {
        let client = app.client();
        let wrong: [&[u8]; 7] = [b"", b" ", b"a b", b"a\tb", "é".as_bytes(), &[b'a'; 256], b"a\x80"];
        for key in wrong {
            let request = client
                .request(Method::POST, "/1/charges")
                .header("Idempotency-Key", key)
                .header(header::CONTENT_TYPE, "application/json");
            let request = request.body(Body::from(charge(400).to_string())).unwrap();
            let body = app.unchanged(client.send(request)).await.refused(400, "bad_request");
            assert!(body["error_description"].as_str().unwrap().contains("Idempotency-Key"), "{body}");
        }
        for key in ["!", "~", &"a".repeat(255), "order-1001:\"{}\""] {
            post("/1/charges", key, charge(400)).by(&client).await.ok(201);
        }
    }

    async fn the_key_is_looked_at_after_credentials_and_body_and_before_the_record(app) {
        let (client, nobody) = (app.client(), app.with_key("nobody-knows-this-key"));
        let unknown = put("/1/charges/ch_unknown/void", "a b");
        unknown.by(&nobody).await.refused(401, "unauthorized");
        unknown.by(&client).await.refused(400, "bad_request");
        let unreadable = client
            .request(Method::POST, "/1/charges")
            .header("Idempotency-Key", "a b")
            .header(header::CONTENT_TYPE, "text/plain");
        let unreadable = client.send(unreadable.body(Body::from("x")).unwrap()).await;
        unreadable.refused(415, "unsupported_media_type");
    }

    async fn a_get_takes_no_notice_of_a_key(app) {
        let client = app.client();
        for key in ["get", "not a key"] {
            for _ in 0..2 {
                let request = client.request(Method::GET, "/1/charges").header("Idempotency-Key", key);
                let answer = client.send(request.body(Body::empty()).unwrap()).await;
                assert!(answer.status == 200 && !is_replay(&answer));
            }
        }
        post("/1/charges", "get", charge(400)).by(&client).await.ok(201);
    }

    async fn a_key_belongs_to_one_account_and_one_kind_of_api_key(app) {
        let (client, stranger, browser) = (app.client(), app.stranger().await, app.anonymous());
        let secret = post("/1/cards", "shared", card("4200000000000000"));
        let mut parameters = card("4200000000000000");
        parameters["publishable_api_key"] = app.publishable_key().into();
        let publishable = post("/1/cards", "shared", parameters);
        let answers =
            [secret.by(&client).await, secret.by(&stranger).await, publishable.by(&browser).await];
        let mut tokens: Vec<_> = answers.iter().map(|answer| token_of(&answer.ok(201))).collect();
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), 3);
        repeats(app, &client, &secret, &answers[0]).await;
        repeats(app, &browser, &publishable, &answers[2]).await;
    }

    async fn a_key_is_kept_for_24_hours_of_the_wall_clock(app) {
        let client = app.client();
        let request = post("/1/charges", "daily", charge(400));
        let first = request.by(&client).await;
        // The account's clock has nothing to do with it.
        app.execute("UPDATE accounts SET clock_offset = 864000000").await;
        app.clock.advance(TimeSpan::days(1));
        app.clock.advance(TimeSpan::from_millis(-1));
        app.do_due_work().await;
        repeats(app, &client, &request, &first).await;
        app.clock.advance(TimeSpan::from_millis(1));
        let second = request.by(&client).await;
        assert!(!is_replay(&second));
        assert_ne!(first.ok(201)["token"], second.ok(201)["token"]);
        repeats(app, &client, &request, &second).await;
        app.clock.advance(TimeSpan::days(1));
        app.do_due_work().await;
        for table in ["idempotency_keys", "idempotency_answers"] {
            assert_eq!(app.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
        }
    }

    async fn neither_key_nor_request_nor_answer_can_be_read_in_the_database(app) {
        let client = app.client();
        let request = post("/1/customers", "legible-key", json!({
            "email": "legible@example.com", "card": card("4200000000000000"),
        }));
        let first = request.by(&client).await;
        client.delete(&format!("/1/customers/{}", token_of(&first.ok(201)))).await.ok(204);
        // Events show what happened; what is left is what was stored for the key.
        app.execute("DELETE FROM events").await;
        app.execute("DELETE FROM counters WHERE kind = 'events'").await;
        let stored = format!("{:?}", app.idempotency_rows().await);
        assert!(stored.len() > 300, "{stored}");
        for legible in ["legible-key", "legible@example.com", "Roland"] {
            let bytes = format!("{:?}", legible.as_bytes());
            assert!(!stored.contains(bytes.trim_matches(['[', ']'])) && !stored.contains(legible));
        }
        repeats(app, &client, &request, &first).await;
    }
}

rules! {
    async fn while_a_payment_is_under_way_its_key_is_in_use(app, acquirer) {
        let client = app.client();
        acquirer.carry(CallFault::AnswerLate);
        let request = post("/1/charges", "late", charge(400));
        let first = tokio::spawn({
            let (request, client) = (request.clone(), client.clone());
            async move { request.by(&client).await }
        });
        acquirer.called(1).await;
        is_in_use(&app.unchanged(request.by(&client)).await);
        acquirer.release();
        let first = first.await.unwrap();
        first.ok(201);
        repeats(app, &client, &request, &first).await;
        assert_eq!(acquirer.calls().len(), 1);
    }

    async fn a_creation_whose_outcome_is_unknown_holds_its_key_until_a_worker_reverses_it(app, acquirer) {
        let client = app.client();
        let request = post("/1/charges", "unknown", charge(400));
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        request.by(&client).await.refused(502, "gateway_error");
        is_in_use(&app.unchanged(request.by(&client)).await);
        // However old: it is not settled.
        app.clock.advance(TimeSpan::days(2));
        is_in_use(&app.unchanged(request.by(&client)).await);
        acquirer.settle(true);
        app.do_due_work().await;
        acquirer.carry(CallFault::Both);
        let first = request.by(&client).await;
        first.ok(201);
        repeats(app, &client, &request, &first).await;
        assert_eq!(client.listed().await, 1);
    }

    async fn a_capture_or_void_that_was_done_gives_its_answer_once_a_worker_has_learnt_it(app, acquirer) {
        let client = app.client();
        for (verb, done) in [("capture", "captured"), ("void", "authorisation_voided")] {
            let charge = client.authorised(400).await;
            let request = put(&format!("/1/charges/{charge}/{verb}"), verb);
            acquirer.carry(CallFault::Call);
            request.by(&client).await.refused(502, "gateway_error");
            is_in_use(&app.unchanged(request.by(&client)).await);
            app.clock.advance(TimeSpan::seconds(30));
            app.do_due_work().await;
            acquirer.carry(CallFault::Both);
            let answer = app.unchanged(request.by(&client)).await;
            assert!(is_replay(&answer));
            assert_eq!(answer.ok(200)[done], true);
            assert_eq!(answer.record(), client.get(&format!("/1/charges/{charge}")).await.record());
        }
    }

    async fn a_capture_that_was_not_done_gives_its_key_back(app, acquirer) {
        let client = app.client();
        let charge = client.authorised(400).await;
        let request = put(&format!("/1/charges/{charge}/capture"), "capture");
        acquirer.carry(CallFault::Refusal);
        request.by(&client).await.refused(502, "gateway_error");
        acquirer.carry(CallFault::Nothing);
        request.by(&client).await.refused(502, "gateway_error");
        is_in_use(&app.unchanged(request.by(&client)).await);
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        acquirer.carry(CallFault::Both);
        let first = request.by(&client).await;
        assert_eq!(first.ok(200)["captured"], true);
        repeats(app, &client, &request, &first).await;
    }

    async fn a_call_without_a_key_does_not_answer_for_an_earlier_one(app, acquirer) {
        let client = app.client();
        let created = post("/1/charges", "created", charge_with(400, json!({ "capture": false })));
        let first = created.by(&client).await;
        let charge = token_of(&first.ok(201));
        acquirer.carry(CallFault::Call);
        client.put_charge(&charge, "capture").await.refused(502, "gateway_error");
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        assert_eq!(client.charge(&charge).await["captured"], true);
        repeats(app, &client, &created, &first).await;
    }

    async fn answers_outlive_the_process(app, _acquirer) {
        let request = post("/1/charges", "restart", charge(400));
        let first = request.by(&app.client()).await;
        app.restart().await;
        repeats(app, &app.client(), &request, &first).await;
    }

    async fn a_server_that_has_not_seen_a_key_finds_out_whether_it_is_claimed(app, _acquirer) {
        let request = post("/1/charges", "elsewhere", charge(400));
        let first = request.by(&app.client()).await;
        for body in [charge(500), charge(0)] {
            app.restart().await;
            post("/1/charges", "elsewhere", body).by(&app.client()).await.refused(422, "idempotency_key_reused");
        }
        app.restart().await;
        repeats(app, &app.client(), &request, &first).await;
        app.clock.advance(TimeSpan::days(1));
        app.restart().await;
        let second = request.by(&app.client()).await;
        assert!(!is_replay(&second));
        assert_ne!(first.ok(201)["token"], second.ok(201)["token"]);
        repeats(app, &app.client(), &request, &second).await;
        assert_eq!(app.client().listed().await, 2);
    }
}

/// Many times the same request at the same moment.
async fn repeated(client: &Client, request: &KeyedRequest, times: usize) -> Vec<Answer> {
    at_once((0..times).map(|_| {
        let (client, request) = (client.clone(), request.clone());
        async move { request.by(&client).await }
    }))
    .await
}

/// One request has the effect, all others its answer, or 409 while it is in flight.
#[track_caller]
fn agree(answers: &[Answer], status: u16, may_wait: bool) {
    let done: Vec<_> = answers.iter().filter(|answer| answer.status == status).collect();
    assert_eq!(done.iter().filter(|answer| !is_replay(answer)).count(), 1, "{:?}", answers[0].text);
    assert!(done.iter().all(|answer| answer.text == done[0].text));
    for answer in answers.iter().filter(|answer| answer.status != status) {
        assert!(may_wait, "{}: {}", answer.status, answer.text);
        is_in_use(answer);
    }
}

rules! {
    async fn of_many_requests_with_one_key_one_has_the_effect(app) {
        let client = app.client();
        for round in 0..rounds() {
            let stored = client.card_token("4200000000000000").await;
            let by_token = charge_with(400, json!({ "card": null, "card_token": stored }));
            let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
            for (name, body, status) in [("inline", charge(400), 201), ("token", by_token, 201), ("declined", declined, 400)] {
                let request = post("/1/charges", &format!("{name}{round}"), body);
                agree(&repeated(&client, &request, 64).await, status, true);
            }
            let authorised = client.authorised(400).await;
            let request = put(&format!("/1/charges/{authorised}/capture"), &format!("capture{round}"));
            agree(&repeated(&client, &request, 64).await, 200, true);
            let stored = client.card_token("4200000000000000").await;
            let request = post("/1/customers", &format!("customer{round}"), json!({ "email": "a@example.com", "card_token": stored }));
            let answers = repeated(&client, &request, 64).await;
            agree(&answers, 201, false);
            let path = format!("/1/customers/{}", token_of(&answers[0].ok(201)));
            let request = KeyedRequest { method: Method::DELETE, ..post(&path, &format!("deletion{round}"), json!({})) };
            agree(&repeated(&client, &request, 64).await, 204, false);
            let captured = token_of(&client.captured(400).await);
            let path = format!("/1/charges/{captured}/refunds");
            let request = post(&path, &format!("refund{round}"), json!({ "amount": 100 }));
            agree(&repeated(&client, &request, 64).await, 201, false);
            assert_eq!(client.charge(&captured).await["amount_refunded"], 100);
            let request = post("/1/webhook_endpoints", &format!("endpoint{round}"), json!({ "url": "http://127.0.0.1:1/" }));
            let answers = repeated(&client, &request, 64).await;
            agree(&answers, 201, false);
            let path = format!("/1/webhook_endpoints/{}", token_of(&answers[0].ok(201)));
            let request = KeyedRequest { method: Method::DELETE, ..post(&path, &format!("gone{round}"), json!({})) };
            agree(&repeated(&client, &request, 64).await, 204, false);
            assert_eq!(client.listed().await, 4 * (round as u64 + 1), "charges: inline, token, captured, refunded");
            assert_eq!(app.number("SELECT COUNT(*) FROM customers").await, 0);
        }
    }
}
