//! What a payment costs the database: its reads, its statements in units of work, and its commits.

use axum::body::Body;
use card_payments::services::due_work_registry::KINDS;
use http::{Method, header};
use serde_json::json;
use store::Counts;

use crate::harness::{App, Database, card, charge, charge_with, postgres, rules};

/// Returns whether the guards of a payment's unit and what it appends are one statement, or one call.
pub fn is_one(app: &App) -> bool {
    app.database == Database::Postgres
}

/// An intent and an outcome, in statements: one each, and a guard where it goes by itself.
fn of_two_units(app: &App) -> u64 {
    if is_one(app) { 2 } else { 3 }
}

/// The reads of a payment's account: none where the process keeps it.
fn of_its_account(app: &App) -> u64 {
    u64::from(!is_one(app))
}

/// Returns the reads, the statements in units of work and the commits between two counts.
pub fn since(before: Counts, after: Counts) -> (u64, u64, u64) {
    (after.reads - before.reads, after.writes - before.writes, after.commits - before.commits)
}

rules! {
    // These numbers decide the throughput. They may fall; a change that raises one must say why.
    async fn a_charge_costs_so_many_statements_and_commits(app) {
        let client = app.client();
        let (stored, customer) = (client.card_token("4200000000000000").await, client.customer("4200000000000000").await);
        // The account is kept from here on, or at least its key.
        client.captured(400).await;
        let payers = [
            ("inline", charge(400)),
            ("stored", charge_with(400, json!({ "card": null, "card_token": stored }))),
            ("customer", charge_with(400, json!({ "card": null, "customer_token": customer["token"] }))),
            ("declined", charge_with(400, json!({ "card": card("4100000000000001") }))),
        ];
        let mut costs = Vec::new();
        for (payer, parameters) in payers {
            let before = app.statements_from_now().await;
            client.post("/1/charges", &parameters).await;
            costs.push((payer, since(before, app.ctx().store.statements())));
        }
        // Reads, statements in units of work, commits. What is appended goes as one, on SQLite with its commit, on
        // PostgreSQL with the guards before it.
        let expected = if is_one(app) {
            [("inline", (0, 1, 1)), ("stored", (1, 1, 1)), ("customer", (1, 1, 1)), ("declined", (0, 1, 1))]
        } else {
            [("inline", (1, 1, 1)), ("stored", (2, 2, 1)), ("customer", (2, 1, 1)), ("declined", (1, 1, 1))]
        };
        assert_eq!(costs, expected);
    }

    async fn a_capture_and_a_void_cost_an_intent_and_an_outcome(app) {
        let client = app.client();
        for verb in ["capture", "void"] {
            let charge = client.post("/1/charges", &charge_with(400, json!({ "capture": false }))).await.ok(201);
            let path = format!("/1/charges/{}/{verb}", charge["token"].as_str().unwrap());
            let before = app.statements_from_now().await;
            client.put(&path, &json!({})).await.ok(200);
            let costs = since(before, app.ctx().store.statements());
            assert_eq!(costs, (1 + of_its_account(app), of_two_units(app), 2), "{verb}");
        }
    }

    async fn a_refund_costs_so_many_statements_and_one_commit(app) {
        let client = app.client();
        let charge = client.captured(400).await;
        let before = app.statements_from_now().await;
        client.refund(charge["token"].as_str().unwrap(), 100).await.ok(201);
        // The charge, the balance, its debit, the charge again, what is appended; PostgreSQL holds the balance, too, and a
        // distributed one reads the webhook endpoints.
        let writes = match app.database {
            Database::Sqlite => 5,
            Database::Postgres => 6 + u64::from(postgres::is_distributed()),
        };
        assert_eq!(since(before, app.ctx().store.statements()), (2, writes, 1));
    }

    async fn webhooks_cost_a_charge_neither_statement_nor_commit(app) {
        let client = app.client();
        client.captured(400).await;
        for _ in 0..5 {
            client.endpoint("http://127.0.0.1:1/").await;
        }
        let before = app.statements_from_now().await;
        client.captured(400).await;
        let costs = since(before, app.ctx().store.statements());
        assert_eq!(costs, (of_its_account(app), 1, 1));
        assert_eq!(app.number("SELECT COUNT(*) FROM webhooks").await, 5);
        // The page, and the URLs of the endpoints.
        let before = app.statements_from_now().await;
        client.get("/1/webhooks").await.ok(200);
        assert_eq!(since(before, app.ctx().store.statements()), (3, 0, 0));
    }

    async fn noticing_card_testing_costs_a_charge_neither_statement_nor_commit(app) {
        let client = app.client();
        client.set(json!({ "card_testing": { "action": "refuse", "network_declines": 1 } })).await;
        client.captured(400).await;
        for (number, status) in [("4200000000000000", 201), ("4100000000000001", 400), ("4200000000000000", 400)] {
            let before = app.statements_from_now().await;
            let answer = client.post("/1/charges", &charge_with(400, json!({ "card": card(number) }))).await;
            let costs = since(before, app.ctx().store.statements());
            assert_eq!((answer.status, costs), (status, (of_its_account(app), of_two_units(app), 2)));
        }
    }

    // It is looked for beside the account, where the process does not keep that; claim and answer leave with what is appended anyway.
    async fn a_fresh_idempotency_key_costs_a_charge_neither_statement_nor_commit(app) {
        let client = app.client();
        client.captured(400).await;
        let before = app.statements_from_now().await;
        let request = client.request(Method::POST, "/1/charges").header("Idempotency-Key", "fresh");
        let request = request.header(header::CONTENT_TYPE, "application/json");
        client.send(request.body(Body::from(charge(400).to_string())).unwrap()).await.ok(201);
        assert_eq!(since(before, app.ctx().store.statements()), (of_its_account(app), 1, 1));
    }

    async fn reading_costs_one_statement_besides_the_account_and_of_a_charge_none(app) {
        let client = app.client();
        let charge = client.captured(400).await;
        // The first search of a minute also learns how many charges the account has.
        client.get("/1/charges/search?query=roland").await.ok(200);
        // So does the first who asks for new events: it numbers them.
        client.get("/1/events").await.ok(200);
        // Captured charges come with their transfers; one comes with the account. A search first learns how much it finds, and
        // events whether some have no numbers.
        for (path, statements) in [
            ("/1/charges".to_owned(), 2), (format!("/1/charges/{}", charge["token"].as_str().unwrap()), 1),
            ("/1/charges/search?query=roland".into(), 3), ("/1/balance".into(), 2), ("/1/events".into(), 3),
        ] {
            let before = app.statements_from_now().await;
            client.get(&path).await;
            assert_eq!(since(before, app.ctx().store.statements()), (statements, 0, 0), "{path}");
        }
    }

    async fn a_look_for_due_work_of_a_live_server_asks_for_no_clocks_that_run_ahead(app) {
        let live = App::live(app.database).await.unwrap();
        let mut asked_twice = 0;
        for kind in KINDS {
            let mut reads = Vec::new();
            for app in [&live, app] {
                let before = app.ctx().store.statements();
                kind.run(app.ctx()).await.unwrap();
                reads.push(app.ctx().store.statements().reads - before.reads);
            }
            assert!(matches!(reads[..], [1, 1 | 2]), "{}: {reads:?}", kind.name);
            asked_twice += u32::from(reads[1] == 2);
        }
        assert_eq!(asked_twice, 14);
    }
}
