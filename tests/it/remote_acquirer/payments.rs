//! Payments, and a cable that does what cables do.

use std::time::Duration;

use entity::TimeSpan;
use http::header;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{RemoteSetup, remote_rules};
use crate::charges::lost_answers::{compared, loses, sites};
use crate::harness::fault_proxy::{FAULTS, ProxyFault};
use crate::harness::sending::post_with;
use crate::harness::wallets::network_token;
use crate::harness::{Answer, App, Database, card, charge, charge_with, token_of};
use crate::three_d_secure::{pending, press};

const CARD: &str = "4200000000000000";
const DECLINED: &str = "4100000000000001";
const DISPUTED: &str = "4200300000000012";
const REFUNDS_FAIL: &str = "4200700000000013";

/// What waits for the acquirer, or for a refund's time, is done by now.
async fn settled(app: &App) {
    for _ in 0..2 {
        app.clock.advance(TimeSpan::seconds(40));
        app.do_due_work().await;
    }
}

/// One of each call while the cable fails, and what the acquirer has done of them is then what the books say.
async fn fails(setup: &RemoteSetup, does: ProxyFault) {
    let RemoteSetup { app, acquirer, proxy } = setup;
    let client = &app.client();
    let token = client.card_token(CARD).await;
    let [captured, voided] = [client.authorised(400).await, client.authorised(400).await];
    let refunded = token_of(&client.captured(400).await);
    let refunds = format!("/1/charges/{refunded}/refunds");
    proxy.does(does);
    // The client gets 502; a worker recovers the call.
    let failed = proxy.while_it_lets_go(client.charge_by(&token)).await.refused(502, "gateway_error");
    for (charge, verb) in [(&captured, "capture"), (&voided, "void")] {
        proxy.while_it_lets_go(client.put_charge(charge, verb)).await.refused(502, "gateway_error");
    }
    let refund = token_of(&client.post(&refunds, &json!({ "amount": 100 })).await.ok(201));
    proxy.while_it_lets_go(app.do_due_work()).await;
    proxy.does(ProxyFault::CallFault);
    settled(app).await;
    let failed = client.charge(failed["charge_token"].as_str().unwrap()).await;
    assert_eq!((&failed["success"], &failed["captured"]), (&json!(false), &json!(false)), "{does:?}");
    assert_eq!(client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], true, "{does:?}");
    let arrived = does != ProxyFault::LosesRequests;
    assert_eq!(client.charge(&captured).await["captured"], arrived, "{does:?}");
    assert_eq!(client.charge(&voided).await["authorisation_voided"], arrived, "{does:?}");
    client.charge_by(&token).await.ok(201);
    assert_eq!(compared(app, acquirer).await, (0, 0), "{does:?}");
}

/// A request that the acquirer's silence refuses: at once, and with nothing changed.
async fn is_refused(app: &App, request: impl Future<Output = Answer>) {
    let answer = app.unchanged(request).await;
    answer.refused(503, "service_unavailable");
    assert_eq!(answer.headers[header::RETRY_AFTER], "1");
}

