//! Inboxes: receivers of webhooks inside the server (`docs/decisions.md`, 375).

use std::time::{Duration, Instant};

use axum::body::Body;
use card_payments::workers;
use entity::TimeSpan;
use futures::future::{join, join_all};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use web::server::ServerPhase;

use crate::harness::receiver::Received;
use crate::harness::{Answer, App, Client, Database, at_once, eventually, fields, on_both, rules, token};

const INBOXES: &str = "/1/sandbox/inboxes";

/// An inbox with an ordered answer, which a webhook endpoint of the account has.
async fn inbox_with(client: &Client, answer: Value) -> Value {
    let inbox = client.post(INBOXES, &answer).await.ok(201);
    client.endpoint(inbox["url"].as_str().unwrap()).await;
    inbox
}

fn path(inbox: &Value) -> String {
    format!("{INBOXES}/{}", token(inbox))
}

/// An inbox as it is shown now.
async fn shown(client: &Client, inbox: &Value) -> Value {
    let inboxes = client.get(INBOXES).await.ok(200);
    inboxes.as_array().unwrap().iter().find(|it| it["token"] == inbox["token"]).unwrap().clone()
}

/// The deliveries of an inbox, newest first.
async fn deliveries(client: &Client, inbox: &Value, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("{}/deliveries?{query}", path(inbox))).await;
    answer.ok(200).as_array().unwrap().clone()
}

/// Charges a card, and waits for the delivery of its event.
async fn next_delivery(client: &Client, inbox: &Value) -> Value {
    let so_far = shown(client, inbox).await["received"].as_u64().unwrap();
    client.captured(400).await;
    deliveries(client, inbox, &format!("wait=30&count={}", so_far + 1)).await.remove(0)
}

/// Sends a request to an inbox as any program may.
async fn sent(app: &App, inbox: &Value, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
    let url = inbox["url"].as_str().unwrap();
    let mut request = app.anonymous().request(Method::POST, url.strip_prefix("http://test").unwrap());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    app.anonymous().send_unchecked(request.body(body.into()).unwrap()).await
}

/// What a receiver of its own would have got.
fn as_received(delivery: &Value) -> Received {
    let headers = delivery["headers"].as_object().unwrap().iter().map(|(name, value)| {
        let value = HeaderValue::from_str(value.as_str().unwrap()).unwrap();
        (name.parse::<HeaderName>().unwrap(), value)
    });
    let body = delivery["body"].as_str().unwrap().as_bytes().to_vec();
    Received { at: Instant::now(), path: String::new(), headers: headers.collect::<HeaderMap>(), body }
}

async fn verdicts(client: &Client, inbox: &Value) -> Vec<Value> {
    let deliveries = deliveries(client, inbox, "").await;
    deliveries.iter().rev().map(|it| json!([it["signature"], it["signature_error"]])).collect()
}

