//! An index that SQLite prefers to others of the account, and reads in place of the table, for the events without numbers.

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
DROP INDEX events_without_sequence;
CREATE INDEX events_without_sequence ON events (account_id, sequence, id) WHERE sequence IS NULL;
",
    ..Sql::NONE
};
