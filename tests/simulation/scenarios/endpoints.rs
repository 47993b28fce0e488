//! Endpoints and their webhooks.

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use http::Method;
use serde_json::Value;
use tokio::time::sleep;

use super::{Stage, customer, time};
use crate::receivers::Mood;

/// How soon a webhook is sent again after its second failure.
const RETRIED_MAX: Duration = Duration::from_mins(40);
/// How soon a webhook comes where nothing is in its way.
const AT_ONCE: Duration = Duration::from_secs(10);
/// How long a pause of a server may last that began before the faults ended.
const PAUSE_MAX: Duration = Duration::from_secs(80);

/// Returns the only webhook.
async fn webhook(stage: &Stage) -> Value {
    let webhooks = stage.client.all("webhooks").await;
    assert_eq!(webhooks.len(), 1, "{webhooks:?}");
    webhooks[0].clone()
}

/// Moves the account's clock to the next attempt of the only webhook, if one is planned. Returns its state.
async fn move_to_next_attempt(stage: &mut Stage) -> Value {
    let webhook = webhook(stage).await;
    if webhook["status"] == "retrying" {
        stage.move_clock(time(&webhook["next_run"]) + TimeDelta::seconds(1)).await;
    }
    sleep(Duration::from_secs(1)).await;
    webhook
}

/// A webhook that is refused again and again has failed after nine attempts.
pub async fn a_refused_webhook_fails_in_the_end(stage: &mut Stage) {
    let path = stage.endpoint().await;
    stage.receivers.order(&path, [Mood::Refuse; 40]);
    stage.customer().await;
    let end = simulated_machine::now().max(stage.end) + RETRIED_MAX;
    let failed = loop {
        let webhook = move_to_next_attempt(stage).await;
        if webhook["status"] == "failed" {
            break webhook;
        }
        let deliveries = stage.receivers.deliveries(&path);
        assert!(deliveries.iter().all(|it| it.attempt <= 9), "{deliveries:?}");
        assert!(deliveries.len() < 60, "a webhook that is refused is sent for ever");
        assert!(simulated_machine::now() < end, "a webhook does not fail: {webhook}");
    };
    assert_eq!(failed["retries"], 8, "{failed}");
}

/// A webhook is sent again after a kill while it was on its way.
pub async fn a_killed_delivery_is_made_again(stage: &mut Stage) {
    let path = stage.endpoint().await;
    stage.receivers.order(&path, [Mood::Refuse, Mood::Hang]);
    stage.customer().await;
    let receivers = stage.receivers.clone();
    let began = simulated_machine::now();
    while receivers.deliveries(&path).len() < 2 && simulated_machine::now() < began + Duration::from_secs(90)
    {
        move_to_next_attempt(stage).await;
    }
    stage.wishes.kill();
    let end = simulated_machine::now().max(stage.end) + RETRIED_MAX;
    while receivers.accepted(&path).is_empty() {
        let webhook = move_to_next_attempt(stage).await;
        assert!(simulated_machine::now() < end, "a webhook is not sent again: {webhook}");
    }
}

/// An endpoint that fails and hangs gets all its webhooks in the end, also those whose turn comes when their lease is over.
pub async fn a_slow_endpoint_gets_everything(stage: &mut Stage) {
    const MANY: usize = 6;
    let path = stage.endpoint().await;
    let moods = [Mood::Refuse, Mood::Hang, Mood::Hang, Mood::Hang, Mood::Hang];
    stage.receivers.order(&path, moods);
    stage.customer().await;
    let receivers = stage.receivers.clone();
    let is_refused = async || !receivers.deliveries(&path).is_empty();
    stage.wait_for("a webhook comes", RETRIED_MAX, is_refused).await;
    sleep(Duration::from_secs(1)).await;
    let calls: Vec<_> = (0..MANY).map(|_| stage.call(Method::POST, "/1/customers", customer())).collect();
    join_all(calls.iter().map(async |call| drop(stage.client.finish(call).await.record()))).await;
    let end = simulated_machine::now().max(stage.end) + RETRIED_MAX;
    while receivers.accepted(&path).len() < MANY + 1 {
        sleep(Duration::from_secs(20)).await;
        stage.advance(TimeDelta::minutes(6)).await;
        assert!(
            simulated_machine::now() < end,
            "webhooks do not come: {:?}",
            stage.client.all("webhooks").await
        );
    }
}

/// Where nothing fails, a webhook comes as soon as its event has happened.
pub async fn a_quiet_server_sends_webhooks_at_once(stage: &mut Stage) {
    while !stage.wishes.have_ended() {
        sleep(AT_ONCE).await;
    }
    sleep(PAUSE_MAX).await;
    let path = stage.endpoint().await;
    for sent in 1..=5 {
        stage.customer().await;
        sleep(AT_ONCE).await;
        let come = stage.receivers.accepted(&path).len();
        assert_eq!(come, sent, "webhooks within {} s of their events", AT_ONCE.as_secs());
    }
}
