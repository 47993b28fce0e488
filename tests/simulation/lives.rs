//! Lives of the model of all resources (`tests/it/model.rs`), whose client sends each request until it is answered. Time stands still for
//! them, as in the rules, but for the accounts' own clocks.

#[path = "../it/model/authorisations.rs"]
mod authorisations;
#[path = "../it/model/cards.rs"]
mod cards;
#[path = "../it/model/charges.rs"]
mod charges;
#[path = "../it/model/customers.rs"]
mod customers;
#[path = "../it/model/disputes.rs"]
mod disputes;
#[path = "../it/model/payments.rs"]
mod payments;
#[path = "../it/model/payouts.rs"]
mod payouts;
#[path = "../it/model/plans.rs"]
mod plans;
#[path = "../it/model/refunds.rs"]
mod refunds;
#[path = "../it/model/settlement.rs"]
mod settlement;
#[path = "../it/model/subscriptions.rs"]
mod subscriptions;
#[path = "../it/model/three_d_secure.rs"]
mod three_d_secure;
#[path = "../it/model/time.rs"]
mod time;
#[path = "../it/model/webhooks.rs"]
mod webhooks;
#[expect(dead_code, reason = "the rules print what they sent")]
#[path = "../it/model/wire.rs"]
mod wire;
#[path = "../it/model/world.rs"]
mod world;

use std::time::Duration;

use crate::client::Client;
use crate::harness;
use crate::harness::random::Random;
use tokio::time::sleep;
use wire::CurlLog;
use world::World;

/// The operations of a life, and after how many of them everything is compared.
const LIFE: usize = 250;
const OPERATIONS: usize = 50;

/// Lives until this time of the machine in an account of its own; panics where an answer is not the model's.
pub async fn live(client: Client, secret: String, seed: u64, end: Duration) {
    let mut random = Random(seed);
    let maker = harness::Client::new(client.forwarding(), Some(secret));
    let mut world = World::new(&maker, CurlLog::default()).await;
    world.has_workers = true;
    let mut done = 0;
    while simulated_machine::now() < end && done < LIFE {
        let operation = random.below(u64::MAX);
        // Its webhooks are never delivered, but those of a server that works are; and pages know no Idempotency-Key.
        if (87..=91).contains(&Random(operation).below(100)) {
            continue;
        }
        world.does(operation).await;
        done += 1;
        if done % OPERATIONS == 0 {
            world.agrees().await;
        }
        sleep(Duration::from_millis(random.below(400))).await;
    }
    world.agrees().await;
}
