//! Refunds that race end with refunds that exceed neither the charge nor the balance (`docs/decisions.md`, 197).
//! `CARD_PAYMENTS_RACE_ROUNDS` says how often each race is run.

use card_payments::error::Error;
use card_payments::services::ledger::{self, Entry, FundsSource};
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{AccountToken, Day};
use futures::future::{join, join_all};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use crate::harness::{Answer, App, Client, Database, charge_with, rounds, rules, token_of};

const RACERS: usize = 64;
const OVER_THE_CHARGE: &str = "You have tried to refund more than the original charge";

/// Refunds of these charges and amounts, all in flight together; no amount is the full one.
async fn race(
    client: &Client,
    refunds: impl Iterator<Item = (String, Option<i64>)>,
) -> Vec<(Option<i64>, Answer)> {
    let tasks = refunds.map(|(charge, amount)| {
        let client = client.clone().patient();
        tokio::spawn(async move {
            let body = amount.map_or(json!({}), |amount| json!({ "amount": amount }));
            let path = format!("/1/charges/{charge}/refunds");
            (amount, client.post(&path, &body).await)
        })
    });
    join_all(tasks).await.into_iter().map(|answer| answer.expect("an answer")).collect()
}

fn refunded(charge: &Value) -> i64 {
    charge["amount_refunded"].as_i64().unwrap()
}

rules! {
    async fn of_full_refunds_one_wins(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let charge = token_of(&client.captured(400).await);
            let answers = race(&client, (0..RACERS).map(|_| (charge.clone(), None))).await;
            let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|(_, answer)| answer.status == 201);
            assert_eq!((won.len(), lost.len()), (1, RACERS - 1));
            for (_, answer) in lost {
                answer.faulty(&[("amount", OVER_THE_CHARGE)]);
            }
            assert_eq!(refunded(&client.charge(&charge).await), 400);
        }
    }

    async fn mixed_partial_refunds_take_no_more_than_the_charge(app) {
        let client = app.client();
        for round in 0..rounds() {
            let charge = token_of(&client.post("/1/charges", &charge_with(1_001, json!({ "currency": "USD" }))).await.ok(201));
            let amounts = (0..RACERS).map(|n| Some(1 + i64::try_from((n * 37 + round * 11) % 120).unwrap()));
            let answers = race(&client, amounts.map(|amount| (charge.clone(), amount))).await;
            let mut taken = 0;
            for (amount, answer) in &answers {
                if answer.status == 201 {
                    taken += amount.unwrap();
                }
            }
            for (amount, answer) in &answers {
                if answer.status != 201 {
                    answer.faulty(&[("amount", OVER_THE_CHARGE)]);
                    // What was refused would not have fitted at the end either.
                    assert!(taken + amount.unwrap() > 1_001, "{amount:?} was refused beside {taken}");
                }
            }
            assert!(taken <= 1_001);
            assert_eq!(refunded(&client.charge(&charge).await), taken);
        }
        app.do_due_work().await;
    }

    async fn refunds_of_many_charges_take_no_more_than_the_balance(app) {
        let client = app.client();
        app.opens_with(0).await;
        for _ in 0..rounds() {
            // Each charge brings 952 cents, and 1,000 are asked back of each.
            let charges: Vec<_> = join_all((0..16).map(|_| client.captured(1_000))).await.iter().map(token_of).collect();
            let (available, pending) = client.balance().await;
            let answers = race(&client, (0..RACERS).map(|n| (charges[n % 16].clone(), Some(250)))).await;
            let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|(_, answer)| answer.status == 201);
            assert_eq!(i64::try_from(won.len()).unwrap(), (available + pending) / 250);
            assert!(!lost.is_empty());
            for (_, answer) in lost {
                assert_eq!((answer.status, &answer.json()[0]["error"]), (402, &json!("insufficient_service_balance")));
            }
            let (available, pending) = client.balance().await;
            assert!((0..250).contains(&(available + pending)));
        }
    }

    async fn refunds_that_fail_while_others_are_made_leave_the_books_right(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let fails = charge_with(1_000, json!({ "card": crate::harness::card("4200700000000013") }));
            let charge = token_of(&client.post("/1/charges", &fails).await.ok(201));
            race(&client, (0..10).map(|_| (charge.clone(), Some(100)))).await;
            app.do_due_work().await;
            app.clock.advance(entity::TimeSpan::seconds(10));
            let (answers, ()) = join(race(&client, (0..RACERS).map(|_| (charge.clone(), Some(50)))), app.do_due_work()).await;
            let won = answers.iter().filter(|(_, answer)| answer.status == 201).count();
            for (_, answer) in answers.iter().filter(|(_, answer)| answer.status != 201) {
                answer.faulty(&[("amount", OVER_THE_CHARGE)]);
            }
            app.do_due_work().await;
            assert_eq!(refunded(&client.charge(&charge).await), 50 * i64::try_from(won).unwrap());
        }
    }

    async fn of_debits_in_one_batch_none_takes_what_another_has_taken(app) {
        let account = entity::account::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap();
        let today = account.created_at.day();
        app.opens_with(100).await;
        let debit = |draws, amount| Movement::Debit(account.id, draws, amount);
        let moved = in_one_batch(app, vec![debit(FundsSource::Available, 60), debit(FundsSource::Available, 60)]).await;
        assert_eq!(moved.iter().filter(|moved| **moved).count(), 1);
        assert_eq!(app.client().balance().await, (40, 0));
        // Pending money is there for refunds only.
        in_one_batch(app, vec![Movement::Credit(account.id, today.plus(1), 30)]).await;
        assert_eq!(in_one_batch(app, vec![debit(FundsSource::Available, 41)]).await, [false]);
        let draws = FundsSource::AvailableAndPending;
        let moved = in_one_batch(app, vec![debit(draws, 50), debit(draws, 50), debit(draws, 50)]).await;
        assert_eq!(moved.iter().filter(|moved| **moved).count(), 1);
        assert_eq!(app.client().balance().await, (-10, 30));
        // These movements have no records.
        app.execute("DELETE FROM postings").await;
        app.execute("DELETE FROM balances").await;
        app.execute("DELETE FROM deposits").await;
        app.execute("DELETE FROM counters WHERE kind = 'deposits'").await;
    }

    async fn a_debit_sees_the_credits_of_its_batch(app) {
        let account = entity::account::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap();
        let today = account.created_at.day();
        app.opens_with(0).await;
        let movements = vec![
            Movement::Credit(account.id, today, 60), Movement::Credit(account.id, today.plus(1), 60),
            Movement::Debit(account.id, FundsSource::Available, 61), Movement::Debit(account.id, FundsSource::AvailableAndPending, 120),
        ];
        let moved = in_one_batch(app, movements).await;
        // On PostgreSQL each is a transaction of its own, in any order.
        assert!(app.database == Database::Postgres || moved == [true, true, false, true], "{moved:?}");
        app.execute("DELETE FROM postings").await;
        app.execute("DELETE FROM balances").await;
        app.execute("DELETE FROM deposits").await;
        app.execute("DELETE FROM counters WHERE kind = 'deposits'").await;
    }
}

