//! Locks of other clients on PostgreSQL: no request waits for them without a limit.

use std::sync::Arc;
use std::time::Duration;

use base::request_context::detach;
use card_payments::error::{Error, ErrorCode};
use entity::card;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, EntityTrait, TransactionTrait};
use tokio::sync::Notify;

use crate::harness::process::{PAYMENT, output};
use crate::harness::{App, Database, Installed, RawDatabase, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_somebody_else_has_locked_costs_each_caller_a_503_and_the_server_nothing() {
    let Some(installed) = Installed::on(Database::Postgres).await else { return };
    let server = installed.serve();
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    let RawDatabase::Postgres(somebody) = installed.outside().await else { return };
    let lock = somebody.begin().await.unwrap();
    lock.execute_unprepared("LOCK TABLE charges IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let send = |method, form| server.ask(method, "/1/charges", Some(&key), form);
    // More than there are connections to the database.
    let answers: Vec<_> = std::thread::scope(|scope| {
        let requests: Vec<_> = (0..24)
            .map(|n| scope.spawn(move || if n % 3 == 0 { send("GET", "") } else { send("POST", PAYMENT) }))
            .collect();
        requests.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for answer in answers {
        assert_eq!((answer.status, answer.json()["error"].as_str()), (503, Some("service_unavailable")));
        assert_eq!(answer.headers["retry-after"], "1");
    }
    lock.rollback().await.unwrap();
    eventually(async || server.pay(&key).status == 201).await;
    // Nothing was charged of what was refused.
    assert_eq!(send("GET", "").json()["count"], 2);
    assert_eq!(installed.number("SELECT COUNT(*) FROM charges").await, 2);
    assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    server.stopped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_tells_of_a_table_that_somebody_else_has_locked_and_of_all_else() {
    let Some(installed) = Installed::on(Database::Postgres).await else { return };
    installed.serve().stopped();
    let RawDatabase::Postgres(somebody) = installed.outside().await else { return };
    let lock = somebody.begin().await.unwrap();
    lock.execute_unprepared("LOCK TABLE vault_keys IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut check = installed.program();
    let checking = tokio::task::spawn_blocking(move || output(check.arg("check")));
    let (code, stdout, _) = tokio::time::timeout(Duration::from_mins(1), checking).await.unwrap().unwrap();
    assert_eq!(code, Some(1));
    let has_line =
        |area: &str, words: &str| stdout.lines().any(|line| line.contains(area) && line.contains(words));
    assert!(has_line("database", "lock timeout") && has_line("acquirer", "a simulator"), "{stdout}");
    lock.rollback().await.unwrap();
}

/// Stores one more card like this one.
async fn store_card(app: &App, one: &card::Model) -> Result<(), Error> {
    let row = card::Model { id: app.ctx().ids.token(), ..one.clone() };
    let unit = app.ctx().store.write(row, async |tx, row| {
        tx.append(row);
        Ok(())
    });
    unit.await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_that_is_given_up_while_it_waits_for_its_group_harms_no_other() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    app.client().card_token("4200000000000000").await;
    let one = &card::Entity::find().one(app.ctx().store.read()).await.unwrap().unwrap();
    let unlock = Arc::new(Notify::new());
    let locked = app.ctx().store.write(Arc::clone(&unlock), async |tx, unlock| {
        tx.execute_unprepared("LOCK TABLE cards IN SHARE MODE").await?;
        unlock.notified().await;
        Err::<(), _>(ErrorCode::NotFound.into())
    });
    let held =
        "SELECT COUNT(*) FROM pg_locks WHERE granted AND mode = 'ShareLock' AND relation = 'cards'::regclass";
    let blocked = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = 'cards'::regclass";
    let first_two = async {
        eventually(async || app.number(held).await == 1).await;
        join_all([store_card(&app, one), store_card(&app, one)]).await
    };
    let others = async {
        eventually(async || app.number(blocked).await == 2).await;
        // The first unit of the group that waits for these two.
        let given_up = detach(store_card(&app, one));
        assert!(tokio::time::timeout(Duration::from_millis(50), given_up).await.is_err());
        let mut others = join_all([store_card(&app, one), store_card(&app, one)]);
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut others).await.is_err());
        unlock.notify_one();
        others.await
    };
    let (_, first_two, others) = tokio::join!(locked, first_two, others);
    for stored in first_two.into_iter().chain(others) {
        stored.unwrap();
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 5);
}
