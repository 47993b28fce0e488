//! Which keys are accepted, and which records they open (specification, Authentication; `docs/decisions.md`, 54 to 58).

use axum::body::Body;
use http::{Method, header};
use serde_json::{Value, json};

use crate::answers::{operations, unknown};
use crate::harness::sending::{FORM, JSON, basic, form, post_with, request, send};
use crate::harness::{Answer, App, Client, card, charge, rules, token_of};

/// Paths that publishable keys open, with POST.
const OF_BROWSERS: [&str; 4] =
    ["/1/cards", "/1/payment_sources", "/1/bank_accounts", "/1/customers/{customer_token}/cards"];

fn unauthorised(answer: &Answer, of: &str) {
    assert_eq!(answer.status, 401, "{of}: {}", answer.text);
    let unauthorized =
        json!({ "error": "unauthorized", "error_description": "Not authorised. (Check API Key)" });
    assert_eq!(answer.json(), unauthorized, "{of}");
    assert_eq!(answer.headers["www-authenticate"], "Basic realm=\"card-payments\"", "{of}");
}

fn with_key(mut parameters: Value, key: &str) -> Value {
    parameters["publishable_api_key"] = json!(key);
    parameters
}

async fn get_as(app: &App, authorization: &[u8]) -> Answer {
    let request =
        app.anonymous().request(Method::GET, "/1/charges").header(header::AUTHORIZATION, authorization);
    app.anonymous().send(request.body(Body::empty()).unwrap()).await
}

fn secret(app: &App) -> String {
    // What the harness's own caller sends.
    let request = app.client().request(Method::GET, "/").body(()).unwrap();
    let header = request.headers()[header::AUTHORIZATION].to_str().unwrap().to_owned();
    let decoded = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &header[6..]).unwrap();
    String::from_utf8(decoded).unwrap().trim_end_matches(':').to_owned()
}

async fn a_customer(client: &Client) -> (String, String) {
    let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
    let made = client.post("/1/customers", &customer).await.ok(201);
    (made["token"].as_str().unwrap().into(), made["card"]["token"].as_str().unwrap().into())
}

