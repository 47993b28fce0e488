//! Tokens of cards.

use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::{GOOD_CARD, Stage, charge, entitlement};
use crate::payer::{card, token};

/// Returns the parameters of a charge of a token.
pub fn charge_token(amount: i64, card_token: &str) -> Value {
    let mut body = charge(amount, GOOD_CARD, true);
    body["card"] = Value::Null;
    body["card_token"] = card_token.into();
    body
}

/// Stores a card, and returns its token.
pub async fn stored(stage: &mut Stage) -> String {
    token(&stage.post("/1/cards", card(GOOD_CARD)).await.record())
}

/// Of payments at the same moment with one token, one wins.
pub async fn a_token_pays_once(stage: &mut Stage) {
    stage.set_acquirer(json!({ "latency_ms": 400 })).await;
    let stored = stored(stage).await;
    let calls: Vec<_> =
        (0..3).map(|n| stage.call(Method::POST, "/1/charges", charge_token(1_000 + n, &stored))).collect();
    let client = &stage.client;
    let answers = join_all(calls.iter().map(|call| client.finish(call))).await;
    let (paid, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    for answer in refused {
        assert_eq!(answer.error(400), "token_already_used");
    }
    assert_eq!(paid.len(), 1, "payments with one token: {answers:?}");
    assert_eq!(client.all("charges").await, [paid[0].record()]);
    stage.has_earned(entitlement(&paid[0].record())).await;
}
