//! Sessions of keys at the dashboard that were signed out, which every copy of the server refuses (`docs/decisions.md`, 407).

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
CREATE TABLE ended_sessions (
    hash BYTES NOT NULL PRIMARY KEY,
    ends_at BIGINT NOT NULL
) CLUSTERED;
CREATE INDEX ended_sessions_by_end ON ended_sessions (ends_at);
",
    ..Sql::NONE
};
