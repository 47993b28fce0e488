//! The schema: the steps that make it, the same on both databases.
//!
//! A step is a file, whose name is recorded. It runs SQL with a few words that the databases spell differently, see [`Sql`]. Every
//! account-owned table has the primary key (`account_id`, `id`): one index finds a token, lists newest first and pages, and it is
//! the key that a distributed PostgreSQL shards by. There are no triggers, no sequences and no foreign keys: one unit of work
//! writes the rows that belong together, and `ledger verify` proves the money.

pub use sea_orm_migration::prelude::*;

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
mod m0016_strict_and_challenges;
mod m0017_summer_time;
mod record;
mod sql;

pub use record::{RECORD, missing, names, read_record, recorded, run};
pub use sql::Sql;

/// The steps of this release, in order. A released step never changes.
pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m0001_schema::Migration),
            Box::new(m0002_event_sequences::Migration),
            Box::new(m0003_inboxes::Migration),
            Box::new(m0004_restricted_keys::Migration),
            Box::new(m0005_statements::Migration),
            Box::new(m0006_audit_chain::Migration),
            Box::new(m0007_unnumbered_events::Migration),
            Box::new(m0008_failed_charges::Migration),
            Box::new(m0009_people::Migration),
            Box::new(m0010_card_testing::Migration),
            Box::new(m0011_erasures::Migration),
            Box::new(m0012_words::Migration),
            Box::new(m0013_approval_facts::Migration),
            Box::new(m0014_ended_sessions::Migration),
            Box::new(m0015_statement_periods::Migration),
            Box::new(m0016_strict_and_challenges::Migration),
            Box::new(m0017_summer_time::Migration),
        ]
    }
}
