//! Headers (`docs/decisions.md`, 13).

use http::{HeaderMap, Method};
use serde_json::json;

use crate::harness::sending::{JSON, post_with, request, send};
use crate::harness::{Answer, App, card, charge, rules};

/// Answers of every kind that need no preparation.
async fn all_sorts(app: &App) -> Vec<(&'static str, Answer)> {
    let (client, anonymous) = (app.client(), app.anonymous());
    let publishable = json!({ "publishable_api_key": app.publishable_key() });
    let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
    let token = client.post("/1/customers", &customer).await.ok(201)["token"].clone();
    let deleted = client.delete(&format!("/1/customers/{}", token.as_str().unwrap())).await;
    let preflight = [("origin", "http://shop"), ("access-control-request-method", "POST")];
    vec![
        ("200", client.get("/1/charges").await),
        ("201", client.post("/1/charges", &charge(400)).await),
        ("204", deleted),
        ("400", send(&client, Method::POST, "/1/charges", JSON, "{").await),
        ("401", anonymous.get("/1/charges").await),
        ("401 of a browser", anonymous.post("/1/cards", &json!({})).await),
        ("404 of a record", client.get("/1/charges/ch_x").await),
        ("404 of a route", request(&anonymous, Method::GET, "/1/nothing", &[]).await),
        ("405", request(&anonymous, Method::PATCH, "/1/charges", &[]).await),
        ("413", post_with(&client, "/1/charges", &[("content-length", "99999999")], &json!({})).await),
        ("415", send(&client, Method::POST, "/1/charges", Some("text/plain"), "x").await),
        ("422", client.post("/1/charges", &json!({})).await),
        ("422 of a browser", anonymous.post("/1/cards", &publishable).await),
        ("HEAD", request(&client, Method::HEAD, "/1/charges", &[]).await),
        ("preflight", request(&anonymous, Method::OPTIONS, "/1/cards", &preflight).await),
        ("JSONP", request(&anonymous, Method::GET, "/1/cards?callback=f&_method=POST", &[]).await),
        ("JSONP of a bad callback", request(&anonymous, Method::GET, "/1/cards?callback=f(", &[]).await),
    ]
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(at, letter)| match at {
            8 | 13 | 18 | 23 => letter == '-',
            _ => letter.is_ascii_hexdigit(),
        })
}

fn timed(headers: &HeaderMap) -> Option<Vec<String>> {
    let text = headers.get("server-timing")?.to_str().unwrap();
    let names = text.split(", ").map(|entry| {
        let (name, millis) = entry.split_once(";dur=").unwrap();
        assert!(
            !millis.is_empty() && millis.bytes().all(|digit| digit.is_ascii_digit() || digit == b'.'),
            "{text}"
        );
        name.to_owned()
    });
    Some(names.collect())
}

