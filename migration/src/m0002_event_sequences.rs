//! Numbers events within their account, in the order in which they became visible (`docs/decisions.md`, 374).

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

const SQL: Sql = Sql { both: include_str!("m0002_event_sequences.sql"), ..Sql::NONE };
