//! The schema: the steps that make it, the same on both databases.
//!
//! Steps are SQL with a few words that the databases spell differently, see `Step::sql`. Every account-owned table has the
//! primary key (`account_id`, `id`): one index finds a token, lists newest first and pages, and it is the key that a
//! distributed PostgreSQL shards by. There are no triggers, no sequences and no foreign keys: one unit of work writes the
//! rows that belong together, and `ledger verify` proves the money.

use sea_orm_migration::MigratorTraitSelf;
use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{DatabaseConnection, DbBackend};

mod m0001_schema;

/// The steps of this release, in order. A released step never changes.
pub const STEPS: &[Step] = &[m0001_schema::STEP];

/// A step of the schema: SQL that runs as one transaction.
#[derive(Clone, Copy)]
pub struct Step {
    /// The name in the record of migrations.
    pub name: &'static str,
    /// The SQL of both databases.
    pub both: &'static str,
    /// The SQL of PostgreSQL alone, which runs afterwards.
    pub postgres: &'static str,
    /// The SQL of SQLite alone, which runs afterwards.
    pub sqlite: &'static str,
}

impl Step {
    /// Returns the SQL for a database, with its own words: `UUID` and `BYTES` are types, `BYTEWISE` is a collation,
    /// and `CLUSTERED` keeps a narrow SQLite table in its primary key instead of beside it.
    pub fn sql(&self, backend: DbBackend) -> String {
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

impl MigrationName for Step {
    fn name(&self) -> &str {
        self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Step {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        /// A step waits for locks longer than a request does.
        const WITHOUT_TIME_OUTS: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;";

        let backend = manager.get_database_backend();
        let mut sql = self.sql(backend);
        if backend == DbBackend::Postgres {
            sql.insert_str(0, WITHOUT_TIME_OUTS);
        }
        manager.get_connection().execute_unprepared(&sql).await?;
        Ok(())
    }

    /// A step that is killed half-way leaves nothing, on SQLite too.
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

/// Runs steps.
#[derive(Clone, Copy)]
pub struct Migrator<'s>(pub &'s [Step]);

impl Migrator<'_> {
    /// Runs the steps that a database lacks. After each one, calls `on_step` with its name and the number of remaining ones.
    /// May be killed, and run twice.
    pub async fn run(
        &self,
        database: &DatabaseConnection,
        on_step: &(dyn Fn(&str, usize) + Sync),
    ) -> Result<(), DbErr> {
        let missing = self.get_pending_migrations(database).await?;
        for (n, step) in missing.iter().enumerate() {
            self.up(database, Some(1)).await?;
            on_step(step.name(), missing.len() - n - 1);
        }
        Ok(())
    }
}

impl MigratorTraitSelf for Migrator<'_> {
    fn migrations(&self) -> Vec<Box<dyn MigrationTrait>> {
        self.0.iter().map(|step| Box::new(*step) as Box<dyn MigrationTrait>).collect()
    }
}
