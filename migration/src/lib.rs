//! The schema, one file a step, the same steps on both databases.
//!
//! Steps are SQL with three words that the databases spell differently, see `step`. Every account-owned
//! table has the primary key (`account_id`, `id`): one index finds a token, lists newest first and pages,
//! and it is the key that a distributed PostgreSQL shards by. There are no triggers, no sequences and no
//! foreign keys: rows are written together by one unit of work, and `ledger verify` proves the money.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::DbBackend;

mod m0001_accounts;
mod m0002_cards_and_customers;
mod m0003_charges;
mod m0004_ledger_and_events;
mod m0005_refunds;
mod m0006_webhooks;
mod m0007_idempotency;
mod m0008_sandbox;
mod m0009_moving_clocks;
mod m0010_origins;
mod m0011_three_d_secure;
mod m0012_payment_sources;
mod m0013_wallets;
mod m0014_plans;
mod m0015_subscriptions;
mod m0016_bank_accounts;
mod m0017_transfers;
mod m0018_deposits;
mod m0019_disputes;
mod m0020_files;
mod m0021_merchants;
mod m0022_retired_data_keys;
mod m0023_ended_api_keys;
mod m0024_broad_searches;
mod m0025_request_log;
mod m0026_former_webhook_keys;
mod m0027_snapshots;
mod m0028_audit_trail;
mod m0031_traces;
mod m0032_steady_searches;
mod m0033_counted_seals;
mod m0034_age_of_requests;

/// All steps in order.
pub struct Migrator;

impl Migrator {
    /// How many steps there are.
    pub fn steps() -> usize {
        Self::migrations().len()
    }

    /// What the record of migrations calls them, in order.
    pub fn names() -> Vec<String> {
        Self::migrations().iter().map(|step| step.name().to_owned()).collect()
    }

    /// Run the steps that a database has not seen. Safe to run twice, and to kill.
    pub async fn run(database: &sea_orm_migration::sea_orm::DatabaseConnection) -> Result<(), DbErr> {
        Self::up(database, None).await
    }
}

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m0001_accounts::Migration),
            Box::new(m0002_cards_and_customers::Migration),
            Box::new(m0003_charges::Migration),
            Box::new(m0004_ledger_and_events::Migration),
            Box::new(m0005_refunds::Migration),
            Box::new(m0006_webhooks::Migration),
            Box::new(m0007_idempotency::Migration),
            Box::new(m0008_sandbox::Migration),
            Box::new(m0009_moving_clocks::Migration),
            Box::new(m0010_origins::Migration),
            Box::new(m0011_three_d_secure::Migration),
            Box::new(m0012_payment_sources::Migration),
            Box::new(m0013_wallets::Migration),
            Box::new(m0014_plans::Migration),
            Box::new(m0015_subscriptions::Migration),
            Box::new(m0016_bank_accounts::Migration),
            Box::new(m0017_transfers::Migration),
            Box::new(m0018_deposits::Migration),
            Box::new(m0019_disputes::Migration),
            Box::new(m0020_files::Migration),
            Box::new(m0021_merchants::Migration),
            Box::new(m0022_retired_data_keys::Migration),
            Box::new(m0023_ended_api_keys::Migration),
            Box::new(m0024_broad_searches::Migration),
            Box::new(m0025_request_log::Migration),
            Box::new(m0026_former_webhook_keys::Migration),
            Box::new(m0027_snapshots::Migration),
            Box::new(m0028_audit_trail::Migration),
            Box::new(m0031_traces::Migration),
            Box::new(m0032_steady_searches::Migration),
            Box::new(m0033_counted_seals::Migration),
            Box::new(m0034_age_of_requests::Migration),
        ]
    }
}

const AS_LONG_AS_IT_TAKES: &str =
    "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)";

/// Run a step's statements. `UUID` and `BYTES` become the database's own types; `CLUSTERED` keeps a narrow
/// SQLite table in its primary key instead of beside it.
pub(crate) async fn step(manager: &SchemaManager<'_>, sql: &str) -> Result<(), DbErr> {
    let spelling = if manager.get_database_backend() == DbBackend::Postgres {
        [("BYTES", "BYTEA"), ("UUID", "UUID"), (" CLUSTERED", "")]
    } else {
        [("BYTES", "BLOB"), ("UUID", "BLOB"), (" CLUSTERED", " WITHOUT ROWID")]
    };
    let sql = spelling.iter().fold(sql.to_owned(), |sql, (word, spelled)| sql.replace(word, spelled));
    if manager.get_database_backend() == DbBackend::Postgres {
        // A server that serves waits for nothing so long.
        manager.get_connection().execute_unprepared(AS_LONG_AS_IT_TAKES).await?;
    }
    for statement in sql.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        manager.get_connection().execute_unprepared(statement).await?;
    }
    Ok(())
}

/// The index by which PostgreSQL finds parts of a table's `search_text`. SQLite looks through the account's rows: of
/// what is paid out there are few.
pub(crate) fn words(backend: DbBackend, table: &str) -> String {
    if backend == DbBackend::Postgres {
        format!("CREATE INDEX {table}_by_words ON {table} USING gin (account_id, search_text gin_trgm_ops);")
    } else {
        String::new()
    }
}

macro_rules! migration {
    ($up:expr) => {
        use sea_orm_migration::prelude::*;

        /// This step.
        #[derive(DeriveMigrationName)]
        pub struct Migration;

        #[async_trait::async_trait]
        impl MigrationTrait for Migration {
            async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
                let up: fn(DbBackend) -> String = $up;
                crate::step(manager, &up(manager.get_database_backend())).await
            }

            /// A step that is killed half-way leaves nothing, on SQLite too.
            fn use_transaction(&self) -> Option<bool> {
                Some(true)
            }
        }

        use sea_orm_migration::sea_orm::DbBackend;
    };
}
pub(crate) use migration;