/// A movement of money.
enum Movement {
    Credit(AccountToken, Day, i64),
    Debit(AccountToken, FundsSource, i64),
}

/// Units that share a batch on SQLite, as tests/it/store/mod.rs puts them together.
async fn in_one_batch(app: &App, movements: Vec<Movement>) -> Vec<bool> {
    let store = &app.ctx().store;
    let now = app.ctx().clock.now();
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let held = store.write(std::sync::Arc::clone(&gate), async |_, gate| {
        drop(gate.acquire().await);
        Ok(())
    });
    let units = movements.into_iter().map(|movement| {
        store.write((movement, now), async |tx, (movement, now)| {
            let entry = |account: &AccountToken| Entry {
                account: *account,
                kind: EntryKind::Refund,
                source: (*account).into(),
                now: *now,
            };
            match movement {
                Movement::Credit(account, day, amount) => {
                    ledger::record(tx, &entry(account), *day, *amount, &[(Book::Deposits, -amount)]);
                    Ok::<_, Error>(true)
                }
                Movement::Debit(account, draws, amount) => {
                    let entry = entry(account);
                    Ok(ledger::debit(tx, &entry, *draws, *amount, Book::Refunds).await?.is_ok())
                }
            }
        })
    });
    let (held, (moved, ())) = join(held, join(join_all(units), async { gate.add_permits(1) })).await;
    held.unwrap();
    moved.into_iter().map(Result::unwrap).collect()
}
