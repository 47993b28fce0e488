//! Statements whose zone changes its clocks while they last.

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

const SQL: Sql = Sql { both: "ALTER TABLE statement_lines ADD COLUMN later_utc_offset BIGINT;", ..Sql::NONE };
