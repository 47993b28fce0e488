//! The account's own clock (`docs/decisions.md`, 266 to 269 and 294 to 299).

pub mod calls;

use std::time::Duration;

use entity::{TimeSpan, card};
use futures::future::join_all;
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use crate::harness::app::{MONDAY, another_account, starting_at};
use crate::harness::{
    Answer, App, Client, Database, card as parameters_of_card, charge_with, fields, rules, token, token_of,
};

const PATH: &str = "/1/sandbox/clock";
const REFUNDS_FAIL: &str = "4200700000000013";
/// What a new account's clock shows.
const START: &str = "2026-03-02T10:00:00Z";

impl Client {
    async fn clock(&self) -> Value {
        self.get(PATH).await.ok(200)
    }

    pub async fn move_clock(&self, by: &str) -> Value {
        self.put(PATH, &json!({ "advance": by })).await.ok(200)
    }

    async fn move_clock_to(&self, to: &str) -> Answer {
        self.put(PATH, &json!({ "to": to })).await
    }
}

/// What ran, as (at, what, token).
fn ran(moved: &Value) -> Vec<(String, String, String)> {
    let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    let ran = moved["ran"].as_array().unwrap();
    assert_eq!(moved["ran_count"].as_u64().unwrap(), ran.len() as u64);
    ran.iter().map(|item| (text(item, "at"), text(item, "what"), text(item, "token"))).collect()
}

fn at(at: &str, what: &str, token: &str) -> (String, String, String) {
    (at.to_owned(), what.to_owned(), token.to_owned())
}

/// The account of the app's first key.
async fn account(app: &App) -> entity::account::Model {
    app.work_time().await.account().settings().clone()
}

/// Events, newest last, as (type, created_at).
async fn events(client: &Client) -> Vec<(String, String)> {
    let events = client.get("/1/events?per_page=500").await.ok(200);
    let text = |event: &Value, field: &str| event[field].as_str().unwrap().to_owned();
    let events = events.as_array().unwrap().iter().rev();
    events.map(|event| (text(event, "type"), text(event, "created_at"))).collect()
}

