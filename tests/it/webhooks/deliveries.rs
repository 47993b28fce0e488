//! Deliveries by the workers: at once, each endpoint at its own pace, shared by several copies (`docs/decisions.md`, 253 and
//! 254).

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use base::clock::Clock;
use card_payments::services::webhooks::outbox;
use card_payments::workers;
use entity::TimeSpan;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::process::{Process, output, program};
use crate::harness::{App, Behaviour, Client, Database, Receiver, eventually, rules, token};

const AT_ONCE: Duration = Duration::from_millis(200);
/// Less than a receiver below keeps its sender waiting: a delivery that waits for one takes longer.
const DELAY_MAX: Duration = Duration::from_secs(4);
/// How often a series is made while a machine that is busy makes others of it.
const SERIES: usize = 5;

/// So many charges, some of them at a time; when each was answered, by its event.
async fn charges(client: &Client, many: usize) -> Vec<(String, Instant)> {
    let mut answered = Vec::new();
    for _ in 0..many.div_ceil(16) {
        let some = (0..16.min(many - answered.len()))
            .map(|_| async { (token(&client.captured(400).await).to_owned(), Instant::now()) });
        answered.extend(join_all(some).await);
    }
    answered
}

/// The longest that a charge's event took to the receiver, from the charge's answer on.
async fn delay(receiver: &Receiver, answered: &[(String, Instant)]) -> Duration {
    let requests = receiver.receives(answered.len()).await;
    let received_at: HashMap<_, _> = requests
        .iter()
        .map(|request| {
            let event: Value = serde_json::from_slice(&request.body).unwrap();
            (token(&event["data"]).to_owned(), request.at)
        })
        .collect();
    let delays =
        answered.iter().map(|(charge, answered)| received_at[charge].saturating_duration_since(*answered));
    delays.max().unwrap()
}

/// How long a request took to arrive, from now on.
async fn arrival(receiver: &Receiver, number: usize) -> Duration {
    let answered = Instant::now();
    receiver.receives(number).await[number - 1].at.saturating_duration_since(answered)
}

/// Eight of ten replays: a look for due work every second would get two, in every series. What a commit hands over waits for no
/// look, and shows how quick the machine is.
fn are_at_once(delays: &[(Duration, Duration)]) -> bool {
    let slowest = delays.iter().map(|(committed, _)| *committed).max().unwrap();
    let quick = delays.iter().filter(|(_, replayed)| *replayed < AT_ONCE.max(3 * slowest)).count();
    quick * 10 >= delays.len() * 8
}

async fn with_status(app: &App, status: &str) -> i64 {
    app.number(&format!("SELECT COUNT(*) FROM webhooks WHERE state = '{status}'")).await
}

async fn all_are(app: &App, status: &str) {
    eventually(async || with_status(app, status).await == app.number("SELECT COUNT(*) FROM webhooks").await)
        .await;
}

/// Returns how many requests came, and how many different events they carried.
fn count_deliveries(receivers: &[&Receiver]) -> (usize, usize) {
    let all: Vec<_> = receivers.iter().flat_map(|receiver| receiver.received()).collect();
    let ids: HashSet<_> = all.iter().map(|it| it.headers["webhook-id"].clone()).collect();
    (all.len(), ids.len())
}

