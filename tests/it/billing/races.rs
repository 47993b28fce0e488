//! Races for a bill end with one bill (`docs/decisions.md`, 185 and 188). `CARD_PAYMENTS_RACE_ROUNDS` says how often each
//! race is run.

use std::sync::Arc;

use entity::{Listed, TimeSpan, subscription, subscription_entry};
use futures::future::{join, join_all};
use sea_orm::sea_query::LockType;
use sea_orm::{EntityTrait, QuerySelect};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::harness::postgres::is_distributed;
use crate::harness::{App, Client, Database, at_once, eventually, rounds, rules, token_of};
use card_payments::error::Error;

const CARD: &str = "4200000000000000";

async fn customer(client: &Client) -> String {
    token_of(&client.customer(CARD).await)
}

/// Days, so that no card expires however many rounds there are.
fn daily() -> Value {
    json!({ "interval_unit": "day" })
}

/// On SQLite units are written one after the other, and what waits on a worker its coordinator does not see.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_bill_in_flight_writes_goes_with_its_plan() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    if is_distributed() {
        return;
    }
    let client = app.client();
    let plan = client.plan(&daily()).await;
    let subscription = client.subscribed(&plan, &customer(&client).await).await;
    client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
    client.delete(&format!("/1/plans/{plan}")).await.ok(204);
    let entry = subscription_entry::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap();
    let next = subscription_entry::Model { id: app.ctx().ids.token(), interval_number: 2, ..entry };
    let (locked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let unit = (next, Arc::clone(&locked), Arc::clone(&go_on));
    let bill = app.ctx().store.write(unit, async |tx, (next, locked, go_on)| {
        let row = subscription::Entity::at(next.account_id, next.subscription_id);
        row.lock(LockType::NoKeyUpdate).one(tx).await?;
        locked.notify_one();
        go_on.notified().await;
        tx.append(next);
        Ok::<_, Error>(())
    });
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let deletion = async {
        locked.notified().await;
        let released = async {
            eventually(async || app.number(waiting).await == 1).await;
            go_on.notify_one();
        };
        join(app.do_due_work(), released).await;
    };
    join(bill, deletion).await.0.unwrap();
    for table in ["plans", "subscriptions", "subscription_entries"] {
        assert_eq!(app.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
    }
}

rules! {
    async fn many_workers_at_once_bill_an_interval_once(app) {
        let client = app.client();
        let plan = client.plan(&daily()).await;
        let customer = customer(&client).await;
        for round in 1..=rounds() as u64 {
            let mut subscriptions = vec![];
            for _ in 0..4 {
                subscriptions.push(client.subscribed(&plan, &customer).await);
            }
            app.clock.advance(TimeSpan::days(1));
            join_all((0..6).map(|_| app.do_due_work())).await;
            assert_eq!(client.listed().await, round * 2 * 4);
            for subscription in subscriptions {
                client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
            }
        }
    }

    async fn of_many_cancellations_one_wins(app) {
        let client = app.client().patient();
        let customer = customer(&client).await;
        for _ in 0..rounds() {
            let plan = client.plan(&json!({})).await;
            let subscription = client.subscribed(&plan, &customer).await;
            let before = app.events().await.len();
            let racers = (0..16).map(|n| {
                let (client, subscription) = (client.clone(), subscription.clone());
                async move {
                    if n % 2 == 0 {
                        client.delete(&format!("/1/subscriptions/{subscription}")).await
                    } else {
                        client.unsubscribes(&subscription).await
                    }
                }
            });
            let answers = at_once(racers).await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
            assert_eq!(app.events().await.len(), before + 1);
            assert_eq!(client.counts(&plan).await.iter().sum::<i64>(), 1);
        }
    }

    async fn of_many_reactivations_one_charges(app) {
        let client = app.client().patient();
        let customer = customer(&client).await;
        for _ in 0..rounds() {
            let subscription = client.subscribed(&client.plan(&daily()).await, &customer).await;
            client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
            app.clock.advance(TimeSpan::days(2));
            app.do_due_work().await;
            let before = client.listed().await;
            let racers = (0..16).map(|_| {
                let (client, subscription) = (client.clone(), subscription.clone());
                async move { client.put_subscription(&subscription, "reactivate").await }
            });
            let answers = at_once(racers).await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
            assert_eq!(client.listed().await, before + 1);
            client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        }
    }

    async fn whatever_races_the_end_of_a_customer_nothing_of_it_stays_open(app) {
        let client = app.client().patient();
        let plan = client.plan(&daily()).await;
        for _ in 0..rounds() {
            let customer = customer(&client).await;
            let card = token_of(&client.post(&format!("/1/customers/{customer}/cards"), &crate::harness::card(CARD)).await.ok(201));
            client.subscribed(&plan, &customer).await;
            app.clock.advance(TimeSpan::days(1));
            let racers = (0..12).map(|n| {
                let (client, plan, customer, card) = (client.clone(), plan.clone(), customer.clone(), card.clone());
                async move {
                    match n % 4 {
                        0 => client.delete(&format!("/1/customers/{customer}")).await,
                        1 => client.delete(&format!("/1/customers/{customer}/cards/{card}")).await,
                        2 => client.subscribing(&plan, &customer, &json!({ "card_token": card })).await,
                        _ => client.subscribing(&plan, &customer, &json!({})).await,
                    }
                }
            });
            let (answers, ()) = futures::future::join(at_once(racers), app.do_due_work()).await;
            for answer in answers {
                assert!([200, 201, 204, 400, 404].contains(&answer.status), "{}", answer.text);
            }
            app.check_books().await;
        }
        let [_, active, ..] = client.counts(&plan).await;
        assert_eq!(active, 0);
    }
}

/// Does what is due by two copies of the server at once.
async fn two_copies_work(app: &App) {
    let copy = app.copy().await;
    let by_copy = async {
        for kind in card_payments::services::due_work_registry::KINDS {
            while kind.run(&copy.ctx).await.unwrap() > 0 {}
        }
    };
    futures::future::join(app.do_due_work(), by_copy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_copies_bill_an_interval_once() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let client = app.client();
    let customer = customer(&client).await;
    let plan = client.plan(&json!({})).await;
    for _ in 0..40 {
        client.subscribed(&plan, &customer).await;
    }
    app.clock.advance(TimeSpan::days(31));
    two_copies_work(&app).await;
    assert_eq!(client.listed().await, 80);
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_copies_that_sweep_a_deleted_plan_leave_nothing_of_it() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let client = app.client();
    let customer = customer(&client).await;
    for _ in 0..rounds() {
        let plan = client.plan(&json!({})).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        // More than one batch.
        app.execute(
            "INSERT INTO subscription_entries SELECT account_id, gen_random_uuid(), subscription_id, 100 + n, annotation, amount, currency, \
             charge_id, created_at FROM subscription_entries, generate_series(1, 3000) n",
        )
        .await;
        client.delete(&format!("/1/plans/{plan}")).await.ok(204);
        two_copies_work(&app).await;
        for table in ["subscription_entries", "subscriptions", "plans"] {
            assert_eq!(app.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
        }
    }
}
