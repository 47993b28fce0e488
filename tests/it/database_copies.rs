//! `card-payments copy`: an installation moves into another database, whole and proven, or not at all.

use serde_json::Value;

use crate::harness::process::Process;
use crate::harness::{Database, Installed, operated, token_of};

impl Installed {
    /// An empty installation on the other kind of database.
    async fn other_kind(&self) -> Option<Self> {
        let other = match self.database {
            Database::Sqlite => Database::Postgres,
            Database::Postgres => Database::Sqlite,
        };
        Self::on(other).await
    }

    /// What is not in a database comes along by hand.
    fn take_along(&self, from: &Self) {
        std::fs::copy(from.data.path().join("vault.key"), self.data.path().join("vault.key")).unwrap();
    }

    /// The copied tables.
    #[track_caller]
    fn copied_to(&self, target: &Self) -> Vec<Value> {
        self.records(&["copy", "--to", &target.database_url()])
    }
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

operated! {
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
        empty.refuses(&["copy", "--to", &untouched.database_url()], "there is nothing to copy: the database is empty");
        installed.with("ENVIRONMENT", "live");
        installed.refuses(&["copy", "--to", &untouched.database_url()], "the database belongs to the test environment");
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
