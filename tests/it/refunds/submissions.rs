//! How workers submit refunds to the acquirer (`docs/decisions.md`, 168 to 170).

use std::sync::Arc;
use std::time::Duration;

use acquirer::simulator::{Numbers, Simulator};
use card_payments::limits::DUE_IN_FLIGHT_MAX;
use card_payments::services::{due_work_registry, refunds};
use entity::TimeSpan;
use serde_json::json;

use super::{SETTLES_AFTER, ending, failed, get_refund, pending, refunded, stored, succeeded};
use crate::harness::flaky_acquirer::CallFault;
use crate::harness::{App, Database, eventually, on_both, rules, token_of};

/// One account's calls take longer than the rule; another one's refund is submitted all the same.
async fn an_account_whose_calls_are_slow_leaves_places_to_others(database: Database) {
    let simulator = Arc::new(Simulator::new(Numbers::TestCards));
    let Some(app) = App::start_with(database, simulator, Duration::from_mins(5)).await else { return };
    let (slow, other) = (app.client(), app.stranger().await);
    let charge = token_of(&slow.captured(4_000).await);
    slow.put("/1/sandbox/acquirer", &json!({ "latency_ms": 30_000 })).await.ok(200);
    for _ in 0..=DUE_IN_FLIGHT_MAX {
        slow.refund(&charge, 1).await.ok(201);
    }
    let paid = token_of(&other.captured(400).await);
    other.refund(&paid, 400).await.ok(201);
    let ctx = app.ctx().clone();
    let worker = tokio::spawn(async move {
        for kind in due_work_registry::KINDS {
            kind.run(&ctx).await.unwrap();
        }
    });
    let submitted = "SELECT COUNT(*) FROM refunds WHERE settles_at IS NOT NULL";
    eventually(async || app.number(submitted).await == 1).await;
    assert!(!worker.is_finished());
    worker.abort();
}
on_both!(an_account_whose_calls_are_slow_leaves_places_to_others);

rules! {
    async fn post_never_waits_for_the_acquirer(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        acquirer.carry(CallFault::Nothing);
        client.refund(&charge, 400).await.ok(201);
        assert_eq!(acquirer.calls().len(), 1, "the charge's");
    }

    async fn a_lost_answer_is_asked_for_again_under_the_same_key_with_growing_pauses(app, acquirer) {
        let client = app.client();
        for carries in [CallFault::Call, CallFault::Nothing, CallFault::Refusal] {
            acquirer.carry(CallFault::Both);
            let charge = token_of(&client.captured(400).await);
            let refund = token_of(&client.refund(&charge, 400).await.ok(201));
            let before = acquirer.calls().len();
            acquirer.carry(carries);
            let mut submissions = Vec::new();
            for _ in 0..40 {
                app.do_due_work().await;
                submissions.push(acquirer.calls().len() - before);
                app.clock.advance(TimeSpan::seconds(30));
            }
            assert_eq!(ending(&get_refund(&client, &refund).await), pending());
            // At once, after 30 s, and then after twice as long each time.
            assert_eq!((submissions[0], submissions[1], submissions[2], submissions[3], submissions[7], submissions[15], submissions[31], submissions[39]), (1, 2, 2, 3, 4, 5, 6, 6));
            assert_eq!(acquirer.calls()[before..], vec![format!("{refund}:refund"); 6]);
            acquirer.carry(CallFault::Both);
            app.clock.advance(TimeSpan::days(1));
            app.do_due_work().await;
            assert_eq!(ending(&get_refund(&client, &refund).await), succeeded());
            assert_eq!(refunded(&client, &charge).await, (400, false));
        }
    }

    async fn a_refund_is_asked_for_again_while_another_one_is_slow(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 100).await.ok(201);
        let before = acquirer.calls().len();
        acquirer.carry_first([CallFault::AnswerLate, CallFault::Nothing]);
        futures::future::join(app.do_due_work(), async {
            acquirer.called(before + 1).await;
            client.refund(&charge, 300).await.ok(201);
            acquirer.called(before + 2).await;
            app.clock.advance(TimeSpan::seconds(30));
            acquirer.called(before + 3).await;
            acquirer.release();
        }).await;
        let calls = acquirer.calls();
        assert_eq!(calls[before + 1], calls[before + 2]);
        assert_ne!(calls[before], calls[before + 1]);
    }

    async fn a_declined_submission_fails_the_refund_at_once(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let money = client.balance().await;
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        acquirer.carry(CallFault::Decline);
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&client, &refund).await), failed());
        assert_eq!((refunded(&client, &charge).await, client.balance().await), ((0, false), money));
        assert_eq!(app.events().await, ["charge.captured", "refund.created", "refund.failed"]);
    }

    async fn an_attempt_that_is_slower_than_its_successor_changes_nothing(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        let calls = acquirer.calls().len();
        acquirer.carry(CallFault::AnswerLate);
        let (ctx, time, row) = (app.ctx().clone(), app.work_time().await, stored(app, &refund).await);
        let slow = tokio::spawn(async move { refunds::submit(&ctx, &time, row).await });
        acquirer.called(calls + 1).await;
        // Its claim has run out, and the next attempt is answered and settles.
        app.clock.advance(TimeSpan::seconds(30));
        acquirer.carry(CallFault::Both);
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&client, &refund).await), succeeded());
        let before = app.rows().await;
        acquirer.release();
        slow.await.unwrap().unwrap();
        assert_eq!(app.rows().await, before);
    }

    async fn several_workers_submit_and_settle_once(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 400).await.ok(201);
        let calls = acquirer.calls().len();
        let together = || async { futures::future::join_all((0..8).map(|_| app.do_due_work())).await };
        together().await;
        app.clock.advance(SETTLES_AFTER);
        together().await;
        assert_eq!(acquirer.calls().len(), calls + 1);
        assert_eq!(app.events().await, ["charge.captured", "refund.created", "refund.succeeded"]);
    }

    async fn a_refund_outlives_the_process_that_made_it(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        acquirer.carry(CallFault::Call);
        app.do_due_work().await;
        app.restart().await;
        acquirer.carry(CallFault::Both);
        let client = app.client();
        let calls = acquirer.calls().len();
        app.do_due_work().await;
        // On a SQLite file the new process is alone; on PostgreSQL the attempt may be a living neighbour's.
        assert_eq!(acquirer.calls().len() - calls, usize::from(app.database == Database::Sqlite));
        assert_eq!(ending(&get_refund(&client, &refund).await), pending());
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        assert_eq!(ending(&get_refund(&client, &refund).await), succeeded());
        assert_eq!(app.events().await, ["charge.captured", "refund.created", "refund.succeeded"]);
    }
}
