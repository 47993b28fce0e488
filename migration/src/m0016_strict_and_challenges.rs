//! The columns that say whether an account refuses unknown parameters, and how a test card's holder ends a challenge
//! (`docs/decisions.md`, 466, 470).

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
ALTER TABLE accounts ADD COLUMN strict_parameters BOOLEAN;
ALTER TABLE three_d_secure_sessions ADD COLUMN challenge TEXT;
",
    ..Sql::NONE
};
