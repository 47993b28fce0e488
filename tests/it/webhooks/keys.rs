//! A fresh key for a webhook endpoint, and how long the former one signs beside it (`docs/decisions.md`, 262 to 264).

use card_payments::services::data_keys::rotate::rotate;
use card_payments::services::webhooks;
use entity::TimeSpan;
use serde_json::{Value, json};

use crate::harness::{App, Behaviour, Client, Receiver, at_once, fields, operated, rules, token, token_of};

const DAY: TimeSpan = TimeSpan::days(1);

fn key(endpoint: &Value) -> &str {
    endpoint["key"].as_str().unwrap()
}

/// An endpoint at a receiver.
async fn endpoint(app: &App) -> (Client, Receiver, Value) {
    let (client, receiver) = (app.client(), Receiver::start().await);
    let endpoint = client.endpoint(&receiver.url()).await;
    (client, receiver, endpoint)
}

/// The keys by which the next event is signed are exactly these.
async fn sign(app: &App, receiver: &Receiver, keys: &[&str]) {
    app.client().captured(400).await;
    app.do_due_work().await;
    let request = receiver.received().last().unwrap().clone();
    let signatures: Vec<_> = keys.iter().map(|key| request.signature_under(key)).collect();
    assert_eq!(request.signatures(), signatures);
}

async fn former_keys(app: &App) -> i64 {
    app.number("SELECT COUNT(*) FROM webhook_endpoints WHERE former_key_sealed IS NOT NULL").await
}