remote_rules! {
    async fn an_acquirer_elsewhere_is_asked_for_every_payment(setup) {
        let (app, client) = (&setup.app, &setup.app.client());
        let paid = client.post("/1/charges", &charge(400)).await.ok(201);
        assert_eq!((&paid["captured"], &paid["total_fees"]), (&json!(true), &json!(37)));
        let dear = client.post("/1/charges", &charge_with(400, json!({ "currency": "USD" }))).await.ok(201);
        assert_eq!(dear["total_fees"], 47, "6.00 AUD, of a foreign currency");
        for (number, code) in [(DECLINED, "card_declined"), ("4000000000000002", "insufficient_funds"), ("4200400000000010", "stolen_card")] {
            client.post("/1/charges", &charge_with(400, json!({ "card": card(number) }))).await.refused(400, code);
        }
        client.post("/1/cards", &card("4012888888881881")).await.faulty(&[("number", "Number is not valid")]);
        for (verb, flag) in [("capture", "captured"), ("void", "authorisation_voided")] {
            let charge = client.authorised(400).await;
            assert_eq!(client.put_charge(&charge, verb).await.ok(200)[flag], true);
        }
        let authorisation = client.authorisation(400).await;
        let part = client.post(&format!("/1/authorisations/{authorisation}/charges"), &json!({ "amount": 300 })).await;
        assert_eq!(part.ok(200)["amount"], 300);
        for (number, succeeds) in [(CARD, true), (REFUNDS_FAIL, false)] {
            let charge = client.post("/1/charges", &charge_with(400, json!({ "card": card(number) }))).await.ok(201);
            let refund = token_of(&client.refund(&token_of(&charge), 100).await.ok(201));
            app.do_due_work().await;
            settled(app).await;
            assert_eq!(client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], succeeds);
        }
        let disputed = token_of(&client.post("/1/charges", &charge_with(400, json!({ "card": card(DISPUTED) }))).await.ok(201));
        app.do_due_work().await;
        let dispute = client.get("/1/disputes").await.ok(200)[0].clone();
        assert_eq!(dispute["charge"]["token"], disputed.as_str());
        assert_eq!(compared(app, &setup.acquirer).await, (0, 0));
    }

    async fn cardholders_and_wallets_pay_through_an_acquirer_elsewhere(setup) {
        let (app, client) = (&setup.app, &setup.app.client());
        let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
        let (charge, page) = pending(client, &charge_with(400, json!({ "three_d_secure": three_d_secure }))).await;
        assert_eq!(press(&app.anonymous(), &page, "decision=approve").await.status, 303);
        assert_eq!(client.charge(&charge).await["captured"], true);
        // A card that is not enrolled is charged at once.
        let not_enrolled = json!({ "card": card("5520000000000000"), "three_d_secure": {
            "enabled": true, "callback_url": "https://shop.example.com/", "fallback_ok": true,
        } });
        assert_eq!(client.post("/1/charges", &charge_with(400, not_enrolled)).await.ok(201)["captured"], true);
        let source = client.post("/1/payment_sources", &network_token(CARD)).await.ok(201);
        let by_source = json!({ "card": null, "payment_source_token": source["token"] });
        client.post("/1/charges", &charge_with(400, by_source)).await.ok(201);
        let proofs = setup.acquirer.proofs();
        let proved = proofs.last().unwrap();
        let network = (Some("05".to_owned()), "AgAAAAAABk4DWZ4C28yUQAAAAAA=".to_owned());
        assert_eq!((proved.cvc.as_ref(), proved.network.as_ref()), (None, Some(&network)));
        assert_eq!(proofs[0].cvc.as_deref(), Some("123"));
        client.post("/1/charges", &charge_with(400, json!({ "reference": "Shop" }))).await.ok(201);
        assert_eq!(setup.acquirer.references().last().unwrap().as_deref(), Some("Shop"));
        // An empty text is none: the statement has the default descriptor.
        for blank in ["", " "] {
            client.post("/1/charges", &charge_with(400, json!({ "reference": blank }))).await.ok(201);
            assert_eq!(setup.acquirer.references().last().unwrap(), &None, "{blank:?}");
        }
    }

    async fn a_moved_clock_bills_through_an_acquirer_elsewhere(setup) {
        let client = setup.app.client();
        let (plan, customer) = (client.plan(&json!({})).await, token_of(&client.customer(CARD).await));
        client.subscribed(&plan, &customer).await;
        let moved = client.put("/1/sandbox/clock", &json!({ "advance": "70d" })).await.ok(200);
        assert_eq!(moved["complete"], true, "{moved}");
        assert_eq!(client.charged(&customer).await.len(), 3);
        assert_eq!(compared(&setup.app, &setup.acquirer).await, (0, 0));
    }

    async fn outcomes_that_testers_order_reach_an_acquirer_elsewhere(setup) {
        let client = &setup.app.client();
        let forced = async |word: &str| post_with(client, "/1/charges", &[("Sandbox-Outcome", word)], &charge(400)).await;
        forced("lost_card").await.refused(400, "lost_card");
        for word in ["gateway_error", "approved_but_lost"] {
            forced(word).await.refused(502, "gateway_error");
        }
        assert_eq!(forced("disputed").await.ok(201)["captured"], true);
        client.put("/1/sandbox/acquirer", &json!({ "drop_rate": 1 })).await.ok(200);
        client.post("/1/charges", &charge(400)).await.refused(502, "gateway_error");
        client.put("/1/sandbox/acquirer", &json!({ "drop_rate": 0, "decline": "expired_card" })).await.ok(200);
        client.post("/1/charges", &charge(400)).await.refused(400, "expired_card");
        assert_eq!(compared(&setup.app, &setup.acquirer).await, (0, 0));
    }

    async fn an_answer_that_is_lost_elsewhere_loses_nothing_and_repeats_nothing(setup) {
        for site in sites() {
            loses(&setup.app, &setup.acquirer, site, 0).await;
        }
        assert_eq!(compared(&setup.app, &setup.acquirer).await, (0, 0));
    }

    async fn whatever_becomes_of_an_answer_nothing_is_lost_and_nothing_happens_twice(setup) {
        for does in FAULTS {
            fails(setup, does).await;
        }
    }

    async fn an_answer_that_is_slow_and_comes_in_time_counts(setup) {
        let RemoteSetup { app, acquirer, proxy } = setup;
        let client = &app.client();
        let [captured, voided] = [client.authorised(400).await, client.authorised(400).await];
        proxy.does(ProxyFault::IsSlow);
        proxy.while_it_lets_go(client.post("/1/charges", &charge(400))).await.ok(201);
        for (charge, verb, flag) in [(&captured, "capture", "captured"), (&voided, "void", "authorisation_voided")] {
            assert_eq!(proxy.while_it_lets_go(client.put_charge(charge, verb)).await.ok(200)[flag], true);
        }
        proxy.does(ProxyFault::CallFault);
        assert_eq!(compared(app, acquirer).await, (0, 0));
    }

    async fn a_clock_that_is_moved_waits_for_what_became_of_a_call_no_longer_than_for_a_call(setup) {
        let RemoteSetup { app, proxy, .. } = setup;
        let client = app.client();
        let charge = client.authorised(400).await;
        proxy.does(ProxyFault::LosesAnswers);
        client.put_charge(&charge, "capture").await.refused(502, "gateway_error");
        app.clock.advance(TimeSpan::seconds(30));
        proxy.does(ProxyFault::Hangs);
        let caller = client.clone();
        let moving = tokio::spawn(async move { caller.put("/1/sandbox/clock", &json!({ "advance": "1d" })).await });
        // This server waits a minute for anything else.
        timeout(Duration::from_secs(30), proxy.holds(2)).await.expect("it gives up, and asks again");
        proxy.does(ProxyFault::CallFault);
        proxy.lets_go();
        assert_eq!(moving.await.unwrap().ok(200)["complete"], true);
        assert_eq!(client.charge(&charge).await["captured"], true);
    }

    async fn of_many_at_once_over_a_failing_cable_one_uses_a_card_token(setup) {
        let client = setup.app.client();
        let token = client.card_token(CARD).await;
        // The first use finds out the rates, too.
        client.post("/1/charges", &charge(400)).await.ok(201);
        setup.proxy.does(ProxyFault::CutsBodies);
        let by_token = charge_with(400, json!({ "card": null, "card_token": token }));
        let answers = crate::harness::at_once((0..16).map(|_| {
            let (client, by_token) = (client.clone(), by_token.clone());
            async move { client.post("/1/charges", &by_token).await }
        }))
        .await;
        for answer in &answers {
            assert!(matches!(answer.status, 400 | 502), "{}", answer.text);
        }
        setup.proxy.does(ProxyFault::CallFault);
        settled(&setup.app).await;
        assert_eq!(client.listed().await, 1);
        client.charge_by(&token).await.ok(201);
        assert_eq!(compared(&setup.app, &setup.acquirer).await, (0, 0));
    }

    async fn an_acquirer_that_does_not_say_what_it_knows_refuses_and_changes_nothing(setup) {
        let RemoteSetup { app, proxy, .. } = setup;
        let client = &app.client();
        let token = client.card_token(CARD).await;
        let customer = token_of(&client.customer(CARD).await);
        let fresh = card("5520000000000000");
        let requests: [(&str, Value); 8] = [
            ("/1/cards", fresh.clone()),
            ("/1/payment_sources", json!({ "type": "card", "source": fresh })),
            ("/1/payment_sources", network_token("5520000000000000")),
            ("/1/customers", json!({ "email": "a@example.com", "card": fresh })),
            (&format!("/1/customers/{customer}/cards"), fresh.clone()),
            ("/1/charges", charge_with(400, json!({ "card": fresh }))),
            ("/1/authorisations", charge_with(400, json!({ "card": fresh, "capture": null }))),
            ("/1/sandbox/wallet_payloads", json!({ "type": "walletGpay", "number": "5520000000000000" })),
        ];
        // Of cards, and of rates that are not cached yet.
        for does in [ProxyFault::LosesRequests, ProxyFault::TalksNonsense, ProxyFault::IsOutOfOrder] {
            proxy.does(does);
            for (path, body) in &requests {
                is_refused(app, client.post(path, body)).await;
            }
            is_refused(app, client.put(&format!("/1/customers/{customer}"), &json!({ "card": fresh }))).await;
            is_refused(app, client.charge_by(&token)).await;
            let plan = json!({ "name": "Coffee plan", "amount": 1000, "interval": 1, "interval_unit": "month" });
            is_refused(app, client.post("/1/plans", &plan)).await;
        }
        proxy.does(ProxyFault::CallFault);
        for (path, body) in &requests {
            client.post(path, body).await.ok(201);
        }
        // What is known is not asked for again.
        proxy.does(ProxyFault::LosesRequests);
        client.post("/1/cards", &fresh).await.ok(201);
        client.plan(&json!({})).await;
        is_refused(app, client.post("/1/cards", &card("372000000000000"))).await;
        proxy.does(ProxyFault::CallFault);
    }
}

