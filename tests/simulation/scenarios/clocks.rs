//! Accounts' clocks, while the one on the wall stands.

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join;
use http::Method;
use serde_json::json;
use tokio::time::sleep;

use super::{GOOD_CARD, Stage, charge, entitlement, shown, time};
use crate::payer::token;

/// An authorisation can be captured until the instant at which it expires, and not at it.
pub async fn an_authorisation_expires_at_its_instant(stage: &mut Stage) {
    let [first, second] =
        [stage.charge(1_000, GOOD_CARD, false).await, stage.charge(2_000, GOOD_CARD, false).await];
    let expires = time(&second["created_at"]) + TimeDelta::days(7);
    stage.move_clock(expires - TimeDelta::seconds(1)).await;
    let captured = stage.put(&format!("/1/charges/{}/capture", token(&first)), json!({})).await.record();
    stage.move_clock(expires).await;
    for action in ["capture", "void"] {
        let answer = stage.put(&format!("/1/charges/{}/{action}", token(&second)), json!({})).await;
        assert_eq!(answer.error(400), "authorisation_expired");
    }
    stage.has_earned(entitlement(&captured)).await;
}

/// A clock that moves waits for a payment that is being made: nothing of it is lost, so it succeeds.
pub async fn a_moving_clock_waits_for_a_payment(stage: &mut Stage) {
    stage.set_acquirer(json!({ "latency_ms": 6_000 })).await;
    let pays = stage.call(Method::POST, "/1/charges", charge(1_000, GOOD_CARD, true));
    let to = stage.now().await + TimeDelta::hours(1);
    let moves = stage.call(Method::PUT, "/1/sandbox/clock", json!({ "to": shown(to) }));
    let client = &stage.client;
    let moving = async {
        sleep(Duration::from_secs(2)).await;
        client.finish(&moves).await
    };
    let (paid, _) = join(client.ask(&pays), moving).await;
    stage.has_earned(entitlement(&paid.record())).await;
}
