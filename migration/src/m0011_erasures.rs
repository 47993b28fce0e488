//! Erasures of customers' personal data, and the indexes that find it (`docs/decisions.md`, 388). SQLite's full-text table
//! keeps nothing of a deleted row from now on.

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
CREATE TABLE erasures (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    cards TEXT NOT NULL,
    quiet_at BIGINT NOT NULL,
    due_at BIGINT,
    erased_at BIGINT,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX erasures_due ON erasures (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX erasures_due_of_account ON erasures (account_id, due_at, id) WHERE due_at IS NOT NULL;

CREATE INDEX charges_unlisted_of_customer ON charges (account_id, customer_id, id)
    WHERE customer_id IS NOT NULL AND (state = 'failed' OR state = 'pending' OR origin = 'authorisation');
CREATE INDEX sessions_of_charge ON three_d_secure_sessions (account_id, charge_id);
",
    sqlite: "INSERT INTO charges_search (charges_search, rank) VALUES ('secure-delete', 1);",
    ..Sql::NONE
};
