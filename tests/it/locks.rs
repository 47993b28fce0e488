//! Locks of other clients on PostgreSQL: no request waits for them without a limit.

use std::time::Duration;

use sea_orm::{ConnectionTrait, TransactionTrait};

use crate::harness::process::{PAYMENT, output};
use crate::harness::{Database, Installed, RawDatabase, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_somebody_else_has_locked_costs_each_caller_a_503_and_the_server_nothing() {
    let Some(installed) = Installed::on(Database::Postgres).await else { return };
    let server = installed.serve();
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    let RawDatabase::Postgres(somebody) = installed.outside().await else { return };
    let lock = somebody.begin().await.unwrap();
    lock.execute_unprepared("LOCK TABLE charges IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let ask = |method, form| server.ask(method, "/1/charges", Some(&key), form);
    // More than there are connections to the database.
    let answers: Vec<_> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..24)
            .map(|n| scope.spawn(move || if n % 3 == 0 { ask("GET", "") } else { ask("POST", PAYMENT) }))
            .collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for answer in answers {
        assert_eq!((answer.status, answer.json()["error"].as_str()), (503, Some("service_unavailable")));
        assert_eq!(answer.headers["retry-after"], "1");
    }
    lock.rollback().await.unwrap();
    eventually(async || server.pay(&key).status == 201).await;
    // Nothing was charged of what was refused.
    assert_eq!(ask("GET", "").json()["count"], 2);
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
    let (code, said, _) = tokio::time::timeout(Duration::from_mins(1), checking).await.unwrap().unwrap();
    assert_eq!(code, Some(1));
    let told = |area: &str, words: &str| said.lines().any(|line| line.contains(area) && line.contains(words));
    assert!(told("database", "lock timeout") && told("acquirer", "a simulator"), "{said}");
    lock.rollback().await.unwrap();
}
