//! Subscriptions.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;
use tokio::time::sleep;

use super::{Stage, time};
use crate::payer::token;

/// How soon an interval is billed: a call that takes long, its recovery, and as long as a server's clock was ahead.
const BILLED_MAX: Duration = Duration::from_mins(20);
/// How long a call of the acquirer takes.
const LATENCY_MS: u64 = 5_000;
/// How long before it is due the account's clock is moved to.
const BEFORE: TimeDelta = TimeDelta::seconds(2);

/// An interval is billed once, though its charge takes longer than the pause after which workers look for due work, and the server is
/// killed meanwhile.
pub async fn an_interval_is_billed_once(stage: &mut Stage) {
    let plan = json!({ "name": "Coffee", "amount": 1_000, "interval": 30, "interval_unit": "day" });
    let plan = token(&stage.post("/1/plans", plan).await.record());
    let customer = token(&stage.customer().await);
    let subscription = json!({ "plan_token": plan, "customer_token": customer });
    let subscription = stage.post("/1/subscriptions", subscription).await.record();
    let due = time(&subscription["next_billing_date"]);
    stage.set_acquirer(json!({ "latency_ms": LATENCY_MS })).await;
    let failed_before = stage.events("charge.failed").await.len();
    stage.move_clock(due - BEFORE).await;
    let killed = BEFORE.to_std().unwrap() + Duration::from_millis(stage.random.below(LATENCY_MS));
    sleep(killed).await;
    stage.wishes.kill();
    let (client, path) = (stage.client.clone(), format!("/1/subscriptions/{}", token(&subscription)));
    let is_billed = async || time(&client.get(&path).await["next_billing_date"]) > due;
    stage.wait_for("an interval is billed", BILLED_MAX, is_billed).await;
    // A second bill would be on its way now.
    sleep(Duration::from_millis(2 * LATENCY_MS)).await;
    let renewed = stage.events("subscription.renewed").await.len();
    // A call that a kill has cut off is known to have failed, where the acquirer was in the process.
    let refused = stage.events("subscription.renewal_failed").await.len();
    assert_eq!(renewed + refused, 1, "{renewed} renewals of an interval, {refused} that failed");
    let failed = stage.events("charge.failed").await.len() - failed_before;
    assert_eq!(failed, refused, "failed charges of {refused} renewals");
    let charges = stage.client.all("charges").await;
    assert_eq!(charges.len(), 1 + renewed, "the charges of {} intervals: {charges:?}", 1 + renewed);
    stage.has_earned(charges.iter().map(super::entitlement).sum()).await;
}
