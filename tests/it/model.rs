//! A random client against a model of the whole service in memory, written from the specification and the decisions and
//! sharing nothing with the server: after each operation status, code and record are what the model says; every
//! so often, and at the end of a life, all lists, counts, events and balances.
//!
//! A life is an account of its own with [`LIFE`] operations, each drawn from a seed. One that diverges is shrunk: whatever
//! can be left out without mending it is left out, and the rest is printed as lines for curl.
//!
//! `CARD_PAYMENTS_MODEL_OPERATIONS` says how many operations there are on SQLite (a tenth of them on PostgreSQL),
//! `CARD_PAYMENTS_MODEL_SEED` where the seeds begin; one life alone is repeated with as many operations as it has.

mod authorisations;
mod cards;
mod charges;
mod customers;
mod disputes;
mod payments;
mod payouts;
mod plans;
mod refunds;
mod settlement;
mod shrinking;
mod subscriptions;
mod three_d_secure;
mod time;
mod webhooks;
mod wire;
mod world;

use futures::future::join_all;

use crate::harness::random::Random;
use crate::harness::{App, Client, Database};
use shrinking::shrunk;
use wire::CurlLog;
use world::World;

/// Operations of one account.
const LIFE: usize = 250;
/// Accounts that live at the same time in one database.
const LANES: usize = 8;

/// The seeds of a life's operations.
fn operations(life: u64) -> Vec<u64> {
    let mut random = Random(life);
    (0..LIFE).map(|_| random.below(u64::MAX)).collect()
}

/// Live through these operations in a fresh account; what was asked and answered, and where it diverged.
async fn lived(client: &Client, operations: &[u64]) -> (CurlLog, Option<String>) {
    let lines = CurlLog::default();
    let life = live(client.clone(), lines.clone(), operations.to_vec());
    let Err(end) = tokio::spawn(life).await else { return (lines, None) };
    let panic = end.into_panic();
    let panic = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    (lines, Some(panic.unwrap_or("it panicked").to_owned()))
}

async fn live(client: Client, lines: CurlLog, operations: Vec<u64>) {
    let mut world = World::new(&client, lines).await;
    for (n, operation) in operations.iter().enumerate() {
        world.does(*operation).await;
        if n % 50 == 49 {
            world.agrees().await;
        }
    }
    world.agrees().await;
}

async fn lives(database: Database, otherwise: usize, share: usize) {
    let number = |variable: &str| std::env::var(variable).ok().map(|number| number.parse::<u64>().unwrap());
    let requested = number("CARD_PAYMENTS_MODEL_OPERATIONS").map(|number| usize::try_from(number).unwrap());
    let lives = requested.map_or(otherwise, |requested| requested / share).div_ceil(LIFE);
    let first = number("CARD_PAYMENTS_MODEL_SEED").unwrap_or(1);
    let seeds: Vec<_> = (first..).take(lives).collect();
    for seeds in seeds.chunks(LANES * 2) {
        let Some(app) = App::start(database).await else { return };
        // Whatever fails below, it is one of these.
        println!("CARD_PAYMENTS_MODEL_SEED={} and on", seeds[0]);
        let client = app.client();
        for seeds in seeds.chunks(LANES) {
            let lanes = seeds.iter().map(async |seed| {
                let operations = operations(*seed);
                let (log_lines, diverged) = lived(&client, &operations).await;
                let (log, least) = shrunk(&client, operations, diverged?, log_lines).await;
                Some(format!("CARD_PAYMENTS_MODEL_SEED={seed} diverges:\n{log}\n{least}\n"))
            });
            let diverged: String = join_all(lanes).await.into_iter().flatten().collect();
            assert!(diverged.is_empty(), "{diverged}");
        }
        app.check_books().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_client_does_the_server_answers_as_the_model_on_sqlite() {
    lives(Database::Sqlite, 3_000, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_client_does_the_server_answers_as_the_model_on_postgres() {
    lives(Database::Postgres, 1_000, 10).await;
}
