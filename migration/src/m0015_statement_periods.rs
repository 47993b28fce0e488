//! Statements that cover parts of days, in the zone of their bank.

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
ALTER TABLE acquirer_statements ADD COLUMN covers_from BIGINT NOT NULL DEFAULT 0;
ALTER TABLE acquirer_statements ADD COLUMN covers_until BIGINT NOT NULL DEFAULT 0;
UPDATE acquirer_statements SET
    covers_from = CAST(first_day AS BIGINT) * 86400000,
    covers_until = (CAST(last_day AS BIGINT) + 1) * 86400000;
ALTER TABLE statement_lines ADD COLUMN utc_offset BIGINT NOT NULL DEFAULT 0;
",
    ..Sql::NONE
};
