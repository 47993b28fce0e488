//! Decisions that race, and decisions whose call is lost (`docs/decisions.md`, 146).

use std::pin::pin;
use std::time::Duration;

use entity::TimeSpan;
use serde_json::json;
use tokio::join;
use tokio::time::timeout;

use super::{ENROLLED, approve, challenged, challenged_by_token, open, pending, press, session_of};
use crate::harness::flaky_acquirer::CallFault;
use crate::harness::{at_once, rounds, rules};

rules! {
    async fn of_many_posts_of_one_challenge_one_decides(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
            let events = app.events().await.len();
            let posts = (0..16).map(|n| {
                let (client, page) = (client.clone(), page.clone());
                async move { press(&client, &page, if n % 2 == 0 { "decision=approve" } else { "decision=fail" }).await }
            });
            let sessions: Vec<_> = at_once(posts).await.iter().map(session_of).collect();
            assert!(sessions.iter().all(|session| *session == sessions[0]));
            assert_eq!(app.events().await.len(), events + 1);
            let charge = client.charge(&charge).await;
            let verified = client.verify(&sessions[0]).await;
            assert_eq!(verified.status, if charge["success"] == true { 200 } else { 403 });
        }
    }

    async fn a_session_that_expires_while_it_is_approved_ends_once(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
            let events = app.events().await.len();
            let (client_of_post, page_of_post) = (client.clone(), page.clone());
            app.clock.advance(TimeSpan::seconds(30 * 60));
            app.clock.advance(TimeSpan::from_millis(-1));
            let post = tokio::spawn(async move { press(&client_of_post, &page_of_post, "decision=approve").await });
            app.clock.advance(TimeSpan::from_millis(1));
            app.do_due_work().await;
            let answer = post.await.unwrap();
            assert_eq!(app.events().await.len(), events + 1);
            let success = client.charge(&charge).await["success"] == true;
            assert_eq!(answer.status, if success { 303 } else { 404 });
        }
    }
}

rules! {
    async fn a_lost_answer_after_the_approval_stands(app, acquirer) {
        let client = app.client();
        let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        let session = approve(app, &page).await;
        app.unchanged(client.verify(&session)).await.refused(403, "transaction_forbidden");
        assert_eq!(client.charge(&charge).await["status_message"], "Pending");
        app.clock.advance(TimeSpan::seconds(30));
        acquirer.settle(true);
        app.do_due_work().await;
        let verified = client.verify(&session).await.ok(200);
        assert_eq!((&verified["success"], &verified["captured"]), (&json!(true), &json!(true)));
        assert_eq!((client.listed().await, app.events().await), (1, vec!["charge.captured"]));
    }

    async fn whoever_presses_twice_or_comes_back_returns_with_the_outcome_as_well(app, acquirer) {
        let client = app.client();
        for again in [Some("decision=approve"), Some("decision=fail"), None] {
            let (_, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
            let calls = acquirer.calls().len();
            acquirer.carry_first([CallFault::AnswerLate]);
            let second = async {
                acquirer.called(calls + 1).await;
                let mut second = pin!(async {
                    match again {
                        Some(decision) => press(&client, &page, decision).await,
                        None => open(app, &page).await,
                    }
                });
                timeout(Duration::from_millis(300), &mut second).await.unwrap_err();
                acquirer.release();
                client.verify(&session_of(&second.await)).await.ok(200)
            };
            let (_, verified) = join!(press(&client, &page, "decision=approve"), second);
            assert_eq!(verified["captured"], true, "{again:?}");
        }
    }

    async fn a_lost_call_after_the_approval_is_declined(app, acquirer) {
        let client = app.client();
        let token = client.card_token(ENROLLED).await;
        let parameters = challenged_by_token(&token);
        let (charge, page) = pending(&client, &parameters).await;
        acquirer.carry(CallFault::Nothing);
        let session = approve(app, &page).await;
        let declined = client.verify(&session).await.ok(200);
        let sentence = "An error occurred while processing the card";
        assert_eq!((&declined["success"], &declined["status_message"]), (&json!(false), &json!(sentence)));
        assert_eq!(client.charge(&charge).await["error_message"], sentence);
        assert_eq!(app.events().await, ["charge.failed"]);
        app.unchanged(client.charge_by(&token)).await.refused(400, "token_already_used");
    }
}