rules! {
    async fn without_credentials_every_operation_is_a_401(app) {
        let before = app.rows().await;
        for operation in operations() {
            for token in [unknown("cus_"), "x".into()] {
                let path = operation.at(&token);
                let of = format!("{} {path}", operation.method);
                let answer = send(&app.anonymous(), operation.method.clone(), &path, None, "").await;
                if operation.method == Method::HEAD {
                    assert_eq!((answer.status, answer.text.as_str()), (401, ""), "{of}");
                } else {
                    unauthorised(&answer, &of);
                }
            }
        }
        assert_eq!(app.rows().await, before);
    }

    async fn only_the_user_name_counts(app) {
        let key = secret(app);
        for credentials in [
            format!("{key}:"),
            key.clone(),
            format!("{key}:password"),
            format!("{key}:a:b"),
            format!("{key}::"),
        ] {
            get_as(app, basic(&credentials).as_bytes()).await.ok(200);
        }
        for scheme in ["basic", "BASIC", "Basic "] {
            get_as(app, basic(&format!("{key}:")).replace("Basic", scheme).as_bytes()).await.ok(200);
        }
        // Without its padding.
        get_as(app, basic(&format!("{key}:")).trim_end_matches('=').as_bytes()).await.ok(200);
        // With the colon behind what was encoded.
        get_as(app, format!("{}:", basic(&key)).as_bytes()).await.ok(200);
    }

    async fn a_wrong_key_is_a_401(app) {
        let key = secret(app);
        let before = app.rows().await;
        for credentials in [
            String::new(),
            ":".into(),
            format!(":{key}"),
            "nobody-has-this:".into(),
            format!("{key}x:"),
            format!(" {key}:"),
            key[..key.len() - 1].to_owned(),
            key.to_uppercase(),
            format!("{key}\0:"),
            "\u{1}".into(),
            "é".into(),
            "a".repeat(10_000),
        ] {
            unauthorised(&get_as(app, basic(&credentials).as_bytes()).await, &format!("{credentials:?}"));
        }
        let bearer = format!("Bearer {key}");
        for header in ["", "Basic", "Basic ", "Basic !!!", "Basic /w==", "Basic :", &key, &bearer, "Basic a b"] {
            unauthorised(&get_as(app, header.as_bytes()).await, header);
        }
        unauthorised(&get_as(app, b"Basic \xff").await, "no text");
        assert_eq!(app.rows().await, before);
    }

    async fn a_publishable_key_is_no_user_name(app) {
        let publishable = app.with_key(app.publishable_key());
        for path in ["/1/charges", "/1/customers", "/1/events", "/1/balance", "/1/cards/card_x"] {
            unauthorised(&publishable.get(path).await, path);
        }
        let before = app.rows().await;
        for (path, parameters) in [
            ("/1/charges", charge(400)),
            ("/1/cards", card("4200000000000000")),
            // The Basic user decides, even where the parameter alone would do.
            ("/1/cards", with_key(card("4200000000000000"), app.publishable_key())),
        ] {
            unauthorised(&publishable.post(path, &parameters).await, path);
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_publishable_key_opens_the_endpoints_of_browsers_from_body_or_query(app) {
        let (customer, _) = a_customer(&app.client()).await;
        let good = card("4200000000000000");
        let anonymous = app.anonymous();
        // tests/it/accounts/bank_accounts.rs has the one that stores no card.
        for path in OF_BROWSERS.iter().filter(|path| path.ends_with("/cards")) {
            let path = path.replace("{customer_token}", &customer);
            let with = with_key(good.clone(), app.publishable_key());
            let query = format!("{path}?publishable_api_key={}", app.publishable_key());
            for answer in [
                anonymous.post(&path, &with).await,
                anonymous.post_form(&path, &with).await,
                anonymous.post(&query, &good).await,
                send(&anonymous, Method::POST, &path, None, form(&with, true)).await,
                send(&anonymous, Method::POST, &format!("{query}&{}", form(&good, true)), None, "").await,
            ] {
                let stored = answer.ok(201);
                let shown =
                    app.client().get(&format!("/1/cards/{}", stored["token"].as_str().unwrap())).await;
                assert_eq!(shown.ok(200), stored);
            }
        }
    }

    async fn an_empty_user_beside_a_publishable_key_does_not_count(app) {
        let with = with_key(card("4200000000000000"), app.publishable_key());
        for credentials in ["", ":", ":password"] {
            let header = basic(credentials);
            post_with(&app.anonymous(), "/1/cards", &[("authorization", &header)], &with).await.ok(201);
        }
        // A user that is not empty decides, right or wrong.
        post_with(&app.client(), "/1/cards", &[], &with_key(card("4200000000000000"), "pk_nobody"))
            .await
            .ok(201);
        let before = app.rows().await;
        let header = basic("nobody-has-this:");
        let answer = post_with(&app.anonymous(), "/1/cards", &[("authorization", &header)], &with).await;
        unauthorised(&answer, "a wrong user beside a right parameter");
        assert_eq!(app.rows().await, before);
    }

    async fn a_publishable_key_opens_nothing_else(app) {
        let before = app.rows().await;
        for operation in operations() {
            if operation.method == Method::HEAD
                || operation.method == Method::POST && OF_BROWSERS.contains(&operation.path.as_str())
            {
                continue;
            }
            let path = operation.at("x");
            let body = with_key(charge(400), app.publishable_key());
            let answer =
                send(&app.anonymous(), operation.method.clone(), &path, JSON, body.to_string()).await;
            unauthorised(&answer, &format!("{} {path}", operation.method));
            let path = format!("{path}?publishable_api_key={}", app.publishable_key());
            unauthorised(&send(&app.anonymous(), operation.method.clone(), &path, None, "").await, &path);
        }
        assert_eq!(app.rows().await, before);
    }

    async fn no_other_key_is_a_publishable_key(app) {
        let before = app.rows().await;
        let key = secret(app);
        for wrong in [
            json!(key),
            json!("pk_nobody"),
            json!(""),
            json!(" "),
            json!(null),
            json!(1),
            json!(true),
            json!([app.publishable_key()]),
            json!({ "key": app.publishable_key() }),
            json!("\0"),
            json!("a".repeat(5000)),
        ] {
            let mut parameters = card("4200000000000000");
            parameters["publishable_api_key"] = wrong.clone();
            unauthorised(&app.anonymous().post("/1/cards", &parameters).await, &wrong.to_string());
            unauthorised(
                &app.anonymous().post("/1/customers/cus_x/cards", &parameters).await,
                &wrong.to_string(),
            );
        }
        assert_eq!(app.rows().await, before);
    }

    async fn the_route_is_looked_for_before_the_credentials(app) {
        let wrong = app.with_key("nobody-has-this");
        request(&wrong, Method::GET, "/1/nothing", &[]).await.refused(404, "resource_not_found");
        request(&wrong, Method::PATCH, "/1/charges", &[]).await.refused(405, "method_not_allowed");
    }

    async fn the_credentials_are_looked_at_before_the_record(app) {
        let charge = token_of(&app.client().captured(400).await);
        let paths = [charge.as_str(), "ch_AAAAAAAAAAAAAAAAAAAAAA", "nothing", "%FF"].map(|token| format!("/1/charges/{token}"));
        for client in [app.anonymous(), app.with_key("nobody-has-this"), app.with_key(app.publishable_key())] {
            for path in &paths {
                unauthorised(&client.get(path).await, path);
                // With a malformed body, too.
                unauthorised(&send(&client, Method::GET, path, JSON, "{").await, path);
            }
        }
        let client = app.client();
        assert_eq!(client.get(&paths[0]).await.ok(200)["token"], charge);
        for path in &paths {
            send(&client, Method::GET, path, JSON, "{").await.refused(400, "bad_request");
        }
        for path in &paths[1..] {
            client.get(path).await.refused(404, "not_found");
        }
    }

    async fn the_credentials_are_looked_at_before_the_body(app) {
        let before = app.rows().await;
        for client in [app.anonymous(), app.with_key("nobody-has-this")] {
            for path in ["/1/charges", "/1/customers"] {
                unauthorised(&send(&client, Method::POST, path, JSON, "{").await, "no JSON");
                unauthorised(&send(&client, Method::POST, path, Some("text/plain"), "x").await, "wrong type");
                unauthorised(
                    &send(&client, Method::POST, path, JSON, "x".repeat(1024 * 1024 + 1)).await,
                    "too large",
                );
            }
        }
        // A Basic user decides at the endpoints of browsers too.
        let wrong = app.with_key("nobody-has-this");
        unauthorised(
            &send(&wrong, Method::POST, "/1/cards", JSON, "{").await,
            "a wrong user and a body that is no JSON",
        );
        assert_eq!(app.rows().await, before);
    }

    async fn where_the_publishable_key_may_be_in_the_body_the_body_is_read_first(app) {
        let before = app.rows().await;
        for path in ["/1/cards", "/1/customers/cus_x/cards"] {
            let client = app.anonymous();
            send(&client, Method::POST, path, JSON, "{").await.refused(400, "bad_request");
            send(&client, Method::POST, path, FORM, "a=%zz").await.refused(400, "bad_request");
            send(&client, Method::POST, path, Some("text/plain"), "x")
                .await
                .refused(415, "unsupported_media_type");
            send(&client, Method::POST, path, JSON, "x".repeat(1024 * 1024 + 1))
                .await
                .refused(413, "payload_too_large");
            unauthorised(&send(&client, Method::POST, path, JSON, "{}").await, "readable, but without a key");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn the_record_in_the_path_is_looked_for_before_the_shape_of_the_request(app) {
        let with = with_key(json!({}), app.publishable_key());
        app.anonymous().post("/1/customers/cus_x/cards", &with).await.refused(404, "not_found");
        app.client().put("/1/customers/cus_x", &json!({ "email": "" })).await.refused(404, "not_found");
        app.client()
            .put("/1/charges/ch_x/capture", &json!({ "amount": "x" }))
            .await
            .refused(404, "not_found");
        let (customer, _) = a_customer(&app.client()).await;
        app.anonymous()
            .post(&format!("/1/customers/{customer}/cards"), &with)
            .await
            .refused(422, "invalid_resource");
    }

    async fn everything_of_another_account_is_unknown(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let (customer, primary) = a_customer(&client).await;
        let second =
            client.post(&format!("/1/customers/{customer}/cards"), &card("4200000000000000")).await.ok(201);
        let second = second["token"].as_str().unwrap();
        let single = client.post("/1/cards", &card("4200000000000000")).await.ok(201);
        let single = single["token"].as_str().unwrap();
        let mut authorised = charge(400);
        authorised["capture"] = json!(false);
        let authorised = client.post("/1/charges", &authorised).await.ok(201);
        let authorised = authorised["token"].as_str().unwrap();
        let event = client.get("/1/events").await.ok(200)[0]["token"].as_str().unwrap().to_owned();
        let before = app.rows().await;

        for path in [
            format!("/1/cards/{single}"),
            format!("/1/cards/{primary}"),
            format!("/1/charges/{authorised}"),
            format!("/1/customers/{customer}"),
            format!("/1/customers/{customer}/charges"),
            format!("/1/customers/{customer}/cards"),
            format!("/1/customers/{customer}/subscriptions"),
        ] {
            client.get(&path).await.ok(200);
            stranger.get(&path).await.refused(404, "not_found");
        }
        stranger.get(&format!("/1/events/{event}")).await.refused(404, "resource_not_found");
        for (method, path) in [
            (Method::PUT, format!("/1/charges/{authorised}/capture")),
            (Method::PUT, format!("/1/charges/{authorised}/void")),
            (Method::PUT, format!("/1/customers/{customer}")),
            (Method::POST, format!("/1/customers/{customer}/cards")),
            (Method::DELETE, format!("/1/customers/{customer}/cards/{second}")),
            (Method::DELETE, format!("/1/customers/{customer}")),
        ] {
            let body = card("4200000000000000").to_string();
            send(&stranger, method, &path, JSON, body).await.refused(404, "not_found");
        }
        for (name, token) in [("card_token", single), ("card_token", second), ("customer_token", &customer)] {
            let mut params = charge(400);
            params["card"] = Value::Null;
            params[name] = json!(token);
            let faults = stranger.post("/1/charges", &params).await.faults();
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert_eq!(faults[0].0, name);
        }
        let faults = stranger
            .post("/1/customers", &json!({ "email": "a@example.com", "card_token": single }))
            .await
            .faults();
        assert_eq!(faults[0].0, "card_token");
        assert_eq!(app.rows().await, before);
    }

    async fn nothing_of_another_account_is_listed_found_or_counted(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let (customer, _) = a_customer(&client).await;
        let mut params = charge(400);
        params["customer_token"] = json!(customer);
        params["card"] = Value::Null;
        let made = client.post("/1/charges", &params).await.ok(201);
        let token = made["token"].as_str().unwrap();
        let empty_balance = stranger.get("/1/balance").await.ok(200);
        for path in [
            "/1/charges".to_owned(),
            "/1/customers".to_owned(),
            "/1/events".to_owned(),
            "/1/charges/search".to_owned(),
            "/1/charges/search?query=test".to_owned(),
            format!("/1/charges/search?query={token}"),
            format!("/1/charges/search?query={customer}"),
            "/1/charges/search?query=400".to_owned(),
        ] {
            assert!(!client.get(&path).await.ok(200).as_array().unwrap().is_empty(), "{path}");
            let list = stranger.get(&path).await.json();
            assert_eq!((&list["response"], &list["pagination"]["count"]), (&json!([]), &json!(0)), "{path}");
        }
        client.post("/1/charges", &charge(500)).await.ok(201);
        assert_eq!(stranger.get("/1/balance").await.ok(200), empty_balance);
    }

    async fn a_browser_stores_cards_in_the_account_of_its_key(app) {
        let stranger = app.stranger().await;
        let with = with_key(card("4200000000000000"), app.publishable_key());
        let stored = app.anonymous().post("/1/cards", &with).await.ok(201);
        let path = format!("/1/cards/{}", stored["token"].as_str().unwrap());
        app.client().get(&path).await.ok(200);
        stranger.get(&path).await.refused(404, "not_found");
        // A customer of another account than the key's is unknown too.
        let (customer, _) = a_customer(&stranger).await;
        app.anonymous()
            .post(&format!("/1/customers/{customer}/cards"), &with)
            .await
            .refused(404, "not_found");
    }
}
