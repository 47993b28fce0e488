//! Spellings of paths, unknown routes, wrong methods and HEAD, for every path of the document (`docs/decisions.md`, 11 and
//! 12).

use std::collections::{BTreeMap, BTreeSet};

use http::{Method, StatusCode};
use serde_json::json;

use super::{operations, unknown};
use crate::harness::app::CONTRACT;
use crate::harness::sending::{JSON, request, send};
use crate::harness::{card, charge, rules};

fn spelled(path: &str) -> Vec<String> {
    let doubled = path.replacen("/1/", "/1//", 1);
    vec![
        format!("{path}/"),
        format!("{path}//"),
        format!("{path}.json"),
        format!("{path}.json/"),
        format!("/{path}"),
        doubled.clone(),
        format!("{doubled}.json"),
        path.replace('/', "//"),
    ]
}

/// The methods that the document names for each path.
fn methods() -> BTreeMap<String, BTreeSet<String>> {
    let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for operation in operations() {
        methods.entry(operation.path).or_default().insert(operation.method.to_string());
    }
    methods
}

rules! {
    async fn a_trailing_or_doubled_slash_and_json_are_accepted_on_every_path(app) {
        app.client().post("/1/charges", &charge(400)).await.ok(201);
        for operation in operations() {
            let path = operation.at(&unknown("ch_"));
            let plain = request(&app.client(), operation.method.clone(), &path, &[]).await;
            for path in spelled(&path) {
                let answer = request(&app.client(), operation.method.clone(), &path, &[]).await;
                assert_eq!(answer.status, plain.status, "{} {path}", operation.method);
                // What needs no parameter makes another record each time.
                if plain.status != 201 {
                    assert_eq!(answer.text, plain.text, "{} {path}", operation.method);
                }
            }
        }
    }

    async fn a_record_is_found_under_every_spelling_of_its_path(app) {
        let client = app.client();
        let token = client.post("/1/charges", &charge(400)).await.ok(201)["token"].clone();
        let path = format!("/1/charges/{}", token.as_str().unwrap());
        let plain = client.get(&path).await;
        plain.ok(200);
        for path in spelled(&path) {
            let answer = request(&client, Method::GET, &format!("{path}?any=1"), &[]).await;
            assert_eq!((answer.status, &answer.text), (200, &plain.text), "{path}");
        }
        for path in spelled("/1/charges") {
            let list = request(&client, Method::GET, &format!("{path}?page=2&per_page=1"), &[]).await;
            assert_eq!(list.json()["pagination"]["current"], 2, "{path}");
        }
    }

    async fn an_unknown_route_is_a_404_for_everybody(app) {
        for client in [app.client(), app.anonymous(), app.with_key("nobody-has-this")] {
            for path in [
                "/1",
                "/1/",
                "/1.json",
                "/1/nothing",
                "/1/charges/a/b/c",
                "/1/charges/x/refund",
                "/2/charges",
                "/nothing",
                "/charges",
                "/1/Charges",
                "/v1/charges",
                "/1/cards/x/y",
                "/%2e%2e/1/charges",
                "/1/%63harges/x/y/z",
                "/%ff",
            ] {
                for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
                    let answer = request(&client, method.clone(), path, &[]).await;
                    let body = answer.refused(404, "resource_not_found");
                    assert_eq!(
                        body["error_description"], "No resource was found at this URL.",
                        "{method} {path}"
                    );
                    assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8");
                }
            }
        }
        let head = request(&app.anonymous(), Method::HEAD, "/1/nothing", &[]).await;
        assert_eq!((head.status, head.text.as_str()), (404, ""));
    }

    async fn a_known_route_with_a_wrong_method_is_a_405_that_names_the_right_ones(app) {
        let before = app.rows().await;
        for (path, right) in methods() {
            let path = path
                .split('/')
                .map(|segment| if segment.starts_with('{') { "x" } else { segment })
                .collect::<Vec<_>>()
                .join("/");
            for method in [
                Method::GET,
                Method::HEAD,
                Method::POST,
                Method::PUT,
                Method::DELETE,
                Method::PATCH,
                Method::OPTIONS,
                Method::TRACE,
                Method::from_bytes(b"BREW").unwrap(),
            ] {
                // What falls on a neighbour, as DELETE /1/charges/search on /1/charges/{token}, is that one's matter.
                if right.contains(method.as_str()) {
                    continue;
                }
                // No key is needed.
                let answer = request(&app.anonymous(), method.clone(), &path, &[]).await;
                let status = StatusCode::from_u16(answer.status).unwrap();
                CONTRACT.check_unknown_route(&method, &path, status, &answer.headers).unwrap();
                let allowed: BTreeSet<_> = answer.headers["allow"]
                    .to_str()
                    .unwrap()
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .collect();
                assert_eq!(allowed, right, "{method} {path}");
                if method == Method::HEAD {
                    assert_eq!(answer.text, "");
                } else {
                    answer.refused(405, "method_not_allowed");
                }
            }
        }
        assert_eq!(app.rows().await, before);
    }

    async fn head_is_allowed_wherever_get_is_and_answers_without_a_body(app) {
        let client = app.client();
        app.client().post("/1/charges", &charge(400)).await.ok(201);
        for operation in operations().into_iter().filter(|operation| operation.method == Method::GET) {
            for (client, path) in [
                (&client, operation.at("x")),
                (&client, format!("{}?page=x&page=y", operation.at("x"))),
                (&app.anonymous(), operation.at("x")),
            ] {
                let get = client.get(&path).await;
                let head = client
                    .send(client.request(Method::HEAD, &path).body(axum::body::Body::empty()).unwrap())
                    .await;
                assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
                assert_eq!(head.headers.get("content-type"), get.headers.get("content-type"), "{path}");
            }
        }
    }

    async fn head_of_a_record_says_whether_it_is_there(app) {
        let client = app.client();
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        let token = client.post("/1/customers", &customer).await.ok(201)["token"].clone();
        let path = format!("/1/customers/{}", token.as_str().unwrap());
        assert_eq!(request(&client, Method::HEAD, &path, &[]).await.status, 200);
        client.delete(&path).await.ok(204);
        assert_eq!(request(&client, Method::HEAD, &path, &[]).await.status, 404);
    }

    async fn a_body_that_cannot_be_read_is_refused_by_every_operation_before_anything_is_looked_for(app) {
        let before = app.rows().await;
        for operation in operations().into_iter().filter(|operation| operation.method != Method::HEAD) {
            let (method, path) = (&operation.method, operation.at("x"));
            for (content_type, body, status, code) in [
                (JSON, "{".to_owned(), 400, "bad_request"),
                (JSON, "[]".to_owned(), 400, "bad_request"),
                (Some("text/plain"), "x".to_owned(), 415, "unsupported_media_type"),
                (Some("text/plain"), "x".repeat(1024 * 1024 + 1), 413, "payload_too_large"),
            ] {
                let answer = send(&app.client(), method.clone(), &path, content_type, body).await;
                assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
                answer.refused(status, code);
            }
            let answer = send(&app.client(), method.clone(), &format!("{path}?a=%zz"), None, "").await;
            answer.refused(400, "bad_request");
        }
        assert_eq!(app.rows().await, before);
    }
}
