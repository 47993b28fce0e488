//! Webhooks: what is sent, what is recorded, and when it is sent again (specification, Webhooks and Events;
//! `docs/decisions.md`, 252 to 259).

mod deliveries;
mod endpoints;
mod inboxes;
mod keys;
mod pings;
pub mod verifiers;

use card_payments::services::due_work_registry::KINDS;
use card_payments::services::events;
use entity::event::EventType;
use entity::{TimeSpan, account};
use futures::future::join;
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use crate::harness::process::free_address;
use crate::harness::{App, Behaviour, Client, Receiver, fields, rules, token};

/// The pauses before the retries (`docs/decisions.md`, 255), in minutes after the delivery before.
const RETRIES_MINUTES: [i64; 8] = [1, 5, 30, 120, 360, 720, 1440, 1440];

/// An endpoint, and a webhook to it of a captured charge.
async fn webhook_to(app: &App, receiver: &Receiver) -> (Client, String) {
    let client = app.client();
    client.endpoint(&receiver.url()).await;
    client.captured(400).await;
    let path = format!("/1/webhooks/{}", token(&client.newest_webhook().await));
    (client, path)
}

/// Many events at once, as no request makes them.
pub async fn happens(app: &App, events: usize) {
    let account = account::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap();
    for _ in 0..events / 900 {
        let unit = app.ctx().store.write(account.clone(), async |tx, account| {
            for _ in 0..900 {
                events::record(tx, account.id, account.created_at, EventType::CustomerUpdated, &json!({}))?;
            }
            Ok(())
        });
        unit.await.unwrap();
    }
}

async fn replay(client: &Client, path: &str) -> crate::harness::Answer {
    client.put(&format!("{path}/replay"), &json!({})).await
}

/// Seconds from the clock of the tests to a time that is shown.
fn seconds_until(app: &App, time: &Value) -> i64 {
    use base::clock::Clock;
    let time = chrono::DateTime::parse_from_rfc3339(time.as_str().unwrap()).unwrap();
    time.timestamp() - app.clock.now().seconds()
}