/// The acquirer has done the call, and its answer comes too late.
async fn a_signed_answer_that_comes_too_late_is_nobodys(database: Database) {
    let Some(setup) = RemoteSetup::waiting(database, Duration::from_secs(2)).await else { return };
    let RemoteSetup { app, acquirer, proxy } = &setup;
    let client = &app.client();
    let token = client.card_token(CARD).await;
    let charge = client.authorised(400).await;
    proxy.does(ProxyFault::IsSlow);
    client.charge_by(&token).await.refused(502, "gateway_error");
    client.put_charge(&charge, "capture").await.refused(502, "gateway_error");
    proxy.does(ProxyFault::CallFault);
    proxy.lets_go();
    // Whatever is asked now gets its own answer.
    client.post("/1/charges", &charge_with(500, json!({}))).await.ok(201);
    settled(app).await;
    assert_eq!(client.charge(&charge).await["captured"], true);
    client.charge_by(&token).await.ok(201);
    assert_eq!(compared(app, acquirer).await, (0, 0));
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_answer_that_comes_too_late_is_nobodys_on_sqlite() {
    a_signed_answer_that_comes_too_late_is_nobodys(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_answer_that_comes_too_late_is_nobodys_on_postgres() {
    a_signed_answer_that_comes_too_late_is_nobodys(Database::Postgres).await;
}
