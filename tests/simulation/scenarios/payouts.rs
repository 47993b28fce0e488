//! Transfers and settlements.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::json;

use super::{GOOD_CARD, Stage, entitlement};
use crate::payer::token;

/// How soon due work is done: as long as a server's clock was ahead, or the server paused.
const DONE_MAX: Duration = Duration::from_mins(10);

/// A settlement pays each line once.
pub async fn a_settlement_pays_each_line_once(stage: &mut Stage) {
    let schedule = json!({ "transfers_schedule": "daily", "settlement_delay_days": 0 });
    stage.put("/1/sandbox/account", schedule).await.record();
    for amount in [1_000, 2_000] {
        let charge = stage.charge(amount, GOOD_CARD, true).await;
        stage.advance(TimeDelta::days(1)).await;
        let client = stage.client.clone();
        let paid = async || {
            let transfers = client.all("transfers").await;
            transfers.iter().filter_map(|transfer| transfer["amount"].as_i64()).collect::<Vec<_>>()
        };
        let is_paid = async || paid().await.contains(&entitlement(&charge));
        stage.wait_for("a settlement pays the day's charge", DONE_MAX, is_paid).await;
        stage.has_earned(0).await;
    }
    assert_eq!(stage.client.all("transfers").await.len(), 2);
}

/// A transfer that the bank sends back gives amount and fee back.
pub async fn a_returned_transfer_gives_everything_back(stage: &mut Stage) {
    const FEE: i64 = 30;
    stage.may_spend_its_deposit().await;
    let bank_account = json!({ "name": "Pay Ee", "bsb": "806015", "number": "123999" });
    let recipient = json!({ "name": "Pay Ee", "email": "payee@example.com", "bank_account": bank_account });
    let recipient = token(&stage.post("/1/recipients", recipient).await.record());
    let transfer =
        json!({ "description": "wages", "amount": 1_000, "currency": "AUD", "recipient": recipient });
    let transfer = stage.post("/1/transfers", transfer).await.record();
    stage.has_earned(-1_000 - FEE).await;
    stage.advance(TimeDelta::hours(25)).await;
    let (client, path) = (stage.client.clone(), format!("/1/transfers/{}", token(&transfer)));
    let has_failed = async || client.get(&path).await["status"] == "failed";
    stage.wait_for("a transfer comes back", DONE_MAX, has_failed).await;
    stage.has_earned(0).await;
    assert_eq!(stage.events("transfer.failed").await, [token(&transfer)]);
}
