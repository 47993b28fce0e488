//! Card testing: accounts' settings, and the attacks that were noticed (`docs/decisions.md`, 387).

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
ALTER TABLE accounts ADD COLUMN card_testing TEXT;
CREATE TABLE card_attacks (
    account_id UUID NOT NULL,
    rule TEXT NOT NULL,
    subject TEXT NOT NULL,
    began_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, rule, subject)
) CLUSTERED;
CREATE INDEX card_attacks_of_account ON card_attacks (account_id, began_at);
CREATE INDEX card_attacks_recorded ON card_attacks (recorded_at);
",
    ..Sql::NONE
};
