//! Filters of the log of requests, and waits for what they name (`docs/decisions.md`, 372).

use std::time::{Duration, Instant};

use futures::future::{join, join_all};
use http::Method;
use serde_json::{Value, json};
use web::server::ServerPhase;

use crate::harness::sending::request;
use crate::harness::{Client, charge, rules, token};

const LOG: &str = "/1/sandbox/requests";

/// How many match, and the ids of the first page.
async fn search(client: &Client, query: &str) -> (u64, Vec<String>) {
    let answer = client.get(&format!("{LOG}?{query}")).await;
    let page = answer.ok(200);
    let id = |entry: &Value| entry["request_id"].as_str().unwrap().to_owned();
    let ids = page.as_array().unwrap().iter().map(id).collect();
    (answer.json()["pagination"]["count"].as_u64().unwrap(), ids)
}

async fn sent(client: &Client, id: &str, path: &str) {
    request(client, Method::GET, path, &[("x-request-id", id)]).await;
}

rules! {
    async fn each_filter_shows_what_fits_it_and_all_together_what_fits_all(app) {
        let client = app.client();
        let made = client.post("/1/charges", &charge(400)).await.ok(201);
        let token = token(&made);
        client.post("/1/charges", &json!({ "amount": "ten" })).await.refused(422, "invalid_resource");
        sent(&client, "read", &format!("/1/charges/{token}")).await;
        sent(&client, "balance", "/1/balance").await;
        client.post("/1/sandbox/disputes", &json!({ "charge_token": token })).await.ok(201);
        for (query, matches) in [
            ("", 5),
            ("method=POST", 3),
            ("route=/1/charges", 2),
            ("route=/1/charges/{charge_token}", 1),
            ("status=201", 2),
            ("status=422", 1),
            ("error=invalid_resource", 1),
            ("error=invalid", 0),
            ("since=read", 2),
            ("since=balance", 1),
            ("method=POST&status=201&since=balance", 1),
            ("method=DELETE", 0),
            ("method=&route=%20&status=&error=&token=&since=&count=&wait=", 5),
        ] {
            assert_eq!(search(&client, query).await.0, matches, "{query}");
        }
        assert_eq!(search(&client, &format!("token={token}")).await.0, 2, "in a path, and in parameters");
        assert_eq!(search(&client, &format!("token={token}&method=GET")).await, (1, vec!["read".into()]));
        let at = token[3..24].find(|letter: char| letter.is_ascii_lowercase()).unwrap() + 3;
        let other_case = format!("{}{}{}", &token[..at], token[at..=at].to_ascii_uppercase(), &token[at + 1..]);
        assert_eq!(search(&client, &format!("token={other_case}")).await.0, 0);
    }

    async fn every_fault_of_a_search_is_told_and_nothing_is_waited_for(app) {
        let client = app.client();
        let query = "per_page=0&page=x&wait=31&count=0&since=a%20b&token=ch_1&error=Not-One&status=99&route=charges&method=BREW";
        let answer = client.get(&format!("{LOG}?{query}")).await;
        answer.refused(422, "invalid_resource");
        let faults = answer.faults().into_iter().map(|(param, _)| param).collect::<Vec<_>>();
        let params = ["method", "route", "status", "error", "token", "since", "count", "wait", "page", "per_page"];
        assert_eq!(faults, params);
        let answer = client.get(&format!("{LOG}?since=never&wait=30")).await;
        answer.refused(422, "invalid_resource");
        assert_eq!(answer.faults(), [("since".to_owned(), "Since is not in the log".to_owned())]);
    }

    async fn a_wait_ends_with_the_request_that_completes_it(app) {
        let client = app.client();
        for (query, path) in [
            ("method=GET", "/1/balance"),
            ("route=/1/balance", "/1/balance"),
            ("status=404", "/1/charges/ch_1"),
            ("error=not_found", "/1/refunds/rf_1"),
            ("token=ch_AZqYv3rVcBKUQ1mHn7tKRw", "/1/charges/ch_AZqYv3rVcBKUQ1mHn7tKRw"),
        ] {
            sent(&client, "before", "/1/customers").await;
            let query = format!("{query}&since=before&count=2&wait=30");
            let began = Instant::now();
            let act = async {
                while app.gate().requests().taken().0 > 0 {
                    tokio::task::yield_now().await;
                }
                sent(&client, "one", path).await;
                client.post("/1/cards", &json!({})).await.refused(422, "invalid_resource");
                sent(&client, "two", path).await;
            };
            let ((count, ids), ()) = join(search(&client, &query), act).await;
            assert_eq!((count, ids), (2, vec!["two".to_owned(), "one".to_owned()]), "{query}");
            assert!(began.elapsed() < Duration::from_secs(20), "{query}");
        }
    }

    async fn requests_that_no_client_waits_for_are_not_written_at_once(app) {
        let client = app.client();
        let commits = || app.ctx().store.statements().commits;
        let act = async {
            while app.gate().requests().taken().0 > 0 {
                tokio::task::yield_now().await;
            }
            let before = commits();
            for _ in 0..20 {
                sent(&client, "other", "/1/balance").await;
            }
            let written = commits() - before;
            sent(&client, "one", "/1/customers").await;
            written
        };
        let (found, written) = join(search(&client, "route=/1/customers&wait=30"), act).await;
        assert_eq!(found, (1, vec!["one".to_owned()]));
        assert!(written < 10, "{written}");
    }

    async fn a_wait_ends_in_time_with_what_there_is(app) {
        let client = app.client();
        sent(&client, "one", "/1/balance").await;
        let began = Instant::now();
        assert_eq!(search(&client, "count=2&wait=1").await, (1, vec!["one".to_owned()]));
        assert!(began.elapsed() >= Duration::from_secs(1));
    }

    async fn requests_of_another_account_end_no_wait(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let (found, ()) = join(search(&client, "wait=1"), sent(&stranger, "theirs", "/1/balance")).await;
        assert_eq!(found, (0, vec![]));
        let theirs = stranger.post("/1/charges", &charge(400)).await.ok(201);
        let theirs = token(&theirs);
        sent(&stranger, "theirs", &format!("/1/charges/{theirs}")).await;
        assert_eq!(search(&client, &format!("token={theirs}")).await.0, 0);
        client.get(&format!("{LOG}?since=theirs")).await.refused(422, "invalid_resource");
    }

    async fn a_wait_holds_no_permit_and_ends_with_the_server(app) {
        let client = app.client();
        let began = Instant::now();
        let leave = async {
            while app.gate().requests().taken().0 > 0 {
                tokio::task::yield_now().await;
            }
            app.enters(ServerPhase::Draining);
        };
        let waits = join_all((0..100).map(|_| search(&client, "wait=30")));
        let (found, ()) = join(waits, leave).await;
        assert!(found.iter().all(|found| found.0 == 0));
        assert!(began.elapsed() < Duration::from_secs(20));
        app.enters(ServerPhase::Serving);
    }
}