rules! {
    async fn a_webhook_to_an_inbox_arrives_with_its_headers_its_bytes_and_a_valid_signature(app) {
        app.work();
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        assert_eq!(
            inbox,
            json!({
                "token": token(&inbox), "url": format!("http://test/inboxes/{}", token(&inbox)), "status": 200, "latency_ms": 0,
                "fault": null, "every": 1, "received": 0, "created_at": inbox["created_at"],
            })
        );
        let endpoint = client.endpoint(inbox["url"].as_str().unwrap()).await;
        let delivery = next_delivery(&client, &inbox).await;
        assert_eq!(
            fields(&delivery),
            ["number", "headers", "body", "signature", "signature_error", "status", "fault", "created_at"]
        );
        assert_eq!(
            [&delivery["number"], &delivery["signature"], &delivery["signature_error"], &delivery["status"], &delivery["fault"]],
            [&json!(1), &json!("valid"), &json!(null), &json!(200), &json!(null)]
        );
        let event = client.get("/1/events").await.ok(200)[0].clone();
        let received = as_received(&delivery);
        assert_eq!(serde_json::from_slice::<Value>(&received.body).unwrap(), event);
        assert_eq!(received.headers["webhook-id"], token(&event));
        assert_eq!(received.headers["content-type"], "application/json");
        assert_eq!(received.signatures(), [received.signature_under(endpoint["key"].as_str().unwrap())]);
        eventually(async || client.newest_webhook().await["status"] == "completed").await;
        assert_eq!(shown(&client, &inbox).await["received"], 1);
        client.rotate_key(token(&endpoint), "1h").await.ok(200);
        let delivery = next_delivery(&client, &inbox).await;
        assert_eq!((as_received(&delivery).signatures().len(), &delivery["signature"]), (2, &json!("valid")));
    }

    async fn an_inbox_is_reached_by_the_address_that_the_server_had_before(app) {
        app.work();
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        // Nobody listens there: an account was imported, or its server got another port.
        client.endpoint(&format!("http://127.0.0.1:9/inboxes/{}", token(&inbox))).await;
        assert_eq!(next_delivery(&client, &inbox).await["signature"], "valid");
        client.endpoint("http://127.0.0.1:9/inboxes/inb_AZqYv3rVcBKUQ1mHn7tKRw").await;
        client.captured(400).await;
        eventually(async || {
            let webhooks = client.get("/1/webhooks").await.ok(200);
            webhooks.as_array().unwrap().iter().any(|webhook| webhook.to_string().contains("connection_failed"))
        }).await;
    }

    async fn every_third_delivery_is_refused_and_tried_again(app) {
        app.work();
        let client = app.client();
        let inbox = inbox_with(&client, json!({ "status": 503, "every": 3 })).await;
        let mut answered = Vec::new();
        for _ in 0..4 {
            answered.push(next_delivery(&client, &inbox).await);
        }
        let statuses: Vec<_> = answered.iter().map(|it| it["status"].as_i64().unwrap()).collect();
        assert_eq!(statuses, [200, 200, 503, 200]);
        eventually(async || app.number("SELECT COUNT(*) FROM webhooks WHERE state = 'completed'").await == 3).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM webhooks WHERE state = 'retrying'").await, 1);
        app.clock.advance(TimeSpan::seconds(70));
        let again = deliveries(&client, &inbox, "wait=30&count=5").await.remove(0);
        assert_eq!((&again["number"], &again["status"]), (&json!(5), &json!(200)));
        assert_eq!(again["headers"]["webhook-id"], answered[2]["headers"]["webhook-id"]);
        assert_eq!(again["body"], answered[2]["body"]);
        eventually(async || app.number("SELECT COUNT(*) FROM webhooks WHERE state = 'completed'").await == 4).await;
    }

    async fn a_clock_that_is_moved_once_a_delivery_has_arrived_makes_its_retry_due(app) {
        app.work();
        let client = app.client();
        // It is shown before its answer, which comes after the move.
        let inbox = inbox_with(&client, json!({ "status": 503, "latency_ms": 1_000 })).await;
        let first = next_delivery(&client, &inbox).await;
        client.put("/1/sandbox/clock", &json!({ "advance": "2m" })).await.ok(200);
        let again = deliveries(&client, &inbox, "wait=30&count=2").await.remove(0);
        assert_eq!(again["headers"]["webhook-id"], first["headers"]["webhook-id"]);
        assert_eq!(again["headers"]["webhook-attempt"], "2");
    }

    async fn a_hang_is_a_time_out_and_a_reset_a_broken_connection_and_nobody_waits_for_them(app) {
        app.work();
        let client = app.client();
        let inbox = inbox_with(&client, json!({})).await;
        let began = Instant::now();
        for (answer, status, fault, error) in [
            (json!({ "fault": "hang" }), json!(null), json!("hang"), "timeout"),
            (json!({ "fault": "reset" }), json!(null), json!("reset"), "connection_failed"),
            (json!({ "fault": "", "latency_ms": 15_000 }), json!(null), json!("hang"), "timeout"),
            (json!({ "latency_ms": 0, "status": 302 }), json!(302), json!(null), "unexpected_http_code"),
        ] {
            client.put(&path(&inbox), &answer).await.ok(200);
            let delivery = next_delivery(&client, &inbox).await;
            assert_eq!((&delivery["status"], &delivery["fault"]), (&status, &fault), "{answer}");
            eventually(async || client.newest_webhook().await["status"] == "retrying").await;
            let errors = client.newest_webhook().await["errors"].clone();
            assert_eq!(errors.as_object().unwrap().values().next().unwrap()["error"], error, "{answer}");
        }
        assert!(began.elapsed() < Duration::from_secs(14));
    }

    async fn an_answer_comes_as_late_as_it_is_ordered(app) {
        app.work();
        let client = app.client();
        let inbox = inbox_with(&client, json!({ "latency_ms": 700 })).await;
        let began = Instant::now();
        next_delivery(&client, &inbox).await;
        eventually(async || client.newest_webhook().await["status"] == "completed").await;
        assert!(began.elapsed() >= Duration::from_millis(700));
        let began = Instant::now();
        assert_eq!(sent(app, &inbox, &[], "{}").await.status, 200);
        assert!(began.elapsed() >= Duration::from_millis(700));
    }

    async fn a_field_absent_in_a_change_stays(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({ "status": 500, "every": 2, "fault": "reset" })).await.ok(201);
        let answer = |inbox: &Value| json!([inbox["status"], inbox["latency_ms"], inbox["fault"], inbox["every"]]);
        assert_eq!(answer(&inbox), json!([500, 0, "reset", 2]));
        for (change, expected) in [
            (json!({ "latency_ms": 5 }), json!([500, 5, "reset", 2])),
            (json!({ "fault": "" }), json!([500, 5, null, 2])),
            (json!({ "status": 204, "every": 1 }), json!([204, 5, null, 1])),
            (json!({}), json!([204, 5, null, 1])),
        ] {
            assert_eq!(answer(&client.put(&path(&inbox), &change).await.ok(200)), expected, "{change}");
            assert_eq!(answer(&shown(&client, &inbox).await), expected, "{change}");
        }
    }

    async fn a_wait_ends_with_the_delivery_that_completes_it_or_in_time(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        let other = client.post(INBOXES, &json!({})).await.ok(201);
        let began = Instant::now();
        let act = async {
            while app.gate().requests().taken().0 > 0 {
                tokio::task::yield_now().await;
            }
            sent(app, &inbox, &[], "one").await;
            sent(app, &other, &[], "other").await;
            sent(app, &inbox, &[], "two").await;
        };
        let (found, ()) = join(deliveries(&client, &inbox, "count=2&wait=30"), act).await;
        let bodies: Vec<_> = found.iter().map(|it| it["body"].as_str().unwrap()).collect();
        assert_eq!(bodies, ["two", "one"]);
        assert!(began.elapsed() < Duration::from_secs(20));
        let began = Instant::now();
        assert_eq!(deliveries(&client, &inbox, "count=3&wait=1").await.len(), 2);
        assert!(began.elapsed() >= Duration::from_secs(1));
        assert_eq!(deliveries(&client, &inbox, "per_page=1&page=2").await[0]["body"], "one");
    }

    async fn a_wait_for_deliveries_holds_no_permit_and_ends_with_the_server(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        let began = Instant::now();
        let leave = async {
            while app.gate().requests().taken().0 > 0 {
                tokio::task::yield_now().await;
            }
            app.enters(ServerPhase::Draining);
        };
        let (found, ()) = join(join_all((0..100).map(|_| deliveries(&client, &inbox, "wait=30"))), leave).await;
        assert!(found.iter().all(Vec::is_empty));
        assert!(began.elapsed() < Duration::from_secs(20));
        app.enters(ServerPhase::Serving);
    }

    async fn every_fault_of_an_inbox_is_told_and_changes_nothing(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        let wrong = json!({ "status": 199, "latency_ms": 30_001, "fault": "burn", "every": 0 });
        for answer in [
            app.unchanged(client.post(INBOXES, &wrong)).await,
            app.unchanged(client.put(&path(&inbox), &wrong)).await,
        ] {
            answer.refused(422, "invalid_resource");
            let params: Vec<_> = answer.faults().into_iter().map(|(param, _)| param).collect();
            assert_eq!(params, ["status", "latency_ms", "fault", "every"]);
        }
        let query = "page=x&wait=31&per_page=0&count=0";
        let answer = app.unchanged(client.get(&format!("{}/deliveries?{query}", path(&inbox)))).await;
        answer.refused(422, "invalid_resource");
        let params: Vec<_> = answer.faults().into_iter().map(|(param, _)| param).collect();
        assert_eq!(params, ["count", "wait", "page", "per_page"]);
    }

    async fn nobody_else_sees_an_inbox(app) {
        app.work();
        let (client, stranger) = (app.client(), app.stranger().await);
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        let path = path(&inbox);
        app.unchanged(stranger.get(&format!("{path}/deliveries?wait=30"))).await.not_found();
        app.unchanged(stranger.put(&path, &json!({ "status": 500 }))).await.not_found();
        app.unchanged(stranger.delete(&path)).await.not_found();
        assert_eq!(stranger.get(INBOXES).await.ok(200), json!([]));
        // A sender with the URL may send there, as to any receiver.
        stranger.endpoint(inbox["url"].as_str().unwrap()).await;
        stranger.captured(400).await;
        let delivery = deliveries(&client, &inbox, "wait=30").await.remove(0);
        assert_eq!(delivery["signature"], "invalid");
        assert_eq!(delivery["signature_error"], "No webhook endpoint has the URL of this inbox");
    }

    async fn a_delivery_from_outside_is_kept_without_its_senders_identity(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({ "status": 418 })).await.ok(201);
        let headers = [("x-one", "1"), ("X-Two", "a"), ("x-two", "b"), ("authorization", "Basic c2s6"), ("cookie", "session=1")];
        assert_eq!(sent(app, &inbox, &headers, "näh").await.status, 418);
        let delivery = deliveries(&client, &inbox, "").await.remove(0);
        assert_eq!(delivery["headers"], json!({ "x-one": "1", "x-two": "a, b" }));
        assert_eq!([&delivery["body"], &delivery["status"]], [&json!("näh"), &json!(418)]);
        assert_eq!([&delivery["signature"], &delivery["signature_error"]], [&json!("missing"), &json!(null)]);
        for (fault, status) in [("hang", 504), ("reset", 502)] {
            client.put(&path(&inbox), &json!({ "fault": fault })).await.ok(200);
            assert_eq!(sent(app, &inbox, &[], "").await.status, status);
        }
    }

    async fn a_delivery_that_no_inbox_takes_is_refused(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        app.unchanged(sent(app, &inbox, &[], vec![b'a'; 64 * 1024 + 1])).await.refused(413, "payload_too_large");
        for body in [&b"\xff"[..], b"a\0b"] {
            app.unchanged(sent(app, &inbox, &[], body)).await.refused(415, "unsupported_media_type");
        }
        for url in ["http://test/inboxes/inb_AZqYv3rVcBKUQ1mHn7tKRw", "http://test/inboxes/x", "http://test/inboxes/%FF"] {
            app.unchanged(sent(app, &json!({ "url": url }), &[], "{}")).await.not_found();
        }
        let address = format!("/inboxes/{}", token(&inbox));
        let request = app.anonymous().request(Method::GET, &address).body(Body::empty()).unwrap();
        assert_eq!(app.anonymous().send_unchecked(request).await.status, 405);
        assert_eq!(sent(app, &inbox, &[], vec![b'a'; 64 * 1024]).await.status, 200);
    }

    async fn a_wrong_signature_is_told_with_what_is_wrong(app) {
        app.work();
        let client = app.client();
        let inbox = inbox_with(&client, json!({})).await;
        let delivery = next_delivery(&client, &inbox).await;
        let header = |name: &str| delivery["headers"][name].as_str().unwrap().to_owned();
        let (id, time, signature) = (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
        let body = delivery["body"].as_str().unwrap();
        let later = (time.parse::<i64>().unwrap() + 1).to_string();
        let signed = |id: &str, time: &str, signature: &str| {
            [("webhook-id", id), ("webhook-timestamp", time), ("webhook-signature", signature)].map(|(name, value)| (name, value.to_owned()))
        };
        for (headers, body) in [
            (signed(&id, &time, &format!("v1,other {signature}")), body.to_owned()),
            (signed(&id, &later, &signature), body.to_owned()),
            (signed("evt_1", &time, &signature), body.to_owned()),
            (signed(&id, &time, "v1,"), body.to_owned()),
            (signed(&id, &time, &signature), format!("{body} ")),
            (signed(&id, "soon", &signature), body.to_owned()),
            (signed(&id, "-9223372036854775808", &signature), body.to_owned()),
        ] {
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            sent(app, &inbox, &headers, body).await;
        }
        app.clock.advance(TimeSpan::seconds(301));
        let headers = [("webhook-id", id.as_str()), ("webhook-timestamp", &time), ("webhook-signature", &signature)];
        sent(app, &inbox, &headers, body.to_owned()).await;
        sent(app, &inbox, &headers[1..], body.to_owned()).await;
        let nobody = "No key of the endpoint has signed it";
        assert_eq!(
            verdicts(&client, &inbox).await,
            [
                json!(["valid", null]),
                json!(["valid", null]),
                json!(["invalid", nobody]),
                json!(["invalid", nobody]),
                json!(["invalid", nobody]),
                json!(["invalid", nobody]),
                json!(["invalid", "There is no webhook-timestamp in seconds"]),
                json!(["invalid", "The webhook-timestamp is more than five minutes from now"]),
                json!(["invalid", "The webhook-timestamp is more than five minutes from now"]),
                json!(["invalid", "There is no webhook-id"]),
            ]
        );
    }

    async fn an_inbox_keeps_its_last_thousand_deliveries(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({})).await.ok(201);
        let other = client.post(INBOXES, &json!({})).await.ok(201);
        sent(app, &other, &[], "other").await;
        for _ in 0..20 {
            join_all((0..50).map(|_| sent(app, &inbox, &[], "many"))).await;
        }
        for last in ["last but one", "last"] {
            assert_eq!(sent(app, &inbox, &[], last).await.status, 200);
        }
        assert_eq!(app.number("SELECT COUNT(*) FROM inbox_deliveries WHERE body <> 'other'").await, 1000);
        let newest = deliveries(&client, &inbox, "per_page=2").await;
        let newest: Vec<_> = newest.iter().map(|it| json!([it["number"], it["body"]])).collect();
        assert_eq!(newest, [json!([1002, "last"]), json!([1001, "last but one"])]);
        assert_eq!(deliveries(&client, &other, "").await.len(), 1);
    }

    async fn an_account_has_ten_inboxes_at_most(app) {
        let client = app.client();
        let create = || {
            let client = client.clone();
            async move { client.post(INBOXES, &json!({})).await }
        };
        let made = at_once((0..12).map(|_| create())).await;
        assert_eq!(made.iter().filter(|answer| answer.status == 201).count(), 10);
        assert_eq!(client.get(INBOXES).await.ok(200).as_array().unwrap().len(), 10);
        let refused = app.unchanged(client.post(INBOXES, &json!({}))).await;
        assert_eq!(
            refused.refused(403, "limit_reached")["error_description"],
            "An account may have 10 inboxes. Delete one before you make another."
        );
        let inbox = client.get(INBOXES).await.ok(200)[0].clone();
        client.delete(&path(&inbox)).await.ok(204);
        client.post(INBOXES, &json!({})).await.ok(201);
    }

    async fn a_deleted_inbox_is_gone_with_its_deliveries_and_webhooks_to_it_fail(app) {
        app.work();
        let client = app.client();
        let inbox = inbox_with(&client, json!({})).await;
        next_delivery(&client, &inbox).await;
        client.delete(&path(&inbox)).await.ok(204);
        assert_eq!(app.number("SELECT COUNT(*) FROM inbox_deliveries").await, 0);
        client.get(&format!("{}/deliveries", path(&inbox))).await.not_found();
        client.delete(&path(&inbox)).await.not_found();
        client.captured(400).await;
        eventually(async || client.newest_webhook().await["status"] == "retrying").await;
        let errors = client.newest_webhook().await["errors"].to_string();
        assert!(errors.contains("The endpoint answered with HTTP status 404"), "{errors}");
    }

    async fn the_inboxes_of_a_deleted_account_take_nothing_more(app) {
        let client = app.client();
        let made = client.post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let theirs = app.with_key(made["secret_key"].as_str().unwrap());
        let inbox = theirs.post(INBOXES, &json!({})).await.ok(201);
        assert_eq!(sent(app, &inbox, &[], "{}").await.status, 200);
        client.delete(&format!("/1/sandbox/accounts/{}", token(&made))).await.ok(204);
        app.unchanged(sent(app, &inbox, &[], "{}")).await.not_found();
    }

    async fn a_restored_snapshot_has_its_inboxes_and_what_had_arrived(app) {
        let client = app.client();
        let inbox = client.post(INBOXES, &json!({ "status": 500 })).await.ok(201);
        sent(app, &inbox, &[], "before").await;
        let before = shown(&client, &inbox).await;
        let snapshot = client.post("/1/sandbox/snapshots", &json!({})).await.ok(201);
        sent(app, &inbox, &[], "after").await;
        client.put(&path(&inbox), &json!({ "status": 200 })).await.ok(200);
        client.put(&format!("/1/sandbox/snapshots/{}/restore", token(&snapshot)), &json!({})).await.ok(200);
        assert_eq!(shown(&client, &inbox).await, before);
        let arrived = deliveries(&client, &inbox, "").await;
        assert_eq!(arrived.iter().map(|it| it["body"].clone()).collect::<Vec<_>>(), [json!("before")]);
    }
}

async fn a_live_server_has_no_inboxes(database: Database) {
    let Some(app) = App::live(database).await else { return };
    for path in [INBOXES, "/inboxes/inb_AZqYv3rVcBKUQ1mHn7tKRw"] {
        let url = json!({ "url": format!("http://test{path}") });
        sent(&app, &url, &[], "{}").await.refused(404, "resource_not_found");
    }
}
on_both!(a_live_server_has_no_inboxes);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_sees_what_another_one_has_delivered() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let (client, copy) = (app.client(), app.copy().await);
    workers::start(&copy.ctx);
    let elsewhere = Client::new(copy.router.clone(), Some(app.secret_key().into()));
    let inbox = inbox_with(&client, json!({})).await;
    let (found, _) = join(deliveries(&client, &inbox, "wait=30"), elsewhere.captured(400)).await;
    assert_eq!(found[0]["signature"], "valid");
    app.check_books().await;
}