rules! {
    async fn a_webhook_is_made_for_each_endpoint_with_its_event(app) {
        let client = app.client();
        let endpoints = [client.endpoint("http://127.0.0.1:1/a").await, client.endpoint("http://127.0.0.1:1/b").await];
        client.captured(400).await;
        let event = client.get("/1/events").await.ok(200)[0].clone();
        let listed = client.get("/1/webhooks").await;
        assert_eq!(fields(&listed.json()), ["response", "pagination"]);
        assert_eq!(listed.json()["pagination"], json!({ "count": 2, "per_page": 25, "current": 1 }));
        let webhooks = listed.ok(200);
        for endpoint in endpoints {
            let its = webhooks.as_array().unwrap().iter();
            let its: Vec<_> = its.filter(|it| it["webhook_endpoint_token"] == endpoint["token"]).collect();
            let [webhook] = its[..] else { panic!("one webhook an endpoint") };
            assert_eq!(
                webhook,
                &json!({
                    "token": webhook["token"], "status": "pending", "url": endpoint["url"], "event_token": event["token"],
                    "webhook_endpoint_token": endpoint["token"], "created_at": event["created_at"], "accepted_at": null,
                    "next_run": null, "retries": 0, "errors": {},
                })
            );
            assert_eq!(
                fields(webhook),
                ["token", "status", "url", "event_token", "webhook_endpoint_token", "created_at", "accepted_at",
                    "next_run", "retries", "errors"]
            );
            assert!(token(webhook).starts_with("whr_"));
            assert_eq!(&client.get(&format!("/1/webhooks/{}", token(webhook))).await.ok(200), webhook);
        }
    }

    async fn every_kind_of_event_is_told(app) {
        let client = app.client();
        client.endpoint("http://127.0.0.1:1/").await;
        let customer = client.customer("4200000000000000").await;
        client.delete(&format!("/1/customers/{}", token(&customer))).await.ok(204);
        client.authorised(400).await;
        client.post("/1/charges", &crate::harness::charge_with(400, json!({ "card": crate::harness::card("4100000000000001") }))).await;
        let events = client.get("/1/events").await.ok(200);
        let tokens: Vec<_> = events.as_array().unwrap().iter().map(|event| event["token"].clone()).collect();
        let webhooks = client.get("/1/webhooks").await.ok(200);
        let webhooks: Vec<_> = webhooks.as_array().unwrap().iter().map(|it| it["event_token"].clone()).collect();
        assert_eq!((tokens.len(), webhooks), (4, tokens));
    }

    #[dated]
    async fn the_body_is_the_event_and_the_signature_fits_it(app) {
        let receiver = Receiver::start().await;
        let client = app.client();
        let endpoint = client.endpoint(&receiver.url()).await;
        client.post("/1/customers", &json!({
            "email": "e@example.com", "first_name": "é\"</script>\u{2028}\\", "card": crate::harness::card("4200000000000000"),
        })).await.ok(201);
        app.do_due_work().await;
        let requests = receiver.received();
        let [request] = &requests[..] else { panic!("one request: {requests:?}") };
        let event = client.get("/1/events").await.ok(200)[0].clone();
        let shown = client.get(&format!("/1/events/{}", token(&event))).await;
        assert_eq!(std::str::from_utf8(&request.body).unwrap(), shown.record(), "byte for byte");
        let header = |name: &str| request.headers[name].to_str().unwrap();
        assert_eq!(request.path, "/hook");
        assert_eq!(header("content-type"), "application/json");
        assert_eq!(header("user-agent"), concat!("card-payments/", env!("CARGO_PKG_VERSION")));
        assert_eq!(header("webhook-id"), token(&event));
        assert_eq!(header("webhook-timestamp"), "1772445600");
        let key = endpoint["key"].as_str().unwrap();
        assert_eq!(header("webhook-signature"), request.signature_under(key));
    }

    async fn an_accepted_webhook_is_completed_and_not_sent_again(app) {
        for status in [200, 201, 204, 299] {
            let receiver = Receiver::start().await;
            receiver.behave(Behaviour::Status(status));
            let (client, path) = webhook_to(app, &receiver).await;
            app.do_due_work().await;
            let webhook = client.get(&path).await.ok(200);
            assert_eq!((&webhook["status"], &webhook["retries"], &webhook["errors"]), (&json!("completed"), &json!(0), &json!({})));
            assert_eq!((&webhook["accepted_at"], &webhook["next_run"]), (&webhook["created_at"], &Value::Null));
            app.clock.advance(TimeSpan::days(3));
            app.do_due_work().await;
            assert_eq!(receiver.received().len(), 1, "{status}");
            client.delete(&format!("/1/webhook_endpoints/{}", webhook["webhook_endpoint_token"].as_str().unwrap())).await.ok(204);
        }
    }

    async fn a_failing_webhook_is_retried_eight_times_then_failed(app) {
        let receiver = Receiver::start().await;
        receiver.behave(Behaviour::Status(500));
        let (client, path) = webhook_to(app, &receiver).await;
        for (n, minutes) in RETRIES_MINUTES.into_iter().enumerate() {
            app.do_due_work().await;
            assert_eq!(receiver.received().len(), n + 1);
            let webhook = client.get(&path).await.ok(200);
            assert_eq!((&webhook["status"], &webhook["retries"]), (&json!("retrying"), &json!(n + 1)));
            assert_eq!(webhook["errors"].as_object().unwrap().len(), n + 1);
            assert_eq!(webhook["accepted_at"], Value::Null);
            let pause = seconds_until(app, &webhook["next_run"]);
            assert!((minutes * 60..=minutes * 66).contains(&pause), "{pause} s for {minutes} min");
            // Not a second earlier than it says.
            app.clock.advance(TimeSpan::seconds(pause - 1));
            app.do_due_work().await;
            assert_eq!(receiver.received().len(), n + 1);
            app.clock.advance(TimeSpan::seconds(1));
        }
        app.do_due_work().await;
        let webhook = client.get(&path).await.ok(200);
        assert_eq!((&webhook["status"], &webhook["retries"], &webhook["next_run"]), (&json!("failed"), &json!(8), &Value::Null));
        assert_eq!(webhook["errors"].as_object().unwrap().len(), 9);
        app.clock.advance(TimeSpan::days(10));
        app.do_due_work().await;
        assert_eq!(receiver.received().len(), 9);
        let ids: Vec<_> = receiver.received().iter().map(|it| it.headers["webhook-id"].clone()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "repeats carry the same id");
        let signed: std::collections::HashSet<_> =
            receiver.received().iter().map(|it| it.headers["webhook-signature"].clone()).collect();
        assert_eq!(signed.len(), 9, "each attempt is signed anew");
    }

    #[dated]
    async fn a_retry_that_is_accepted_completes_and_keeps_the_errors(app) {
        let receiver = Receiver::start().await;
        receiver.behave(Behaviour::Status(503));
        let (client, path) = webhook_to(app, &receiver).await;
        app.do_due_work().await;
        receiver.behave(Behaviour::Status(200));
        app.clock.advance(TimeSpan::seconds(66));
        app.do_due_work().await;
        let webhook = client.get(&path).await.ok(200);
        assert_eq!((&webhook["status"], &webhook["retries"], &webhook["next_run"]), (&json!("completed"), &json!(1), &Value::Null));
        assert_eq!(webhook["accepted_at"], "2026-03-02T10:01:06Z");
        assert_eq!(webhook["errors"], json!({ "2026-03-02 10:00:00 UTC": {
            "error": "unexpected_http_code", "error_description": "The endpoint answered with HTTP status 503",
        } }));
    }

    async fn each_way_to_fail_is_recorded_by_its_name(app) {
        let client = app.client();
        let refusing = Receiver::start().await;
        let resetting = Receiver::start().await;
        resetting.behave(Behaviour::Reset);
        let redirecting = Receiver::start().await;
        redirecting.behave(Behaviour::Redirect(refusing.url()));
        let nobody = format!("http://{}/", free_address());
        for (url, error) in [
            (nobody, "connection_failed"),
            (resetting.url(), "connection_failed"),
            (redirecting.url(), "unexpected_http_code"),
            ("http://nobody.invalid/".into(), "dns_failed"),
        ] {
            let endpoint = client.endpoint(&url).await;
            client.captured(400).await;
            app.do_due_work().await;
            let webhook = client.newest_webhook().await;
            let errors: Vec<_> = webhook["errors"].as_object().unwrap().values().cloned().collect();
            assert_eq!((&webhook["status"], &errors[0]["error"]), (&json!("retrying"), &json!(error)), "{url}");
            assert!(!errors[0]["error_description"].as_str().unwrap().is_empty());
            client.delete(&format!("/1/webhook_endpoints/{}", token(&endpoint))).await.ok(204);
        }
        assert!(refusing.received().is_empty(), "no redirect is followed");
    }

    async fn a_replay_begins_anew(app) {
        let receiver = Receiver::start().await;
        receiver.behave(Behaviour::Status(500));
        let (client, path) = webhook_to(app, &receiver).await;
        for status in ["retrying", "completed", "failed"] {
            while client.get(&path).await.ok(200)["status"] != status {
                receiver.behave(Behaviour::Status(if status == "completed" { 200 } else { 500 }));
                app.clock.advance(TimeSpan::days(2));
                app.do_due_work().await;
            }
            let before = client.get(&path).await.ok(200);
            let replayed = replay(&client, &path).await.ok(200);
            let mut anew = before.clone();
            anew["status"] = "pending".into();
            anew["retries"] = 0.into();
            anew["errors"] = json!({});
            anew["next_run"] = Value::Null;
            anew["accepted_at"] = Value::Null;
            assert_eq!(replayed, anew, "from {status}");
            assert_eq!(client.get(&path).await.ok(200), replayed);
            let again = app.unchanged_by(replay(&client, &path), 400, "cannot_replay_webhook").await;
            assert_eq!(again["error_description"], "The webhook is already pending");
            let sent = receiver.received().len();
            receiver.behave(Behaviour::Status(500));
            app.do_due_work().await;
            assert_eq!(receiver.received().len(), sent + 1);
            let failed = client.get(&path).await.ok(200);
            assert_eq!((&failed["status"], &failed["retries"]), (&json!("retrying"), &json!(1)));
            assert_eq!(failed["errors"].as_object().unwrap().len(), 1, "new errors are recorded");
        }
    }

    async fn a_new_webhook_is_pending_and_not_to_be_replayed(app) {
        let receiver = Receiver::start().await;
        let (client, path) = webhook_to(app, &receiver).await;
        app.unchanged_by(replay(&client, &path), 400, "cannot_replay_webhook").await;
    }

    async fn one_of_many_replays_at_once_succeeds(app) {
        let receiver = Receiver::start().await;
        let (client, path) = webhook_to(app, &receiver).await;
        app.do_due_work().await;
        let replays = (0..16).map(|_| {
            let (client, path) = (client.clone(), path.clone());
            tokio::spawn(async move { replay(&client, &path).await })
        });
        let answers = futures::future::join_all(replays).await;
        let statuses: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().status).collect();
        assert_eq!(statuses.iter().filter(|&&status| status == 200).count(), 1);
        assert_eq!(statuses.iter().filter(|&&status| status == 400).count(), 15);
        app.do_due_work().await;
        assert_eq!(receiver.received().len(), 2);
    }

    async fn an_unknown_webhook_is_not_found(app) {
        let client = app.client();
        for unknown in ["whr_AZqYv3rVcBKUQ1mHn7tKRw", "whr_", "nonsense"] {
            let path = format!("/1/webhooks/{unknown}");
            let body = client.get(&path).await.refused(404, "resource_not_found");
            assert_eq!(body["error_description"], "The requested resource could not be found.");
            replay(&client, &path).await.refused(404, "resource_not_found");
        }
    }

    async fn webhooks_are_their_accounts_own(app) {
        let receiver = Receiver::start().await;
        let (_, path) = webhook_to(app, &receiver).await;
        app.do_due_work().await;
        let stranger = app.stranger().await;
        stranger.get(&path).await.refused(404, "resource_not_found");
        app.unchanged_by(replay(&stranger, &path), 404, "resource_not_found").await;
        assert_eq!(stranger.get("/1/webhooks").await.json()["pagination"]["count"], 0);
        app.anonymous().get("/1/webhooks").await.refused(401, "unauthorized");
    }

    async fn webhooks_are_listed_newest_first_with_short_pagination(app) {
        let client = app.client();
        client.endpoint("http://127.0.0.1:1/").await;
        let empty = client.get("/1/webhooks").await;
        assert_eq!(empty.text, r#"{"response":[],"pagination":{"count":0,"per_page":25,"current":1}}"#);
        for _ in 0..3 {
            client.captured(400).await;
        }
        let events = client.get("/1/events").await.ok(200);
        let webhooks = client.get("/1/webhooks").await.ok(200);
        for n in 0..3 {
            assert_eq!(webhooks[n]["event_token"], events[n]["token"]);
        }
        let page = client.get("/1/webhooks?page=2&per_page=2").await.json();
        assert_eq!(page["response"], json!([webhooks[2]]));
        assert_eq!(page["pagination"], json!({ "count": 3, "per_page": 2, "current": 2 }));
        client.get("/1/webhooks?per_page=501").await.faulty(&[("per_page", "Per page must be at most 500")]);
    }

    // The account's clock rules what is shown and what is due, the wall clock what is signed (`docs/decisions.md`, 256).
    #[dated]
    async fn an_account_whose_clock_runs_ahead_retries_by_it(app) {
        let receiver = Receiver::start().await;
        receiver.behave(Behaviour::Status(500));
        app.execute("UPDATE accounts SET clock_offset = 86400000").await;
        let (client, path) = webhook_to(app, &receiver).await;
        app.do_due_work().await;
        let webhook = client.get(&path).await.ok(200);
        assert_eq!(webhook["created_at"], "2026-03-03T10:00:00Z");
        assert_eq!(fields(&webhook["errors"]), ["2026-03-03 10:00:00 UTC"]);
        let pause = seconds_until(app, &webhook["next_run"]) - 86_400;
        assert!((60..=66).contains(&pause), "{pause}");
        app.do_due_work().await;
        assert_eq!(receiver.received().len(), 1);
        // A passed next_run is due at once.
        app.execute("UPDATE accounts SET clock_offset = 90000000").await;
        app.do_due_work().await;
        assert_eq!(receiver.received().len(), 2);
        assert_eq!(receiver.received()[1].headers["webhook-timestamp"], "1772445600");
    }

    #[dated]
    async fn webhooks_and_events_go_at_the_first_midnight_after_ninety_days(app) {
        let client = app.client();
        client.endpoint("http://127.0.0.1:1/").await;
        client.captured(400).await;
        app.clock.advance(TimeSpan::days(1));
        client.captured(400).await;
        // Made on 2 March at 10:00: due on 31 May at 10:00, gone on 1 June.
        app.clock.advance(TimeSpan::days(89));
        app.do_due_work().await;
        app.clock.advance(TimeSpan::seconds(14 * 3600 - 1));
        app.do_due_work().await;
        assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], 2);
        let old = client.get("/1/webhooks").await.ok(200)[1].clone();
        app.clock.advance(TimeSpan::seconds(1));
        app.do_due_work().await;
        for list in ["/1/events", "/1/webhooks"] {
            let left = client.get(list).await.json();
            assert_eq!((left["pagination"]["count"].as_u64(), left["response"].as_array().map(Vec::len)), (Some(1), Some(1)));
        }
        client.get(&format!("/1/webhooks/{}", token(&old))).await.refused(404, "resource_not_found");
        app.clock.advance(TimeSpan::days(1));
        app.do_due_work().await;
        assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], 0);
        app.clock.advance(TimeSpan::seconds(1));
        client.captured(400).await;
        app.clock.advance(TimeSpan::days(90));
        app.do_due_work().await;
        assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], 1);
        app.clock.advance(TimeSpan::days(1));
        app.do_due_work().await;
        assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], 0);
    }

    async fn an_account_whose_clock_runs_ahead_forgets_by_it(app) {
        let client = app.client();
        client.captured(400).await;
        app.execute("UPDATE accounts SET clock_offset = 7862400000").await;
        app.do_due_work().await;
        assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], 0);
    }

    // A purge that finds no webhook left to delete may only have been overtaken: their events must wait.
    async fn two_purges_of_one_account_leave_no_webhook_without_its_event(app) {
        let client = app.client();
        for _ in 0..5 {
            client.endpoint("http://127.0.0.1:1/").await;
        }
        happens(app, 900).await;
        assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 4500);
        app.clock.advance(TimeSpan::days(91));
        let purge = KINDS.iter().find(|kind| kind.name == "retention").unwrap();
        for _ in 0..8 {
            let (one, other) = join(purge.run(app.ctx()), purge.run(app.ctx())).await;
            one.unwrap();
            other.unwrap();
            app.check_books().await;
        }
        assert_eq!(client.get("/1/webhooks").await.json()["pagination"]["count"], 0);
        assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], 0);
    }

    async fn an_endpoint_with_many_webhooks_is_deleted_with_all_of_them(app) {
        let client = app.client();
        let (gone, stays) = (client.endpoint("http://127.0.0.1:1/").await, client.endpoint("http://127.0.0.1:1/").await);
        happens(app, 2700).await;
        client.delete(&format!("/1/webhook_endpoints/{}", token(&gone))).await.ok(204);
        let left = client.get("/1/webhooks").await.json();
        assert_eq!(left["pagination"]["count"], 2700);
        assert!(left["response"].as_array().unwrap().iter().all(|it| it["webhook_endpoint_token"] == stays["token"]));
    }
}
