//! Disputes: how they arrive, and how they are shown, listed and searched (specification, Disputes; `docs/decisions.md`, 209
//! to 212 and 215).

mod evidence;
mod files;
mod moves;

use std::collections::HashMap;
use std::pin::pin;

use axum::body::Body;
use entity::TimeSpan;
use futures::FutureExt;
use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client, at_once, card, charge_with, fields, rounds, rules, token, token_of};

const PATH: &str = "/1/sandbox/disputes";
const DISPUTED: &str = "4200300000000012";

async fn head(client: &Client, path: &str) -> Answer {
    client.send(client.request(Method::HEAD, path).body(Body::empty()).unwrap()).await
}

fn total(answer: &Answer) -> &str {
    answer.headers["x-total-count"].to_str().unwrap()
}

/// The tokens of a list.
fn amounts(answer: &Answer) -> Vec<i64> {
    answer.ok(200).as_array().unwrap().iter().map(|dispute| dispute["amount"].as_i64().unwrap()).collect()
}

async fn get_dispute(client: &Client, dispute: &str) -> Value {
    client.get(&format!("/1/disputes/{dispute}")).await.ok(200)
}

/// A charge that is disputed by the next due work: what a subscription is billed.
async fn foretold(client: &Client) -> Value {
    let customer = client.customer(DISPUTED).await;
    client.subscribed(&client.plan(&json!({})).await, token(&customer)).await;
    client.get("/1/charges").await.ok(200)[0].clone()
}

