//! The facts that a request for approval shows besides its parameters: an approval is of those (`docs/decisions.md`, 406).

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
ALTER TABLE approvals ADD COLUMN facts TEXT;
",
    ..Sql::NONE
};
