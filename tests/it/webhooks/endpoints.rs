//! Webhook endpoints (specification, Webhook endpoints; `docs/decisions.md`, 250 and 251).

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::{Receiver, as_of, fields, rounds, rules, token};

const URL: &str = "https://example.com/webhooks?a=b";

fn at(url: &str) -> Value {
    json!({ "url": url })
}

fn path(endpoint: &Value) -> String {
    format!("/1/webhook_endpoints/{}", token(endpoint))
}

rules! {
    async fn an_endpoint_is_registered_with_a_key_of_its_own(app) {
        let client = app.client();
        let made = client.post_form("/1/webhook_endpoints", &at(URL)).await;
        let endpoint = made.ok(201);
        assert_eq!(fields(&endpoint), ["token", "key", "url", "created_at", "updated_at"]);
        assert!(token(&endpoint).starts_with("whe_"));
        assert_eq!(endpoint["url"], URL);
        assert_eq!(endpoint["created_at"], json!(as_of()));
        assert_eq!(endpoint["updated_at"], endpoint["created_at"]);
        let key = endpoint["key"].as_str().unwrap().strip_prefix("whsec_").expect("a prefix");
        assert_eq!(STANDARD.decode(key).unwrap().len(), 24);
        let other = client.endpoint(URL).await;
        assert_ne!(other["key"], endpoint["key"]);
        assert_eq!(client.get(&path(&endpoint)).await.record(), made.record());
    }

    async fn a_key_is_never_stored_in_clear(app) {
        let endpoint = app.client().endpoint(URL).await;
        let everything = app.everything().await;
        let key = endpoint["key"].as_str().unwrap();
        let bytes = STANDARD.decode(key.trim_start_matches("whsec_")).unwrap();
        for secret in [key.as_bytes(), &bytes] {
            assert!(!everything.windows(secret.len()).any(|window| window == secret));
        }
    }

    async fn endpoints_are_listed_newest_first_with_short_pagination(app) {
        let client = app.client();
        let empty = client.get("/1/webhook_endpoints").await;
        assert_eq!(empty.text, r#"{"response":[],"pagination":{"count":0,"per_page":25,"current":1}}"#);
        let mut made = Vec::new();
        for n in 0..3 {
            made.insert(0, client.endpoint(&format!("https://example.com/{n}")).await);
        }
        assert_eq!(client.get("/1/webhook_endpoints").await.ok(200), json!(made));
        let second = client.get("/1/webhook_endpoints?per_page=2&page=2").await.json();
        assert_eq!(second["response"], json!([made[2]]));
        assert_eq!(second["pagination"], json!({ "count": 3, "per_page": 2, "current": 2 }));
        client.get("/1/webhook_endpoints?page=x").await.faulty(&[("page", "Page is not a number")]);
    }

    async fn a_url_that_is_none_is_refused(app) {
        let long = format!("https://example.com/{}", "a".repeat(236));
        let faults = [
            (json!({}), "URL can't be blank"),
            (at(""), "URL can't be blank"),
            (at("  "), "URL can't be blank"),
            (json!({ "url": null }), "URL can't be blank"),
            (at("example.com"), "url is not a valid URL"),
            (at("ftp://example.com/"), "url is not a valid URL"),
            (at("javascript:alert(1)"), "url is not a valid URL"),
            (at("https://"), "url is not a valid URL"),
            (at("https://exa mple.com/"), "url is not a valid URL"),
            (at("https://user@example.com/"), "url is not a valid URL"),
            (at("https://:secret@example.com/"), "url is not a valid URL"),
            (at("https://user:secret@example.com/"), "url is not a valid URL"),
            (at("https://example.com/#part"), "url is not a valid URL"),
            (at("https://example.com/#"), "url is not a valid URL"),
            (at("https://@example.com/"), "url is not a valid URL"),
            (at("https://:@example.com/"), "url is not a valid URL"),
            (at("https:///example.com/"), "url is not a valid URL"),
            (at("https:////example.com/"), "url is not a valid URL"),
            (at("https://*/"), "url is not a valid URL"),
            (at("https://.example.com/"), "url is not a valid URL"),
            (at("https://a..example.com/"), "url is not a valid URL"),
            (at("https://-/"), "url is not a valid URL"),
            (at(&format!("https://{}.com/", "a".repeat(64))), "url is not a valid URL"),
            (at("https://example.com:99999/"), "url is not a valid URL"),
            (at(&long), "URL is too long (maximum is 255 characters)"),
        ];
        for (parameters, message) in faults {
            app.invalid("/1/webhook_endpoints", &parameters, &[("url", message)]).await;
        }
        let just = &long[..255];
        app.client().endpoint(just).await;
    }

    async fn a_literal_address_that_is_never_called_is_refused(app) {
        for url in [
            "http://169.254.169.254/latest", "http://2852039166/", "http://0xa9fea9fe/", "http://[fe80::1]/",
            "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/",
        ] {
            app.invalid("/1/webhook_endpoints", &at(url), &[("url", "URL is not an address that may be called")]).await;
        }
        // Names are judged when they are called, and the sandbox may call its own machine.
        for url in ["http://metadata.invalid/", "http://localhost:9/", "http://127.0.0.1:9/", "http://10.0.0.1/"] {
            app.client().endpoint(url).await;
        }
    }

    async fn there_are_five_endpoints_at_most(app) {
        let client = app.client();
        for _ in 0..5 {
            client.endpoint(URL).await;
        }
        let sixth = at(URL);
        let refused = client.post("/1/webhook_endpoints", &sixth);
        let body = app.unchanged_by(refused, 403, "limit_reached").await;
        assert_eq!(
            body["error_description"],
            "You have reached the maximum number of allowed webhook endpoints."
        );
        // What is wrong with the request comes first.
        app.invalid("/1/webhook_endpoints", &at(""), &[("url", "URL can't be blank")]).await;
        app.stranger().await.endpoint(URL).await;
        let first = client.get("/1/webhook_endpoints").await.ok(200)[4].clone();
        client.delete(&path(&first)).await.ok(204);
        client.endpoint(URL).await;
        client.post("/1/webhook_endpoints", &at(URL)).await.refused(403, "limit_reached");
    }

    async fn five_of_many_registrations_at_once_succeed(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let requests = (0..64).map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.post("/1/webhook_endpoints", &at(URL)).await })
            });
            let answers: Vec<_> = join_all(requests).await.into_iter().map(Result::unwrap).collect();
            let made: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
            assert_eq!(made.len(), 5);
            for refused in answers.iter().filter(|answer| answer.status != 201) {
                refused.refused(403, "limit_reached");
            }
            let tokens: HashSet<_> = made.iter().map(|answer| token(&answer.ok(201)).to_owned()).collect();
            let endpoints = client.get("/1/webhook_endpoints").await.ok(200);
            let endpoints = endpoints.as_array().unwrap();
            assert_eq!(tokens, endpoints.iter().map(|it| token(it).to_owned()).collect());
            for endpoint in endpoints {
                client.delete(&path(endpoint)).await.ok(204);
            }
        }
    }

    async fn a_deleted_endpoint_takes_its_webhooks_along(app) {
        let client = app.client();
        let (gone, stays) = (client.endpoint(URL).await, client.endpoint(URL).await);
        client.captured(400).await;
        client.captured(400).await;
        let webhooks = client.get("/1/webhooks").await.ok(200);
        assert_eq!(webhooks.as_array().unwrap().len(), 4);
        client.delete(&path(&gone)).await.ok(204);
        client.get(&path(&gone)).await.refused(404, "resource_not_found");
        let left = client.get("/1/webhooks").await.json();
        assert_eq!(left["pagination"]["count"], 2);
        for webhook in webhooks.as_array().unwrap() {
            let answer = client.get(&format!("/1/webhooks/{}", token(webhook))).await;
            if webhook["webhook_endpoint_token"] == gone["token"] {
                answer.refused(404, "resource_not_found");
            } else {
                assert_eq!(webhook["webhook_endpoint_token"], stays["token"]);
                answer.ok(200);
            }
        }
        app.unchanged_by(client.delete(&path(&gone)), 404, "resource_not_found").await;
        client.captured(400).await;
        assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 3);
    }

    // The books are checked at the end: no webhook is left without its endpoint, and all are counted.
    async fn events_and_the_deletion_of_an_endpoint_may_come_at_once(app) {
        let client = app.client();
        for _ in 0..8 {
            let endpoint = client.endpoint(URL).await;
            let charges = (0..16).map(|n| {
                let (client, endpoint) = (client.clone(), endpoint.clone());
                tokio::spawn(async move {
                    if n == 8 {
                        client.delete(&path(&endpoint)).await.ok(204);
                    } else {
                        client.captured(400).await;
                    }
                })
            });
            join_all(charges).await.into_iter().for_each(Result::unwrap);
        }
        assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 0);
    }

    async fn an_unknown_endpoint_is_not_found(app) {
        let client = app.client();
        for unknown in ["whe_AZqYv3rVcBKUQ1mHn7tKRw", "whe_", "nonsense"] {
            let path = format!("/1/webhook_endpoints/{unknown}");
            let body = client.get(&path).await.refused(404, "resource_not_found");
            assert_eq!(body["error_description"], "The requested resource could not be found.");
            app.unchanged_by(client.delete(&path), 404, "resource_not_found").await;
        }
    }

    async fn endpoints_are_their_accounts_own(app) {
        let endpoint = app.client().endpoint(URL).await;
        let stranger = app.stranger().await;
        stranger.get(&path(&endpoint)).await.refused(404, "resource_not_found");
        app.unchanged_by(stranger.delete(&path(&endpoint)), 404, "resource_not_found").await;
        assert_eq!(stranger.get("/1/webhook_endpoints").await.json()["pagination"]["count"], 0);
        stranger.captured(400).await;
        assert_eq!(app.client().get("/1/webhooks").await.json()["pagination"]["count"], 0);
        for key in [None, Some(app.publishable_key())] {
            let caller = key.map_or_else(|| app.anonymous(), |key| app.with_key(key));
            caller.get("/1/webhook_endpoints").await.refused(401, "unauthorized");
            app.unchanged_by(caller.post("/1/webhook_endpoints", &at(URL)), 401, "unauthorized").await;
        }
    }

    async fn an_endpoint_hears_of_nothing_that_was_before_it(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.captured(400).await;
        client.endpoint(&receiver.url()).await;
        app.do_due_work().await;
        assert!(receiver.received().is_empty());
        assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 0);
    }
}