rules! {
    #[dated]
    async fn a_dispute_takes_its_amount_and_the_fee_and_asks_for_evidence(app) {
        let client = app.client();
        let charge = client.captured(400).await;
        let (available, pending) = client.balance().await;
        let dispute = client.dispute(token(&charge)).await;
        assert_eq!(fields(&dispute), [
            "token", "category", "status", "amount", "currency", "charge", "evidence_required_by", "relevant_evidence", "received_at",
        ]);
        assert!(token(&dispute).starts_with("dis_"));
        assert_eq!((&dispute["category"], &dispute["status"]), (&json!("general"), &json!("evidence_required")));
        assert_eq!((&dispute["amount"], &dispute["currency"]), (&json!(400), &json!("AUD")));
        assert_eq!(dispute["received_at"], "2026-03-02T10:00:00Z");
        assert_eq!(dispute["evidence_required_by"], "2026-03-22T00:00:00Z");
        assert_eq!(dispute["relevant_evidence"], json!([
            "proof_of_delivery_or_service", "invoice_or_receipt", "invoice_showing_distinct_transactions",
            "customer_communication", "refund_or_cancellation_policy", "recurring_transaction_agreement", "additional_evidence",
        ]));
        assert_eq!(dispute["charge"], client.charge(token(&charge)).await);
        assert_eq!(dispute["charge"]["active_chargebacks"], true);
        assert_eq!(client.balance().await, (available - 2_900, pending));
        let event = &client.get("/1/events?per_page=1").await.ok(200)[0];
        assert_eq!((&event["type"], &event["data"]), (&json!("dispute.evidence_required"), &dispute));
        assert_eq!(get_dispute(&client, token(&dispute)).await, dispute);
    }

    async fn a_balance_may_become_negative(app) {
        let client = app.client();
        app.opens_with(0).await;
        client.disputed(400).await;
        assert_eq!(client.balance().await.0, -2_900);
    }

    async fn all_disputes_and_refunds_together_are_at_most_the_charge(app) {
        let client = app.client();
        let charge = token_of(&client.captured(1_000).await);
        client.refund(&charge, 100).await.ok(201);
        let part = |amount: i64| json!({ "charge_token": charge, "amount": amount, "category": "general" });
        let over = app.unchanged(client.post(PATH, &part(901))).await;
        over.faulty(&[("amount", "Amount must be at most 900")]);
        let first = client.post(PATH, &part(300)).await.ok(201);
        client.decide(token(&first), "cancelled").await.ok(200);
        // However the first one ended.
        app.unchanged(client.post(PATH, &part(601))).await.faulty(&[("amount", "Amount must be at most 600")]);
        assert_eq!(client.dispute(&charge).await["amount"], 600);
        let nothing = app.unchanged(client.post(PATH, &json!({ "charge_token": charge }))).await;
        nothing.faulty(&[("charge_token", "Charge token has nothing left to dispute")]);
    }

    async fn a_charge_that_cannot_be_disputed_is_refused(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let charge = token_of(&client.captured(400).await);
        let reserved = client.authorised(400).await;
        let foreign = app.unchanged(stranger.post(PATH, &json!({ "charge_token": charge }))).await;
        foreign.faulty(&[("charge_token", "Charge token is not valid")]);
        for (send, faults) in [
            (json!({}), vec![("charge_token", "Charge token can't be blank")]),
            (json!({ "charge_token": "ch_x" }), vec![("charge_token", "Charge token is not valid")]),
            (json!({ "charge_token": reserved }), vec![("charge_token", "Charge token has not been captured")]),
            (json!({ "charge_token": charge, "amount": 0 }), vec![("amount", "Amount must be greater than or equal to 1")]),
            (json!({ "charge_token": charge, "amount": "x" }), vec![("amount", "Amount is not a number")]),
            (json!({ "charge_token": charge, "category": "fraud" }), vec![("category", "Category is not included in the list")]),
            (
                json!({ "charge_token": "x", "amount": 1.5, "category": 1 }),
                vec![
                    ("charge_token", "Charge token is not valid"), ("amount", "Amount must be an integer"),
                    ("category", "Category is not included in the list"),
                ],
            ),
        ] {
            app.unchanged(client.post(PATH, &send)).await.faulty(&faults);
        }
    }

    async fn a_disputed_charge_is_not_refunded_until_the_merchant_is_right(app) {
        let client = app.client();
        for (moves, refundable) in [
            (&[][..], false),
            (&["evidence_under_review"], false),
            (&["evidence_under_review", "won"], true),
            (&["evidence_under_review", "lost"], false),
            (&["accepted"], false),
            (&["expired"], false),
            (&["cancelled"], true),
            (&["resolved"], true),
            (&["evidence_under_review", "arbitration_under_review"], false),
            (&["evidence_under_review", "won", "arbitration_under_review"], false),
            (&["evidence_under_review", "arbitration_under_review", "arbitration_won"], true),
            (&["evidence_under_review", "arbitration_under_review", "arbitration_lost"], false),
        ] {
            let charge = token_of(&client.captured(1_000).await);
            let part = json!({ "charge_token": charge, "amount": 100 });
            let dispute = token_of(&client.post(PATH, &part).await.ok(201));
            for status in moves {
                client.decide(&dispute, status).await.ok(200);
            }
            if refundable {
                client.refund(&charge, 1_000).await.ok(201);
            } else {
                app.unchanged(client.refund(&charge, 1)).await.faulty(&[("charge", "Charge is disputed")]);
            }
        }
    }

    async fn a_foreign_charge_is_disputed_at_its_own_rate_and_the_last_takes_the_remainder(app) {
        let client = app.client();
        // 1000 IDR are 10 cents.
        let send = charge_with(1_000_000, json!({ "currency": "IDR" }));
        let charge = token_of(&client.post("/1/charges", &send).await.ok(201));
        let settled = app.number("SELECT settlement_amount FROM charges").await;
        for amount in [333_333, 333_333, 333_334] {
            client.post(PATH, &json!({ "charge_token": charge, "amount": amount })).await.ok(201);
        }
        assert_eq!(app.number("SELECT SUM(settlement_amount) FROM disputes").await, settled);
        assert_eq!(app.number("SELECT SUM(amount) FROM postings WHERE book = 'disputes'").await, settled);
    }

    async fn a_dispute_that_was_won_takes_in_arbitration_no_more_than_refunds_have_left(app) {
        let client = app.client();
        // In USD and THB, of whose cents many settle for halves.
        for (currency, amount, disputed) in [("USD", 101, 1), ("USD", 400, 33), ("USD", 402, 201), ("USD", 999, 500), ("THB", 2_000, 11), ("THB", 4_019, 2_009), ("THB", 5_000, 2_489)] {
            let send = charge_with(amount, json!({ "currency": currency }));
            let charge = token_of(&client.post("/1/charges", &send).await.ok(201));
            let dispute = token_of(&client.post(PATH, &json!({ "charge_token": charge, "amount": disputed })).await.ok(201));
            for status in ["evidence_under_review", "won"] {
                client.decide(&dispute, status).await.ok(200);
            }
            // In two parts, each of which is rounded.
            let part = (amount - disputed) / 2;
            for part in [part, amount - disputed - part] {
                client.refund(&charge, part).await.ok(201);
            }
            for status in ["arbitration_under_review", "arbitration_lost"] {
                client.decide(&dispute, status).await.ok(200);
            }
        }
        // Of the whole, of which a part is refunded in pieces that are rounded each for itself.
        for (currency, amount, pieces) in [("USD", 333, [1, 1, 1]), ("USD", 101, [33, 33, 33]), ("THB", 2_000, [11, 11, 11]), ("IDR", 1_000_000, [4_999, 4_999, 5_001])] {
            let send = charge_with(amount, json!({ "currency": currency }));
            let charge = token_of(&client.post("/1/charges", &send).await.ok(201));
            let dispute = token_of(&client.post(PATH, &json!({ "charge_token": charge })).await.ok(201));
            for status in ["evidence_under_review", "won"] {
                client.decide(&dispute, status).await.ok(200);
            }
            for piece in pieces {
                client.refund(&charge, piece).await.ok(201);
            }
            for status in ["arbitration_under_review", "arbitration_lost"] {
                let decided = client.decide(&dispute, status).await.ok(200);
                assert_eq!(decided["amount"], amount - pieces.iter().sum::<i64>());
            }
            let left = "SELECT settlement_amount - settlement_refunded - settlement_disputed FROM charges ORDER BY id DESC LIMIT 1";
            assert_eq!(app.number(left).await, 0, "{currency}");
        }
        let taken = "SELECT COUNT(*) FROM charges WHERE settlement_refunded + settlement_disputed > settlement_amount";
        assert_eq!(app.number(taken).await, 0);
        let halves = "SELECT COUNT(*) FROM charges WHERE settlement_refunded + settlement_disputed = settlement_amount";
        assert!(app.number(halves).await > 0, "none takes all");
    }

    async fn the_dispute_card_and_the_sandbox_header_open_a_dispute_once_the_charge_is_captured(app) {
        let client = app.client();
        let by_card = charge_with(400, json!({ "card": card(DISPUTED) }));
        let at_once = token_of(&client.post("/1/charges", &by_card).await.ok(201));
        let reserved = charge_with(500, json!({ "card": card(DISPUTED), "capture": false }));
        let later = token_of(&client.post("/1/charges", &reserved).await.ok(201));
        let request = client.request(Method::POST, "/1/charges").header("Sandbox-Outcome", "disputed");
        let request = request.header("content-type", "application/json");
        let ordered = client.send(request.body(Body::from(crate::harness::charge(600).to_string())).unwrap()).await;
        let ordered = token_of(&ordered.ok(201));
        let disputes = client.get("/1/disputes").await;
        // They are there when their charges are answered.
        let disputes = disputes.ok(200);
        let of = |dispute: &Value| (token_of(&dispute["charge"]), dispute["amount"].as_i64().unwrap());
        let of: HashMap<_, _> = disputes.as_array().unwrap().iter().map(of).collect();
        assert_eq!(of, HashMap::from([(ordered, 600), (at_once, 400)]));
        client.put_charge(&later, "capture").await.ok(200);
        assert_eq!(client.charge(&later).await["active_chargebacks"], true);
        assert_eq!(amounts(&client.get("/1/disputes?per_page=1").await), [500]);
        // A charge is not disputed twice.
        app.do_due_work().await;
        assert_eq!(client.get("/1/disputes").await.json()["pagination"]["count"], 3);
    }

    async fn whoever_opens_the_disputes_of_test_cards_hears_of_one_at_once(app) {
        let client = app.client();
        for (number, is_disputed) in [(DISPUTED, true), ("4200000000000000", false)] {
            let mut rung = pin!(app.ctx().memory.due_work_added.notified());
            rung.as_mut().enable();
            client.post("/1/charges", &charge_with(400, json!({ "card": card(number) }))).await.ok(201);
            assert_eq!(rung.now_or_never().is_some(), is_disputed, "{number}");
        }
    }

    #[dated]
    async fn a_moved_clock_comes_by_a_scheduled_dispute_and_its_expiry(app) {
        let client = app.client();
        foretold(&client).await;
        let moved = client.move_clock("30d").await;
        let ran: Vec<_> = moved["ran"].as_array().unwrap().iter().map(|item| (&item["at"], &item["what"])).collect();
        assert_eq!(ran, [
            (&json!("2026-03-02T10:00:00Z"), &json!("dispute.evidence_required")),
            (&json!("2026-03-22T00:00:00Z"), &json!("dispute.expired")),
        ]);
        let dispute = &client.get("/1/disputes").await.ok(200)[0];
        assert_eq!((&dispute["status"], &dispute["charge"]["active_chargebacks"]), (&json!("expired"), &json!(false)));
    }

    async fn a_charge_that_was_refunded_at_once_has_nothing_to_dispute(app) {
        let client = app.client();
        let charge = foretold(&client).await;
        client.refund(token(&charge), charge["amount"].as_i64().unwrap()).await.ok(201);
        app.do_due_work().await;
        assert_eq!(client.get("/1/disputes").await.ok(200), json!([]));
        assert_eq!(app.number("SELECT COUNT(*) FROM scheduled_disputes").await, 0);
    }

    async fn disputes_are_listed_newest_first_or_as_asked_and_counted_in_a_header(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        for amount in [300, 100, 200] {
            client.disputed(amount).await;
            app.clock.advance(TimeSpan::days(1));
        }
        stranger.disputed(700).await;
        for (query, expected) in [
            ("", [200, 100, 300]),
            ("?direction=1", [200, 100, 300]),
            ("?sort=amount", [100, 200, 300]),
            ("?sort=amount&direction=-1", [300, 200, 100]),
            ("?sort=received_at", [300, 100, 200]),
            ("?sort=evidence_required_by&direction=-1", [200, 100, 300]),
            ("?start_date=x&query=x", [200, 100, 300]),
        ] {
            let answer = client.get(&format!("/1/disputes{query}")).await;
            assert_eq!((amounts(&answer), total(&answer)), (expected.to_vec(), "3"), "{query}");
            assert_eq!(answer.json()["pagination"]["count"], 3);
        }
        let page = client.get("/1/disputes?sort=amount&per_page=2&page=2").await;
        assert_eq!((amounts(&page), total(&page)), (vec![300], "3"));
        let headers = head(&client, "/1/disputes?per_page=1").await;
        assert_eq!((headers.status, headers.text.as_str(), total(&headers)), (200, "", "3"));
        let faulty = client.get("/1/disputes?sort=id&direction=2&page=x").await;
        faulty.faulty(&[
            ("sort", "Sort is not included in the list"), ("direction", "Direction is not included in the list"),
            ("page", "Page is not a number"),
        ]);
    }

    #[dated]
    async fn a_search_finds_by_status_charge_token_and_day(app) {
        let client = app.client();
        let won = client.disputed(100).await;
        for status in ["evidence_under_review", "won"] {
            client.decide(token(&won), status).await.ok(200);
        }
        app.clock.advance(TimeSpan::days(1));
        let reviewed = client.disputed(300).await;
        client.decide(token(&reviewed), "evidence_under_review").await.ok(200);
        app.clock.advance(TimeSpan::days(1));
        let open = client.disputed(200).await;
        let charge = token(&open["charge"]);
        for (query, expected) in [
            ("", vec![100, 300, 200]),
            ("query=evidence", vec![300, 200]),
            ("query=EVIDENCE_REQ", vec![200]),
            ("query=won", vec![100]),
            ("query=lost", vec![]),
            (&format!("query={charge}"), vec![200]),
            (&format!("query={}", token(&open)), vec![]),
            (&format!("query={}", &charge[..10]), vec![]),
            ("status=won", vec![100]),
            ("status=won&query=evidence", vec![]),
            ("start_date=2026/03/03", vec![300, 200]),
            ("start_date=2026/03/03&end_date=2026/03/04", vec![300]),
            ("sort=amount&direction=-1", vec![300, 200, 100]),
            ("direction=-1", vec![200, 300, 100]),
        ] {
            let path = format!("/1/disputes/search?{query}");
            let answer = client.get(&path).await;
            assert_eq!(amounts(&answer), expected, "{query}");
            let headers = head(&client, &path).await;
            assert_eq!((total(&headers), headers.text.as_str()), (expected.len().to_string().as_str(), ""));
        }
        for short in ["x", "wo", "%20wo%20"] {
            let refused = client.get(&format!("/1/disputes/search?query={short}")).await;
            let body = refused.refused(400, "invalid_search_query_param");
            assert_eq!(body["error_description"], "The search query must be at least 3 characters");
        }
        let faulty = client.get("/1/disputes/search?query=x&status=open&sort=id&direction=0&start_date=x").await;
        let params: Vec<_> = faulty.faults().into_iter().map(|(param, _)| param).collect();
        assert_eq!(params, ["status", "start_date", "sort", "direction"]);
    }

    async fn another_accounts_dispute_is_not_found(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let dispute = token_of(&client.disputed(400).await);
        for (method, path) in every_operation(&dispute) {
            app.unchanged(send(&stranger, method.clone(), &path)).await.not_found();
            let unknown = path.replace(&dispute, "dis_AAAAAAAAAAAAAAAAAAAAAA");
            app.unchanged(send(&client, method, &unknown)).await.not_found();
        }
        app.unchanged(stranger.decide(&dispute, "nonsense")).await.not_found();
        assert_eq!(stranger.get("/1/disputes").await.ok(200), json!([]));
        app.anonymous().get("/1/disputes").await.refused(401, "unauthorized");
    }

    async fn an_account_without_the_disputes_api_is_told_so_and_is_disputed_all_the_same(app) {
        let client = app.client();
        let dispute = token_of(&client.disputed(400).await);
        client.put("/1/sandbox/account", &json!({ "disputes": false })).await.ok(200);
        let operations = every_operation(&dispute).into_iter();
        let unknown = "/1/disputes/dis_x".to_owned();
        let lists = ["/1/disputes", "/1/disputes/search?query=x"].map(str::to_owned);
        let all = operations.chain(lists.into_iter().chain([unknown]).map(|path| (Method::GET, path)));
        for (method, path) in all {
            let refused = app.unchanged(send(&client, method, &path)).await.refused(400, "api_unavailable");
            assert_eq!(refused["error_description"], "The requested API is not available on this account.");
        }
        client.disputed(500).await;
        client.decide(&dispute, "cancelled").await.ok(200);
    }

    async fn settlement_pays_out_what_disputes_have_left(app) {
        let client = app.client();
        client.put("/1/sandbox/account", &json!({ "transfers_schedule": "daily" })).await.ok(200);
        let charge = client.captured(10_000).await;
        let part = json!({ "charge_token": token(&charge), "amount": 100 });
        let dispute = client.post(PATH, &part).await.ok(201);
        client.move_clock("6d").await;
        let transfers = client.get("/1/transfers").await.ok(200);
        let entitlement = charge["merchant_entitlement"].as_i64().unwrap();
        let (paid, fields) = (&transfers[0], ["amount", "total_credits", "total_debits"]);
        assert_eq!(fields.map(|field| paid[field].as_i64().unwrap()), [entitlement - 2_600, entitlement, 2_600]);
        let lines = client.get(&format!("/1/transfers/{}/line_items", token(paid))).await.ok(200);
        let mut lines: Vec<_> = lines.as_array().unwrap().iter().map(|line| line["amount"].as_i64().unwrap()).collect();
        lines.sort_unstable();
        assert_eq!(lines, [-2_500, -100, entitlement]);
        // The dispute shows its charge as it is: paid out.
        assert_eq!(get_dispute(&client, token(&dispute)).await["charge"], client.charge(token(&charge)).await);
        let cancelled = client.decide(token(&dispute), "cancelled").await.ok(200);
        assert_eq!(token(&cancelled["charge"]["transfer"][0]), token(paid));
        client.move_clock("1d").await;
        assert_eq!(client.get("/1/transfers").await.ok(200)[0]["amount"], 2_600);
    }

    async fn disputes_and_refunds_that_race_never_exceed_the_charge(app) {
        let client = app.client().patient();
        for _ in 0..rounds() {
            let charge = token_of(&client.captured(1_000).await);
            let requests = (0..32).map(|n| {
                let (client, charge) = (client.clone(), charge.clone());
                async move {
                    if n % 2 == 0 {
                        client.refund(&charge, 300).await
                    } else {
                        client.post(PATH, &json!({ "charge_token": charge, "amount": 300 })).await
                    }
                }
            });
            let answers = at_once(requests).await;
            let done = answers.iter().filter(|answer| answer.status == 201).count();
            assert_eq!(done, 3);
            assert!(answers.iter().all(|answer| [201, 422].contains(&answer.status)));
        }
    }
}

/// Every operation on one dispute.
fn every_operation(dispute: &str) -> Vec<(Method, String)> {
    let path = |rest: &str| format!("/1/disputes/{dispute}{rest}");
    vec![
        (Method::GET, path("")),
        (Method::GET, path("/activity")),
        (Method::GET, path("/evidence")),
        (Method::PUT, path("/evidence")),
        (Method::POST, path("/evidence")),
        (Method::POST, path("/accept")),
    ]
}

async fn send(client: &Client, method: Method, path: &str) -> Answer {
    client.send(client.request(method, path).body(Body::empty()).unwrap()).await
}
