//! How often an account may ask (`docs/decisions.md`, 92 to 94).

use entity::TimeSpan;
use http::Method;
use serde_json::{Value, json};

use crate::answers::{operations, unknown};
use crate::harness::sending::{basic, form, post_with, request};
use crate::harness::{Answer, App, card, charge, rules};

#[track_caller]
fn assert_busy(answer: &Answer) {
    answer.refused(429, "rate_limited");
    assert_eq!(answer.headers["retry-after"], "1");
}

/// Sends requests until the bucket is empty. Returns how many were answered.
async fn exhaust(app: &App) -> usize {
    let client = app.client();
    for answered in 0..100 {
        let answer = client.get("/1/balance").await;
        if answer.status == 429 {
            return answered;
        }
        answer.ok(200);
    }
    panic!("there is no limit");
}

rules! {
    async fn who_asks_too_often_waits_for_as_long_as_a_token_takes(app, _acquirer) {
        app.takes_on(Some(2), 128).await;
        assert_eq!(exhaust(app).await, 4, "those of two seconds at once");
        assert_busy(&app.unchanged(app.client().post("/1/charges", &charge(400))).await);
        app.clock.advance(TimeSpan::from_millis(499));
        assert_busy(&app.client().get("/1/balance").await);
        app.clock.advance(TimeSpan::from_millis(1));
        app.client().get("/1/balance").await.ok(200);
        assert_busy(&app.client().get("/1/balance").await);
        app.clock.advance(TimeSpan::seconds(3600));
        assert_eq!(exhaust(app).await, 4, "what was not asked for is not saved up");
    }

    async fn each_account_has_a_limit_of_its_own_and_both_its_keys_share_it(app, _acquirer) {
        app.takes_on(Some(1), 128).await;
        let stranger = app.stranger().await;
        exhaust(app).await;
        stranger.get("/1/balance").await.ok(200);
        let mut card = card("4200000000000000");
        card["publishable_api_key"] = app.publishable_key().into();
        assert_busy(&app.unchanged(app.anonymous().post("/1/cards", &card)).await);
        app.clock.advance(TimeSpan::seconds(1));
        app.anonymous().post("/1/cards", &card).await.ok(201);
        assert_busy(&app.client().get("/1/balance").await);
    }

    async fn a_limit_is_looked_at_after_the_route_and_the_key_and_before_anything_else(app, _acquirer) {
        app.takes_on(Some(1), 128).await;
        exhaust(app).await;
        let client = app.client();
        request(&client, Method::GET, "/1/nothing", &[]).await.refused(404, "resource_not_found");
        request(&client, Method::PATCH, "/1/charges", &[]).await.refused(405, "method_not_allowed");
        client.keyed("wrong_key_1").get("/1/charges").await.refused(401, "unauthorized");
        for headers in [&[("idempotency-key", "two words")][..], &[("content-length", "99999999")]] {
            assert_busy(&post_with(&client, "/1/charges", headers, &json!({})).await);
        }
        assert_busy(&client.get(&format!("/1/charges/{}", unknown("ch_"))).await);
    }

    async fn every_operation_may_be_asked_too_often(app, _acquirer) {
        app.takes_on(Some(1), 128).await;
        exhaust(app).await;
        let basic = basic(&format!("{}:", app.secret_key()));
        let before = app.rows().await;
        for operation in operations() {
            let path = operation.at("nothing");
            let request = app.anonymous().request(operation.method.clone(), &path);
            let request = request.header("authorization", &basic).body(axum::body::Body::empty()).unwrap();
            let answer = app.anonymous().send(request).await;
            assert_eq!(answer.status, 429, "{} {path}: {}", operation.method, answer.text);
            assert_eq!(answer.headers["retry-after"], "1");
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_script_tag_hears_of_the_limit_inside_of_its_call(app, _acquirer) {
        app.takes_on(Some(1), 128).await;
        exhaust(app).await;
        let parameters = form(&card("4200000000000000"), true);
        let key = app.publishable_key();
        let path = format!("/1/cards.json?callback=f&_method=POST&publishable_api_key={key}&{parameters}");
        let answer = app.unchanged(request(&app.anonymous(), Method::GET, &path, &[])).await;
        assert_eq!((answer.status, &answer.headers["retry-after"]), (200, &"1".parse().unwrap()));
        let json = answer.text.strip_prefix("/**/f(").and_then(|rest| rest.strip_suffix(");")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(json).unwrap()["error"], "rate_limited");
    }

    async fn a_request_that_came_too_early_leaves_its_idempotency_key_free(app, _acquirer) {
        app.takes_on(Some(1), 128).await;
        exhaust(app).await;
        let key = [("idempotency-key", "order-1")];
        let pay = async || post_with(&app.client(), "/1/charges", &key, &charge(400)).await;
        assert_busy(&app.unchanged(pay()).await);
        app.clock.advance(TimeSpan::seconds(1));
        let charge = pay().await;
        charge.ok(201);
        // A repetition is a request as any other.
        assert_busy(&pay().await);
        app.clock.advance(TimeSpan::seconds(1));
        let replayed = pay().await;
        assert_eq!((&replayed.text, &replayed.headers["idempotent-replayed"]), (&charge.text, &"true".parse().unwrap()));
    }

    async fn a_request_that_needs_no_key_is_not_counted(app, _acquirer) {
        app.takes_on(Some(1), 128).await;
        exhaust(app).await;
        for path in ["/healthz", "/readyz", "/metrics", "/", "/openapi.yaml"] {
            assert_eq!(app.client().bytes(path).await.0, 200, "{path}");
        }
    }

    async fn metrics_are_answered_without_what_the_database_knows(app, _acquirer) {
        app.execute("ALTER TABLE webhooks RENAME TO away").await;
        assert_eq!(app.client().bytes("/metrics").await.0, 200);
        app.execute("ALTER TABLE away RENAME TO webhooks").await;
    }

    async fn without_a_limit_everybody_may_ask_as_often_as_they_like(app, _acquirer) {
        for _ in 0..50 {
            app.client().get("/1/balance").await.ok(200);
        }
    }
}
