//! What cannot be undone asks twice: a wall clock that was set far, or went on while no server ran, destroys nothing by age until
//! it has stood, or an operator confirms it (`docs/decisions.md`, 404). Accounts' own clocks are moved on purpose.

use base::clock::Clock;
use card_payments::services::{audit, clock_record};
use entity::{TimeSpan, Timestamp};
use serde_json::json;

use crate::harness::sending::post_with;
use crate::harness::{
    Answer, App, Client, Database, Installed, charge, fields, on_both, operated, rules, token_of,
};

const HOUR: TimeSpan = TimeSpan::seconds(3600);
const DAY: TimeSpan = TimeSpan::days(1);
const FAR: TimeSpan = TimeSpan::days(500);

fn back(span: TimeSpan) -> TimeSpan {
    TimeSpan::from_millis(-span.millis())
}

async fn paid(client: &Client, key: &str) -> Answer {
    post_with(client, "/1/charges", &[("Idempotency-Key", key)], &charge(400)).await
}

fn is_doubted(app: &App) -> bool {
    app.ctx().trusted.doubt().is_some()
}

/// Lets time pass, an hour at a time: at least once an hour the time is noted.
async fn pass(app: &App, hours: i64) {
    for _ in 0..hours {
        app.clock.advance(HOUR);
        app.do_due_work().await;
    }
}

/// How much is kept: audit entries, events, webhooks, answers, unused cards.
async fn kept(app: &App) -> [i64; 5] {
    let mut kept = [0; 5];
    let tables = ["audit_entries", "events", "webhooks", "idempotency_answers", "cards"];
    for (n, table) in kept.iter_mut().zip(tables) {
        *n = app.number(&format!("SELECT COUNT(*) FROM {table}")).await;
    }
    kept
}

/// Fills an account.
async fn lived(app: &App) -> (Client, String) {
    let client = app.client();
    client.endpoint("http://127.0.0.1:9/").await;
    for key in ["one", "two"] {
        paid(&client, key).await.ok(201);
    }
    let card = client.card_token("4200000000000000").await;
    audit::record_view(
        app.ctx(),
        audit::KEY_HOLDER,
        app.account().await,
        Some("203.0.113.7".parse().unwrap()),
    )
    .await
    .unwrap();
    audit::seal(app.ctx()).await.unwrap();
    (client, card)
}

async fn what_a_clock_behind_has_dated_does_not_go_once_it_is_right_again(app: &mut App) {
    app.erases_after(TimeSpan::days(30)).await;
    let client = app.client();
    let gone = token_of(&client.customer("4200000000000000").await);
    app.clock.set_by(back(FAR));
    let card = client.card_token("4200000000000000").await;
    let key = token_of(&client.restricted_key(&json!({})).await);
    client.post(&format!("/1/sandbox/keys/{key}/roll"), &json!({ "grace": "1d" })).await.ok(201);
    let leaked = token_of(&client.restricted_key(&json!({})).await);
    client.post(&format!("/1/sandbox/keys/{leaked}/roll"), &json!({ "grace": "0h" })).await.ok(201);
    let now = app.ctx().clock.now().millis();
    let ended = format!("SELECT COUNT(*) FROM api_keys WHERE kind = 'restricted' AND valid_until <= {now}");
    assert_eq!(app.number(&ended).await, 1, "at once");
    client.delete(&format!("/1/customers/{gone}")).await.ok(204);
    app.clock.set_by(FAR);
    app.do_due_work().await;
    client.charge_by(&card).await.ok(201);
    let due = "SELECT COUNT(*) FROM erasures WHERE due_at IS NOT NULL AND erased_at IS NULL";
    assert_eq!(app.number(due).await, 1);
    assert_eq!(app.number("SELECT COUNT(*) FROM api_keys WHERE kind = 'restricted'").await, 3);
}
on_both!(what_a_clock_behind_has_dated_does_not_go_once_it_is_right_again, crate::harness::App, |app| {
    super::what_a_clock_behind_has_dated_does_not_go_once_it_is_right_again(app)
});

