//! Refusals lead to the pages that explain them, and are problems for clients that ask for those (`docs/decisions.md`, 430 to 433).

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{FORM, JSON, basic, post_with, request, send};
use crate::harness::{Answer, App, Client, card, charge, rules, token_of};

const ACCEPT: (&str, &str) = ("accept", "application/problem+json");

#[track_caller]
fn leads_to(answer: &Answer, page: &str) {
    assert_eq!(answer.headers["link"], format!("</docs/errors/{page}>; rel=\"help\""), "{}", answer.text);
}

/// Posts JSON with headers to which the document promises another type.
async fn post_unchecked(client: &Client, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let request = client.request(Method::POST, path).header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    client.send_unchecked(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Requests a list with this header.
async fn with_header(app: &App, name: &str, value: &str) -> Answer {
    request(&app.anonymous(), Method::GET, "/1/charges", &[(name, value)]).await
}

rules! {
    async fn a_refusal_links_to_the_page_of_its_code_and_a_success_to_none(app) {
        let client = app.client();
        leads_to(&request(&client, Method::GET, "/1/nothing", &[]).await, "resource_not_found");
        leads_to(&client.get("/1/charges/ch_x").await, "not_found");
        leads_to(&request(&client, Method::HEAD, "/1/charges/ch_x", &[]).await, "not_found");
        leads_to(&request(&client, Method::PATCH, "/1/charges", &[]).await, "method_not_allowed");
        leads_to(&client.post("/1/charges", &json!({})).await, "invalid_resource");
        let rich = json!({ "description": "All", "amount": 900_000_000_000_i64, "currency": "AUD", "recipient": "self" });
        leads_to(&client.post("/1/transfers", &rich).await, "insufficient_service_balance");
        assert!(!client.get("/1/charges").await.headers.contains_key("link"));
    }

    async fn a_replayed_decline_links_as_the_first_did(app) {
        let key = [("idempotency-key", "declined-1"), ("sandbox-outcome", "lost_card")];
        for replayed in [false, true] {
            let answer = post_with(&app.client(), "/1/charges", &key, &charge(400)).await;
            answer.refused(400, "lost_card");
            leads_to(&answer, "lost_card");
            assert_eq!(answer.headers.contains_key("idempotent-replayed"), replayed);
        }
    }

    async fn a_401_names_the_fault_of_the_key_in_its_link(app) {
        let basic = |user: &str| basic(&format!("{user}:"));
        for (header, fault) in [
            (String::new(), "no-key"),
            (basic(""), "no-key"),
            (format!("Bearer {}", app.secret_key()), "bearer"),
            (app.secret_key().to_owned(), "unreadable"),
            ("Basic !!!".to_owned(), "unreadable"),
            (basic("nobody-has-this"), "unknown-key"),
            (basic(app.publishable_key()), "publishable-key"),
        ] {
            let answer = with_header(app, "authorization", &header).await;
            answer.refused(401, "unauthorized");
            leads_to(&answer, &format!("unauthorized#{fault}"));
        }
        let mut card = card("4200000000000000");
        leads_to(&app.anonymous().post("/1/cards", &card).await, "unauthorized#no-key");
        card["publishable_api_key"] = app.secret_key().into();
        leads_to(&app.anonymous().post("/1/cards", &card).await, "unauthorized#secret-key");
        app.client().put("/1/sandbox/account", &json!({ "partner": false })).await.ok(200);
        leads_to(&app.client().get("/1/merchants").await, "unauthorized#no-partner");
    }

    async fn a_client_that_asks_for_problems_gets_the_same_facts_as_one(app) {
        let plain = app.client().post("/1/charges", &json!({})).await.refused(422, "invalid_resource");
        let problem = post_unchecked(&app.client(), "/1/charges", &[ACCEPT], &json!({})).await;
        assert_eq!(problem.headers["content-type"], "application/problem+json");
        let body = problem.json();
        for (name, value) in plain.as_object().unwrap() {
            assert_eq!(&body[name], value, "{name}");
        }
        assert_eq!(body["type"].as_str().unwrap().rsplit('/').next(), Some("invalid_resource"));
        assert_eq!((&body["status"], &body["title"]), (&json!(422), &plain["error_description"]));
        assert_eq!(body["request_id"], problem.headers["x-request-id"].to_str().unwrap());
        let unknown = with_header(app, "accept", "application/problem+json, application/json").await;
        assert!(unknown.json()["detail"].as_str().unwrap().starts_with("There is no key"), "{}", unknown.text);
        for accept in ["*/*", "application/json", "application/problem+json;q=0", "application/problem+json;q=0.5, */*"] {
            let answer = with_header(app, "accept", accept).await;
            assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8", "{accept}");
        }
    }

    async fn a_problem_is_an_object_also_where_the_body_is_a_list_and_where_it_is_replayed(app) {
        let rich = json!({ "description": "All", "amount": 900_000_000_000_i64, "currency": "AUD", "recipient": "self" });
        let poor = post_unchecked(&app.client(), "/1/transfers", &[ACCEPT], &rich).await.json();
        assert_eq!((&poor["error"], &poor["status"]), (&json!("insufficient_service_balance"), &json!(402)));
        let mut tokens = Vec::new();
        for _ in 0..2 {
            let headers = [ACCEPT, ("idempotency-key", "declined-2"), ("sandbox-outcome", "card_declined")];
            let answer = post_unchecked(&app.client(), "/1/charges", &headers, &charge(400)).await;
            tokens.push(answer.json()["charge_token"].clone());
            assert_eq!(answer.json()["title"], "The card was declined");
        }
        assert!(tokens[0].is_string() && tokens[0] == tokens[1], "{tokens:?}");
    }

    async fn json_that_says_it_is_a_form_is_refused_and_moves_no_money(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let path = format!("/1/charges/{charge}/refunds");
        for content_type in [None, FORM] {
            for body in ["{\"amount\": 100}", " \n{\"amount\":", "[{\"amount\":100}]", "\u{feff}{\"amount\":100}"] {
                let answer = app.unchanged(send(&client, Method::POST, &path, content_type, body)).await;
                let refused = answer.refused(400, "bad_request");
                let sentence = refused["error_description"].as_str().unwrap();
                assert!(sentence.contains("Content-Type: application/json"), "{body}: {sentence}");
            }
        }
        let refund = send(&client, Method::POST, &path, JSON, "{\"amount\": 100}").await.ok(201);
        assert_eq!(refund["amount"], 100);
        // Libraries send an empty object with any type, or none.
        let other = format!("/1/charges/{}/refunds", token_of(&client.captured(400).await));
        send(&client, Method::POST, &other, None, "{}").await.ok(201);
    }

    async fn a_415_names_the_types_that_are_read(app) {
        let answer = send(&app.client(), Method::POST, "/1/charges", Some("text/plain"), "amount=400").await;
        let sentence = answer.refused(415, "unsupported_media_type")["error_description"].to_string();
        for kind in ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"] {
            assert!(sentence.contains(kind), "{sentence}");
        }
    }
}

rules! {
    async fn a_limited_account_learns_what_is_left_of_its_rate(app, _acquirer) {
        app.client().get("/1/balance").await.ok(200);
        assert!(!app.client().get("/1/balance").await.headers.contains_key("ratelimit"), "there is no limit");
        app.takes_on(Some(2), 128).await;
        for left in [3, 2, 1, 0] {
            let answer = app.client().get("/1/balance").await;
            answer.ok(200);
            assert_eq!(answer.headers["ratelimit-policy"], "\"account\";q=4;w=2");
            let until_full = (4_u32 - left).div_ceil(2);
            assert_eq!(answer.headers["ratelimit"], format!("\"account\";r={left};t={until_full}"));
        }
        let refused = app.client().get("/1/balance").await;
        refused.refused(429, "rate_limited");
        assert_eq!(refused.headers["ratelimit"], "\"account\";r=0;t=2");
        let key = app.publishable_key();
        let card = json!({ "publishable_api_key": key });
        assert_eq!(app.anonymous().post("/1/cards", &card).await.headers["ratelimit"], "\"account\";r=0;t=2");
        let unknown: Value = app.with_key("nobody-has-this").get("/1/balance").await.refused(401, "unauthorized");
        assert_eq!(unknown["error"], "unauthorized");
    }

    async fn below_a_base_path_the_link_has_it(app, _acquirer) {
        app.is_known_as("http://test/payments").await;
        let answer = request(&app.client(), Method::GET, "/1/nothing", &[]).await;
        assert_eq!(answer.headers["link"], "</payments/docs/errors/resource_not_found>; rel=\"help\"");
    }

    async fn a_page_of_another_origin_may_read_the_headers_of_its_refusals(app, _acquirer) {
        let answer = app.anonymous().post("/1/cards", &json!({})).await;
        let exposed = answer.headers["access-control-expose-headers"].to_str().unwrap();
        for name in ["Link", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id", "Idempotent-Replayed"] {
            assert!(exposed.split(", ").any(|exposed| exposed == name), "{name}: {exposed}");
        }
    }
}
