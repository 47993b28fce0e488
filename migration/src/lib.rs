//! The schema: the steps that make it, the same on both databases.
//!
//! Steps are SQL with a few words that the databases spell differently, see `Step::sql`. Every account-owned table has the
//! primary key (`account_id`, `id`): one index finds a token, lists newest first and pages, and it is the key that a
//! distributed PostgreSQL shards by. There are no triggers, no sequences and no foreign keys: one unit of work writes the
//! rows that belong together, and `ledger verify` proves the money.

use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement};

mod m0001_schema;
mod m0002_event_sequences;
mod m0003_inboxes;
mod m0004_restricted_keys;
mod m0005_statements;
mod m0006_audit_chain;
mod m0007_unnumbered_events;
mod m0008_failed_charges;
mod m0009_people;
mod m0010_card_testing;
mod m0011_erasures;
mod m0012_words;
mod m0013_approval_facts;
mod m0014_ended_sessions;
mod m0015_statement_periods;

/// The steps of this release, in order. A released step never changes.
pub const STEPS: &[Step] = &[
    m0001_schema::STEP,
    m0002_event_sequences::STEP,
    m0003_inboxes::STEP,
    m0004_restricted_keys::STEP,
    m0005_statements::STEP,
    m0006_audit_chain::STEP,
    m0007_unnumbered_events::STEP,
    m0008_failed_charges::STEP,
    m0009_people::STEP,
    m0010_card_testing::STEP,
    m0011_erasures::STEP,
    m0012_words::STEP,
    m0013_approval_facts::STEP,
    m0014_ended_sessions::STEP,
    m0015_statement_periods::STEP,
];

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

    /// Returns one text that runs the step and records it. PostgreSQL runs a text as one transaction; on SQLite the caller has
    /// begun one. A step waits for locks longer than a request does. Citus sends workers the text that a statement came in, so
    /// there each comes by itself, in a block.
    fn script(&self, backend: DbBackend) -> String {
        let (begin, now, end) = if backend == DbBackend::Postgres {
            (
                "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL client_min_messages = warning; \
                 DO $step$ BEGIN",
                "CAST(extract(epoch FROM now()) AS BIGINT)",
                "END $step$",
            )
        } else {
            ("", "unixepoch()", "")
        };
        let Self { name, .. } = self;
        format!(
            "{begin} CREATE TABLE IF NOT EXISTS {RECORD} (version VARCHAR NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL); \
             INSERT INTO {RECORD} (version, applied_at) VALUES ('{name}', {now}); {} {end}",
            self.sql(backend)
        )
    }
}

/// The table that records which steps have run, and when: seconds since 1970.
pub const RECORD: &str = "seaql_migrations";

/// Returns the names of the steps that a database records, in order; none if it has no record.
pub async fn recorded(database: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let backend = database.get_database_backend();
    let (tables, name) = if backend == DbBackend::Postgres {
        ("pg_tables WHERE schemaname = current_schema()", "tablename")
    } else {
        ("sqlite_master WHERE type = 'table'", "name")
    };
    let there = format!("SELECT 1 AS n FROM {tables} AND {name} = '{RECORD}'");
    if database.query_one_raw(Statement::from_string(backend, there)).await?.is_none() {
        return Ok(Vec::new());
    }
    let steps = format!("SELECT version FROM {RECORD} ORDER BY version");
    let steps = database.query_all_raw(Statement::from_string(backend, steps)).await?;
    steps.iter().map(|step| step.try_get("", "version")).collect()
}

/// Returns the steps that a database lacks.
pub async fn missing<'a>(database: &impl ConnectionTrait, steps: &'a [Step]) -> Result<Vec<&'a Step>, DbErr> {
    let recorded = recorded(database).await?;
    Ok(steps.iter().filter(|step| recorded.iter().all(|name| name != step.name)).collect())
}

/// Runs the steps that a database lacks. After each one, calls `on_step` with its name and the number of remaining ones.
/// May be killed, and run twice.
pub async fn run(
    database: &impl ConnectionTrait,
    steps: &[Step],
    on_step: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), DbErr> {
    let missing = missing(database, steps).await?;
    for (n, step) in missing.iter().enumerate() {
        database.execute_unprepared(&step.script(database.get_database_backend())).await?;
        on_step(step.name, missing.len() - n - 1);
    }
    Ok(())
}
