//! `card-payments copy`: an installation moves into another database, whole and proven, or not at all.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::clock::IdGenerator;
use card_payments::Store;
use sea_orm::{ConnectionTrait, TransactionTrait};
use serde_json::Value;
use store::{Copy, CopyError, FollowingCopy, Location};

use crate::harness::postgres::is_distributed;
use crate::harness::process::{PAYMENT, Process, pause, peak_memory, repeatable_request, try_to_ask};
use crate::harness::{Database, Installed, eventually, operated, token_of};

#[expect(dead_code, reason = "shared with a bench, which wants more of it")]
#[path = "../../../benches/growth/fill.rs"]
mod fill;
mod followers;

/// The result of filling a database.
type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

impl Installed {
    /// An empty installation on the other kind of database.
    pub async fn other_kind(&self) -> Option<Self> {
        let other = match self.database {
            Database::Sqlite => Database::Postgres,
            Database::Postgres => Database::Sqlite,
        };
        Self::on(other).await
    }

    /// What is not in a database comes along by hand.
    pub fn take_along(&self, from: &Self) {
        std::fs::copy(from.data.path().join("vault.key"), self.data.path().join("vault.key")).unwrap();
    }

    /// The tables that have moved here from a running server.
    fn moved_from(&self, from: &Self) -> Vec<Value> {
        let (code, stdout, stderr) = from.run(&["copy", "--follow", "--json", "--to", &self.database_url()]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(
            stderr.starts_with("The installation has moved: start its servers on postgres://127.0.0.1"),
            "{stderr}"
        );
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn location(&self) -> Location {
        self.database_url().parse().unwrap()
    }

    /// The database as a command opens it.
    async fn store(&self) -> Store {
        Store::open(&self.location(), IdGenerator::default().into()).await.unwrap()
    }

    /// Returns whether nothing has ever used the database.
    async fn has_no_table(&self) -> bool {
        let tables = match self.database {
            Database::Sqlite => "sqlite_master",
            Database::Postgres => "pg_tables WHERE schemaname = current_schema()",
        };
        self.number(&format!("SELECT COUNT(*) FROM {tables}")).await == 0
    }

    /// Waits until so many connections wait for locks of others.
    async fn waits_for_locks(&self, connections: i64) {
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        // On one connection: those who wait give up after five seconds.
        let outside = self.outside().await;
        eventually(async || outside.count(waiting).await == connections).await;
    }

    /// The copied tables.
    #[track_caller]
    fn copied_to(&self, target: &Self) -> Vec<Value> {
        self.records(&["copy", "--to", &target.database_url()])
    }
}

/// An empty installation on PostgreSQL, distributed where there is a cluster.
async fn new_postgres() -> Option<Installed> {
    let new = Installed::on(Database::Postgres).await?;
    if is_distributed() {
        assert_eq!(new.run(&["migrate", "--distribute"]).0, Some(0));
    }
    Some(new)
}

/// All rows but the record of migrations, and SQLite's index of words, which is made from them.
async fn rows(installed: &Installed) -> Vec<String> {
    let rows = installed.rows().await;
    rows.lines()
        .filter(|row| !row.starts_with("charges_search") && !row.starts_with("seaql_migrations"))
        .map(str::to_owned)
        .collect()
}

/// A server with a few payments, one of them found by its words. Returns the key and the charges.
fn used(installed: &Installed) -> (Process, String, Vec<String>) {
    let server = installed.serve();
    let (key, _) = server.keys();
    let charges = (0..3).map(|_| token_of(&server.pay(&key).ok(201))).collect();
    (server, key, charges)
}

/// Pays under new keys, one after another, until the server refuses. Returns the status of each key.
fn payments_until_refused(
    server: SocketAddr,
    key: &str,
    payer: usize,
    is_over: &AtomicBool,
) -> BTreeMap<String, u16> {
    let mut statuses = BTreeMap::new();
    while !is_over.load(Ordering::SeqCst) && !statuses.values().any(|status| *status == 503) {
        let one = format!("{payer}-{}", statuses.len());
        let request = repeatable_request("POST", "/1/charges", Some(key), Some(&one), PAYMENT);
        let response = try_to_ask(server, &request).unwrap();
        if response.status != 201 {
            assert_eq!(
                (response.status, response.headers["retry-after"].as_str()),
                (503, "1"),
                "{response:?}"
            );
        }
        statuses.insert(one, response.status);
    }
    statuses
}

/// Repeats a payment until it is answered for good.
fn repeat(server: SocketAddr, key: &str, one: &str) -> u16 {
    loop {
        let request = repeatable_request("POST", "/1/charges", Some(key), Some(one), PAYMENT);
        match try_to_ask(server, &request).unwrap().status {
            // Its first try is still to be settled.
            409 | 503 => pause(Duration::from_millis(50)),
            status => return status,
        }
    }
}

operated! {
    async fn a_shop_moves_to_postgresql_while_it_takes_payments(installed) {
        let Some(new) = new_postgres().await else { return };
        let (old, key, charges) = used(installed);
        new.take_along(installed);
        let is_over = AtomicBool::new(false);
        let (moved, paid) = std::thread::scope(|scope| {
            let payers: Vec<_> = (0..4)
                .map(|payer| scope.spawn({ let (key, over, at) = (&key, &is_over, old.address); move || payments_until_refused(at, key, payer, over) }))
                .collect();
            let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| new.moved_from(installed)));
            is_over.store(true, Ordering::SeqCst);
            (moved.unwrap(), payers.into_iter().flat_map(|payer| payer.join().unwrap()).collect::<BTreeMap<_, _>>())
        });
        assert!(paid.values().any(|status| *status == 201), "payments were taken meanwhile");
        // The old server shows what it has, and changes nothing.
        old.ask("GET", &format!("/1/charges/{}", charges[0]), Some(&key), "").ok(200);
        let refused = old.pay(&key);
        assert_eq!((refused.status, refused.json()["error"].as_str()), (503, Some("service_unavailable")));
        old.stopped();
        let (code, _, stderr) = installed.run(&["serve"]);
        assert_eq!(code, Some(1));
        assert!(stderr.contains("the installation has moved to postgres://127.0.0.1"), "{stderr}");
        installed.refuses(&["copy", "--to", &new.database_url(), "--cancel"], "the target holds an installation, and a server may run on it: none starts on the source again");

        // As if half a minute had passed: payments are settled whose outcome was refused.
        new.execute("UPDATE charges SET settle_after = settle_after - 60000").await;
        let server = new.serve();
        assert_eq!(server.keys().0, key);
        let mut approved = charges.len();
        for (one, first) in &paid {
            let status = repeat(server.address, &key, one);
            // A payment whose outcome was refused is reversed.
            assert!(status == 201 || (*first == 503 && status == 502), "{one}: {first}, then {status}");
            approved += usize::from(status == 201);
        }
        assert_eq!(new.number("SELECT COUNT(*) FROM charges WHERE state = 'captured'").await, i64::try_from(approved).unwrap());
        let rows = moved.iter().find(|table| table["table"] == "charges").unwrap()["rows"].as_u64();
        assert!(rows >= Some(charges.len() as u64), "{moved:?}");
        server.stopped();
        assert_eq!(new.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn a_row_that_could_not_be_read_afterwards_ends_a_copy(installed) {
        used(installed).0.stopped();
        for (column, wrong) in [("card", "visa"), ("metadata", "[]"), ("currency", "XYZ")] {
            let Some(copy) = installed.other_kind().await else { return };
            let former = installed.outside().await.text(&format!("SELECT MIN({column}) FROM charges")).await;
            installed.execute(&format!("UPDATE charges SET {column} = '{wrong}'")).await;
            let (code, _, stderr) = installed.run(&["copy", "--to", &copy.database_url()]);
            assert_eq!(code, Some(1), "{column}");
            assert!(stderr.contains("error: a row of charges cannot be read: "), "{column}: {stderr}");
            assert!(copy.run(&["serve"]).2.contains("the database is an unfinished copy"), "{column}");
            installed.execute(&format!("UPDATE charges SET {column} = '{former}'")).await;
            installed.copied_to(&copy);
        }
    }

    async fn a_move_that_is_cut_off_goes_on_or_is_cancelled_and_loses_nothing(installed) {
        let Some(new) = Installed::on(Database::Postgres).await else { return };
        let (server, key, _) = used(installed);
        new.take_along(installed);
        // Killed at any point, again and again, and never finished: it waits for a lock on the copy once it has got so far.
        for milliseconds in [5, 50, 150, 400] {
            let mut copying = installed.program().args(["copy", "--follow", "--to", &new.database_url()]).spawn().unwrap();
            pause(Duration::from_millis(milliseconds));
            if copying.try_wait().unwrap().is_some() {
                break;
            }
            copying.kill().unwrap();
            copying.wait().unwrap();
        }
        server.stopped();
        // On a busy machine none got as far as the mark.
        let is_marked = new.run(&["account", "list"]).0 != Some(0);
        if is_marked || new.number("SELECT COUNT(*) FROM accounts").await == 0 {
            // Where it was killed when all writing had ended, the source is served again.
            assert_eq!(installed.run(&["copy", "--to", &new.database_url(), "--cancel"]), (Some(0), String::new(), String::new()));
            if is_marked {
                assert!(new.run(&["serve"]).2.contains("the database is an unfinished copy"));
            }
            let server = installed.serve();
            server.pay(&key).ok(201);
            let there = new.moved_from(installed);
            assert_eq!(there.iter().find(|table| table["table"] == "charges").unwrap()["rows"], 4);
            server.stopped();
        }
        let server = new.serve();
        assert_eq!(server.keys().0, key);
        server.pay(&key).ok(201);
        server.stopped();
        assert_eq!(new.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn a_copy_in_its_last_moment_is_completed_or_cancelled_and_never_both(installed) {
        used(installed).0.stopped();
        for cancel_comes_first in [true, false] {
            let Some(new) = Installed::on(Database::Postgres).await else { return };
            new.take_along(installed);
            let (source, target) = (installed.store().await, new.location());
            let copy = FollowingCopy::begin(&source, &target).await.unwrap();
            copy.run(&()).await.unwrap();
            copy.catch_up().await.unwrap();
            // Both wait for the mark, in this order.
            let outside = sea_orm::Database::connect(new.database_url()).await.unwrap();
            let mark = outside.begin().await.unwrap();
            mark.execute_unprepared("SELECT * FROM installation WHERE name = 'copying' FOR UPDATE").await.unwrap();
            let comes = async |is_first: bool| if !is_first { new.waits_for_locks(1).await };
            let (moved, cancelled, ()) = tokio::join!(
                async { comes(!cancel_comes_first).await; copy.move_over().await },
                async { comes(cancel_comes_first).await; Copy::cancel(&source, &target).await },
                async { new.waits_for_locks(2).await; mark.rollback().await.unwrap() }
            );
            let (chosen, other) = if cancel_comes_first {
                assert!(matches!(moved, Err(CopyError::Cancelled)));
                cancelled.unwrap();
                (installed as &Installed, &new)
            } else {
                moved.unwrap().compare(|_| ()).await.unwrap();
                assert!(matches!(cancelled, Err(CopyError::NotUnfinished)));
                (&new, installed as &Installed)
            };
            let server = chosen.serve();
            server.pay(&server.keys().0).ok(201);
            server.stopped();
            assert_eq!(other.run(&["serve"]).0, Some(1));
        }
    }

    async fn a_server_is_followed_into_postgresql_only(installed) {
        used(installed).0.stopped();
        let file = Installed::on(Database::Sqlite).await.unwrap();
        let before = installed.rows().await;
        installed.refuses(
            &["copy", "--follow", "--to", &file.database_url()],
            "a running server is followed into PostgreSQL only: stop it, and copy without --follow",
        );
        assert_eq!(installed.rows().await, before);
    }

    async fn a_copy_in_the_other_kind_of_database_and_back_is_the_same_and_serves(installed) {
        let Some(other) = installed.other_kind().await else { return };
        let back = Installed::on(installed.database).await.unwrap();
        let (server, key, charges) = used(installed);
        server.stopped();

        let there = installed.copied_to(&other);
        assert!(there.iter().any(|table| table["table"] == "charges" && table["rows"] == 3), "{there:?}");
        assert_eq!(other.copied_to(&back), there, "the same rows have the same checksums on both kinds");
        assert_eq!(rows(&back).await, rows(installed).await);

        for copy in [&other, &back] {
            copy.take_along(installed);
            assert_eq!(copy.run(&["ledger", "verify"]).0, Some(0));
            let server = copy.serve();
            assert_eq!(server.keys().0, key);
            for charge in &charges {
                server.ask("GET", &format!("/1/charges/{charge}"), Some(&key), "").ok(200);
            }
            let found = server.ask("GET", "/1/charges/search?query=example.com", Some(&key), "").json();
            assert_eq!(found["count"], 3, "its words are found");
            server.pay(&key).ok(201);
            server.stopped();
            assert_eq!(copy.run(&["ledger", "verify"]).0, Some(0));
        }
    }

    async fn a_copy_is_made_while_a_server_takes_payments(installed) {
        let Some(other) = installed.other_kind().await else { return };
        let (server, key, charges) = used(installed);
        let copied = std::thread::scope(|scope| {
            let copying = scope.spawn(|| installed.copied_to(&other));
            let mut meanwhile = 0;
            while !copying.is_finished() {
                server.pay(&key).ok(201);
                meanwhile += 1;
            }
            assert!(meanwhile > 0);
            copying.join().unwrap()
        });
        server.stopped();
        let table = copied.iter().find(|table| table["table"] == "charges").unwrap();
        assert!(table["rows"].as_u64() >= Some(charges.len() as u64), "{table}");
        assert_eq!(other.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn only_an_empty_database_is_copied_to(installed) {
        let Some(other) = installed.other_kind().await else { return };
        let (server, ..) = used(installed);
        server.stopped();
        let (server, ..) = used(&other);
        server.stopped();
        let before = other.rows().await;
        installed.refuses(&["copy", "--to", &other.database_url()], "the target is not empty: name a new database");
        assert_eq!(other.rows().await, before);
        installed.refuses(&["copy", "--to", &installed.database_url()], "the target is not empty: name a new database");
        let empty = Installed::on(installed.database).await.unwrap();
        let untouched = installed.other_kind().await.unwrap();
        let nothing = match empty.database {
            Database::Sqlite => empty.no_database(),
            Database::Postgres => "there is nothing to copy: the database is empty".to_owned(),
        };
        empty.refuses(&["copy", "--to", &untouched.database_url()], &nothing);
        installed.with("ENVIRONMENT", "live");
        installed.refuses(&["copy", "--to", &untouched.database_url()], "the database belongs to the test environment");
        assert!(untouched.has_no_table().await);
    }

    async fn a_copy_that_was_cut_off_continues_and_no_server_starts_on_it_before(installed) {
        let Some(other) = installed.other_kind().await else { return };
        let (server, key, _) = used(installed);
        server.stopped();
        let complete = installed.copied_to(&other);
        // As a command leaves it that is killed: marked, some tables whole, some in part, some as they were before later payments.
        for sql in [
            "INSERT INTO installation (name, value) VALUES ('copying', 'unfinished')",
            "DELETE FROM events",
            "DELETE FROM postings WHERE account_id IN (SELECT id FROM accounts) AND id > (SELECT MIN(id) FROM postings)",
            "UPDATE charges SET description = 'another'",
        ] {
            // PostgreSQL has no smallest id.
            let sql = if other.database == Database::Postgres { sql.replace("(SELECT MIN(id) FROM postings)", "(SELECT id FROM postings ORDER BY id LIMIT 1)") } else { sql.into() };
            other.execute(&sql).await;
        }
        other.take_along(installed);
        let refusal = "the database is an unfinished copy of another one";
        other.refuses(&["account", "list"], refusal);
        let (code, _, stderr) = other.run(&["serve"]);
        assert_eq!(code, Some(1));
        assert!(stderr.contains(refusal), "{stderr}");

        assert_eq!(installed.copied_to(&other), complete);
        let server = other.serve();
        assert_eq!(server.keys().0, key);
        server.stopped();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_moves_from_a_plain_postgresql_to_a_cluster_and_back() {
    if !is_distributed() {
        return;
    }
    let plain = Installed::on(Database::Postgres).await.unwrap();
    let [cluster, back, again] = [
        new_postgres().await.unwrap(),
        Installed::on(Database::Postgres).await.unwrap(),
        new_postgres().await.unwrap(),
    ];
    let (server, key, _) = used(&plain);
    let check = |installed: &Installed, charges: u64| {
        installed.take_along(&plain);
        let server = installed.serve();
        server.pay(&key).ok(201);
        let found = server.ask("GET", "/1/charges/search?query=example.com", Some(&key), "").json();
        assert_eq!(found["count"], charges);
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    };
    cluster.moved_from(&plain);
    server.stopped();
    check(&cluster, 4);

    let refusal = "a distributed database cannot be followed: stop its servers, and copy without --follow";
    cluster.refuses(&["copy", "--follow", "--to", &back.database_url()], refusal);
    let copied = cluster.copied_to(&back);
    assert_eq!(back.copied_to(&again), copied, "the same rows have the same checksums on a cluster");
    check(&back, 5);
    check(&again, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_into_sqlite_takes_little_memory() {
    const CHARGES: i64 = 10_000;
    // The copy, its index and its proof each cache pages on a few connections, of 16 MiB at most one, and sort in 4 MiB.
    const MEMORY_KIB: u64 = 70 << 10;
    let (large, copy) =
        (Installed::on(Database::Sqlite).await.unwrap(), Installed::on(Database::Sqlite).await.unwrap());
    let place = fill::Place::new(large.data.path(), None).unwrap();
    let server = large.serve();
    let template = PAYMENT.replace(
        "description=Test",
        &format!("description={}", fill::description("%23n%23", "%23l%23").replace(' ', "+")),
    );
    server.ask("POST", "/1/charges", Some(&server.keys().0), &template).ok(201);
    server.stopped();
    place.fill(CHARGES).await.unwrap();

    let mut copying =
        large.program().args(["copy", "--to", &copy.database_url()]).stdout(Stdio::null()).spawn().unwrap();
    let (status, peak) = peak_memory(copying.id(), || copying.wait().unwrap());
    assert!(status.success());
    assert_eq!(copy.number("SELECT COUNT(*) FROM charges").await, CHARGES);
    if let Some(peak) = peak {
        assert!(peak < MEMORY_KIB, "{peak} KiB");
    }
}
