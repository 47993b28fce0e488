//! Indexes for the counts and lists of the dashboard: the charges that failed lately, and the accounts that one has made.

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
CREATE INDEX charges_failed ON charges (account_id, created_at, failure)
    WHERE state = 'failed' AND origin <> 'authorisation';
CREATE INDEX accounts_made ON accounts (made_by, id) WHERE made_by IS NOT NULL;
",
    ..Sql::NONE
};
