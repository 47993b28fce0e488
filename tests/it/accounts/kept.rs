//! A process keeps the accounts of payments (docs/architecture.md, The store): a payment obeys what another copy of the server, or
//! an operator, has just changed, in what it does and in what it refuses.

use std::sync::Arc;

use axum::body::Body;
use card_payments::services::accounts::keys;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::{Value, json};

use crate::harness::{Answer, App, Client, Database, FlakyAcquirer, charge, charge_with, token};

const LIMIT: &str = "UPDATE accounts SET maximum_charge_cents = 500";

/// A server whose first account is kept, and a client of another copy of it.
async fn kept(database: Database) -> Option<(App, card_payments::app::App, Client)> {
    let app = App::start(database).await?;
    app.client().captured(400).await;
    let copy = app.copy().await;
    let other = Client::new(copy.router.clone(), Some(app.secret_key().to_owned()));
    Some((app, copy, other))
}

async fn made(app: &App) -> (String, Client) {
    let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
    let client = app.with_key(made["secret_key"].as_str().unwrap());
    client.captured(400).await;
    (token(&made).to_owned(), client)
}

/// Refuses every kind of payment with `status` and `code`.
async fn refuses_all(app: &App, client: &Client, authorised: &str, status: u16, code: &str) {
    for parameters in
        [charge(400), json!({}), charge_with(1, json!({ "card": null, "card_token": "card_x" }))]
    {
        for path in ["/1/charges", "/1/authorisations"] {
            app.unchanged(client.post(path, &parameters)).await.refused(status, code);
        }
    }
    for verb in ["capture", "void"] {
        app.unchanged(client.put_charge(authorised, verb)).await.refused(status, code);
    }
    let unreadable =
        client.request(Method::POST, "/1/charges").header(header::CONTENT_TYPE, "application/json");
    let unreadable = client.send(unreadable.body(Body::from("{")).unwrap());
    // Who calls comes first; whether the account may write follows the parameters' form.
    let answer = app.unchanged(unreadable).await;
    assert!(answer.status == status, "{}", answer.text);
}

#[tokio::test]
async fn a_key_that_another_copy_has_ended_makes_no_payment() {
    let Some((app, copy, _)) = kept(Database::Postgres).await else { return };
    let client = app.client();
    let authorised = client.authorised(400).await;
    let fresh = keys::rotate(&copy.ctx, app.account().await, TimeSpan::ZERO).await.unwrap();
    refuses_all(&app, &client, &authorised, 401, "unauthorized").await;
    app.with_key(fresh.secret.expose()).captured(400).await;
    app.check_books().await;
}

/// A charge under an Idempotency-Key.
async fn keyed(client: &Client, key: &str) -> Answer {
    let request = client.request(Method::POST, "/1/charges").header("Idempotency-Key", key);
    let request = request.header(header::CONTENT_TYPE, "application/json");
    client.send(request.body(Body::from(charge(400).to_string())).unwrap()).await
}

#[tokio::test]
async fn an_answer_of_another_copy_is_given_again_while_the_acquirer_is_silent() {
    let acquirer = Arc::new(FlakyAcquirer::default());
    let Some(app) = Arc::clone(&acquirer).start(Database::Postgres).await else { return };
    let made = keyed(&app.client(), "elsewhere").await;
    let copy = app.copy().await;
    let other = Client::new(copy.router.clone(), Some(app.secret_key().to_owned()));
    acquirer.fall_silent();
    let again = keyed(&other, "elsewhere").await;
    assert_eq!((again.ok(201), app.client().listed().await), (made.ok(201), 1));
    app.unchanged(keyed(&other, "fresh")).await.refused(503, "service_unavailable");
}

