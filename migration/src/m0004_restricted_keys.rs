//! Restricted API keys (`docs/decisions.md`, 382).

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
ALTER TABLE api_keys ADD COLUMN id UUID;
ALTER TABLE api_keys ADD COLUMN restriction TEXT;
DROP INDEX api_keys_of_account;
CREATE INDEX api_keys_of_account ON api_keys (account_id, id);
",
    ..Sql::NONE
};