/// In live, where cards are charged for real.
async fn a_clock_that_jumped_renews_no_more_than_a_day_too_early(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let client = app.client();
    let plan = client.plan(&json!({ "interval_unit": "week" })).await;
    let customer = token_of(&client.customer("4012888888881881").await);
    client.subscribed(&plan, &customer).await;
    let short = client.plan(&json!({ "interval_unit": "week", "intervals": 1 })).await;
    let leaving = client.subscribed(&short, &customer).await;
    let charged = async || {
        for _ in 0..3 {
            app.do_due_work().await;
        }
        client.listed().await
    };
    let state_of = async |subscription: &str| {
        client.get(&format!("/1/subscriptions/{subscription}")).await.ok(200)["state"].clone()
    };
    app.clock.set_by(FAR);
    assert!(is_doubted(&app));
    assert_eq!(charged().await, 2, "by a clock that is more than a year ahead");
    assert_eq!(state_of(&leaving).await, "active", "its interval is paid");
    app.clock.set_by(back(FAR));
    app.clock.advance(TimeSpan::seconds(7 * 86_400 - 3600));
    assert_eq!(charged().await, 2);
    app.clock.set_by(TimeSpan::seconds(7200));
    assert!(is_doubted(&app));
    assert_eq!(charged().await, 3, "by one that is an hour late or two hours ahead");
    assert_eq!(state_of(&leaving).await, "cancelled");
    app.check_books().await;
}
on_both!(a_clock_that_jumped_renews_no_more_than_a_day_too_early);

async fn what_begins_by_a_clock_that_jumped_is_billed_as_soon_as_it_would_have_been(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let client = app.client();
    let plan = client.plan(&json!({ "interval_unit": "week" })).await;
    let customer = token_of(&client.customer("4012888888881881").await);
    let paid = client.subscribed(&plan, &customer).await;
    app.clock.set_by(FAR);
    client.delete(&format!("/1/subscriptions/{paid}")).await.ok(200);
    client.put_subscription(&paid, "reactivate").await.ok(200);
    assert_eq!(client.listed().await, 1, "its interval is paid");
    client.subscribed(&plan, &customer).await;
    app.clock.set_by(back(FAR));
    app.clock.advance(TimeSpan::days(8));
    app.do_due_work().await;
    assert_eq!(client.listed().await, 4, "both, the newer one a day late at most");
    app.check_books().await;
}
on_both!(what_begins_by_a_clock_that_jumped_is_billed_as_soon_as_it_would_have_been);

