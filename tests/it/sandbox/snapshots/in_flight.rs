//! What is under way when a snapshot is put back: whoever acts for the account as it was, and the acquirer, who does not go
//! back.

use std::collections::BTreeSet;

use base::clock::Clock;
use card_payments::error::ErrorCode;
use card_payments::limits::{DUE_BATCH, WEBHOOK_BATCH};
use card_payments::services::due_work::work_time::ClockUpdate;
use entity::TimeSpan;
use serde_json::{Value, json};

use super::{restore, restoring, snapshot};
use crate::harness::{Behaviour, Receiver, eventually, rules, token_of};
use crate::sandbox::accounts::made;
use crate::sandbox::clock::calls::submits_slowly;

rules! {
    async fn a_move_that_was_thought_dead_does_not_move_a_restored_clock(app) {
        let (account, client) = made(app).await;
        let snapshot = snapshot(&client).await;
        app.execute("UPDATE accounts SET clock_moves = 7, moving_until = 1").await;
        restore(&client, &snapshot).await;
        let stop = ClockUpdate {
            account: account.parse().unwrap(), number: 7, offset: TimeSpan::days(40), moving_until: Some(app.clock.now() + TimeSpan::seconds(5)),
        };
        let late = app.ctx().store.write(stop, async |tx, stop| stop.set(tx).await).await;
        assert_eq!(late.unwrap_err().code(), ErrorCode::ClockMoving);
        assert_eq!(client.get("/1/sandbox/clock").await.ok(200)["offset_seconds"], 0);
        client.move_clock("1d").await;
    }

    async fn the_result_of_a_delivery_from_before_a_restore_is_not_recorded(app) {
        let ((_, client), receiver) = (made(app).await, Receiver::start().await);
        client.endpoint(&receiver.url()).await;
        client.captured(400).await;
        let snapshot = snapshot(&client).await;
        receiver.behave(Behaviour::AnswerLate);
        let late = app.do_due_work();
        let again = async {
            receiver.receives(1).await;
            restore(&client, &snapshot).await;
            app.clock.advance(TimeSpan::seconds(1));
            receiver.behave(Behaviour::Status(500));
            app.do_due_work().await;
            receiver.release();
        };
        futures::join!(late, again);
        // The first one was accepted, the one that counts was not.
        let webhook = client.newest_webhook().await;
        assert_eq!((&webhook["status"], &webhook["retries"]), (&json!("retrying"), &json!(1)));
        assert_eq!(receiver.received().len(), 2);
    }

    async fn work_of_an_account_that_is_being_put_back_keeps_nobody_else_waiting(app) {
        let ((account, client), (_, other), receiver) = (made(app).await, made(app).await, Receiver::start().await);
        let account = account.parse().unwrap();
        for client in [&client, &other] {
            client.endpoint(&receiver.url()).await;
        }
        let paid = token_of(&client.captured(400).await);
        // More of it is due than is looked at once, and all of it is older than the other's.
        for _ in 0..=Ord::max(DUE_BATCH, WEBHOOK_BATCH as u64) {
            client.refund(&paid, 1).await.ok(201);
        }
        let others = token_of(&other.captured(400).await);
        let refund = token_of(&other.refund(&others, 100).await.ok(201));
        app.ctx().store.raise_fence(account, vec!["refunds", "webhooks"]);
        app.clock.advance(TimeSpan::seconds(10));
        app.do_due_work().await;
        assert_eq!(other.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], true);
        assert_eq!(other.newest_webhook().await["status"], "completed");
        app.ctx().store.lift_fence(account);
        app.do_due_work().await;
        assert_eq!(client.get(&format!("/1/charges/{paid}")).await.ok(200)["refund_pending"], false);
    }
}

rules! {
    async fn the_acquirer_is_asked_for_nothing_else_under_a_key_that_he_knows(app, acquirer) {
        let (_, client) = made(app).await;
        let older = snapshot(&client).await;
        let authorisation = client.authorisation(400).await;
        let newer = snapshot(&client).await;
        let capture = async |amount: i64| {
            client.post(&format!("/1/authorisations/{authorisation}/charges"), &json!({ "amount": amount })).await.ok(200)
        };
        capture(100).await;
        restore(&client, &newer).await;
        capture(400).await;
        // By way of a time in which it was not there.
        restore(&client, &older).await;
        restore(&client, &newer).await;
        client.put(&format!("/1/authorisations/{authorisation}/void"), &json!({})).await.ok(200);
        restore(&client, &newer).await;
        capture(250).await;
        let keys: BTreeSet<_> = acquirer.calls().into_iter().collect();
        assert_eq!(keys.len(), 5, "{keys:?}");
        assert_eq!(acquirer.calls().len(), 5);
    }

    async fn a_card_comes_back_without_its_cvc(app, acquirer) {
        let (_, client) = made(app).await;
        let (one, two) = (client.card_token("4200000000000000").await, client.card_token("4200000000000000").await);
        let snapshot = snapshot(&client).await;
        client.charge_by(&one).await.ok(201);
        restore(&client, &snapshot).await;
        client.charge_by(&two).await.ok(201);
        let cvcs: Vec<_> = acquirer.proofs().into_iter().map(|proof| proof.cvc).collect();
        assert_eq!(cvcs, [Some("123".to_owned()), None]);
    }

    async fn a_clock_that_is_moved_is_waited_for_and_a_refund_is_asked_for_again_under_its_key(app, acquirer) {
        let (account, client) = made(app).await;
        let paid = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&paid, 400).await.ok(201));
        let snapshot = snapshot(&client).await;
        let calls = acquirer.calls().len();
        // The move waits for it, and makes no call of its own.
        let worker = submits_slowly(app, acquirer, app.work_time_of(account.parse().unwrap()).await).await;
        let caller = client.clone();
        let moving = tokio::spawn(async move { caller.move_clock("1d").await });
        eventually(async || app.number("SELECT COUNT(*) FROM accounts WHERE moving_until IS NOT NULL").await == 1).await;
        client.put(&restoring(&snapshot), &json!({})).await.refused(409, "clock_moving");
        acquirer.release();
        worker.await.unwrap();
        assert_eq!(moving.await.unwrap()["complete"], true);
        let state = async || client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"].clone();
        assert_eq!(state().await, true);
        restore(&client, &snapshot).await;
        assert_eq!(state().await, Value::Null);
        client.move_clock("1d").await;
        assert_eq!(state().await, true);
        let keys: BTreeSet<_> = acquirer.calls().split_off(calls).into_iter().collect();
        assert_eq!(keys, BTreeSet::from([format!("{refund}:refund")]));
    }
}
