//! The log of an account's requests (`docs/decisions.md`, 280 to 282).

use entity::{AccountToken, JsonText, TimeSpan, Timestamp, logged_request};
use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{post_with, request};
use crate::harness::{
    Answer, App, Client, Database, PASSWORD, application, as_of, bank_account, card, charge, charge_with,
    fields, operated, rules, token, with,
};

const LOG: &str = "/1/sandbox/requests";

fn id(answer: &Answer) -> &str {
    answer.headers["x-request-id"].to_str().unwrap()
}

/// What the log says of an answered request.
async fn logged(client: &Client, answer: &Answer) -> Value {
    client.get(&format!("{LOG}/{}", id(answer))).await.ok(200)
}

async fn ids(client: &Client, query: &str) -> Vec<String> {
    let log = client.get(&format!("{LOG}{query}")).await.ok(200);
    log.as_array().unwrap().iter().map(|it| it["request_id"].as_str().unwrap().to_owned()).collect()
}

/// As the server would have kept it.
fn note(app: &App, account_id: AccountToken, request_id: String) {
    app.ctx().memory.request_log.note(logged_request::Model {
        account_id,
        id: app.ctx().ids.token(),
        request_id,
        method: "GET".into(),
        route: "/1/balance".into(),
        path: "/1/balance".into(),
        status: 200,
        duration: 1,
        idempotency_key: None,
        replayed: false,
        parameters: JsonText::empty_object(),
        hidden: JsonText::encode(&[""; 0]).unwrap(),
        error: None,
        created_at: Timestamp::from_millis(0),
        logged_at: Timestamp::from_millis(0),
    });
}

