//! A ping: an event for one endpoint alone (`docs/decisions.md`, 261 and 262).

use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::browser::Browser;
use crate::harness::{
    Behaviour, Installed, Receiver, at_once, fields, operated, rounds, rules, token, token_of,
};

const NOBODYS: &str = "whe_AZqYv3rVcBKUQ1mHn7tKRw";

rules! {
    async fn a_ping_is_an_event_that_one_endpoint_is_told(app) {
        let (client, pinged, other) = (app.client(), Receiver::start().await, Receiver::start().await);
        let endpoint = client.endpoint(&pinged.url()).await;
        client.endpoint(&other.url()).await;
        let sent = client.ping(token(&endpoint)).await.ok(201);
        assert_eq!(sent["status"], "pending");
        assert_eq!(sent["webhook_endpoint_token"], endpoint["token"]);
        assert_eq!(client.newest_webhook().await, sent);
        assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 1);
        let event = client.get("/1/events").await.ok(200)[0].clone();
        assert_eq!((&event["token"], &event["type"]), (&sent["event_token"], &json!("ping")));
        assert_eq!(event["data"], json!({
            "token": endpoint["token"], "url": endpoint["url"], "created_at": endpoint["created_at"],
            "updated_at": endpoint["updated_at"],
        }));
        app.do_due_work().await;
        let [request] = &pinged.received()[..] else { panic!("one request: {:?}", pinged.received()) };
        assert_eq!(serde_json::from_slice::<Value>(&request.body).unwrap(), event);
        assert_eq!(request.headers["webhook-id"], token(&event));
        assert_eq!(request.signatures(), [request.signature_under(endpoint["key"].as_str().unwrap())]);
        assert!(other.received().is_empty());
        assert_eq!(client.newest_webhook().await["status"], "completed");
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.page(&format!("/events/{}", token(&event))).await;
        assert!(page.contains(&format!("/dashboard/webhooks/{}", token(&sent))), "{page}");
    }

    async fn a_ping_that_is_not_accepted_is_retried_and_may_be_replayed(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        receiver.behave(Behaviour::Status(500));
        let endpoint = client.endpoint(&receiver.url()).await;
        let sent = client.ping(token(&endpoint)).await.ok(201);
        let path = format!("/1/webhooks/{}", token(&sent));
        app.do_due_work().await;
        let tried = client.get(&path).await.ok(200);
        assert_eq!((&tried["status"], &tried["retries"]), (&json!("retrying"), &json!(1)));
        let errors: Vec<_> = tried["errors"].as_object().unwrap().values().cloned().collect();
        assert_eq!(errors[0]["error"], "unexpected_http_code");
        receiver.behave(Behaviour::Status(200));
        client.put(&format!("{path}/replay"), &json!({})).await.ok(200);
        app.do_due_work().await;
        assert_eq!(client.get(&path).await.ok(200)["status"], "completed");
        assert_eq!(receiver.received()[0].body, receiver.received()[1].body);
    }

    async fn a_ping_is_delivered_at_once_by_whoever_delivers(app) {
        app.work();
        let (client, receiver) = (app.client(), Receiver::start().await);
        let endpoint = client.endpoint(&receiver.url()).await;
        client.ping(token(&endpoint)).await.ok(201);
        receiver.receives(1).await;
    }

    async fn nobody_pings_what_is_not_his_endpoint(app) {
        let endpoint = app.client().endpoint("http://127.0.0.1:9/").await;
        let stranger = app.stranger().await;
        app.unchanged_by(stranger.ping(token(&endpoint)), 404, "resource_not_found").await;
        for unknown in [NOBODYS, "whe_", "nonsense"] {
            app.unchanged_by(app.client().ping(unknown), 404, "resource_not_found").await;
        }
        app.unchanged_by(app.anonymous().ping(token(&endpoint)), 401, "unauthorized").await;
        app.client().delete(&format!("/1/webhook_endpoints/{}", token(&endpoint))).await.ok(204);
        app.unchanged_by(app.client().ping(token(&endpoint)), 404, "resource_not_found").await;
    }

    // The books are checked at the end: no webhook is left without its endpoint, and all are counted.
    async fn pings_and_the_deletion_of_their_endpoint_may_come_at_once(app) {
        let client = app.client();
        for _ in 0..rounds().min(8) {
            let endpoint = token_of(&client.endpoint("http://127.0.0.1:9/").await);
            let pings = (0..16).map(|n| {
                let (client, endpoint) = (client.clone(), endpoint.clone());
                async move {
                    if n == 8 {
                        return client.delete(&format!("/1/webhook_endpoints/{endpoint}")).await;
                    }
                    client.ping(&endpoint).await
                }
            });
            for answer in at_once(pings).await {
                assert!([201, 204, 404].contains(&answer.status), "{}", answer.text);
            }
            assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 0);
        }
    }

    async fn a_ping_that_is_repeated_under_its_key_is_one_ping(app) {
        let client = app.client();
        let endpoint = token_of(&client.endpoint("http://127.0.0.1:9/").await);
        let path = format!("/1/sandbox/webhook_endpoints/{endpoint}/ping");
        let ping = || {
            let request = client.request(http::Method::POST, &path).header("idempotency-key", "once");
            client.send(request.body(axum::body::Body::empty()).unwrap())
        };
        let answers = join_all((0..4).map(|_| ping())).await;
        assert!(answers.iter().all(|answer| answer.status == 201 && answer.text == answers[0].text));
        assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 1);
    }
}

/// An endpoint of the running server's first account.
fn endpoint(installed: &Installed, url: &str) -> (crate::harness::process::Process, String, Value) {
    let server = installed.serve();
    let (key, _) = server.keys();
    let endpoint = server.ask("POST", "/1/webhook_endpoints", Some(&key), &format!("url={url}")).ok(201);
    (server, key, endpoint)
}

operated! {
    async fn an_operator_pings_an_endpoint_by_a_command_and_a_running_server_delivers_it(installed) {
        let receiver = Receiver::start().await;
        let (server, key, endpoint) = endpoint(installed, &receiver.url());
        let account = installed.account();
        let sent = installed.records(&["webhook", "ping", &account, token(&endpoint)]).remove(0);
        assert_eq!(fields(&sent)[..2], ["token", "status"]);
        let pings = receiver.receives(1).await;
        assert_eq!(pings[0].headers["webhook-id"], sent["event_token"].as_str().unwrap());
        let shown = server.ask("GET", &format!("/1/webhooks/{}", token(&sent)), Some(&key), "").ok(200);
        assert_eq!(shown["event_token"], sent["event_token"]);
        installed.refuses(&["webhook", "ping", &account, NOBODYS], &format!("there is no webhook endpoint {NOBODYS}"));
        let nobody = "acct_AZqYv3rVcBKUQ1mHn7tKRw";
        installed.refuses(&["webhook", "ping", nobody, token(&endpoint)], &format!("there is no account {nobody}"));
        let (code, _, stderr) = installed.run(&["webhook", "ping", &account, "whe_"]);
        assert!(code == Some(2) && stderr.contains("whe_"), "{stderr}");
        assert_eq!(installed.number("SELECT COUNT(*) FROM events").await, 1);
        server.stopped();
    }
}
