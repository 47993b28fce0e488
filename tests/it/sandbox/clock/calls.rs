//! What a moved clock does with calls of the acquirer, and with other movers (`docs/decisions.md`, 296 to 299 and 307).

use std::time::Duration;

use card_payments::services::due_work::work_time::WorkTime;
use entity::{TimeSpan, Timestamp, refund};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{PATH, START, account, at, ran};
use crate::harness::flaky_acquirer::CallFault;
use crate::harness::{App, Database, FlakyAcquirer, eventually, rules, token_of};

/// The one refund of the app.
async fn the_refund(app: &App) -> refund::Model {
    refund::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap()
}

/// Starts a worker that submits the one refund of the app, and whose answer waits until it is released.
pub async fn submits_slowly(app: &App, acquirer: &FlakyAcquirer, time: WorkTime) -> JoinHandle<()> {
    acquirer.carry_first([CallFault::AnswerLate]);
    let (ctx, row, calls) = (app.ctx().clone(), the_refund(app).await, acquirer.calls().len());
    let worker = tokio::spawn(async move {
        card_payments::services::refunds::submit(&ctx, &time, row).await.unwrap();
    });
    acquirer.called(calls + 1).await;
    worker
}

rules! {
    #[dated]
    async fn an_item_that_a_worker_holds_is_waited_for_and_the_clock_has_one_mover(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        let calls = acquirer.calls().len();
        let worker = submits_slowly(app, acquirer, app.work_time().await).await;
        let caller = client.clone();
        let moving = tokio::spawn(async move { caller.move_clock("1d").await });
        eventually(async || account(app).await.moving_until.is_some()).await;
        let second = app.unchanged(client.put(PATH, &json!({ "advance": "1d" }))).await;
        second.refused(409, "clock_moving");
        assert_eq!(second.headers["retry-after"], "1");
        // What the request says is looked at first.
        client.put(PATH, &json!({ "advance": "x" })).await.faulty(&[("advance", "Advance is not formatted properly")]);
        assert_eq!(client.clock().await["now"], START);
        acquirer.release();
        worker.await.unwrap();
        let moved = moving.await.unwrap();
        assert_eq!(ran(&moved), [at("2026-03-02T10:00:10Z", "refund.succeeded", &refund)]);
        assert_eq!(moved["complete"], true);
        assert_eq!(acquirer.calls().len(), calls + 1);
        assert_eq!(account(app).await.moving_until, None);
    }

    #[dated]
    async fn a_lost_answer_is_asked_for_again_at_once(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        acquirer.carry_first([CallFault::Call, CallFault::Call]);
        let calls = acquirer.calls().len();
        let moved = client.move_clock("1d").await;
        assert_eq!(acquirer.calls().len(), calls + 3);
        let expected =
            [at(START, "unsubmitted_refund", &refund), at("2026-03-02T10:00:10Z", "refund.succeeded", &refund)];
        assert_eq!(ran(&moved), expected);
    }

    #[dated]
    async fn a_refund_about_which_the_acquirer_never_answers_is_passed_and_submitted_later(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refunds = [client.refund(&charge, 100).await.ok(201), client.refund(&charge, 200).await.ok(201)].map(|it| token_of(&it));
        let card = client.card_token("4200000000000000").await;
        for carries in [CallFault::Nothing, CallFault::Refusal, CallFault::Call] {
            acquirer.carry(carries);
            let calls = acquirer.calls().len();
            let began = std::time::Instant::now();
            let moved = client.move_clock("1h").await;
            assert_eq!((&moved["complete"], &moved["ran_count"]), (&json!(true), &json!(0)), "{moved}");
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
            // The first one often enough for a hiccup, the others once.
            assert_eq!(acquirer.calls().len(), calls + 6);
            for refund in &refunds {
                assert_eq!(client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], Value::Null);
            }
            assert_eq!(client.charge(&charge).await["refund_pending"], true);
        }
        // The last calls were made and their answers lost: the money moves once, and other things went on.
        let moved = client.move_clock("2month").await;
        assert_eq!(ran(&moved), [at("2026-04-02T10:00:00Z", "expired_card", &card)]);
        acquirer.carry(CallFault::Both);
        app.clock.advance(TimeSpan::seconds(30 * 256));
        app.do_due_work().await;
        app.do_due_work().await;
        for refund in &refunds {
            assert_eq!(client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], true);
        }
        assert_eq!(app.number("SELECT -SUM(amount) FROM postings WHERE book = 'merchant' AND amount < 0").await, 300);
        assert_eq!(app.events().await.iter().filter(|event| **event == "refund.succeeded").count(), 2);
    }

    #[dated]
    async fn a_declined_refund_ends_at_the_instant_of_its_submission(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        acquirer.carry(CallFault::Decline);
        assert_eq!(ran(&client.move_clock("1d").await), [at(START, "refund.failed", &refund)]);
    }

    #[dated]
    async fn a_call_that_nobody_makes_any_more_is_settled_on_the_way(app, acquirer) {
        let client = app.client();
        let charge = client.authorised(400).await;
        acquirer.carry(CallFault::Call);
        client.put_charge(&charge, "capture").await.refused(502, "gateway_error");
        acquirer.carry(CallFault::Both);
        app.clock.advance(TimeSpan::seconds(30));
        let moved = client.move_clock("7d").await;
        assert_eq!(ran(&moved), [at("2026-03-02T10:00:30Z", "charge.captured", &charge)]);
        assert_eq!(client.charge(&charge).await["captured"], true);
    }

    #[dated]
    async fn a_move_that_runs_out_of_time_says_so_and_goes_on_when_asked_again(app, acquirer) {
        app.moves_clocks_for(Duration::ZERO);
        app.restart().await;
        let client = app.client();
        let cards = [client.card_token("4200000000000000").await, client.card_token("4200000000000000").await];
        let charge = token_of(&client.captured(400).await);
        let refund = token_of(&client.refund(&charge, 400).await.ok(201));
        let (settled, expired) = ("2026-03-02T10:00:10Z", "2026-04-02T10:00:00Z");
        let to = "2026-05-02T10:00:00Z";
        let mut things = Vec::new();
        loop {
            // Each gets on by one look at least.
            let moved = client.move_clock_to(to).await.ok(200);
            assert_eq!((&moved["to"], &client.clock().await["now"]), (&json!(to), &moved["now"]));
            let ran = ran(&moved);
            assert!(ran.len() <= 1);
            let complete = moved["complete"] == true;
            if let (false, Some((at, ..))) = (complete, ran.first()) {
                assert_eq!(moved["now"], *at);
            }
            things.extend(ran);
            if complete {
                assert_eq!(moved["now"], to);
                break;
            }
        }
        let expected = [
            at(START, "unsubmitted_refund", &refund),
            at(settled, "refund.succeeded", &refund),
            at(expired, "expired_card", &cards[0]),
            at(expired, "expired_card", &cards[1]),
        ];
        assert_eq!((things.as_slice(), acquirer.calls().len()), (expected.as_slice(), 2));
    }

    async fn a_repeated_move_that_ran_out_of_time_answers_the_same(app, acquirer) {
        app.moves_clocks_for(Duration::ZERO);
        app.restart().await;
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 400).await.ok(201);
        let send = async || {
            let request = client.request(http::Method::PUT, PATH).header("Idempotency-Key", "a-day");
            client.send(request.body("advance=1d".into()).unwrap()).await
        };
        let first = send().await;
        assert_eq!(first.ok(200)["complete"], false);
        assert_eq!(app.unchanged(send()).await.text, first.text);
        assert_eq!(acquirer.calls().len(), 2);
    }

    #[dated]
    async fn work_that_a_worker_holds_for_too_long_stops_the_clock_before_it(app, acquirer) {
        app.moves_clocks_for(Duration::from_millis(50));
        app.restart().await;
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 400).await.ok(201);
        acquirer.carry(CallFault::AnswerLate);
        let calls = acquirer.calls().len();
        let (ctx, time, row) = (app.ctx().clone(), app.work_time().await, the_refund(app).await);
        let worker = tokio::spawn(async move { card_payments::services::refunds::submit(&ctx, &time, row).await });
        acquirer.called(calls + 1).await;
        let moved = client.move_clock("1d").await;
        assert_eq!((&moved["now"], &moved["complete"], &moved["ran_count"]), (&json!(START), &json!(false), &json!(0)));
        worker.abort();
        acquirer.carry(CallFault::Both);
        // No process can be working on it any more.
        app.clock.advance(TimeSpan::seconds(30));
        app.moves_clocks_for(Duration::from_secs(50));
        app.restart().await;
        let moved = app.client().move_clock("1d").await;
        assert_eq!((&moved["complete"], &moved["ran_count"]), (&json!(true), &json!(2)));
    }

    #[dated]
    async fn a_clock_stops_at_a_renewal_whose_rate_nobody_tells_and_goes_on_later(app, acquirer) {
        app.moves_clocks_for(Duration::from_millis(50));
        app.restart().await;
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({ "amount": 980 })).await, client.customer("4200000000000000").await);
        client.subscribed(&plan, &token_of(&customer)).await;
        let calls = acquirer.calls().len();
        acquirer.fall_silent();
        let moved = client.move_clock("2month").await;
        assert_eq!((&moved["complete"], &moved["ran_count"], acquirer.calls().len()), (&json!(false), &json!(0), calls));
        acquirer.speak();
        app.moves_clocks_for(Duration::from_secs(50));
        app.restart().await;
        let moved = app.client().move_clock("2month").await;
        assert_eq!(moved["complete"], true);
        assert!(acquirer.calls().len() > calls, "{moved}");
    }

    #[dated]
    async fn a_clock_that_its_mover_has_lost_is_not_set_by_it(app, acquirer) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 400).await.ok(201);
        let card = client.card_token("4200000000000000").await;
        let worker = submits_slowly(app, acquirer, app.work_time().await).await;
        let caller = client.clone();
        let moving = tokio::spawn(async move { caller.put(PATH, &json!({ "advance": "2month" })).await });
        eventually(async || account(app).await.moving_until.is_some()).await;
        // As if it had been silent for longer than its lease, and another one had come.
        app.execute("UPDATE accounts SET clock_moves = clock_moves + 1, moving_until = NULL").await;
        acquirer.release();
        worker.await.unwrap();
        moving.await.unwrap().refused(409, "clock_moving");
        assert_eq!(client.clock().await["now"], START);
        client.get(&format!("/1/cards/{card}")).await.ok(200);
        let moved = client.move_clock("2month").await;
        assert_eq!(moved["complete"], true);
        client.get(&format!("/1/cards/{card}")).await.not_found();
    }

    #[dated]
    async fn who_died_while_moving_a_clock_is_waited_for_a_few_seconds_at_most(app, acquirer) {
        let client = app.client();
        acquirer.carry(CallFault::Both);
        let until = Timestamp::from_millis(1_772_445_600_000) + TimeSpan::seconds(5);
        let sql = format!("UPDATE accounts SET clock_moves = 1, moving_until = {}", until.millis());
        app.execute(sql.leak()).await;
        client.put(PATH, &json!({ "advance": "1d" })).await.refused(409, "clock_moving");
        if app.database == Database::Sqlite {
            // Alone on its file, the next process knows that no process moves the clock.
            app.restart().await;
        } else {
            app.clock.advance(TimeSpan::seconds(5));
        }
        assert_eq!(app.client().move_clock("1d").await["complete"], true);
    }
}