rules! {
    async fn every_answer_has_the_same_safe_headers(app) {
        for (which, answer) in all_sorts(app).await {
            assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{which}");
            assert_eq!(answer.headers["cache-control"], "no-store", "{which}");
            assert!(is_uuid(answer.headers["x-request-id"].to_str().unwrap()), "{which}");
            for (name, _) in &answer.headers {
                assert_eq!(answer.headers.get_all(name).iter().count(), 1, "{which}: {name}");
            }
        }
    }

    async fn every_answer_with_a_body_is_compact_json(app) {
        for (which, answer) in all_sorts(app).await {
            let content_type = answer.headers.get("content-type").map(|text| text.to_str().unwrap());
            match which {
                "204" | "preflight" => {
                    assert_eq!((content_type, answer.text.as_str()), (None, ""), "{which}");
                }
                "JSONP" => assert_eq!(content_type, Some("application/javascript")),
                "HEAD" => assert_eq!(
                    (content_type, answer.text.as_str()),
                    (Some("application/json; charset=utf-8"), "")
                ),
                _ => {
                    assert_eq!(content_type, Some("application/json; charset=utf-8"), "{which}");
                    assert_eq!(answer.text, answer.json().to_string(), "{which}");
                }
            }
        }
    }

    async fn every_error_has_a_code_and_a_sentence(app) {
        for (which, answer) in all_sorts(app).await {
            if answer.status >= 400 {
                let body = answer.json();
                assert!(!body["error"].as_str().unwrap().is_empty(), "{which}");
                assert!(!body["error_description"].as_str().unwrap().is_empty(), "{which}");
                assert_eq!(body.get("messages").is_some(), answer.status == 422, "{which}");
            }
        }
    }

    async fn each_request_has_an_id_of_its_own(app) {
        let ids = [app.client().get("/1/charges").await, app.client().get("/1/charges").await]
            .map(|answer| answer.headers["x-request-id"].clone());
        assert_ne!(ids[0], ids[1]);
    }

    async fn a_well_formed_request_id_of_the_caller_comes_back(app) {
        let longest = "a".repeat(128);
        for id in ["1", "req-42_a.b", "json", "a.json.b", "6f1c8a1e-0d0a-4a5e-9d3f-0a1b2c3d4e5f", longest.as_str()] {
            for (client, method, path) in [
                (app.client(), Method::GET, "/1/charges"),
                (app.anonymous(), Method::GET, "/1/charges"),
                (app.anonymous(), Method::GET, "/1/nothing"),
                (app.anonymous(), Method::PATCH, "/1/charges"),
                (app.anonymous(), Method::GET, "/1/cards?callback=f&_method=POST"),
                (app.anonymous(), Method::GET, "/1/cards?callback=()"),
            ] {
                let answer = request(&client, method, path, &[("x-request-id", id)]).await;
                assert_eq!(answer.headers["x-request-id"], id, "{path}");
            }
        }
    }

    async fn a_malformed_request_id_is_replaced(app) {
        let endless = "a".repeat(5000);
        // The last ones would lead elsewhere at the end of a path.
        for id in [
            "", " ", "two words", "a,b", "\"a\"", "<script>", "a;b", "a\tb", "{}", endless.as_str(), ".", "..", "-a", "a.json",
        ] {
            let answer = request(&app.client(), Method::GET, "/1/charges", &[("x-request-id", id)]).await;
            assert!(is_uuid(answer.headers["x-request-id"].to_str().unwrap()), "{id:?}");
        }
        let request =
            app.client().request(Method::GET, "/1/charges").header("x-request-id", b"\xff".as_slice());
        let answer = app.client().send(request.body(axum::body::Body::empty()).unwrap()).await;
        assert!(is_uuid(answer.headers["x-request-id"].to_str().unwrap()));
    }

    async fn only_who_has_a_secret_key_learns_where_the_time_went(app) {
        let (app_and_db, acquirer_too) =
            (Some(vec!["app".into(), "db".into()]), Some(vec!["app".into(), "db".into(), "acquirer".into()]));
        let client = app.client();
        for path in ["/1/charges", "/1/charges/ch_x", "/1/balance", "/1/charges?page=x"] {
            assert_eq!(timed(&client.get(path).await.headers), app_and_db, "{path}");
        }
        let stored = client.post("/1/cards", &card("4200000000000000")).await;
        assert_eq!(timed(&stored.headers), app_and_db);
        let mut declined = charge(400);
        declined["card"] = card("4100000000000001");
        let mut authorised = charge(400);
        authorised["capture"] = json!(false);
        let authorised = client.post("/1/charges", &authorised).await;
        assert_eq!(timed(&authorised.headers), acquirer_too);
        assert_eq!(timed(&client.post("/1/charges", &declined).await.headers), acquirer_too);
        assert_eq!(timed(&client.post("/1/charges", &json!({})).await.headers), app_and_db);
        let path = format!("/1/charges/{}", authorised.ok(201)["token"].as_str().unwrap());
        assert_eq!(timed(&client.put(&format!("{path}/capture"), &json!({})).await.headers), acquirer_too);
        assert_eq!(timed(&client.put(&format!("{path}/capture"), &json!({})).await.headers), app_and_db);
        assert_eq!(timed(&client.get(&path).await.headers), app_and_db);

        let mut by_browser = card("4200000000000000");
        by_browser["publishable_api_key"] = json!(app.publishable_key());
        let anonymous = app.anonymous();
        for answer in [
            anonymous.get("/1/charges").await,
            anonymous.post("/1/cards", &by_browser).await,
            anonymous.post("/1/cards", &json!({ "publishable_api_key": app.publishable_key() })).await,
            app.with_key(app.publishable_key()).get("/1/charges").await,
            app.with_key("nobody-has-this").get("/1/charges").await,
            request(&client, Method::GET, "/1/nothing", &[]).await,
            request(&client, Method::PATCH, "/1/charges", &[]).await,
        ] {
            assert_eq!(timed(&answer.headers), None, "{}", answer.text);
        }
    }
}