rules! {
    #[dated]
    async fn both_keys_sign_until_the_grace_ends_by_the_accounts_clock(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        sign(app, &receiver, &[key(&endpoint)]).await;
        app.clock.advance(TimeSpan::seconds(1));
        let rotated = client.rotate_key(token(&endpoint), "1d").await.ok(200);
        assert_eq!(fields(&rotated), ["token", "key", "former_key_until"]);
        assert_eq!((&rotated["token"], &rotated["former_key_until"]), (&endpoint["token"], &json!("2026-03-03T10:00:01Z")));
        let shown = client.get(&format!("/1/webhook_endpoints/{}", token(&endpoint))).await.ok(200);
        assert_eq!(fields(&shown), ["token", "key", "url", "created_at", "updated_at"], "an endpoint shows what it always did");
        assert_eq!((&shown["key"], &shown["updated_at"]), (&rotated["key"], &json!("2026-03-02T10:00:01Z")));
        assert!(key(&rotated).starts_with("whsec_") && rotated["key"] != endpoint["key"]);
        sign(app, &receiver, &[key(&rotated), key(&endpoint)]).await;
        app.clock.advance(TimeSpan::from_millis(86_399_999));
        sign(app, &receiver, &[key(&rotated), key(&endpoint)]).await;
        app.clock.advance(TimeSpan::from_millis(1));
        sign(app, &receiver, &[key(&rotated)]).await;
    }

    #[dated]
    async fn a_day_is_the_grace_where_none_is_named_and_none_ends_the_former_key_at_once(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        let path = format!("/1/sandbox/webhook_endpoints/{}/key", token(&endpoint));
        let second = client.put(&path, &json!({ "grace": "0h" })).await.ok(200);
        assert_eq!(second["former_key_until"], Value::Null);
        sign(app, &receiver, &[key(&second)]).await;
        for absent in [json!({}), json!({ "grace": "" }), json!({ "grace": null })] {
            let third = client.put(&path, &absent).await.ok(200);
            assert_eq!(third["former_key_until"], "2026-03-03T10:00:00Z");
            client.put(&path, &json!({ "grace": "0m" })).await.ok(200);
        }
    }

    async fn a_webhook_that_waited_for_its_turn_is_signed_by_the_keys_of_its_turn_and_goes_with_its_endpoint(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        let waiting = async || {
            client.captured(400).await;
            let leased = webhooks::lease(app.ctx(), webhooks::due(app.ctx(), &[]).await.unwrap()).await.unwrap();
            assert_eq!(leased.len(), 1);
            leased.into_iter().next().unwrap()
        };
        let webhook = waiting().await;
        let rotated = client.rotate_key(token(&endpoint), "0h").await.ok(200);
        app.clock.advance(TimeSpan::seconds(2));
        let delivered = webhooks::send(app.ctx(), webhook).await.unwrap().unwrap();
        assert!(delivered.accepted());
        webhooks::record(app.ctx(), vec![delivered]).await.unwrap();
        let request = receiver.received().last().unwrap().clone();
        assert_eq!(request.signatures(), [request.signature_under(key(&rotated))]);

        let webhook = waiting().await;
        client.delete(&format!("/1/webhook_endpoints/{}", token(&endpoint))).await.ok(204);
        app.clock.advance(TimeSpan::seconds(2));
        assert!(webhooks::send(app.ctx(), webhook).await.unwrap().is_none());
        assert_eq!(receiver.received().len(), 1);
    }

    async fn no_second_former_key_is_made_and_none_ends_in_silence(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        let second = client.rotate_key(token(&endpoint), "2d").await.ok(200);
        let again = app.unchanged_by(client.rotate_key(token(&endpoint), "1h"), 400, "invalid_state").await;
        assert_eq!(
            again["error_description"],
            "A former key still signs: wait for its end, or end it by a rotation without grace"
        );
        sign(app, &receiver, &[key(&second), key(&endpoint)]).await;
        let third = client.rotate_key(token(&endpoint), "0h").await.ok(200);
        sign(app, &receiver, &[key(&third)]).await;
        client.rotate_key(token(&endpoint), "1d").await.ok(200);
        // Its end counts, not whether it is erased already.
        app.clock.advance(DAY);
        client.rotate_key(token(&endpoint), "1d").await.ok(200);
    }

    async fn a_former_key_that_has_ended_is_erased_and_nothing_else_is(app) {
        let (client, _, endpoint) = endpoint(app).await;
        let other = client.endpoint("http://127.0.0.1:9/").await;
        client.rotate_key(token(&endpoint), "1d").await.ok(200);
        client.rotate_key(token(&other), "1w").await.ok(200);
        let shown = client.get("/1/webhook_endpoints").await.ok(200);
        app.clock.advance(TimeSpan::from_millis(86_399_999));
        app.do_due_work().await;
        assert_eq!(former_keys(app).await, 2);
        app.clock.advance(TimeSpan::from_millis(1));
        app.do_due_work().await;
        assert_eq!(former_keys(app).await, 1);
        assert_eq!(client.get("/1/webhook_endpoints").await.ok(200), shown);
    }

    #[dated]
    async fn a_moved_clock_comes_by_the_end_of_a_former_key(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        let rotated = client.rotate_key(token(&endpoint), "90m").await.ok(200);
        let moved = client.move_clock("1d").await;
        assert_eq!(moved["ran"], json!([
            { "at": "2026-03-02T11:30:00Z", "what": "ended_webhook_key", "token": endpoint["token"] }
        ]));
        assert_eq!(former_keys(app).await, 0);
        sign(app, &receiver, &[key(&rotated)]).await;
    }

    async fn a_key_that_another_process_has_sealed_anew_is_replaced_like_any_other(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        let before = app.ctx().vault.data_keys();
        rotate(app.ctx()).await.unwrap();
        // This process has not heard of it yet.
        assert!(app.ctx().vault.replace(&app.ctx().vault.data_keys(), before));
        let rotated = client.rotate_key(token(&endpoint), "1d").await.ok(200);
        sign(app, &receiver, &[key(&rotated), key(&endpoint)]).await;
    }

    async fn a_retry_is_signed_by_the_keys_that_are_in_use_then(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        receiver.behave(Behaviour::Status(500));
        client.captured(400).await;
        app.do_due_work().await;
        let rotated = client.rotate_key(token(&endpoint), "1h").await.ok(200);
        for (minutes, keys) in [(2, &[key(&rotated), key(&endpoint)][..]), (120, &[key(&rotated)])] {
            app.clock.advance(TimeSpan::seconds(60 * minutes));
            app.do_due_work().await;
            let request = receiver.received().last().unwrap().clone();
            let signatures: Vec<_> = keys.iter().map(|key| request.signature_under(key)).collect();
            assert_eq!(request.signatures(), signatures, "{minutes}");
        }
    }

    async fn a_key_is_never_stored_in_clear(app) {
        let (client, _, endpoint) = endpoint(app).await;
        let rotated = client.rotate_key(token(&endpoint), "1d").await.ok(200);
        let everything = app.everything().await;
        for secret in [key(&endpoint), key(&rotated)] {
            assert!(!everything.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }

    async fn a_text_that_is_no_grace_is_told_and_changes_nothing(app) {
        let (client, _, endpoint) = endpoint(app).await;
        for grace in ["soon", "1", "h", "-1h", "1.5h", "1month", "1 d", "999999999999999999h", "36501d", "１d"] {
            let before = app.rows().await;
            let refused = client.rotate_key(token(&endpoint), grace).await;
            refused.faulty(&[("grace", "Grace is not formatted properly")]);
            assert_eq!(app.rows().await, before, "{grace}");
        }
        client.rotate_key(token(&endpoint), " 36500d ").await.ok(200);
    }

    async fn nobody_rotates_what_is_not_his_endpoint(app) {
        let (client, _, endpoint) = endpoint(app).await;
        let stranger = app.stranger().await;
        app.unchanged_by(stranger.rotate_key(token(&endpoint), "1d"), 404, "resource_not_found").await;
        for unknown in ["whe_AZqYv3rVcBKUQ1mHn7tKRw", "whe_", "nonsense"] {
            // What the path names comes before what is wrong with the request.
            app.unchanged_by(client.rotate_key(unknown, "soon"), 404, "resource_not_found").await;
        }
        app.unchanged_by(app.anonymous().rotate_key(token(&endpoint), "1d"), 401, "unauthorized").await;
    }

    async fn of_many_rotations_at_once_one_has_a_grace(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        let rotations = (0..16).map(|_| {
            let (client, endpoint) = (client.clone(), token_of(&endpoint));
            async move { client.rotate_key(&endpoint, "1d").await }
        });
        let mut rotated = Vec::new();
        for answer in at_once(rotations).await {
            if answer.status == 200 {
                rotated.push(answer.ok(200));
            } else {
                answer.refused(400, "invalid_state");
            }
        }
        let [rotated] = &rotated[..] else { panic!("{rotated:?}") };
        sign(app, &receiver, &[key(rotated), key(&endpoint)]).await;
    }

    async fn a_rotation_that_is_repeated_under_its_key_shows_the_same_key(app) {
        let (client, receiver, endpoint) = endpoint(app).await;
        let path = format!("/1/sandbox/webhook_endpoints/{}/key", token(&endpoint));
        let rotate = || {
            let request = client.request(http::Method::PUT, &path).header("idempotency-key", "once");
            client.send(request.body(axum::body::Body::empty()).unwrap())
        };
        let (first, again) = (rotate().await, rotate().await);
        assert_eq!((first.status, &first.text), (again.status, &again.text));
        assert_eq!(again.headers["idempotent-replayed"], "true");
        sign(app, &receiver, &[key(&first.ok(200)), key(&endpoint)]).await;
    }
}

operated! {
    async fn an_operator_rotates_an_endpoints_key_beside_a_running_server(installed) {
        let receiver = Receiver::start().await;
        let server = installed.serve();
        let (secret, _) = server.keys();
        let url = format!("url={}", receiver.url());
        let endpoint = server.ask("POST", "/1/webhook_endpoints", Some(&secret), &url).ok(201);
        let account = installed.account();
        let rotate = ["webhook", "rotate-key", &account, token(&endpoint)];
        let rotated = installed.records(&rotate).remove(0);
        assert_eq!(fields(&rotated), ["token", "key", "former_key_until"]);
        let day = "SELECT COUNT(*) FROM webhook_endpoints WHERE former_key_until - updated_at = 86400000";
        assert_eq!(installed.number(day).await, 1);
        installed.refuses(
            &[&rotate[..], &["--grace", "2d"]].concat(),
            "A former key still signs: wait for its end, or end it by a rotation without grace",
        );
        server.pay(&secret).ok(201);
        let request = receiver.receives(1).await.remove(0);
        let signatures = [key(&rotated), key(&endpoint)].map(|key| request.signature_under(key));
        assert_eq!(request.signatures(), signatures);
        let (code, stdout, stderr) = installed.run(&[&rotate[..], &["--grace", "0h"]].concat());
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        let shown = server.ask("GET", &format!("/1/webhook_endpoints/{}", token(&endpoint)), Some(&secret), "").ok(200);
        assert_eq!(stdout, format!("{}: {}; the former key has ended\n", token(&endpoint), key(&shown)));
        for wrong in [&["--grace", "soon"][..], &["--grace", ""], &["--grace"]] {
            let (code, stdout, stderr) = installed.run(&[&rotate[..], wrong].concat());
            assert!(code == Some(2) && stdout.is_empty() && !stderr.is_empty(), "{stderr}");
        }
        server.stopped();
    }
}