rules! {
    async fn seconds_of_a_wrong_clock_destroy_nothing_and_double_nothing(app) {
        let (client, card) = lived(app).await;
        let (before, first) = (kept(app).await, paid(&client, "one").await);
        for jump in [FAR, TimeSpan::days(40_000), back(FAR), TimeSpan::seconds(7200)] {
            app.clock.set_by(jump);
            assert_eq!(paid(&client, "one").await.text, first.text);
            app.do_due_work().await;
            app.clock.advance(TimeSpan::seconds(4));
            app.do_due_work().await;
            assert!(is_doubted(app), "{jump:?}");
            assert_eq!(client.bytes("/readyz").await.0, 200);
            app.clock.set_by(back(jump));
            app.do_due_work().await;
            assert!(!is_doubted(app), "{jump:?}");
            assert_eq!(kept(app).await, before, "{jump:?}");
            assert_eq!(paid(&client, "one").await.text, first.text);
        }
        assert_eq!(client.listed().await, 2);
        client.charge_by(&card).await.ok(201);
    }

    async fn a_key_that_was_used_while_the_clock_was_wrong_lives_for_a_day(app) {
        let client = app.client();
        for (key, jump) in [("back", back(DAY)), ("far-back", back(FAR)), ("ahead", FAR)] {
            let listed = client.listed().await;
            app.clock.set_by(jump);
            let first = paid(&client, key).await;
            first.ok(201);
            app.clock.set_by(back(jump));
            pass(app, 23).await;
            assert_eq!(paid(&client, key).await.text, first.text, "{key}");
            assert_eq!(client.listed().await, listed + 1);
        }
        pass(app, 25).await;
        paid(&client, "back").await.ok(201);
        assert_eq!(client.listed().await, 4, "but not for ever");
    }

    async fn a_clock_that_stands_for_a_day_is_believed(app) {
        let (client, _) = lived(app).await;
        let (before, first) = (kept(app).await, paid(&client, "one").await);
        app.clock.set_by(FAR);
        assert_eq!(app.ctx().trusted.doubt().map(|doubt| doubt.jump()), Some(FAR));
        pass(app, 23).await;
        assert_eq!(kept(app).await, before);
        pass(app, 2).await;
        assert!(!is_doubted(app));
        let [entries, events, webhooks, answers, _] = kept(app).await;
        assert_eq!((entries, events, webhooks, answers), (0, 0, 0, 2));
        // It was dated by another clock: nobody knows whether that was a day ago.
        assert_eq!(paid(&client, "one").await.text, first.text);
        pass(app, 24).await;
        assert_eq!(kept(app).await[3], 0);
    }

    async fn rows_dated_by_a_clock_far_behind_are_kept_for_their_time_all_the_same(app) {
        let (client, _) = lived(app).await;
        app.clock.set_by(back(FAR));
        paid(&client, "behind").await.ok(201);
        app.clock.set_by(FAR);
        app.do_due_work().await;
        let [_, events, webhooks, ..] = kept(app).await;
        pass(app, 48).await;
        assert_eq!((events, webhooks), (3, 3));
        assert_eq!((kept(app).await[1], kept(app).await[2]), (3, 3));
        app.clock.advance(TimeSpan::days(92));
        app.do_due_work().await;
        assert_eq!((kept(app).await[1], kept(app).await[2]), (0, 0), "late by a day");
    }

    async fn an_operator_confirms_a_clock(app) {
        let (_, _) = lived(app).await;
        app.do_due_work().await;
        app.clock.set_by(FAR);
        app.do_due_work().await;
        let confirmed = clock_record::confirm(&app.ctx().store, app.clock.now()).await.unwrap();
        let expected = confirmed.expected.map(Timestamp::seconds);
        assert_eq!((confirmed.now, expected), (app.clock.now(), Some((app.clock.now() - FAR).seconds())));
        assert!(is_doubted(app), "until the server reads it");
        app.do_due_work().await;
        assert!(!is_doubted(app));
        assert_eq!(kept(app).await[1], 0);
        let again = clock_record::confirm(&app.ctx().store, app.clock.now()).await.unwrap();
        assert_eq!(again.expected, None);
    }

    async fn a_dispute_is_answered_until_its_time_is_over_by_a_clock_that_is_believed(app) {
        let client = app.client();
        let mut disputes = Vec::new();
        for _ in 0..4 {
            disputes.push(token_of(&client.disputed(400).await));
        }
        let answered = async |dispute: &str| {
            let evidence = json!({ "additional_evidence_text": "Sent by post." });
            client.put(&format!("/1/disputes/{dispute}/evidence"), &evidence).await
        };
        app.clock.set_by(FAR);
        app.do_due_work().await;
        assert!(is_doubted(app));
        answered(&disputes[0]).await.ok(200);
        client.post(&format!("/1/disputes/{}/evidence", disputes[0]), &json!({})).await.ok(200);
        client.post(&format!("/1/disputes/{}/accept", disputes[1]), &json!({})).await.ok(200);
        client.decide(&disputes[2], "resolved").await.ok(200);
        pass(app, 25).await;
        assert!(!is_doubted(app));
        let late = client.get(&format!("/1/disputes/{}", disputes[3])).await.ok(200);
        assert_eq!(late["status"], "expired");
        answered(&disputes[3]).await.refused(400, "dispute_already_resolved");
        app.check_books().await;
    }

    async fn testers_move_their_clocks_all_the_same(app) {
        let (client, _) = lived(app).await;
        app.clock.set_by(TimeSpan::seconds(7200));
        app.do_due_work().await;
        assert!(is_doubted(app));
        client.move_clock("100d").await;
        assert_eq!(kept(app).await[1], 0);
    }
}

