//! Refunds.

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{GOOD_CARD, Stage, entitlement};
use crate::judge;
use crate::payer::token;

/// The card whose refunds its issuer refuses.
const REFUNDS_FAIL: &str = "4200700000000013";
/// Longer than the acquirer takes.
const SETTLES_AFTER: TimeDelta = TimeDelta::seconds(11);
/// How soon a refund is settled: ten seconds, pauses that double after answers that were lost, and as long as a server's clock was ahead.
const SETTLED_MAX: Duration = Duration::from_mins(70);

/// Waits until all refunds have succeeded.
async fn all_succeed(stage: &mut Stage) {
    // For a clock that stands.
    stage.advance(SETTLES_AFTER).await;
    let client = stage.client.clone();
    let have_succeeded = async || client.all("refunds").await.iter().all(|refund| refund["success"] == true);
    stage.wait_for("refunds succeed", SETTLED_MAX, have_succeeded).await;
}

async fn refund(stage: &mut Stage, charge: &str, amount: i64) -> Value {
    let path = format!("/1/charges/{charge}/refunds");
    stage.post(&path, json!({ "amount": amount })).await.record()
}

/// However many race, refunds never exceed their charge.
pub async fn refunds_never_exceed_their_charge(stage: &mut Stage) {
    stage.may_spend_its_deposit().await;
    let charge = stage.charge(1_000, GOOD_CARD, true).await;
    let path = format!("/1/charges/{}/refunds", token(&charge));
    let calls: Vec<_> = (0..3).map(|_| stage.call(Method::POST, &path, json!({ "amount": 600 }))).collect();
    let client = &stage.client;
    let answers = join_all(calls.iter().map(|call| client.finish(call))).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!(made.len(), 1, "refunds of 600 out of 1000: {answers:?}");
    for answer in refused {
        assert_eq!(answer.error(422), "invalid_resource");
    }
    for (amount, status) in [(401, 422), (400, 201), (1, 422)] {
        let answer = stage.post(&path, json!({ "amount": amount })).await;
        assert_eq!(answer.status, status, "a refund of {amount}: {}", answer.text);
    }
    stage.has_earned(entitlement(&charge) - 1_000).await;
    all_succeed(stage).await;
}

/// The amount of a refund that fails can be refunded again.
pub async fn a_failed_refund_gives_its_amount_back(stage: &mut Stage) {
    stage.may_spend_its_deposit().await;
    let charge = stage.charge(1_000, REFUNDS_FAIL, true).await;
    for _ in 0..2 {
        let made = token(&refund(stage, &token(&charge), 1_000).await);
        let path = format!("/1/refunds/{made}");
        let balance = judge::balance(&stage.client).await;
        // It may have failed before its request was answered.
        if stage.client.get(&path).await["success"].is_null() {
            stage.compare_balance(balance, entitlement(&charge) - 1_000);
        }
        stage.advance(SETTLES_AFTER).await;
        let client = stage.client.clone();
        let has_failed = async || client.get(&path).await["success"] == false;
        stage.wait_for("a refund fails", SETTLED_MAX, has_failed).await;
        let shown = stage.client.get(&format!("/1/charges/{}", token(&charge))).await;
        assert_eq!(
            (&shown["amount_refunded"], &shown["refund_pending"]),
            (&json!(0), &json!(false)),
            "{shown}"
        );
        stage.has_earned(entitlement(&charge)).await;
    }
}

/// A refund whose answers are lost is submitted until there is one, and made once: the acquirer's book is compared at the end.
pub async fn a_refund_without_an_answer_is_made_once(stage: &mut Stage) {
    let charges = [stage.charge(1_000, GOOD_CARD, true).await, stage.charge(2_000, GOOD_CARD, true).await];
    let seed = stage.random.below(1_000);
    stage.set_acquirer(json!({ "drop_rate": 0.6, "seed": seed })).await;
    for charge in &charges {
        refund(stage, &token(charge), 700).await;
    }
    // About three submissions.
    sleep(Duration::from_secs(100)).await;
    stage.set_acquirer(json!({ "drop_rate": 0 })).await;
    all_succeed(stage).await;
    stage.has_earned(charges.iter().map(entitlement).sum::<i64>() - 2 * 700).await;
}
