//! The SQL of a step.

use sea_orm::DbBackend;
use sea_orm_migration::prelude::*;

/// The SQL of a step, with a few words that the databases spell differently.
#[derive(Clone, Copy)]
pub struct Sql {
    /// The SQL of both databases.
    pub both: &'static str,
    /// The SQL of PostgreSQL alone, which runs afterwards.
    pub postgres: &'static str,
    /// The SQL of SQLite alone, which runs afterwards.
    pub sqlite: &'static str,
}

impl Sql {
    /// No SQL at all: what a step does not name.
    pub const NONE: Self = Self { both: "", postgres: "", sqlite: "" };

    /// Runs the SQL of the database, in one round trip. Citus sends workers the text that a statement came in, so on PostgreSQL
    /// each statement comes by itself, in a block.
    pub async fn run(&self, manager: &SchemaManager<'_>) -> Result<(), DbErr> {
        let backend = manager.get_database_backend();
        let mut sql = self.text(backend);
        if backend == DbBackend::Postgres {
            sql = format!("DO $step$ BEGIN {sql} END $step$");
        }
        manager.get_connection().execute_unprepared(&sql).await.map(drop)
    }

    /// Returns the SQL for a database, with its own words: `UUID` and `BYTES` are types, `BYTEWISE` is a collation,
    /// and `CLUSTERED` keeps a narrow SQLite table in its primary key instead of beside it.
    fn text(&self, backend: DbBackend) -> String {
        let (own, words) = if backend == DbBackend::Postgres {
            (self.postgres, [("BYTES", "BYTEA"), ("UUID", "UUID"), ("BYTEWISE", "\"C\""), (" CLUSTERED", "")])
        } else {
            let words = [
                ("BYTES", "BLOB"),
                ("UUID", "BLOB"),
                ("BYTEWISE", "BINARY"),
                (" CLUSTERED", " WITHOUT ROWID"),
            ];
            (self.sqlite, words)
        };
        let sql = [self.both, own].concat();
        words.iter().fold(sql, |sql, (word, spelled)| sql.replace(word, spelled))
    }
}