rules! {
    async fn a_start_after_weeks_believes_its_clock_after_a_day(app, _acquirer) {
        let (client, _) = lived(app).await;
        let first = paid(&client, "one").await;
        drop(client);
        app.note_time().await;
        app.is_down_for(TimeSpan::days(30)).await;
        assert!(is_doubted(app));
        pass(app, 12).await;
        // What it has seen so far counts for the next one.
        app.is_down_for(DAY).await;
        assert_eq!(paid(&app.client(), "one").await.text, first.text);
        pass(app, 13).await;
        assert!(!is_doubted(app));
        pass(app, 24).await;
        paid(&app.client(), "one").await.ok(201);
        assert_eq!(app.client().listed().await, 3);
    }

    async fn a_start_on_a_clock_that_was_set_back_while_no_server_ran_shortens_no_key(app, _acquirer) {
        app.note_time().await;
        app.clock.set_by(back(DAY));
        app.is_down_for(TimeSpan::ZERO).await;
        let first = paid(&app.client(), "one").await;
        app.clock.set_by(DAY);
        app.is_down_for(TimeSpan::ZERO).await;
        app.do_due_work().await;
        assert!(!is_doubted(app));
        assert_eq!(paid(&app.client(), "one").await.text, first.text);
        assert_eq!(app.client().listed().await, 1);
    }

    async fn a_database_of_an_earlier_release_knows_the_time_of_its_newest_row(app, _acquirer) {
        let forget = "DELETE FROM installation WHERE name = 'clock'";
        let (client, _) = lived(app).await;
        client.move_clock("100d").await;
        drop(client);
        app.execute(forget).await;
        app.is_down_for(HOUR).await;
        assert!(!is_doubted(app));
        app.execute(forget).await;
        app.is_down_for(DAY).await;
        assert!(is_doubted(app));
    }
}

operated! {
    async fn check_names_a_doubted_clock_and_a_command_confirms_it(installed) {
        installed.serve().stopped();
        let finding = |installed: &Installed| {
            let found = installed.records(&["check"]);
            found.into_iter().find(|finding| finding["area"] == "clock").unwrap()
        };
        assert_eq!(finding(installed)["level"], "ok");
        let [confirmed] = &installed.records(&["clock", "confirm"])[..] else { panic!("one record") };
        assert!(confirmed["expected"].is_null(), "{confirmed}");
        let earlier = installed.number("SELECT MAX(created_at) FROM vault_keys").await - 5 * HOUR.millis();
        let earlier = json!({ "trusted": earlier, "wall": earlier, "stood": 0, "set_to": 0 });
        installed.execute("DELETE FROM installation WHERE name = 'clock'").await;
        installed.execute(&format!("INSERT INTO installation (name, value) VALUES ('clock', '{earlier}')")).await;
        let server = installed.serve();
        assert_eq!(server.ask("GET", "/readyz", None, "").status, 200);
        let metrics = server.ask("GET", "/metrics", None, "").body;
        let jump = metrics.lines().find_map(|line| line.strip_prefix("card_payments_clock_doubted_seconds "));
        assert!((18_000..19_000).contains(&jump.unwrap().parse::<i64>().unwrap()), "{metrics}");
        server.stopped();
        let doubted = finding(installed);
        assert_eq!(doubted["level"], "warning");
        assert!(doubted["said"].as_str().unwrap().contains("nothing is deleted by age"), "{doubted}");
        assert!(doubted["remedy"].as_str().unwrap().contains("card-payments clock confirm"), "{doubted}");
        let (code, stdout, stderr) = installed.run(&["clock", "confirm"]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        assert!(stdout.contains(": servers believe it within a minute"), "{stdout}");
        assert_eq!(finding(installed)["level"], "ok");
        let entries = installed.records(&["audit"]);
        let confirmed: Vec<_> = entries.iter().filter(|entry| entry["action"] == "clock.confirmed").collect();
        assert_eq!(confirmed.len(), 1);
        assert_eq!(fields(&confirmed[0]["detail"]), ["now", "expected"]);
    }
}