rules! {
    #[dated]
    async fn a_new_accounts_clock_is_the_wall_clock(app) {
        let clock = app.client().clock().await;
        assert_eq!(fields(&clock), ["now", "offset_seconds"]);
        assert_eq!(clock, json!({ "now": START, "offset_seconds": 0 }));
        app.clock.advance(TimeSpan::days(1));
        assert_eq!(app.client().clock().await, json!({ "now": "2026-03-03T10:00:00Z", "offset_seconds": 0 }));
    }

    #[dated]
    async fn a_move_answers_where_it_came_and_what_ran(app) {
        let moved = app.client().move_clock("90m").await;
        assert_eq!(fields(&moved), ["now", "offset_seconds", "to", "complete", "ran_count", "ran"]);
        let to = "2026-03-02T11:30:00Z";
        let expected = json!({ "now": to, "offset_seconds": 5400, "to": to, "complete": true, "ran_count": 0, "ran": [] });
        assert_eq!(moved, expected);
        assert_eq!(app.client().clock().await, json!({ "now": to, "offset_seconds": 5400 }));
    }

    #[dated]
    async fn spans_add_up_and_months_go_by_the_calendar(app) {
        let client = app.client();
        for (span, now) in [
            ("30m", "2026-03-02T10:30:00Z"),
            ("2h", "2026-03-02T12:30:00Z"),
            ("29d", "2026-03-31T12:30:00Z"),
            ("1month", "2026-04-30T12:30:00Z"),
            ("1w", "2026-05-07T12:30:00Z"),
            ("1year", "2027-05-07T12:30:00Z"),
        ] {
            assert_eq!(client.move_clock(span).await["now"], now, "{span}");
        }
        // The wall clock goes on underneath.
        app.clock.advance(TimeSpan::seconds(5));
        assert_eq!(client.clock().await["now"], "2027-05-07T12:30:05Z");
    }

    #[dated]
    async fn a_form_may_ask_and_a_time_may_be_spelled_as_search_dates_are(app) {
        let client = app.client();
        for (to, now) in [
            ("2026-03-02T10:00:01Z", "2026-03-02T10:00:01Z"),
            ("2026-03-02T21:00:00%2B10:00", "2026-03-02T11:00:00Z"),
            ("2026/03/03", "2026-03-03T00:00:00Z"),
            ("Mar 25, 2026", "2026-03-25T00:00:00Z"),
        ] {
            let form = axum::body::Body::from(format!("to={to}&advance="));
            let moved = client.send(client.request(http::Method::PUT, PATH).body(form).unwrap()).await.ok(200);
            assert_eq!((&moved["now"], &moved["complete"]), (&json!(now), &json!(true)), "{to}");
        }
    }

    #[dated]
    async fn a_request_that_is_no_move_is_refused_and_moves_nothing(app) {
        let client = app.client();
        client.card_token("4200000000000000").await;
        client.move_clock("1d").await;
        let one = "Exactly one of advance and to is required";
        let far = "Advance must be at most 100 years ahead of the wall clock";
        for (sent, param, message) in [
            (json!({}), "advance", one),
            (json!({ "advance": null, "to": " " }), "advance", one),
            (json!({ "advance": "2month", "to": "2027-01-01" }), "advance", one),
            (json!({ "advance": "soon" }), "advance", "Advance is not formatted properly"),
            (json!({ "advance": "7" }), "advance", "Advance is not formatted properly"),
            (json!({ "advance": "0d" }), "advance", "Advance is not formatted properly"),
            (json!({ "advance": "-7d" }), "advance", "Advance is not formatted properly"),
            (json!({ "advance": ["7d"] }), "advance", "Advance is not valid"),
            (json!({ "advance": "100year" }), "advance", far),
            (json!({ "advance": "9999999999999999999999w" }), "advance", far),
            (json!({ "to": "2126-03-02T10:00:01Z" }), "to", "To must be at most 100 years ahead of the wall clock"),
            (json!({ "to": "2026-03-03T09:59:59Z" }), "to", "To must not be before the clock of the account"),
            (json!({ "to": "soon" }), "to", "To is not formatted properly"),
        ] {
            let before = (app.rows().await, account(app).await);
            client.put(PATH, &sent).await.faulty(&[(param, message)]);
            assert_eq!((app.rows().await, account(app).await), before, "{sent}");
        }
        client.move_clock_to("2126-03-02T10:00:00Z").await.ok(200);
    }

    async fn only_a_secret_key_moves_it(app) {
        for caller in [app.anonymous(), app.with_key(app.publishable_key()), app.with_key("nobody")] {
            caller.get(PATH).await.refused(401, "unauthorized");
            caller.put(PATH, &json!({ "advance": "1d" })).await.refused(401, "unauthorized");
        }
        assert_eq!(app.client().clock().await["offset_seconds"], 0);
    }

    #[dated]
    async fn a_refund_is_submitted_before_time_passes_and_settles_ten_seconds_after_it_was_made(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        let moved = client.move_clock("1d").await;
        let expected =
            [at(START, "unsubmitted_refund", &refund), at("2026-03-02T10:00:10Z", "refund.succeeded", &refund)];
        assert_eq!(ran(&moved), expected);
        assert_eq!(client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], true);
        assert_eq!(events(&client).await.last().unwrap(), &("refund.succeeded".to_owned(), "2026-03-02T10:00:10Z".to_owned()));
        assert_eq!(client.charge(&charge).await["refund_pending"], false);
    }

    #[dated]
    async fn work_due_later_than_the_target_waits(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        let moved = client.move_clock_to("2026-03-02T10:00:09Z").await.ok(200);
        assert_eq!(ran(&moved), [at(START, "unsubmitted_refund", &refund)]);
        // To where it stands is no way back, and the instant itself is reached.
        assert_eq!(ran(&client.move_clock_to("2026-03-02T10:00:09Z").await.ok(200)), []);
        let moved = client.move_clock_to("2026-03-02T10:00:10Z").await.ok(200);
        assert_eq!(ran(&moved), [at("2026-03-02T10:00:10Z", "refund.succeeded", &refund)]);
    }

    #[dated]
    async fn a_refund_that_fails_gives_its_money_back_at_its_instant(app) {
        let client = app.client();
        let parameters = charge_with(1_000, json!({ "card": parameters_of_card(REFUNDS_FAIL) }));
        let charge = token_of(&client.post("/1/charges", &parameters).await.ok(201));
        let before = client.balance().await;
        let refund = token_of(&client.refund(&charge, 1_000).await.ok(201));
        let moved = client.move_clock("1m").await;
        assert_eq!(ran(&moved)[1], at("2026-03-02T10:00:10Z", "refund.failed", &refund));
        assert_eq!(client.balance().await, before);
    }

    #[dated]
    async fn unused_cards_expire_after_a_month(app) {
        let client = app.client();
        let card = client.card_token("4200000000000000").await;
        let path = format!("/1/cards/{card}");
        assert_eq!(ran(&client.move_clock_to("2026-04-02T09:59:59Z").await.ok(200)), []);
        client.get(&path).await.ok(200);
        assert_eq!(ran(&client.move_clock("1m").await), [at("2026-04-02T10:00:00Z", "expired_card", &card)]);
        client.get(&path).await.not_found();
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 0);
    }

    async fn authorisations_expire_after_seven_days(app) {
        let client = app.client();
        let charge = client.authorised(400).await;
        client.move_clock("6d").await;
        assert_eq!(client.charge(&charge).await["authorisation_expired"], false);
        client.move_clock("1d").await;
        assert_eq!(client.charge(&charge).await["authorisation_expired"], true);
        client.put_charge(&charge, "capture").await.refused(400, "authorisation_expired");
        client.put_charge(&charge, "void").await.refused(400, "authorisation_expired");
    }

    async fn pending_money_becomes_available(app) {
        let client = app.client();
        let (available, _) = client.balance().await;
        client.captured(1_000).await;
        assert_eq!(client.balance().await, (available, 952));
        client.move_clock("5d").await;
        assert_eq!(client.balance().await, (available + 952, 0));
    }

    #[dated]
    async fn old_events_go_at_midnight(app) {
        let client = app.client();
        client.captured(400).await;
        // Ninety days later it is still there, until the day is over.
        client.move_clock_to("2026-05-31T23:59:59Z").await.ok(200);
        assert_eq!(events(&client).await.len(), 1);
        let account = token_of(&json!({ "token": account(app).await.id.to_string() }));
        assert_eq!(ran(&client.move_clock("1m").await), [at("2026-06-01T00:00:00Z", "retention", &account)]);
        assert_eq!(events(&client).await, []);
    }

    #[dated]
    async fn due_work_runs_in_the_order_of_its_instants(app) {
        let client = app.client();
        let first = client.card_token("4200000000000000").await;
        let charge = token_of(&client.captured(1_000).await);
        let early = token_of(&client.refund(&charge, 100).await.ok(201));
        client.move_clock_to("2026-03-02T10:00:05Z").await.ok(200);
        let late = token_of(&client.refund(&charge, 200).await.ok(201));
        let twin = token_of(&client.refund(&charge, 300).await.ok(201));
        let second = client.card_token("4200000000000000").await;
        let moved = client.move_clock("1year").await;
        let expected = [
            at("2026-03-02T10:00:05Z", "unsubmitted_refund", &late),
            at("2026-03-02T10:00:05Z", "unsubmitted_refund", &twin),
            at("2026-03-02T10:00:10Z", "refund.succeeded", &early),
            at("2026-03-02T10:00:15Z", "refund.succeeded", &late),
            at("2026-03-02T10:00:15Z", "refund.succeeded", &twin),
            at("2026-04-02T10:00:00Z", "expired_card", &first),
            at("2026-04-02T10:00:05Z", "expired_card", &second),
        ];
        let ran = ran(&moved);
        assert_eq!(&ran[..7], expected);
        // Nothing but retention is left.
        assert!(ran[7..].iter().all(|(_, what, _)| what == "retention"), "{ran:?}");
        assert_eq!(moved["now"], "2027-03-02T10:00:05Z");
    }

    #[dated]
    async fn overdue_work_runs_now_and_not_in_the_past(app) {
        let client = app.client();
        let card = client.card_token("4200000000000000").await;
        app.clock.advance(TimeSpan::days(40));
        assert_eq!(ran(&client.move_clock("1m").await), [at("2026-04-11T10:00:00Z", "expired_card", &card)]);
    }

    #[dated]
    async fn other_accounts_stand_still(app) {
        let (client, other) = (app.client(), app.stranger().await);
        let charge = token_of(&other.captured(400).await);
        let refund = token_of(&other.refund(&charge, 400).await.ok(201));
        let card = other.card_token("4200000000000000").await;
        let shown = async || {
            let lists = ["/1/charges", "/1/refunds", "/1/events", "/1/balance", "/1/sandbox/account"];
            join_all(lists.map(|path| other.get(path))).await.into_iter().map(|answer| answer.text).collect::<Vec<_>>()
        };
        let before = shown().await;
        assert_eq!(ran(&client.move_clock("2month").await), []);
        assert_eq!(shown().await, before);
        assert_eq!(other.clock().await, json!({ "now": START, "offset_seconds": 0 }));
        other.get(&format!("/1/cards/{card}")).await.ok(200);
        assert_eq!(other.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], Value::Null);
    }

    #[dated]
    async fn workers_go_on_by_a_clock_that_was_moved(app) {
        let client = app.client();
        client.move_clock("1d").await;
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 400).await.ok(201);
        app.do_due_work().await;
        app.clock.advance(TimeSpan::seconds(10));
        app.do_due_work().await;
        let last = ("refund.succeeded".to_owned(), "2026-03-03T10:00:10Z".to_owned());
        assert_eq!(events(&client).await.last(), Some(&last));
    }

    #[dated]
    async fn a_repeated_move_answers_once_more_and_moves_once(app) {
        let client = app.client();
        let send = async || {
            let request = client.request(http::Method::PUT, PATH).header("Idempotency-Key", "a-week");
            client.send(request.body("advance=1w".into()).unwrap()).await
        };
        let first = send().await;
        assert_eq!(first.ok(200)["now"], "2026-03-09T10:00:00Z");
        let again = app.unchanged(send()).await;
        assert_eq!((again.text, &again.headers["idempotent-replayed"]), (first.text, &"true".parse().unwrap()));
        assert_eq!(client.clock().await["now"], "2026-03-09T10:00:00Z");
    }

    async fn the_first_thousand_are_told_and_all_are_counted(app) {
        let client = app.client();
        client.card_token("4200000000000000").await;
        let one = card::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap();
        copies(app, &one, 1_004).await;
        let moved = client.move_clock("2month").await;
        assert_eq!((&moved["ran_count"], moved["ran"].as_array().unwrap().len()), (&json!(1_005), 1_000));
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 0);
    }

    async fn a_refund_that_a_worker_could_not_submit_is_asked_about_at_once_and_not_waited_for(app) {
        let client = app.client();
        for fault in ["gateway_error_rate", "drop_rate"] {
            let charge = token_of(&client.captured(400).await);
            client.put("/1/sandbox/acquirer", &json!({ fault: 1 })).await.ok(200);
            let refund = token_of(&client.refund(&charge, 400).await.ok(201));
            // A worker has tried, and rests.
            app.do_due_work().await;
            let began = std::time::Instant::now();
            assert_eq!(client.move_clock("7d").await["complete"], true);
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
            let shown = client.get(&format!("/1/refunds/{refund}")).await.ok(200);
            assert_eq!((&shown["success"], &shown["status_message"]), (&Value::Null, &json!("Pending")));
            client.put("/1/sandbox/acquirer", &json!({ fault: 0 })).await.ok(200);
            let moved = client.move_clock("1d").await;
            let whats: Vec<_> = ran(&moved).into_iter().map(|(_, what, _)| what).collect();
            assert_eq!(whats, ["unsubmitted_refund", "refund.succeeded"]);
        }
    }

    #[dated]
    async fn webhooks_are_written_and_never_sent_by_a_move(app) {
        let client = app.client();
        // No server listens there, and no delivery was tried.
        client.endpoint("http://127.0.0.1:9/").await;
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 400).await.ok(201);
        client.move_clock("30d").await;
        let webhooks = client.get("/1/webhooks").await.ok(200);
        let webhooks = webhooks.as_array().unwrap();
        assert_eq!(webhooks.len(), 3);
        assert_eq!(webhooks[0]["created_at"], "2026-03-02T10:00:10Z");
        for webhook in webhooks {
            assert_eq!(webhook["status"], "pending");
        }
        assert_eq!(app.number("SELECT COUNT(*) FROM webhooks WHERE attempt = 0").await, 3);
    }
}

