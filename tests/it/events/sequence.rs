//! Events in an order, and waits for the next ones (`docs/decisions.md`, 374).

use std::time::{Duration, Instant};

use entity::TimeSpan;
use futures::future::{join, join_all};
use serde_json::{Value, json};
use web::server::ServerPhase;

use crate::harness::receiver::{Behaviour, Receiver};
use crate::harness::{App, Client, charge, charge_with, rules, token};

/// How many events match, and the page.
async fn listed(client: &Client, query: &str) -> (u64, Vec<Value>) {
    let answer = client.get(&format!("/1/events?{query}")).await;
    let page = answer.ok(200).as_array().unwrap().clone();
    (answer.json()["pagination"]["count"].as_u64().unwrap(), page)
}

fn number(event: &Value) -> u64 {
    event["sequence"].as_u64().unwrap()
}

async fn numbers(client: &Client, query: &str) -> Vec<u64> {
    listed(client, query).await.1.iter().map(number).collect()
}

/// Waits until the requests so far hold no permit: they wait.
async fn until_they_wait(app: &App) {
    while app.gate().requests().taken().0 > 0 {
        tokio::task::yield_now().await;
    }
}

rules! {
    async fn each_event_has_the_next_number_wherever_it_is_shown(app) {
        let client = app.client();
        let receiver = Receiver::start().await;
        client.endpoint(&receiver.url()).await;
        let before = numbers(&client, "per_page=500").await.len() as u64;
        for _ in 0..3 {
            client.captured(400).await;
        }
        app.do_due_work().await;
        let (_, page) = listed(&client, "per_page=3").await;
        assert_eq!(page.iter().map(number).collect::<Vec<_>>(), [before + 3, before + 2, before + 1]);
        for event in &page {
            let shown = client.get(&format!("/1/events/{}", token(event))).await.ok(200);
            assert_eq!(&shown, event);
        }
        let sent: Vec<Value> =
            receiver.received().iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect();
        for event in &page {
            assert!(sent.contains(event), "{event}");
        }
    }

    async fn accounts_count_by_themselves(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        client.captured(400).await;
        let mine = numbers(&client, "").await;
        stranger.captured(400).await;
        assert_eq!(numbers(&client, "").await, mine);
        let theirs = numbers(&stranger, "after=0&per_page=500").await;
        assert_eq!(theirs, (1..=theirs.len() as u64).collect::<Vec<_>>());
        let event = listed(&stranger, "per_page=1").await.1.remove(0);
        let answer = client.get(&format!("/1/events?after={}", token(&event))).await;
        answer.refused(422, "invalid_resource");
        assert_eq!(answer.faults(), [("after".to_owned(), "After is not an event of the account".to_owned())]);
        assert_eq!(listed(&client, &format!("about={}", token(&event["data"]))).await, (0, vec![]));
    }

    async fn after_an_event_come_the_later_ones_the_oldest_first(app) {
        let client = app.client();
        for _ in 0..5 {
            client.captured(400).await;
        }
        let all = listed(&client, "after=0&per_page=500").await.1;
        let count = all.len() as u64;
        assert_eq!(all.iter().map(number).collect::<Vec<_>>(), (1..=count).collect::<Vec<_>>());
        let (left, page) = listed(&client, &format!("after={}&per_page=2", token(&all[1]))).await;
        assert_eq!((left, &page[..]), (count - 2, &all[2..4]));
        assert_eq!(listed(&client, "after=2&per_page=2&page=2").await.1, all[4..]);
        assert_eq!(listed(&client, &format!("after={count}")).await, (0, vec![]));
        for beyond in [count + 1, 9_223_372_036_854_775_807] {
            let answer = client.get(&format!("/1/events?after={beyond}&wait=30")).await;
            answer.refused(422, "invalid_resource");
            assert_eq!(answer.faults(), [("after".to_owned(), "After is not the number of an event yet".to_owned())]);
        }
    }

    async fn filters_show_what_fits_all_of_them(app) {
        let client = app.client();
        let made = client.captured(400).await;
        let path = format!("/1/charges/{}/refunds", token(&made));
        let refund = client.post(&path, &json!({ "amount": 100 })).await.ok(201);
        client.captured(500).await;
        let types = async |query: String| -> Vec<String> {
            let page = listed(&client, &query).await.1;
            page.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(types("type=charge.captured".into()).await, ["charge.captured"; 2]);
        assert_eq!(types(format!("about={}", token(&made))).await, ["charge.captured"]);
        assert_eq!(types(format!("about={}", token(&refund))).await, ["refund.created"]);
        assert_eq!(types(format!("about={}&type=charge.captured", token(&refund))).await, [""; 0]);
        let last = numbers(&client, "per_page=1").await[0];
        assert_eq!(types(format!("type=charge.captured&after={}", last - 1)).await, ["charge.captured"]);
        let blank = listed(&client, "type=&about=&after=&count=&wait=").await;
        assert_eq!(blank, listed(&client, "").await);
    }

    async fn every_fault_of_a_search_is_told_and_nothing_is_waited_for(app) {
        let client = app.client();
        let began = Instant::now();
        for after in ["-1", "%2B1", "evt_1", "ch_AZqYv3rVcBKUQ1mHn7tKRw", "1e3", "9223372036854775808"] {
            let query = format!("type=charge.paid&about=ch_1&after={after}&count=1001&wait=31&page=x&per_page=0");
            let answer = client.get(&format!("/1/events?{query}")).await;
            answer.refused(422, "invalid_resource");
            let faults = answer.faults().into_iter().map(|(param, _)| param).collect::<Vec<_>>();
            assert_eq!(faults, ["type", "about", "after", "count", "wait", "page", "per_page"], "{after}");
        }
        let unknown = "after=evt_AZqYv3rVcBKUQ1mHn7tKRw&wait=30";
        client.get(&format!("/1/events?{unknown}")).await.refused(422, "invalid_resource");
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    async fn a_client_that_goes_on_after_the_last_event_gets_each_one_once_and_in_order(app) {
        const WRITERS: usize = 8;
        let client = app.client();
        let before = numbers(&client, "after=0&per_page=500").await.len() as u64;
        let payment = charge(400);
        let paid = async {
            for _ in 0..5 {
                join_all((0..WRITERS).map(|_| client.post("/1/charges", &payment))).await;
            }
        };
        let readers = join_all((0..3).map(|_| read_all(&client, before, 5 * WRITERS)));
        let ((), mut read) = join(paid, readers).await;
        let seen = read.pop().unwrap();
        let expected: Vec<_> = (1..=seen.len() as u64).map(|n| before + n).collect();
        assert_eq!(seen.iter().map(number).collect::<Vec<_>>(), expected);
        assert!(read.iter().all(|other| *other == seen));
        assert_eq!(listed(&client, "").await.0, before + seen.len() as u64);
    }

    async fn numbers_go_on_after_old_events_are_deleted(app) {
        let client = app.client();
        client.captured(400).await;
        let last = numbers(&client, "per_page=1").await[0];
        app.clock.advance(TimeSpan::days(91));
        app.do_due_work().await;
        assert_eq!(listed(&client, "").await.0, 0);
        assert_eq!(listed(&client, &format!("after={last}")).await.0, 0);
        client.captured(400).await;
        assert_eq!(numbers(&client, &format!("after={last}")).await, [last + 1]);
    }

    async fn a_restored_snapshot_gives_no_number_again(app) {
        let client = app.client();
        client.captured(400).await;
        let before = listed(&client, "").await;
        let snapshot = client.post("/1/sandbox/snapshots", &json!({})).await.ok(201);
        client.captured(500).await;
        let gone = listed(&client, "per_page=1").await.1.remove(0);
        client.put(&format!("/1/sandbox/snapshots/{}/restore", token(&snapshot)), &json!({})).await.ok(200);
        assert_eq!(listed(&client, "").await, before);
        client.get(&format!("/1/events?after={}", token(&gone))).await.refused(422, "invalid_resource");
        client.captured(600).await;
        // Who has seen the event that is gone sees the next one, too.
        assert_eq!(numbers(&client, &format!("after={}", number(&gone))).await, [number(&gone) + 1]);
    }

    async fn a_wait_ends_with_the_event_that_completes_it(app) {
        let client = app.client();
        let last = numbers(&client, "per_page=1").await.first().copied().unwrap_or_default();
        let began = Instant::now();
        let act = async {
            until_they_wait(app).await;
            client.post("/1/customers", &crate::customers::customer()).await.ok(201);
            client.captured(400).await;
            client.captured(500).await;
        };
        let query = format!("after={last}&type=charge.captured&count=2&wait=30");
        let ((count, page), ()) = join(listed(&client, &query), act).await;
        let amounts: Vec<_> = page.iter().map(|event| event["data"]["amount"].clone()).collect();
        assert_eq!((count, amounts), (2, vec![json!(400), json!(500)]));
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    async fn a_wait_ends_in_time_with_what_there_is(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        client.captured(400).await;
        let began = Instant::now();
        let wait = listed(&client, "type=charge.captured&count=2&wait=1");
        let ((count, _), _) = join(wait, stranger.captured(400)).await;
        assert_eq!(count, 1);
        assert!(began.elapsed() >= Duration::from_secs(1));
    }

    async fn each_filter_lets_through_what_it_waits_for(app) {
        let owner = app.client();
        let key = owner.restricted_key(&json!({ "rights": { "events": "read", "charges": "read" } })).await;
        let restricted = app.with_key(key["secret_key"].as_str().unwrap());
        for (client, filter) in [(&owner, ""), (&owner, "type"), (&owner, "about"), (&owner, "type about"), (&restricted, "")] {
            let made = owner.post("/1/charges", &charge_with(400, json!({ "capture": false }))).await.ok(201);
            let last = numbers(client, "per_page=1").await[0];
            let began = Instant::now();
            let act = async {
                until_they_wait(app).await;
                let path = format!("/1/charges/{}/capture", token(&made));
                owner.put(&path, &json!({})).await.ok(200)
            };
            let mut query = format!("after={last}&wait=30");
            if filter.contains("type") {
                query += "&type=charge.captured";
            }
            if filter.contains("about") {
                query.push_str("&about=");
                query.push_str(token(&made));
            }
            let ((count, _), _) = join(listed(client, &query), act).await;
            assert_eq!(count, 1, "{filter}");
            assert!(began.elapsed() < Duration::from_secs(20), "{filter}");
        }
    }

    async fn a_key_that_ends_during_its_wait_is_shown_nothing_that_comes_afterwards(app) {
        let owner = app.client();
        let key = owner.restricted_key(&json!({ "rights": { "events": "read", "charges": "read" } })).await;
        let restricted = app.with_key(key["secret_key"].as_str().unwrap());
        let act = async {
            until_they_wait(app).await;
            owner.delete(&format!("/1/sandbox/keys/{}", token(&key))).await.ok(204);
            owner.captured(400).await;
        };
        let (answer, ()) = join(restricted.get("/1/events?wait=30"), act).await;
        answer.refused(401, "unauthorized");
    }

    async fn waits_for_other_things_cost_a_commit_nothing(app) {
        const COMMITS: u64 = 10;
        const WAITS: u64 = 100;
        let client = app.client();
        let reads = async || {
            let before = app.ctx().store.statements().reads;
            for _ in 0..COMMITS {
                client.captured(400).await;
            }
            app.ctx().store.statements().reads - before
        };
        let alone = reads().await;
        let query = "about=ch_AZqYv3rVcBKUQ1mHn7tKRw&wait=30";
        let act = async {
            until_they_wait(app).await;
            let beside = reads().await;
            app.enters(ServerPhase::Draining);
            beside
        };
        let (found, beside) = join(join_all((0..WAITS).map(|_| listed(&client, query))), act).await;
        assert!(found.iter().all(|(count, _)| *count == 0));
        // Beside another copy of the server they check now and then for what both have missed.
        assert!(beside < alone + WAITS * COMMITS, "{alone} and {beside}");
        app.enters(ServerPhase::Serving);
    }

    async fn a_webhook_says_which_attempt_it_is(app) {
        let client = app.client();
        let receiver = Receiver::start().await;
        receiver.behave(Behaviour::Status(503));
        client.endpoint(&receiver.url()).await;
        client.captured(400).await;
        app.do_due_work().await;
        receiver.behave(Behaviour::Status(200));
        app.clock.advance(TimeSpan::seconds(66));
        app.do_due_work().await;
        let attempts: Vec<_> = receiver.received().iter().map(|it| it.headers["webhook-attempt"].clone()).collect();
        assert_eq!(attempts, ["1", "2"]);
        let webhook = client.newest_webhook().await;
        client.put(&format!("/1/webhooks/{}/replay", token(&webhook)), &json!({})).await.ok(200);
        app.do_due_work().await;
        assert_eq!(receiver.received().last().unwrap().headers["webhook-attempt"], "1", "a replay begins again");
    }
}

/// Goes on after the last event seen until there are so many.
async fn read_all(client: &Client, before: u64, count: usize) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::new();
    while seen.len() < count {
        let after = seen.last().map_or_else(|| before.to_string(), |event| token(event).to_owned());
        seen.extend(listed(client, &format!("after={after}&wait=5&per_page=3")).await.1);
    }
    seen
}