rules! {
    async fn a_commit_hands_its_webhooks_over_at_once(app) {
        app.work();
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        for n in 1..=10 {
            client.captured(400).await;
            // Leased with its commit, by a clock that stands still: no look for due work ever finds it.
            assert_eq!(app.number("SELECT COUNT(*) FROM webhooks WHERE attempt = 1").await, n);
        }
        all_are(app, "completed").await;
        assert_eq!(count_deliveries(&[&receiver]), (10, 10));
        let webhook = client.newest_webhook().await;
        assert_eq!((&webhook["retries"], &webhook["errors"]), (&json!(0), &json!({})));
    }

    async fn a_replay_is_delivered_at_once(app) {
        app.work();
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        client.captured(400).await;
        all_are(app, "completed").await;
        let path = format!("/1/webhooks/{}/replay", token(&client.newest_webhook().await));
        let mut series = Vec::new();
        while !series.last().is_some_and(|delays: &Vec<_>| are_at_once(delays)) {
            assert!(series.len() < SERIES, "{series:?}");
            let mut delays = Vec::new();
            for _ in 0..10 {
                let before = receiver.received().len();
                client.captured(400).await;
                let committed = arrival(&receiver, before + 1).await;
                client.put(&path, &json!({})).await.ok(200);
                delays.push((committed, arrival(&receiver, before + 2).await));
                all_are(app, "completed").await;
            }
            series.push(delays);
        }
    }

    async fn nobody_waits_for_an_endpoint_that_misbehaves(app) {
        app.work();
        let client = app.client();
        let well = Receiver::start().await;
        client.endpoint(&well.url()).await;
        let bad: Vec<_> = join_all((0..4).map(|_| Receiver::start())).await;
        for receiver in &bad {
            client.endpoint(&receiver.url()).await;
        }
        // As long as everybody behaves, what a delivery takes is this machine's own doing.
        let mut answered = charges(&client, 48).await;
        let delay_max = DELAY_MAX.max(3 * delay(&well, &answered).await);
        for behaviours in [
            [Behaviour::Hang, Behaviour::Reset, Behaviour::Slow(Duration::from_secs(5)), Behaviour::Endless],
            [Behaviour::Hang, Behaviour::Drip, Behaviour::Redirect(well.url()), Behaviour::Status(500)],
        ] {
            for (receiver, behaviour) in bad.iter().zip(behaviours) {
                receiver.behave(behaviour);
            }
            answered.extend(charges(&client, 48).await);
        }
        let delay = delay(&well, &answered).await;
        assert!(delay < delay_max, "{delay:?}, where {delay_max:?} would do");
        assert_eq!(count_deliveries(&[&well]), (answered.len(), answered.len()));
    }

    async fn an_endpoint_with_more_than_fits_gets_everything_once(app) {
        app.work();
        let (client, slow, well) = (app.client(), Receiver::start().await, Receiver::start().await);
        slow.behave(Behaviour::Slow(Duration::from_millis(50)));
        for receiver in [&slow, &well] {
            client.endpoint(&receiver.url()).await;
        }
        let customer = client.customer("4200000000000000").await;
        let by_customer = json!({
            "customer_token": customer["token"], "amount": 400, "description": "one of many", "email": "a@example.com",
            "ip_address": "203.192.1.172",
        });
        for _ in 0..8 {
            join_all((0..50).map(|_| client.post("/1/charges", &by_customer))).await;
        }
        eventually(async || count_deliveries(&[&slow]).0 >= 401).await;
        all_are(app, "completed").await;
        assert_eq!((count_deliveries(&[&slow]), count_deliveries(&[&well])), ((401, 401), (401, 401)));
    }

    // A copy that is killed never delivers what was born leased to it.
    async fn the_leases_of_a_killed_copy_are_taken_over(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        let killed = outbox::listen(&app.ctx().store, app.clock.clone());
        client.captured(400).await;
        drop(killed);
        assert_eq!(app.number("SELECT attempt FROM webhooks").await, 1);
        app.clock.advance(TimeSpan::seconds(59));
        app.do_due_work().await;
        assert!(receiver.received().is_empty(), "the lease still holds");
        app.clock.advance(TimeSpan::seconds(1));
        app.do_due_work().await;
        assert_eq!(receiver.received().len(), 1);
        assert_eq!(with_status(app, "completed").await, 1);
        // No client listens any more: the next one is free.
        client.captured(400).await;
        app.do_due_work().await;
        assert_eq!(receiver.received().len(), 2);
    }

    async fn the_result_of_a_delivery_happens_by_the_clock_as_it_stands_then(app) {
        app.work();
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        receiver.behave(Behaviour::AnswerLate);
        client.captured(400).await;
        receiver.receives(1).await;
        let moved = client.put("/1/sandbox/clock", &json!({ "advance": "10d" })).await.ok(200);
        receiver.release();
        all_are(app, "completed").await;
        let accepted = client.newest_webhook().await;
        assert!(accepted["accepted_at"].as_str() >= moved["now"].as_str(), "{accepted} after {moved}");
    }

    // Two deliveries of one webhook are in flight; only the one that owns the attempt records its outcome.
    async fn the_result_of_a_replaced_attempt_is_not_recorded(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        client.captured(400).await;
        receiver.behave(Behaviour::AnswerLate);
        let late = app.do_due_work();
        let rival = async {
            receiver.receives(1).await;
            app.execute("UPDATE webhooks SET attempt = attempt + 1, leased_until = NULL").await;
            receiver.behave(Behaviour::Status(500));
            receiver.release();
        };
        futures::join!(late, rival);
        // The late one was accepted, the one that counts was not.
        assert_eq!(with_status(app, "retrying").await, 1);
        assert_eq!(app.number("SELECT retries FROM webhooks").await, 1);
        assert_eq!(receiver.received().len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_copies_deliver_each_webhook_once() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let copy = app.copy().await;
    let receivers = [Receiver::start().await, Receiver::start().await];
    for receiver in &receivers {
        app.client().endpoint(&receiver.url()).await;
    }
    // What was there before they began, both of them look for.
    charges(&app.client(), 100).await;
    app.work();
    workers::start(&copy.ctx);
    let second = Client::new(copy.router.clone(), Some(app.secret_key().into()));
    let first = app.client();
    futures::join!(charges(&first, 50), charges(&second, 50));
    all_are(&app, "completed").await;
    for receiver in &receivers {
        assert_eq!(count_deliveries(&[receiver]), (200, 200));
    }
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_takes_over_what_a_killed_one_held() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let (client, receiver) = (app.client(), Receiver::start().await);
    client.endpoint(&receiver.url()).await;
    let killed = app.copy().await;
    let held = outbox::listen(&killed.ctx.store, app.clock.clone());
    Client::new(killed.router.clone(), Some(app.secret_key().into())).captured(400).await;
    drop((held, killed));
    let copy = app.copy().await;
    workers::start(&copy.ctx);
    app.clock.advance(TimeSpan::seconds(61));
    receiver.receives(1).await;
    all_are(&app, "completed").await;
    assert_eq!(count_deliveries(&[&receiver]), (1, 1));
    let timestamp = receiver.received()[0].headers["webhook-timestamp"].to_str().unwrap().to_owned();
    assert_eq!(timestamp, app.clock.now().seconds().to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_starts_on_its_file_delivers_what_was_left_at_once() {
    let mut app = App::start(Database::Sqlite).await.unwrap();
    let receiver = Receiver::start().await;
    app.client().endpoint(&receiver.url()).await;
    let held = outbox::listen(&app.ctx().store, app.clock.clone());
    app.client().captured(400).await;
    drop(held);
    app.restart().await;
    app.work();
    receiver.receives(1).await;
    all_are(&app, "completed").await;
}

/// The program, with an endpoint at the receiver and the webhook of one charge.
async fn serve_with_endpoint(data: &Path, receiver: &Receiver) -> (Process, String) {
    let server = Process::start(&mut program(data));
    let (key, _) = server.keys();
    let url = format!("url={}", receiver.url());
    server.ask("POST", "/1/webhook_endpoints", Some(&key), &url).ok(201);
    server.pay(&key).ok(201);
    receiver.receives(1).await;
    (server, key)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_delivers_again_what_was_under_way_when_it_was_killed() {
    let (data, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    receiver.behave(Behaviour::Hang);
    drop(serve_with_endpoint(data.path(), &receiver).await);
    receiver.behave(Behaviour::Status(200));
    let server = Process::start(&mut program(data.path()));
    let requests = receiver.receives(2).await;
    assert_eq!(requests[0].body, requests[1].body);
    let (key, _) = server.keys();
    eventually(async || server.ask("GET", "/1/webhooks", Some(&key), "").ok(200)[0]["status"] == "completed")
        .await;
    server.stopped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_asked_to_stop_waits_for_what_is_under_way() {
    let (data, receiver) = (tempfile::tempdir().unwrap(), Receiver::start().await);
    receiver.behave(Behaviour::Slow(Duration::from_millis(500)));
    let (server, _) = serve_with_endpoint(data.path(), &receiver).await;
    server.stopped();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let webhook = &server.ask("GET", "/1/webhooks", Some(&key), "").ok(200)[0];
    assert_eq!((&webhook["status"], &webhook["retries"]), (&json!("completed"), &json!(0)));
    assert_eq!(count_deliveries(&[&receiver]), (1, 1));
}

#[test]
fn events_and_webhooks_are_never_kept_for_less_than_thirty_days() {
    let data = tempfile::tempdir().unwrap();
    for days in ["29", "0", "-1", "ninety"] {
        let (code, stdout, stderr) = output(program(data.path()).env("CARD_PAYMENTS_RETENTION_DAYS", days));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{days}: {stderr}");
        assert!(stderr.contains("CARD_PAYMENTS_RETENTION_DAYS"), "{stderr}");
    }
    Process::start(program(data.path()).env("CARD_PAYMENTS_RETENTION_DAYS", "30")).stopped();
}