/// More rows like this one.
async fn copies(app: &App, one: &card::Model, n: usize) {
    let ids = &app.ctx().ids;
    let rows: Vec<_> = (0..n).map(|_| card::Model { id: ids.token(), ..one.clone() }).collect();
    let unit = app.ctx().store.write(rows, async |tx, rows| {
        for row in rows {
            tx.append(row);
        }
        Ok(())
    });
    unit.await.unwrap();
}

async fn two_hundred_accounts(database: Database) {
    let Some(app) = App::start(database).await else { return };
    let keys = join_all((0..200).map(|_| another_account(app.ctx()))).await;
    let jobs = keys.iter().enumerate().map(|(n, keys)| {
        let client = app.with_key(keys.secret.expose()).patient();
        tokio::spawn(async move {
            let charge = token_of(&client.captured(400).await);
            let refund = token_of(&client.refund(&charge, 300).await.ok(201));
            let card = client.card_token("4200000000000000").await;
            let days = 1 + n % 40;
            let mut moved = client.move_clock(&format!("{days}d")).await;
            // A busy machine may need several calls: each ends after a time.
            let to = moved["to"].as_str().unwrap().to_owned();
            while moved["complete"] != true {
                moved = client.move_clock_to(&to).await.ok(200);
            }
            assert_eq!(moved["offset_seconds"], days * 86_400);
            assert_eq!(client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], true);
            let expired = client.get(&format!("/1/cards/{card}")).await.status == 404;
            assert_eq!(expired, days >= 31, "{moved}");
            assert_eq!(token(&client.charge(&charge).await), charge);
        })
    });
    for job in join_all(jobs).await {
        job.unwrap();
    }
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_accounts_move_their_clocks_at_once_on_sqlite() {
    Box::pin(starting_at(MONDAY, two_hundred_accounts(Database::Sqlite))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_accounts_move_their_clocks_at_once_on_postgres() {
    Box::pin(starting_at(MONDAY, two_hundred_accounts(Database::Postgres))).await;
}
