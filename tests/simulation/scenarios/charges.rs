//! Payments, captures and voids.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::{join, join_all};
use http::Method;
use serde_json::json;
use tokio::time::sleep;

use super::cards::{charge_token, stored};
use super::{GOOD_CARD, Stage, charge, entitlement};
use crate::client::Call;
use crate::payer::token;

/// How soon it is known what became of a payment: pauses of the worker that recovers it, which double.
const KNOWN_MAX: Duration = Duration::from_mins(10);

/// Of captures and voids that race, one succeeds; later ones are refused.
pub async fn a_charge_is_captured_once(stage: &mut Stage) {
    let mut earned = 0;
    for rival in ["capture", "void"] {
        let path = format!("/1/charges/{}", token(&stage.charge(1_000, GOOD_CARD, false).await));
        let [capture, other] =
            ["capture", rival].map(|action| stage.call(Method::PUT, &format!("{path}/{action}"), json!({})));
        let answers = join(stage.client.finish(&capture), stage.client.finish(&other)).await;
        let (won, lost) = if answers.0.status == 200 { answers } else { (answers.1, answers.0) };
        let won = won.record();
        let refusal = if won["captured"] == true { "already_captured" } else { "already_voided" };
        assert_eq!(lost.error(400), refusal);
        for action in ["capture", "void"] {
            assert_eq!(stage.put(&format!("{path}/{action}"), json!({})).await.error(400), refusal);
        }
        if won["captured"] == true {
            earned += entitlement(&won);
        }
    }
    stage.has_earned(earned).await;
}

/// A client that is told that the acquirer gave no answer has paid nothing, and may use the card's token again.
pub async fn a_lost_answer_charges_nothing(stage: &mut Stage) {
    let card_token = stored(stage).await;
    let call = stage.call(Method::POST, "/1/charges", charge_token(1_000, &card_token));
    let lost = Call { outcome: Some("approved_but_lost"), ..call };
    let answer = stage.client.ask(&lost).await;
    assert_eq!(answer.error(502), "gateway_error");
    let failed = answer.json()["charge_token"].as_str().unwrap().to_owned();
    let end = simulated_machine::now().max(stage.end) + KNOWN_MAX;
    // A request that was refused leaves its key free, and one that arrives late is the same.
    let again = stage.call(Method::POST, "/1/charges", charge_token(1_000, &card_token));
    let paid = loop {
        let answer = stage.client.finish(&again).await;
        if answer.status == 201 {
            break answer.record();
        }
        assert_eq!(answer.error(400), "token_already_used");
        assert!(simulated_machine::now() < end, "the token of a payment that charged nothing stays used");
        sleep(Duration::from_secs(2)).await;
    };
    let shown = stage.client.get(&format!("/1/charges/{failed}")).await;
    assert_eq!((&shown["success"], &shown["captured"]), (&json!(false), &json!(false)), "{shown}");
    assert_eq!(stage.client.all("charges").await, std::slice::from_ref(&paid));
    assert_eq!(stage.events("charge.captured").await, [token(&paid)]);
    assert!(stage.events("charge.failed").await.contains(&failed), "no event tells of {failed}");
    stage.has_earned(entitlement(&paid)).await;
}

/// Payments that take long have one outcome, though a worker takes them for lost shortly before their answers come.
pub async fn slow_payments_have_one_outcome(stage: &mut Stage) {
    const MANY: usize = 12;
    const APART: Duration = Duration::from_millis(250);
    const LAST: u64 = 3_000;
    let latency = LAST + stage.random.below(10_000);
    stage.set_acquirer(json!({ "latency_ms": latency })).await;
    let calls: Vec<_> = (1_000..)
        .take(MANY)
        .map(|amount| stage.call(Method::POST, "/1/charges", charge(amount, GOOD_CARD, true)))
        .collect();
    let ahead = Duration::from_millis(latency - stage.random.below(LAST));
    let Stage { client, wishes, random, .. } = stage;
    let paying = calls.iter().zip(0..).map(async |(call, n)| {
        sleep(APART * n).await;
        client.finish(call).await.record()
    });
    let wishing = async {
        sleep(ahead).await;
        wishes.clock_ahead(random);
    };
    let (paid, ()) = join(join_all(paying), wishing).await;
    let mut listed = client.all("charges").await;
    listed.sort_by_key(|charge| charge["amount"].as_i64());
    assert_eq!(listed, paid, "the charges that were acknowledged");
    let mut captured = stage.events("charge.captured").await;
    let failed: BTreeSet<_> = stage.events("charge.failed").await.into_iter().collect();
    assert!(
        captured.iter().all(|token| !failed.contains(token)),
        "{captured:?} were captured, {failed:?} failed"
    );
    captured.sort();
    let mut expected: Vec<_> = paid.iter().map(token).collect();
    expected.sort();
    assert_eq!(captured, expected, "events of captures");
    stage.has_earned(paid.iter().map(entitlement).sum()).await;
}
