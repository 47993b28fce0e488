//! How fast intervals are billed, beside single charges on the same build. It prints; what it prints means something in a
//! release build on a quiet machine only:
//! `CARD_PAYMENTS_MEASURED_SUBSCRIPTIONS=1000 cargo test --release --test it billing_speed -- --nocapture --test-threads 1`

use std::time::Instant;

use futures::StreamExt;
use serde_json::json;

use crate::harness::{App, Database, charge, token_of};

const MONTHS: u64 = 12;
/// As many callers as the load tests of `docs/performance.md` have.
const CALLERS: usize = 16;

async fn measured(database: Database) {
    let Some(app) = App::start(database).await else { return };
    let subscriptions =
        std::env::var("CARD_PAYMENTS_MEASURED_SUBSCRIPTIONS").map_or(3, |number| number.parse().unwrap());
    let client = app.client();
    let customer = token_of(&client.customer("4200000000000000").await);
    // Nothing is charged before the clock is moved.
    let plan = client.plan(&json!({ "trial_interval": 1, "trial_interval_unit": "day" })).await;
    let requests = futures::stream::iter(0..subscriptions).map(|_| client.subscribed(&plan, &customer));
    requests.buffer_unordered(CALLERS).for_each(async |_| ()).await;

    let began = Instant::now();
    while client.move_clock("367d").await["complete"] != true {}
    let billed = client.listed().await;
    let by_clock = began.elapsed();
    assert_eq!(billed, MONTHS * subscriptions + subscriptions);

    let began = Instant::now();
    let body = charge(400);
    let requests = futures::stream::iter(0..billed).map(|_| client.post("/1/charges", &body));
    requests.buffer_unordered(CALLERS).for_each(async |answer| drop(answer.ok(201))).await;
    let by_request = began.elapsed();
    println!(
        "{database:?}: {billed} intervals by the clock in {by_clock:?}, as many POST /charges in {by_request:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_year_of_subscriptions_on_sqlite() {
    measured(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_year_of_subscriptions_on_postgres() {
    measured(Database::Postgres).await;
}
