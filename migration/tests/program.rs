//! `card-payments-migration`, the program, on a PostgreSQL of its own.

// Tells clippy that all of this is test code: unwrap is allowed.
#![cfg(test)]

use std::process::Command;

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

#[path = "../../tests/it/harness/cluster.rs"]
#[expect(dead_code, reason = "shared with the server's tests, which want more of it")]
mod cluster;
#[path = "../../tests/it/harness/skipped.rs"]
mod skipped;

/// A database that is dropped with this value.
struct Given {
    server: DatabaseConnection,
    name: String,
    url: String,
    _cluster: Option<cluster::Cluster>,
}

impl Given {
    /// Makes an empty database on the server that `CARD_PAYMENTS_TEST_POSTGRES_URL` names, or on a throwaway one. None where
    /// PostgreSQL is not installed.
    async fn database() -> Option<Self> {
        let named = std::env::var("CARD_PAYMENTS_TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty());
        let (server, cluster) = if let Some(url) = named {
            (url, None)
        } else {
            let cluster = cluster::Cluster::fast().unwrap()?;
            (cluster.url(), Some(cluster))
        };
        let name = format!("card_payments_migration_{}", std::process::id());
        let mut url = url::Url::parse(&server).unwrap();
        url.set_path(&name);
        let server = Database::connect(server).await.unwrap();
        server.execute_unprepared(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.unwrap();
        server.execute_unprepared(&format!("CREATE DATABASE {name}")).await.unwrap();
        Some(Self { server, name, url: url.into(), _cluster: cluster })
    }

    /// Runs the program. Returns the lines that it prints.
    fn run(&self, arguments: &[&str]) -> Vec<String> {
        let mut program = Command::new(env!("CARGO_BIN_EXE_card-payments-migration"));
        let done = program.args(arguments).env("DATABASE_URL", &self.url).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().lines().map(|line| line.trim().to_owned()).collect()
    }

    /// Returns one number.
    async fn number(&self, sql: &str) -> i64 {
        let database = Database::connect(&self.url).await.unwrap();
        let row = database.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await.unwrap();
        database.close().await.unwrap();
        row.unwrap().try_get_by_index(0).unwrap()
    }

    async fn drop(self) {
        self.server.execute_unprepared(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await.unwrap();
    }
}

/// The lines of a report on all steps.
fn all(status: &str) -> Vec<String> {
    let names = migration::names::<migration::Migrator>();
    let lines = names.iter().map(|name| format!("Migration '{name}'... {status}"));
    std::iter::once("Checking migration status".to_owned()).chain(lines).collect()
}

#[tokio::test]
async fn the_program_reports_runs_and_repeats_the_steps() {
    let Some(given) = Given::database().await else { return };
    assert_eq!(given.run(&["status"]), all("Pending"));

    let applied = "Migration 'm0001_schema' has been applied";
    assert_eq!(given.run(&["up", "--num", "1"]).last().unwrap(), applied);
    assert_eq!(given.number("SELECT count(*) FROM seaql_migrations").await, 1);
    given.run(&["up"]);
    assert_eq!(given.run(&["status"]), all("Applied"));
    assert_eq!(given.run(&["up"]), ["Applying all pending migrations", "No pending migrations"]);

    let row = "INSERT INTO installation (name, value) VALUES ('environment', 'test') RETURNING 1::bigint";
    assert_eq!(given.number(row).await, 1);
    given.run(&["fresh"]);
    assert_eq!(given.run(&["status"]), all("Applied"));
    assert_eq!(given.number("SELECT count(*) FROM installation").await, 0);
    given.drop().await;
}