#[tokio::test]
async fn a_key_that_has_ended_is_shown_no_earlier_answer_while_the_acquirer_is_silent() {
    let acquirer = Arc::new(FlakyAcquirer::default());
    let Some(app) = Arc::clone(&acquirer).start(Database::Postgres).await else { return };
    keyed(&app.client(), "elsewhere").await.ok(201);
    let copy = app.copy().await;
    let other = Client::new(copy.router.clone(), Some(app.secret_key().to_owned()));
    other.captured(400).await;
    keys::rotate(app.ctx(), app.account().await, TimeSpan::ZERO).await.unwrap();
    acquirer.fall_silent();
    app.unchanged(keyed(&other, "elsewhere")).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn a_void_obeys_what_another_copy_has_just_made_strict() {
    let Some((app, _copy, other)) = kept(Database::Postgres).await else { return };
    let charge = app.client().authorised(400).await;
    other.put("/1/sandbox/account", &json!({ "strict_parameters": true })).await.ok(200);
    let void = format!("/1/charges/{charge}/void");
    app.unchanged(app.client().put(&void, &json!({ "unknown": 100 }))).await.refused(422, "invalid_resource");
    app.client().put(&void, &json!({})).await.ok(200);
}

#[tokio::test]
async fn a_key_that_another_copy_has_ended_is_shown_no_earlier_answer() {
    let Some((app, copy, other)) = kept(Database::Postgres).await else { return };
    keyed(&other, "elsewhere").await.ok(201);
    keys::rotate(&copy.ctx, app.account().await, TimeSpan::ZERO).await.unwrap();
    app.unchanged(keyed(&app.client(), "elsewhere")).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn an_account_that_an_operator_has_switched_off_is_shown_earlier_answers_of_another_copy() {
    let Some(app) = App::live(Database::Postgres).await else { return };
    let copy = app.copy().await;
    let other = Client::new(copy.router.clone(), Some(app.secret_key().to_owned()));
    let [first, second] = [keyed(&other, "first").await.ok(201), keyed(&other, "second").await.ok(201)];
    app.client().captured(400).await;
    app.execute("UPDATE accounts SET status = 'on_hold'").await;
    // The one is refused by its commit, as the account is kept; the other before it.
    assert_eq!(keyed(&app.client(), "first").await.ok(201), first);
    assert_eq!(keyed(&app.client(), "second").await.ok(201), second);
    app.unchanged(keyed(&app.client(), "third")).await.refused(400, "api_unavailable");
}

#[tokio::test]
async fn a_key_ends_by_the_clock_though_it_is_kept() {
    let Some((app, copy, _)) = kept(Database::Postgres).await else { return };
    keys::rotate(&copy.ctx, app.account().await, TimeSpan::days(1)).await.unwrap();
    app.client().captured(400).await;
    app.clock.advance(TimeSpan::days(1));
    app.unchanged(app.client().post("/1/charges", &charge(400))).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn an_account_that_another_copy_has_deleted_pays_nothing() {
    let Some((app, _copy, other)) = kept(Database::Postgres).await else { return };
    let (account, client) = made(&app).await;
    let authorised = client.authorised(400).await;
    other.delete(&format!("/1/sandbox/accounts/{account}")).await.ok(204);
    refuses_all(&app, &client, &authorised, 401, "unauthorized").await;
}

#[tokio::test]
async fn an_account_that_an_operator_has_switched_off_pays_nothing_until_it_is_on_again() {
    let Some(app) = App::live(Database::Postgres).await else { return };
    let client = app.client();
    client.captured(400).await;
    for _ in 0..2 {
        app.execute("UPDATE accounts SET status = 'on_hold'").await;
        app.unchanged(client.post("/1/charges", &charge(400))).await.refused(400, "api_unavailable");
        app.execute("UPDATE accounts SET status = 'declined'").await;
        app.unchanged(client.post("/1/charges", &charge(400))).await.refused(401, "unauthorized");
        app.execute("UPDATE accounts SET status = 'active'").await;
        client.captured(400).await;
    }
}

#[tokio::test]
async fn a_payment_refuses_by_the_limit_of_this_moment() {
    let Some((app, ..)) = kept(Database::Postgres).await else { return };
    for _ in 0..2 {
        app.execute(LIMIT).await;
        app.unchanged(app.client().post("/1/charges", &charge(501))).await.refused(422, "invalid_resource");
        app.execute("UPDATE accounts SET maximum_charge_cents = 1000").await;
        app.client().captured(501).await;
    }
}

#[tokio::test]
async fn a_payment_follows_a_clock_that_another_copy_has_moved() {
    let Some((app, _copy, other)) = kept(Database::Postgres).await else { return };
    let client = app.client();
    let authorised = client.authorised(400).await;
    let moved = other.put("/1/sandbox/clock", &json!({ "advance": "7d" })).await.ok(200);
    let refused = app.unchanged(client.put_charge(&authorised, "capture")).await;
    refused.refused(400, "authorisation_expired");
    let made = client.captured(400).await;
    assert!(made["created_at"].as_str() >= moved["now"].as_str(), "{made} {moved}");
}

#[tokio::test]
async fn a_payment_meets_the_faults_that_another_copy_was_given() {
    let Some((app, _copy, other)) = kept(Database::Postgres).await else { return };
    let order = async |decline: Value| {
        other.put("/1/sandbox/acquirer", &json!({ "decline": decline })).await.ok(200);
    };
    for _ in 0..2 {
        order(json!("lost_card")).await;
        app.client().post("/1/charges", &charge(400)).await.refused(400, "lost_card");
        order(json!(" ")).await;
        app.client().captured(400).await;
    }
}

#[tokio::test]
async fn a_payment_that_asks_the_cardholder_first_obeys_as_well() {
    let Some((app, ..)) = kept(Database::Postgres).await else { return };
    let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
    let pending = charge_with(501, json!({ "three_d_secure": three_d_secure }));
    app.execute(LIMIT).await;
    app.unchanged(app.client().post("/1/charges", &pending)).await.refused(422, "invalid_resource");
    app.execute("UPDATE accounts SET maximum_charge_cents = 1000").await;
    app.client().post("/1/charges", &pending).await.ok(201);
}

/// One payment made by the kept account: its statement in vain, the guard by itself, the account, and once more.
#[tokio::test]
async fn a_change_costs_the_next_payment_a_read_and_no_later_one() {
    let Some((app, ..)) = kept(Database::Postgres).await else { return };
    let mut reads = Vec::new();
    // However long the copy took to start: the key is known from now on.
    app.client().captured(400).await;
    app.execute(LIMIT).await;
    for _ in 0..2 {
        let before = app.ctx().store.statements();
        app.client().captured(400).await;
        reads.push(app.ctx().store.statements().reads - before.reads);
    }
    assert_eq!(reads, if app.ctx().store.has_row_versions() { [1, 0] } else { [1, 1] });
}

/// Payments in one group: those of a changed account run again, the others are made.
#[tokio::test]
async fn a_changed_account_costs_the_payments_of_others_nothing() {
    let Some((app, ..)) = kept(Database::Postgres).await else { return };
    let (_, stranger) = made(&app).await;
    for limit in 0..10 {
        let id = app.account().await.id();
        let change = format!("UPDATE accounts SET maximum_charge_cents = {} WHERE id = '{id}'", 1000 + limit);
        app.execute(change.leak()).await;
        let pay = |client: &Client| {
            let client = client.clone();
            tokio::spawn(async move { client.post("/1/charges", &charge(400)).await.ok(201) })
        };
        let payments: Vec<_> = (0..10).flat_map(|_| [pay(&app.client()), pay(&stranger)]).collect();
        for payment in payments {
            payment.await.unwrap();
        }
    }
    app.check_books().await;
    assert_eq!((app.client().listed().await, stranger.listed().await), (101, 101));
}
