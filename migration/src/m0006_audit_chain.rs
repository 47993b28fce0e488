//! The seals of the audit trail (`docs/decisions.md`, 385). Older entries are sealed by the first batches.

use sea_orm_migration::prelude::*;

use crate::Sql;

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        SQL.run(manager).await
    }
}

const SQL: Sql = Sql {
    both: "
ALTER TABLE audit_entries ADD COLUMN number BIGINT;
ALTER TABLE audit_entries ADD COLUMN kept_from BIGINT;
ALTER TABLE audit_entries ADD COLUMN mac BYTES;
ALTER TABLE audit_entries ADD COLUMN link BYTES;
CREATE INDEX audit_entries_unsealed ON audit_entries (id) WHERE number IS NULL;
CREATE INDEX audit_entries_in_order ON audit_entries (number, id) WHERE number IS NOT NULL;
CREATE INDEX audit_entries_kept_from ON audit_entries (kept_from) WHERE number IS NOT NULL;
",
    ..Sql::NONE
};