rules! {
    async fn a_request_is_found_by_the_id_of_its_answer(app) {
        let client = app.client();
        let answer = post_with(&client, "/1/charges", &[("x-request-id", "order-1001")], &charge(400)).await;
        let made = answer.ok(201);
        let entry = logged(&client, &answer).await;
        assert_eq!(
            fields(&entry),
            [
                "request_id", "method", "route", "path", "status", "duration_ms", "idempotency_key",
                "idempotent_replayed", "parameters", "hidden", "error", "created_at",
            ]
        );
        let mut parameters = charge(400);
        for secret in ["number", "cvc"] {
            parameters["card"].as_object_mut().unwrap().remove(secret);
        }
        assert!(entry["duration_ms"].as_i64().unwrap() >= 0);
        let expected = json!({
            "request_id": "order-1001", "method": "POST", "route": "/1/charges", "path": "/1/charges", "status": 201,
            "duration_ms": entry["duration_ms"], "idempotency_key": null, "idempotent_replayed": false,
            "parameters": parameters, "hidden": ["card.number", "card.cvc"], "error": null,
            "created_at": made["created_at"],
        });
        assert_eq!(entry, expected);
        let answer = client.get(&format!("/1/charges/{}?unknown=1", token(&made))).await;
        let entry = logged(&client, &answer).await;
        assert_eq!(entry["route"], "/1/charges/{charge_token}");
        assert_eq!(entry["path"], format!("/1/charges/{}", token(&made)));
        assert_eq!((&entry["parameters"], &entry["hidden"]), (&json!({}), &json!(["unknown"])));
    }

    async fn a_request_that_no_operation_answers_is_logged_with_a_secret_key(app) {
        let client = app.client();
        let unknown = request(&client, Method::GET, "/1/chargez/4200000000000000", &[]).await;
        unknown.refused(404, "resource_not_found");
        let entry = logged(&client, &unknown).await;
        assert_eq!(
            (&entry["route"], &entry["path"], &entry["error"]["error"]),
            (&json!("unmatched"), &json!("/1/chargez/{hidden}"), &json!("resource_not_found"))
        );
        let wrong = request(&client, Method::PATCH, "/1/charges", &[]).await;
        wrong.refused(405, "method_not_allowed");
        let entry = logged(&client, &wrong).await;
        assert_eq!((&entry["method"], &entry["route"]), (&json!("PATCH"), &json!("/1/charges")));
        for (query, answer) in [("route=unmatched", &unknown), ("method=PATCH", &wrong)] {
            assert_eq!(ids(&client, &format!("?{query}&wait=1")).await, [id(answer)], "{query}");
        }
        for (caller, path) in [
            (app.anonymous(), "/1/chargez"),
            (app.with_key("sk_of_nobody"), "/1/chargez"),
            (app.with_key(app.publishable_key()), "/1/chargez"),
            (app.client(), "/other"),
        ] {
            let answer = request(&caller, Method::GET, path, &[]).await;
            answer.refused(404, "resource_not_found");
            client.get(&format!("{LOG}/{}", id(&answer))).await.refused(404, "not_found");
        }
    }

    async fn an_error_is_told_as_it_was_answered(app) {
        let client = app.client();
        for (path, params) in [
            ("/1/charges", json!({ "amount": "ten" })),
            ("/1/charges", charge_with(400, json!({ "card": card("4100000000000001") }))),
            ("/1/transfers", json!({ "description": "x", "amount": 900_000_000_000_i64, "currency": "AUD", "recipient": "self" })),
            ("/1/customers", json!("no object")),
            ("/1/customers/4200000000000000/cards", json!({})),
        ] {
            let answer = client.post(path, &params).await;
            let entry = logged(&client, &answer).await;
            assert!(answer.status >= 400);
            assert_eq!(entry["status"], answer.status, "{path}");
            let body = answer.json();
            let body = if body.is_array() { body[0].clone() } else { body };
            for name in ["error", "error_description", "messages"] {
                assert_eq!(entry["error"].get(name), body.get(name), "{path}: {entry}");
            }
            assert_eq!(entry["error"].get("charge_token"), None);
        }
        let entry = client.get(&format!("{LOG}?per_page=1")).await.ok(200);
        assert_eq!(entry[0]["path"], "/1/customers/{customer_token}/cards", "no token, so nobody knows what it is");
    }

    async fn a_value_that_a_type_holds_as_a_secret_is_named_and_never_shown(app) {
        let client = app.client();
        let payload = client.wallet_payload("walletGpay", "4200000000000000").await;
        let merchant = application();
        for (path, params, hidden) in [
            ("/1/cards", card("4200000000000000"), vec!["number", "cvc"]),
            ("/1/merchants", merchant, vec!["contact.password", "bank_account.number"]),
            ("/1/bank_accounts", bank_account("918273645"), vec!["number"]),
            ("/1/payment_sources", payload, vec!["source.signature", "source.protocolVersion", "source.signedMessage"]),
            ("/1/payment_sources", json!({ "type": "card", "source": card("4200000000000000") }), vec!["source.number", "source.cvc"]),
            // Credentials, and names that clients choose.
            ("/1/webhook_endpoints", json!({ "url": "https://user:4200000000000000@example.com/" }), vec!["url"]),
            ("/1/charges", charge_with(400, json!({
                "metadata": { "card": "4200000000000000" },
                "three_d_secure": { "cavv": "ECv2", "eci": "05", "callback_url": "https://4200000000000000@example.com/" },
            })), vec!["metadata.card", "three_d_secure.cavv", "three_d_secure.callback_url"]),
            // Values that could not be read, and values that no operation reads.
            ("/1/customers", json!({ "email": ["4200000000000000"], "number": "4200000000000000" }), vec!["email", "number"]),
        ] {
            let answer = client.post(path, &params).await;
            let entry = logged(&client, &answer).await;
            for name in &hidden {
                assert!(entry["hidden"].as_array().unwrap().contains(&json!(name)), "{path}: {entry}");
            }
            let text = entry.to_string();
            for secret in ["4200000000000000", "918273645", PASSWORD, "ECv2"] {
                assert!(!text.contains(secret), "{path}: {text}");
            }
        }
        // As curl sends JSON without a Content-Type: it is refused unread.
        let form = client.request(Method::POST, "/1/cards").body(card("4200000000000000").to_string().into());
        let answer = client.send(form.unwrap()).await;
        let entry = logged(&client, &answer).await;
        assert_eq!((&entry["status"], &entry["hidden"]), (&json!(400), &json!([])));
        assert!(!entry.to_string().contains("4200000000000000"), "{entry}");
    }

    async fn a_browsers_request_is_its_accounts(app) {
        let params = with(card("4200000000000000"), &json!({ "publishable_api_key": app.publishable_key() }));
        let answer = app.anonymous().post("/1/cards", &params).await;
        answer.ok(201);
        let entry = logged(&app.client(), &answer).await;
        assert_eq!(entry["hidden"], json!(["number", "cvc", "publishable_api_key"]));
        // To a script tag, errors are 200, too.
        let path = format!("/1/cards.json?callback=f&_method=POST&publishable_api_key={}", app.publishable_key());
        let script = app.client().request(Method::GET, &path).header("x-request-id", "script").body("".into());
        let script = app.anonymous().send_unchecked(script.unwrap()).await;
        let entry = logged(&app.client(), &script).await;
        assert_eq!((&entry["status"], &entry["error"]["error"]), (&json!(200), &json!("invalid_resource")));
    }

    async fn a_repeated_request_is_told_from_the_first_one(app) {
        let client = app.client();
        for (parameters, status) in [(charge(400), 201), (charge_with(400, json!({ "card": card("4100000000000001") })), 400)] {
            let key = format!("key-{status}");
            for replayed in [false, true] {
                let answer = post_with(&client, "/1/charges", &[("idempotency-key", key.as_str())], &parameters).await;
                assert_eq!(answer.status, status);
                let entry = logged(&client, &answer).await;
                assert_eq!((&entry["idempotency_key"], &entry["idempotent_replayed"]), (&json!(key), &json!(replayed)));
                assert_eq!(entry["error"].is_null(), status == 201, "{entry}");
            }
        }
        let answer = post_with(&client, "/1/charges", &[("idempotency-key", "key-201")], &charge(401)).await;
        answer.refused(422, "idempotency_key_reused");
        let entry = logged(&client, &answer).await;
        assert_eq!((&entry["idempotent_replayed"], &entry["error"]["error"]), (&json!(false), &json!("idempotency_key_reused")));
    }

    async fn the_newest_comes_first_and_requests_for_the_log_are_not_in_it(app) {
        let client = app.client();
        assert_eq!(ids(&client, "").await, [""; 0]);
        for id in ["a", "b", "b", "c"] {
            request(&client, Method::GET, "/1/balance", &[("x-request-id", id)]).await.ok(200);
        }
        request(&client, Method::HEAD, LOG, &[("x-request-id", "x")]).await;
        assert_eq!(ids(&client, "").await, ["c", "b", "b", "a"]);
        assert_eq!(ids(&client, "?page=2&per_page=3").await, ["a"]);
        let page = client.get(&format!("{LOG}?page=2&per_page=3")).await.json();
        let lies = json!({ "current": 2, "previous": 1, "next": null, "per_page": 3, "pages": 2, "count": 4 });
        assert_eq!((&page["count"], &page["pagination"]), (&json!(1), &lies));
        let answer = client.post("/1/charges", &json!({})).await;
        let again = request(&client, Method::GET, "/1/charges", &[("x-request-id", id(&answer))]).await;
        assert_eq!(logged(&client, &again).await["status"], 200, "the newer one of two");
        client.get(&format!("{LOG}?page=x")).await.refused(422, "invalid_resource");
    }

    async fn nobody_finds_requests_of_another_account_nor_one_that_never_was(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let answer = client.get("/1/balance").await;
        logged(&client, &answer).await;
        for other in [id(&answer), "nobody", "%00", "%FF", "a%20b", &"a".repeat(5000)] {
            app.unchanged(stranger.get(&format!("{LOG}/{other}"))).await.not_found();
        }
        assert_eq!(ids(&stranger, "").await, [""; 0]);
        app.anonymous().get(LOG).await.refused(401, "unauthorized");
        app.with_key(app.publishable_key()).get(LOG).await.refused(401, "unauthorized");
        // Without a key there is no account, and no log.
        app.anonymous().get("/1/balance").await.refused(401, "unauthorized");
        assert_eq!(ids(&client, "").await, [id(&answer)]);
    }

    async fn the_log_keeps_the_last_thousand(app) {
        let (client, account) = (app.client(), app.account().await);
        // Written in several portions, over what is there already.
        for portion in [600, 600, 5] {
            for n in 0..portion {
                note(app, account, format!("{portion}-{n}"));
            }
            ids(&client, "?per_page=1").await;
        }
        let kept = client.get(&format!("{LOG}?per_page=1")).await.json();
        assert_eq!((&kept["pagination"]["count"], &kept["response"][0]["request_id"]), (&json!(1000), &json!("5-4")));
        assert_eq!(ids(&client, "?per_page=1&page=1000").await, ["600-205"]);
        client.get(&format!("{LOG}/5-0")).await.ok(200);
    }

    async fn a_moved_clock_takes_no_request_away(app) {
        let client = app.client();
        let answer = client.get("/1/balance").await;
        // By twelve hours and then by years: what is old by the account's clock alone is kept, whenever it is looked for.
        for by in ["12h", "1year", "10year"] {
            client.move_clock(by).await;
            app.do_due_work().await;
            assert_eq!(ids(&client, "").await.last().unwrap(), id(&answer), "{by}");
        }
        assert_eq!(logged(&client, &answer).await["created_at"], json!(as_of()));
        app.clock.advance(TimeSpan::days(89));
        client.move_clock("1d").await;
        app.do_due_work().await;
        assert_eq!(ids(&client, "").await.len(), 5);
        // Ninety days of the wall clock, and then the account's next midnight.
        app.clock.advance(TimeSpan::days(2));
        app.do_due_work().await;
        assert_eq!(ids(&client, "").await.len(), 1, "what was asked for two days ago");
    }

    async fn the_log_goes_with_what_is_old_and_with_its_account(app) {
        let client = app.client();
        let made = client.post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let other = app.with_key(made["secret_key"].as_str().unwrap());
        other.get("/1/balance").await.ok(200);
        assert_eq!(ids(&other, "").await.len(), 1);
        assert_eq!(app.number("SELECT COUNT(*) FROM logged_requests").await, 1);
        client.delete(&format!("/1/sandbox/accounts/{}", token(&made))).await.ok(204);
        app.do_due_work().await;
        assert_eq!(app.number("SELECT COUNT(*) FROM logged_requests").await, 0);
        assert_eq!(ids(&client, "").await.len(), 2);
        app.clock.advance(TimeSpan::days(89));
        app.do_due_work().await;
        assert_eq!(ids(&client, "").await.len(), 2);
        app.clock.advance(TimeSpan::days(92));
        app.do_due_work().await;
        assert_eq!(ids(&client, "").await, [""; 0]);
    }
}

async fn is_not_in_live(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let client = app.client();
    client.get("/1/balance").await.ok(200);
    for path in [LOG, "/1/sandbox/requests/x"] {
        request(&client, Method::GET, path, &[]).await.refused(404, "resource_not_found");
    }
    app.ctx().memory.request_log.write(&app.ctx().store, None).await.unwrap();
    assert_eq!(app.number("SELECT COUNT(*) FROM logged_requests").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_server_keeps_no_log() {
    for database in [Database::Sqlite, Database::Postgres] {
        is_not_in_live(database).await;
    }
}

operated! {
    async fn a_server_that_is_stopped_loses_none_of_its_log(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let id = server.pay(&key).headers["x-request-id"].clone();
        server.stopped();
        assert_eq!(installed.number("SELECT COUNT(*) FROM logged_requests").await, 1);
        let server = installed.serve();
        let entry = server.ask("GET", &format!("{LOG}/{id}"), Some(&key), "").ok(200);
        assert_eq!((&entry["status"], &entry["parameters"]["amount"]), (&json!(201), &json!("400")));
        server.stopped();
    }
}
